/* Counts the calls of MPI of a program before which it is loaded (LD_PRELOAD), by MPI's profiling interface. When MPI ends, each rank prints to standard error
 * "count: KIND N KIND N …" with the kinds of calls.c; a message is counted where it is sent. calls.py starts it. */
#include <mpi.h>
#include <stdio.h>

static long messages, sendrecvs, allreduces, reduces, allgathers, alltoalls, alltoallvs;

#define COUNTED(name, counter, parameters, arguments) \
    int MPI_##name parameters                         \
    {                                                 \
        counter++;                                    \
        return PMPI_##name arguments;                 \
    }

COUNTED(Send, messages, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))
COUNTED(Isend, messages, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r), (b, n, t, to, tag, c, r))
COUNTED(Sendrecv, sendrecvs,
        (const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt, int from, int rtag, MPI_Comm c, MPI_Status *s),
        (b, n, t, to, tag, rb, rn, rt, from, rtag, c, s))
COUNTED(Allreduce, allreduces, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (b, rb, n, t, op, c))
COUNTED(Reduce, reduces, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c), (b, rb, n, t, op, root, c))
COUNTED(Allgather, allgathers, (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c), (b, n, t, rb, rn, rt, c))
COUNTED(Alltoall, alltoalls, (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c), (b, n, t, rb, rn, rt, c))
COUNTED(Alltoallv, alltoallvs,
        (const void *b, const int *n, const int *at, MPI_Datatype t, void *rb, const int *rn, const int *rat, MPI_Datatype rt, MPI_Comm c),
        (b, n, at, t, rb, rn, rat, rt, c))

int MPI_Finalize(void)
{
    fprintf(stderr, "count: message %ld sendrecv %ld allreduce %ld reduce %ld allgather %ld alltoall %ld alltoallv %ld\n", messages, sendrecvs, allreduces, reduces, allgathers,
            alltoalls, alltoallvs);
    return PMPI_Finalize();
}
