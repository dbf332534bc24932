/* A program that waits by looking: each step is a ring of messages, and each rank asks MPI_Test again and again until its own has come.
 * usage: polls [-p PREFIX] STEPS [MICROSECONDS]      that a step takes at least
 * PREFIX.RANK.PID says how far a process is. REPLICATED_UNTIL: the last step waits until there is a file of this name. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../neighbours/until.h"

static int rank;
static const char *prefix;

static void note(long step)
{
    char name[4096];
    if (!prefix)
        return;
    snprintf(name, sizeof name, "%s.%d.%ld", prefix, rank, (long)getpid());
    FILE *f = fopen(name, "w");
    if (!f)
        return;
    fprintf(f, "%ld 0\n", step);
    fclose(f);
}

static uint64_t turn(uint64_t state, int ranks)
{
    uint64_t got = 0;
    MPI_Request r[2];
    MPI_Irecv(&got, 1, MPI_UINT64_T, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(&state, 1, MPI_UINT64_T, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &r[1]);
    for (int i = 0; i < 2; i++)
        for (int there = 0; !there;)
            MPI_Test(&r[i], &there, MPI_STATUS_IGNORE);
    return (state ^ got) * 0xbf58476d1ce4e5b9u + 1;
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        prefix = argv[2];
        argv += 2;
        argc -= 2;
    }
    long steps = argc > 1 ? atol(argv[1]) : 100, pause_us = argc > 2 ? atol(argv[2]) : 0;
    uint64_t state = (uint64_t)rank + 1, all = 0;
    for (long step = 0; step < steps; step++) {
        if (step == steps - 1)
            wait_for_the_end();
        state = turn(state, ranks);
        if (step % 20 == 0)
            note(step);
        if (pause_us)
            usleep((useconds_t)pause_us);
    }
    note(steps);
    MPI_Reduce(&state, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("%ld steps, %016llx: verified\n", steps, (unsigned long long)all);
    MPI_Finalize();
    return 0;
}
