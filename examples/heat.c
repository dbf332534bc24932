/* The 3-D heat equation, explicit Euler on a grid that is cut into slabs along z.
 * usage: heat [-p PIDFILE] [NX NY NZ STEPS]
 *
 * The lines that end in "saikai" are all that it takes to survive faults, and to go on with another number of ranks. */
#include "example.h"

#include <math.h>
#include <saikai/saikai.h> /* saikai */

static size_t nx, ny, nz;

struct work {
    long steps;
    int rc;
};

/* Values of the slab: planes 1…n are this rank's, 0 and n + 1 are halo. */
#define AT(u, k, j, i) ((u)[((k) * ny + (j)) * nx + (i)])

static void step(const double *u, double *v, size_t first, size_t n, double r)
{
    for (size_t k = 1; k <= n; k++) {
        if (first + k - 1 == 0 || first + k - 1 == nz - 1)
            continue; /* the outermost planes are the cold wall */
        for (size_t j = 1; j + 1 < ny; j++)
            for (size_t i = 1; i + 1 < nx; i++)
                AT(v, k, j, i) = AT(u, k, j, i) + r * (AT(u, k - 1, j, i) + AT(u, k + 1, j, i) + AT(u, k, j - 1, i) +
                                                        AT(u, k, j + 1, i) + AT(u, k, j, i - 1) + AT(u, k, j, i + 1) -
                                                        6 * AT(u, k, j, i));
    }
}

/* The first sine mode decays by the same factor in every step: the exact solution of the discrete equation. */
static double largest_error(const double *u, size_t first, size_t n, double r, long steps)
{
    double px = M_PI / (double)(nx - 1), py = M_PI / (double)(ny - 1), pz = M_PI / (double)(nz - 1), worst = 0, all = 0;
    double factor = 1 - 2 * r * (3 - cos(px) - cos(py) - cos(pz)), amplitude = pow(factor, (double)steps);
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < ny; j++)
            for (size_t i = 0; i < nx; i++) {
                double exact = amplitude * sin(px * (double)i) * sin(py * (double)j) * sin(pz * (double)(first + k));
                worst = fmax(worst, fabs(AT(u, k + 1, j, i) - exact));
            }
    MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* From saikai_init to saikai_finalize: when a process died and was made again, it runs again from here. */
static void run(void *arg)
{
    static double *u, *v;
    struct work *w = arg;
    long steps = w->steps;
    size_t first = nz * (size_t)example_rank / (size_t)example_ranks;
    size_t n = nz * (size_t)(example_rank + 1) / (size_t)example_ranks - first;
    double r = 0.15;
    free(u);
    free(v);
    u = calloc((n + 2) * ny * nx, sizeof *u);
    v = calloc((n + 2) * ny * nx, sizeof *v);
    if (!u || !v)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < ny; j++)
            for (size_t i = 0; i < nx; i++)
                AT(u, k + 1, j, i) = sin(M_PI * (double)i / (double)(nx - 1)) * sin(M_PI * (double)j / (double)(ny - 1)) *
                                     sin(M_PI * (double)(first + k) / (double)(nz - 1));
    long it = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 ||                                                           /* saikai */
        saikai_protect_global("u", &AT(u, 1, 0, 0), SAIKAI_F64, 3, (size_t[]){n, ny, nx},                  /* saikai */
                              (size_t[]){nz, ny, nx}, (size_t[]){first, 0, 0}) < 0 || saikai_restart(&it) < 0)   /* saikai */
        example_fail("heat", saikai_error_text());                                                         /* saikai */
    memcpy(v, u, (n + 2) * ny * nx * sizeof *v);
    while (it < steps) {
        example_exchange(&AT(u, 1, 0, 0), &AT(u, n, 0, 0), &AT(u, 0, 0, 0), &AT(u, n + 1, 0, 0), nx * ny);
        step(u, v, first, n, r);
        memcpy(&AT(u, 1, 0, 0), &AT(v, 1, 0, 0), n * ny * nx * sizeof *u);
        it++;
        saikai_checkpoint(it); /* saikai */
    }
    uint64_t sum = example_checksum(&AT(u, 1, 0, 0), n * ny * nx, first * ny * nx);
    double error = largest_error(u, first, n, r, steps);
    if (example_rank == 0)
        printf("heat %zux%zux%zu, %ld steps: checksum %016llx, largest error %.2g: %s\n", nx, ny, nz, steps,
               (unsigned long long)sum, error, error < 1e-10 ? "verified" : "WRONG");
    saikai_finalize(); /* saikai */
    w->rc = error < 1e-10 ? 0 : 1;
}

int main(int argc, char **argv)
{
    long a[4] = {96, 96, 96, 500};
    if (example_begin(&argc, &argv, a, 4) || a[0] < 3 || a[1] < 3 || a[2] < 3 || a[2] < example_ranks || a[3] < 0)
        return example_usage("heat [-p PIDFILE] [NX NY NZ STEPS] with NZ >= number of ranks");
    nx = (size_t)a[0];
    ny = (size_t)a[1];
    nz = (size_t)a[2];
    struct work w = {.steps = a[3]};
    saikai_in_place(run, &w); /* saikai */
    MPI_Finalize();
    return w.rc;
}
