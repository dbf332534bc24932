/* Conjugate gradients for the 3-D Poisson equation, seven-point stencil, grid cut into slabs along z.
 * usage: cg [-p PIDFILE] [N STEPS]      an N x N x N grid
 *
 * Five items make up the state: x, r, p, rho and the number of the step. The step travels with each checkpoint. The vectors
 * are cut into slabs, rho is the same on all ranks: so any number of ranks may go on (its sums are rounded otherwise). */
#include "example.h"

#include <math.h>
#include <saikai/saikai.h>

struct grid {
    size_t n, first, planes; /* this rank's planes of n x n points */
};

struct problem {
    struct grid grid;
    long steps;
    int rc;
};

static size_t cells(const struct grid *g)
{
    return g->planes * g->n * g->n;
}

static double dot(const struct grid *g, const double *a, const double *b)
{
    double sum = 0, total = 0;
    for (size_t i = 0; i < cells(g); i++)
        sum += a[i] * b[i];
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

/* q = A p with cold walls; halo has room for the neighbours' planes: below, then above. */
static void apply(const struct grid *g, const double *p, double *q, double *halo)
{
    size_t plane = g->n * g->n, n = g->n;
    example_exchange(p, p + (g->planes - 1) * plane, halo, halo + plane, plane);
    for (size_t k = 0; k < g->planes; k++) {
        const double *here = p + k * plane, *below = k ? here - plane : halo;
        const double *above = k + 1 < g->planes ? here + plane : halo + plane;
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < n; i++) {
                size_t at = j * n + i;
                double sum = 6 * here[at] - below[at] - above[at];
                sum -= j ? here[at - n] : 0;
                sum -= j + 1 < n ? here[at + n] : 0;
                sum -= i ? here[at - 1] : 0;
                sum -= i + 1 < n ? here[at + 1] : 0;
                q[k * plane + at] = sum;
            }
    }
}

/* *p: NULL, or what an earlier run of solve() had there. */
static double *array(double **p, size_t n)
{
    free(*p);
    *p = calloc(n ? n : 1, sizeof **p);
    if (!*p)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return *p;
}

/* From saikai_init to saikai_finalize: when a process died and was made again, it runs again from here. */
static void solve(void *arg)
{
    static double *kept[6];
    struct problem *w = arg;
    const struct grid *g = &w->grid;
    long steps = w->steps;
    size_t n = cells(g), dims[] = {g->planes, g->n, g->n}, grid[] = {g->n, g->n, g->n}, at[] = {g->first, 0, 0};
    double *x = array(&kept[0], n), *r = array(&kept[1], n), *p = array(&kept[2], n), *q = array(&kept[3], n);
    double *b = array(&kept[4], n), *halo = array(&kept[5], 2 * g->n * g->n), rho;
    for (size_t i = 0; i < n; i++)
        b[i] = r[i] = p[i] = sin((double)(g->first * g->n * g->n + i) * 0.37) + 0.5;
    rho = dot(g, r, r);
    double b_norm = sqrt(rho);
    long step = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 ||
        saikai_protect_global("x", x, SAIKAI_F64, 3, dims, grid, at) < 0 ||
        saikai_protect_global("r", r, SAIKAI_F64, 3, dims, grid, at) < 0 ||
        saikai_protect_global("p", p, SAIKAI_F64, 3, dims, grid, at) < 0 ||
        saikai_protect("rho", &rho, SAIKAI_F64, 0, NULL) < 0 || saikai_replicated("rho") < 0 || saikai_restart(&step) < 0)
        example_fail("cg", saikai_error_text());
    while (step < steps) {
        apply(g, p, q, halo);
        double alpha = rho / dot(g, p, q);
        for (size_t i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        double next = dot(g, r, r), beta = next / rho;
        rho = next;
        for (size_t i = 0; i < n; i++)
            p[i] = r[i] + beta * p[i];
        saikai_checkpoint(++step);
    }
    /* the residual that was carried along must be the real one */
    apply(g, x, q, halo);
    for (size_t i = 0; i < n; i++)
        q[i] = b[i] - q[i] - r[i];
    double drift = sqrt(dot(g, q, q)) / b_norm;
    uint64_t sum = example_checksum(x, n, g->first * g->n * g->n);
    if (example_rank == 0)
        printf("cg %zu^3, %ld steps: checksum %016llx, residual %.3e, drift %.1e: %s\n", g->n, steps,
               (unsigned long long)sum, sqrt(rho) / b_norm, drift, drift < 1e-10 ? "verified" : "WRONG");
    saikai_finalize();
    for (int i = 0; i < 6; i++)
        free(kept[i]);
    w->rc = drift < 1e-10 ? 0 : 1;
}

int main(int argc, char **argv)
{
    long arguments[2] = {64, 300};
    if (example_begin(&argc, &argv, arguments, 2) || arguments[0] < example_ranks || arguments[1] < 0)
        return example_usage("cg [-p PIDFILE] [N STEPS] with N >= number of ranks");
    struct problem w = {.grid.n = (size_t)arguments[0], .steps = arguments[1]};
    struct grid *g = &w.grid;
    g->first = g->n * (size_t)example_rank / (size_t)example_ranks;
    g->planes = g->n * ((size_t)example_rank + 1) / (size_t)example_ranks - g->first;
    saikai_in_place(solve, &w);
    MPI_Finalize();
    return w.rc;
}
