/* A program for the protocol replication: messages that are received into data with gaps, whole ones and such as end in the middle of an element, by calls that block and
 * others. What each step gives depends on all of them. In one step rank 0 goes on after a send and calls nothing of MPI's until a process of rank 1 has received
 * that: a message must come to a receiver without its sender, or hold its sender up.
 * usage: gaps [-p PREFIX] STEPS [MICROSECONDS]      PREFIX.went: a file that is made for that
 * REPLICATED_UNTIL: the last step waits until there is a file of this name. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "until.h"

enum { MOST = 1 << 16, WAITS = 30000, ALONE = 3 }; /* the step in which rank 0 waits for a file, and for how many ms */
static int rank, ranks;
static unsigned char sent[MOST], got[3 * MOST];

static uint64_t mix(uint64_t a, uint64_t b)
{
    a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
    return a * 0xbf58476d1ce4e5b9u;
}

/* Bytes 0 to 4 of 8, and 16 of 24. */
static MPI_Datatype with_gaps(int blocks)
{
    MPI_Datatype element, all;
    MPI_Type_create_indexed_block(2, 5, (int[]){0, 16}, MPI_BYTE, &element);
    MPI_Type_create_resized(element, 0, 24, &all);
    MPI_Type_free(&element);
    MPI_Type_contiguous(blocks, all, &element);
    MPI_Type_free(&all);
    MPI_Type_commit(&element);
    return element;
}

/* What MPI itself would have made of it: 10 bytes of each 24. */
static uint64_t check(int bytes, MPI_Status *s, uint64_t state)
{
    int n = -1;
    MPI_Get_count(s, MPI_BYTE, &n);
    for (int i = 0; i < 3 * MOST; i++) {
        int in = i % 24, at = i / 24 * 10 + (in < 5 ? in : in - 11);
        int is_there = (in < 5 || (in >= 16 && in < 21)) && at < bytes;
        if (got[i] != (is_there ? sent[at] : 0xee))
            MPI_Abort(MPI_COMM_WORLD, 3);
        state = is_there ? mix(state, got[i]) : state;
    }
    memset(got, 0xee, sizeof got);
    return mix(state, (uint64_t)n);
}

static int wait_for_file(const char *name, int longest)
{
    for (int ms = 0; name && access(name, F_OK); ms++, usleep(1000))
        if (ms == longest)
            return -1;
    return 0;
}

static uint64_t step(uint64_t state, long i, const char *went)
{
    const int bytes = 16000 + (int)(i % 9), blocks = 1650 + (int)(i % 3);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    MPI_Datatype type = with_gaps(blocks);
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s = {0};
    for (int b = 0; b < MOST; b++)
        sent[b] = (unsigned char)(i + b % 251);
    if (i % 2) {
        MPI_Irecv(got, 1, type, left, 1, MPI_COMM_WORLD, &r);
        MPI_Send(sent, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD);
    } else {
        MPI_Sendrecv(sent, bytes, MPI_BYTE, right, 1, got, 1, type, left, 1, MPI_COMM_WORLD, &s);
    }
    if (r != MPI_REQUEST_NULL)
        MPI_Wait(&r, &s);
    state = check(bytes, &s, state);
    if (i == ALONE && !rank) {
        MPI_Send(sent, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
        if (wait_for_file(went, WAITS))
            MPI_Abort(MPI_COMM_WORLD, 4);
    } else if (i == ALONE && rank == 1) {
        MPI_Recv(got, 1, type, 0, 2, MPI_COMM_WORLD, &s);
        state = check(bytes, &s, state);
        FILE *f = went ? fopen(went, "w") : NULL;
        if (f)
            fclose(f);
    }
    MPI_Type_free(&type);
    return state;
}

int main(int argc, char **argv)
{
    char went[4096] = "";
    uint64_t state, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        snprintf(went, sizeof went, "%s.went", argv[2]);
        argc -= 2;
        argv += 2;
    }
    long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 0, pause = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    state = (uint64_t)rank;
    memset(got, 0xee, sizeof got);
    for (long i = 0; i < steps; i++) {
        state = step(state, i, *went ? went : NULL);
        if (i == steps - 1)
            wait_for_the_end();
        if (pause)
            usleep((useconds_t)pause);
    }
    MPI_Reduce(&state, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("%ld steps, %016llx: verified\n", steps, (unsigned long long)all);
    MPI_Finalize();
    return 0;
}
