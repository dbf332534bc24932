/* What the four kernels of the NAS Parallel Benchmarks share: their random numbers, the class on the command line, and how a run is told.
 * The kernels are written after their specification (Bailey and others, NAS-95-020, 1995, sections 2.1 to 2.5), with its constants and
 * the sizes and results of the classes W to B that were published later. They are programs for Saikai to be measured with,
 * and not for results of machines. */
#ifndef NPB_H
#define NPB_H

#include "../example.h"

#include <math.h>
#include <saikai/saikai.h>
#include <sys/resource.h>

#define NPB_A 1220703125ull /* 5^13 */

/* x = a x mod 2^46, which divides 2^64: so the product may lose its upper bits. */
static inline uint64_t npb_times(uint64_t a, uint64_t x)
{
    return a * x & ((1ull << 46) - 1);
}

/* The next number of (0, 1). */
static inline double npb_random(uint64_t *x)
{
    *x = npb_times(NPB_A, *x);
    return (double)*x * 0x1p-46;
}

/* The state n numbers later. */
static inline uint64_t npb_jump(uint64_t x, uint64_t n)
{
    for (uint64_t a = NPB_A; n; n >>= 1, a = npb_times(a, a))
        if (n & 1)
            x = npb_times(a, x);
    return x;
}

struct npb_run {
    const char *name;
    char size;   /* S, W, A or B */
    int arrived; /* at the published result */
    double wall, cpu;
};

static inline void *npb_array(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p)
        example_fail("npb", "no memory");
    return p;
}

/* Processor time of this rank. */
static inline double npb_cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* After saikai_restart, which all ranks leave together. No barrier: between saikai_restart and the loop nothing must be communicated, as a process
 * that is made again would do that alone. */
static inline void npb_clock_starts(struct npb_run *r)
{
    r->wall = -MPI_Wtime();
    r->cpu = -npb_cpu();
}

static inline void npb_clock_stops(struct npb_run *r)
{
    r->wall += MPI_Wtime();
    r->cpu += npb_cpu();
}

/* Collective. Rank 0 prints the result; and to standard error the time that the slowest rank took, and the processor time of all. */
static inline void npb_tell(struct npb_run *r, double result, int verified)
{
    double wall = 0, cpu = 0;
    MPI_Reduce(&r->wall, &wall, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&r->cpu, &cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    r->arrived = verified;
    if (example_rank)
        return;
    printf("%s class %c, %d ranks: result %.16e: %s\n", r->name, r->size, example_ranks, result, verified ? "verified" : "WRONG");
    fprintf(stderr, "%s: wall %.6f cpu %.6f\n", r->name, wall, cpu);
}

static inline int npb_is_power_of_two(int n)
{
    return n > 0 && !(n & (n - 1));
}

/* main() of each: [-p PIDFILE] [CLASS]; body runs from saikai_init to saikai_finalize, and may run again after a fault. */
static inline int npb_main(int argc, char **argv, const char *name, int most_ranks, void (*body)(void *))
{
    struct npb_run run = {.name = name, .size = 'S'};
    if (argc > 1 && strlen(argv[argc - 1]) == 1)
        run.size = *argv[--argc];
    if (example_begin(&argc, &argv, NULL, 0) || !strchr("SWAB", run.size) || !npb_is_power_of_two(example_ranks) || example_ranks > most_ranks) {
        if (!example_rank)
            fprintf(stderr, "usage: %s [-p PIDFILE] [S|W|A|B], with 2^k ranks, at most %d\n", name, most_ranks);
        MPI_Finalize();
        return 2;
    }
    saikai_in_place(body, &run);
    MPI_Finalize();
    return run.arrived ? 0 : 1;
}
#endif
