/* Conjugate gradients for the 3-D Poisson equation, seven-point stencil, grid cut into slabs along z.
 * usage: cg [-p PIDFILE] [N STEPS]      an N x N x N grid
 *
 * Five items make up the state: x, r, p, rho and the number of the step. The lines with #pragma are all that it takes to save them. */
#include "../example.h"

#include <math.h>

struct grid {
    size_t n, first, planes; /* this rank's planes of n x n points */
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

static double *array(size_t n)
{
    double *p = calloc(n ? n : 1, sizeof *p);
    if (!p)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

static int solve(const struct grid *g, long steps)
{
    size_t n = cells(g);
    double *x = array(n), *r = array(n), *p = array(n), *q = array(n), *b = array(n);
    double *halo = array(2 * g->n * g->n), rho;
    for (size_t i = 0; i < n; i++)
        b[i] = r[i] = p[i] = sin((double)(g->first * g->n * g->n + i) * 0.37) + 0.5;
    rho = dot(g, r, r);
    double b_norm = sqrt(rho);
    long step = 0;
#pragma MICP init
#pragma MICP enable step, x(0:n-1), r(0:n-1), p(0:n-1), rho
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
        step++;
#pragma MICP ckpt
    }
#pragma MICP disable
    /* the residual that was carried along must be the real one */
    apply(g, x, q, halo);
    for (size_t i = 0; i < n; i++)
        q[i] = b[i] - q[i] - r[i];
    double drift = sqrt(dot(g, q, q)) / b_norm;
    uint64_t sum = example_checksum(x, n, g->first * g->n * g->n);
    if (example_rank == 0)
        printf("cg %zu^3, %ld steps: checksum %016llx, residual %.3e, drift %.1e: %s\n", g->n, steps,
               (unsigned long long)sum, sqrt(rho) / b_norm, drift, drift < 1e-10 ? "verified" : "WRONG");
    free(x), free(r), free(p), free(q), free(b), free(halo);
#pragma MICP fini
    return drift < 1e-10 ? 0 : 1;
}

int main(int argc, char **argv)
{
    long arguments[2] = {64, 300};
    if (example_begin(&argc, &argv, arguments, 2) || arguments[0] < example_ranks || arguments[1] < 0)
        return example_usage("cg [-p PIDFILE] [N STEPS] with N >= number of ranks");
    struct grid g = {.n = (size_t)arguments[0]};
    g.first = g.n * (size_t)example_rank / (size_t)example_ranks;
    g.planes = g.n * ((size_t)example_rank + 1) / (size_t)example_ranks - g.first;
    int rc = solve(&g, arguments[1]);
    MPI_Finalize();
    return rc;
}
