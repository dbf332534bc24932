/* A program of which each line that it prints counts: rank 1 says each of its steps, and its answer at the end. What is printed is the same in each run;
 * others print nothing, since the MPI's launcher may put their words between parts of a line.
 * usage: prints [-p PREFIX] STEPS lines|buffered [MICROSECONDS]   lines: each leaves at once; buffered: when there are many of them, and in the midst of one
 * REPLICATED_UNTIL: the last step waits until there is a file of this name, so that the program does not end before all is done to it. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../neighbours/until.h"

static void note(const char *prefix, int rank, long step)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%d.%ld", prefix, rank, (long)getpid());
    FILE *f = fopen(name, "w");
    if (f) {
        fprintf(f, "%ld 0\n", step);
        fclose(f);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, at = 1;
    const char *prefix = NULL;
    static char buffer[500];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        prefix = argv[2];
        at = 3;
    }
    if (argc < at + 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    long steps = atol(argv[at]), pause_us = argc > at + 2 ? atol(argv[at + 2]) : 0;
    setvbuf(stdout, buffer, strcmp(argv[at + 1], "lines") ? _IOFBF : _IOLBF, sizeof buffer);
    uint64_t state = (uint64_t)rank + 1;
    for (long step = 0; step < steps; step++) {
        uint64_t got = 0;
        if (step == steps - 1)
            wait_for_the_end();
        MPI_Sendrecv(&state, 1, MPI_UINT64_T, (rank + 1) % ranks, 1, &got, 1, MPI_UINT64_T, (rank - 1 + ranks) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        state = state * 6364136223846793005u ^ (got >> 3) ^ (uint64_t)step;
        if (pause_us)
            usleep((useconds_t)pause_us);
        if (rank == 1)
            printf("step %ld state %016llx\n", step, (unsigned long long)state);
        if (prefix)
            note(prefix, rank, step);
    }
    if (rank == 1)
        printf("verified %016llx\n", (unsigned long long)state);
    MPI_Finalize();
    return 0;
}
