/* What the examples share and has nothing to do with Saikai: arguments, a halo exchange, a checksum. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int example_rank, example_ranks;

/* MPI_Init, "-p PIDFILE" (each rank writes its process number to PIDFILE.<rank>), then n numbers or none. 0, or -1. */
static inline int example_begin(int *argc, char ***argv, long *numbers, int n)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &example_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &example_ranks);
    int at = 1;
    if (*argc > 2 && !strcmp((*argv)[1], "-p")) {
        char name[4096];
        snprintf(name, sizeof name, "%s.%d", (*argv)[2], example_rank);
        FILE *f = fopen(name, "w");
        if (f) {
            fprintf(f, "%ld\n", (long)getpid());
            fclose(f);
        }
        at = 3;
    }
    for (int i = 0; *argc == at + n && i < n; i++)
        numbers[i] = strtol((*argv)[at + i], NULL, 10);
    return *argc == at || *argc == at + n ? 0 : -1;
}

static inline int example_usage(const char *text)
{
    if (example_rank == 0)
        fprintf(stderr, "usage: %s\n", text);
    MPI_Finalize();
    return 2;
}

/* MPICH's launcher may drop what was printed just before an abort: it gets a moment to read it. */
static inline void example_fail(const char *program, const char *text)
{
    fprintf(stderr, "%s: %s\n", program, text);
    usleep(300000);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Send the lowest and highest plane, receive the neighbours'; at the ends of the domain from_below, from_above stay. */
static inline void example_exchange(const double *lowest, const double *highest, double *from_below,
                                    double *from_above, size_t plane)
{
    int up = example_rank + 1 < example_ranks ? example_rank + 1 : MPI_PROC_NULL;
    int down = example_rank ? example_rank - 1 : MPI_PROC_NULL;
    MPI_Sendrecv(highest, (int)plane, MPI_DOUBLE, up, 0, from_below, (int)plane, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(lowest, (int)plane, MPI_DOUBLE, down, 1, from_above, (int)plane, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Hash of bits and places: equal for equal values at equal global places, however they are distributed. */
static inline uint64_t example_mix(const double *v, size_t n, uint64_t first)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t x;
        memcpy(&x, &v[i], sizeof x);
        x ^= (first + i) * 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
        sum ^= x ^ x >> 29;
    }
    return sum;
}

static inline uint64_t example_xor(uint64_t mine)
{
    uint64_t all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    return all;
}

static inline uint64_t example_checksum(const double *v, size_t n, uint64_t first)
{
    return example_xor(example_mix(v, n, first));
}

#endif
