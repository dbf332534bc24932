/* The 3-D heat equation, explicit Euler on a grid that is cut into slabs along z.
 * usage: heat [-p PIDFILE] [NX NY NZ STEPS]
 *
 * The lines that end in "saikai" are all that it takes to survive faults. */
#include <math.h>
#include <mpi.h>
#include <saikai/saikai.h> /* saikai */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t nx = 96, ny = 96, nz = 96;
static int rank, ranks;

/* Values of the slab: planes 1…n are this rank's, 0 and n + 1 are halo. */
#define AT(u, k, j, i) ((u)[((k) * ny + (j)) * nx + (i)])

static void exchange_halo(double *u, size_t n)
{
    int up = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, down = rank ? rank - 1 : MPI_PROC_NULL;
    int plane = (int)(nx * ny);
    MPI_Sendrecv(&AT(u, n, 0, 0), plane, MPI_DOUBLE, up, 0, &AT(u, 0, 0, 0), plane, MPI_DOUBLE, down, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&AT(u, 1, 0, 0), plane, MPI_DOUBLE, down, 1, &AT(u, n + 1, 0, 0), plane, MPI_DOUBLE, up, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

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

/* Equal for equal bits at equal places of the global grid, however it is cut. */
static uint64_t checksum(const double *u, size_t first, size_t n)
{
    uint64_t sum = 0, total = 0;
    for (size_t at = 0; at < n * nx * ny; at++) {
        uint64_t x;
        memcpy(&x, &u[nx * ny + at], sizeof x);
        x ^= (first * nx * ny + at) * 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
        sum ^= x ^ x >> 29;
    }
    MPI_Allreduce(&sum, &total, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    return total;
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

static void write_pid(const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", path, rank);
    FILE *f = fopen(name, "w");
    if (f) {
        fprintf(f, "%ld\n", (long)getpid());
        fclose(f);
    }
}

static int run(long steps)
{
    size_t first = nz * (size_t)rank / (size_t)ranks, n = nz * (size_t)(rank + 1) / (size_t)ranks - first;
    double *u = calloc((n + 2) * ny * nx, sizeof *u), *v = calloc((n + 2) * ny * nx, sizeof *v), r = 0.15;
    if (!u || !v)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < ny; j++)
            for (size_t i = 0; i < nx; i++)
                AT(u, k + 1, j, i) = sin(M_PI * (double)i / (double)(nx - 1)) * sin(M_PI * (double)j / (double)(ny - 1)) *
                                     sin(M_PI * (double)(first + k) / (double)(nz - 1));
    long it = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 ||                                                       /* saikai */
        saikai_protect("u", u, SAIKAI_F64, 3, (size_t[]){n + 2, ny, nx}) < 0 || saikai_restart(&it) < 0) { /* saikai */
        fprintf(stderr, "heat: %s\n", saikai_error_text());                                            /* saikai */
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memcpy(v, u, (n + 2) * ny * nx * sizeof *v);
    while (it < steps) {
        exchange_halo(u, n);
        step(u, v, first, n, r);
        memcpy(&AT(u, 1, 0, 0), &AT(v, 1, 0, 0), n * ny * nx * sizeof *u);
        it++;
        saikai_checkpoint(it); /* saikai */
    }
    uint64_t sum = checksum(u, first, n);
    double error = largest_error(u, first, n, r, steps);
    if (rank == 0)
        printf("heat %zux%zux%zu, %ld steps: checksum %016llx, largest error %.2g: %s\n", nx, ny, nz, steps,
               (unsigned long long)sum, error, error < 1e-10 ? "verified" : "WRONG");
    free(u);
    free(v);
    saikai_finalize(); /* saikai */
    return error < 1e-10 ? 0 : 1;
}

int main(int argc, char **argv)
{
    long steps = 500;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int at = 1;
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        write_pid(argv[2]);
        at = 3;
    }
    if (argc == at + 4) {
        nx = strtoul(argv[at], NULL, 10);
        ny = strtoul(argv[at + 1], NULL, 10);
        nz = strtoul(argv[at + 2], NULL, 10);
        steps = strtol(argv[at + 3], NULL, 10);
    }
    if ((argc != at && argc != at + 4) || nx < 3 || ny < 3 || nz < (size_t)ranks || nz < 3 || steps < 0) {
        if (rank == 0)
            fprintf(stderr, "usage: heat [-p PIDFILE] [NX NY NZ STEPS] with NZ >= number of ranks\n");
        MPI_Finalize();
        return 2;
    }
    int rc = run(steps);
    MPI_Finalize();
    return rc;
}
