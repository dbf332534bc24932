/* What the layer between program and MPI costs while nothing fails: the loops of examples/cg.c and examples/heat.c without checkpoints, in
 * saikai_in_place, so that nothing but the layer differs when it is preloaded; and one like EP, which hardly communicates. With "saved" each step
 * is a candidate for a checkpoint of the state, as the protocol logging needs it. Prints "wall SECONDS cpu SECONDS" of the loop: of the
 * slowest rank, and of all ranks together (getrusage). layer.py starts it.
 * usage: layer cg|heat|ep N STEPS [saved]      an N x N x N grid; ep: so many random numbers a step */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct work {
    int heat, ep, saved, rank, ranks;
    size_t n, planes;
    long steps;
    double *a, *b, *c, *d; /* each with a plane below and one above */
    double result;
};

static void halo(const struct work *w, double *u)
{
    size_t plane = w->n * w->n;
    int up = w->rank + 1 < w->ranks ? w->rank + 1 : MPI_PROC_NULL, down = w->rank ? w->rank - 1 : MPI_PROC_NULL;
    MPI_Sendrecv(u + w->planes * plane, (int)plane, MPI_DOUBLE, up, 0, u, (int)plane, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u + plane, (int)plane, MPI_DOUBLE, down, 1, u + (w->planes + 1) * plane, (int)plane, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* to = the sum of the six neighbours, minus centre times from. */
static void stencil(const struct work *w, const double *from, double *to, double centre)
{
    size_t n = w->n, plane = n * n;
    for (size_t k = 1; k <= w->planes; k++)
        for (size_t j = 1; j + 1 < n; j++)
            for (size_t i = 1; i + 1 < n; i++) {
                size_t at = k * plane + j * n + i;
                to[at] = from[at - plane] + from[at + plane] + from[at - n] + from[at + n] + from[at - 1] + from[at + 1] - centre * from[at];
            }
}

static double dot(const struct work *w, const double *a, const double *b)
{
    double sum = 0, all = 0;
    for (size_t i = w->n * w->n; i < (w->planes + 1) * w->n * w->n; i++)
        sum += a[i] * b[i];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void step_heat(struct work *w)
{
    size_t from = w->n * w->n, to = (w->planes + 1) * w->n * w->n;
    halo(w, w->a);
    stencil(w, w->a, w->b, 6);
    for (size_t i = from; i < to; i++)
        w->a[i] += 0.15 * w->b[i];
}

/* x = a, r = b, p = c, q = d. */
static void begin(struct work *w)
{
    for (size_t i = 0; i < (w->planes + 2) * w->n * w->n; i++) {
        w->a[i] = w->heat ? 1e-3 * (double)(i % 97) : 0;
        w->b[i] = w->c[i] = i / (w->n * w->n) % (w->planes + 1) ? 1e-3 * (double)(i % 89) : 0;
    }
    w->result = w->heat ? 0 : dot(w, w->b, w->b);
}

static void step_cg(struct work *w)
{
    size_t from = w->n * w->n, to = (w->planes + 1) * w->n * w->n;
    halo(w, w->c);
    stencil(w, w->c, w->d, 7);
    double rho = w->result, alpha = rho / dot(w, w->c, w->d);
    for (size_t i = from; i < to; i++) {
        w->a[i] += alpha * w->c[i];
        w->b[i] -= alpha * w->d[i];
    }
    w->result = dot(w, w->b, w->b);
    double beta = w->result / rho;
    for (size_t i = from; i < to; i++)
        w->c[i] = w->b[i] + beta * w->c[i];
    if (!(w->result > 1e-100)) /* it is solved: numbers that are hardly any are slow */
        begin(w);
}

/* Points in a square, how many lie in rings of the circle, and their sum over the ranks. */
static void step_ep(struct work *w)
{
    double ring[10] = {0};
    unsigned long long seed = 271828183ull * (unsigned)(w->rank + 1);
    for (size_t i = 0; i < w->n * w->n * w->n / (size_t)w->ranks; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        double x = (double)(seed >> 40) * 0x1p-24, y = (double)(seed >> 16 & 0xffffff) * 0x1p-24;
        ring[(int)(5 * (x * x + y * y)) % 10]++;
    }
    MPI_Allreduce(MPI_IN_PLACE, ring, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    w->result += ring[3];
}

static void step(struct work *w, long i)
{
    w->ep ? step_ep(w) : w->heat ? step_heat(w) : step_cg(w);
    if (w->saved)
        saikai_checkpoint(i);
}

static double processor_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void body(void *arg)
{
    struct work *w = arg;
    double all, most;
    size_t cells = (w->planes + 2) * w->n * w->n;
    begin(w);
    if (w->saved && (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("a", w->a, SAIKAI_F64, 1, &cells) < 0 || saikai_restart(NULL) < 0))
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (long i = 0; i < w->steps / 10; i++) /* connections are made, pages are there */
        step(w, i);
    MPI_Barrier(MPI_COMM_WORLD);
    double wall = MPI_Wtime(), cpu = processor_seconds();
    for (long i = 0; i < w->steps; i++)
        step(w, w->steps / 10 + i);
    cpu = processor_seconds() - cpu;
    wall = MPI_Wtime() - wall;
    MPI_Reduce(&wall, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&cpu, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!w->rank)
        printf("wall %.6f cpu %.6f\n", most, all);
    if (w->saved)
        saikai_finalize();
}

int main(int argc, char **argv)
{
    struct work w = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    w.heat = argc > 1 && !strcmp(argv[1], "heat");
    w.ep = argc > 1 && !strcmp(argv[1], "ep");
    w.saved = argc > 4 && !strcmp(argv[4], "saved");
    w.n = argc > 3 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
    w.steps = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    w.planes = w.n / (size_t)w.ranks;
    if (w.n < 3 || !w.planes || w.steps < 1) {
        fputs("usage: layer cg|heat|ep N STEPS [saved]\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double **each[] = {&w.a, &w.b, &w.c, &w.d};
    size_t cells = (w.planes + 2) * w.n * w.n;
    for (size_t k = 0; k < 4; k++) {
        *each[k] = calloc(cells, sizeof(double));
        if (!*each[k])
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    saikai_in_place(body, &w);
    MPI_Finalize();
    return 0;
}
