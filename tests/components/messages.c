/* A ring in which everybody sends in each way that MPI has for one message, and all is received before the ranks save themselves; or, with `cross`, one is
 * received behind that only.
 * usage: messages plain|cross STEPS */
#include <mpi.h>
#include <saikai/saikai.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 50 };
static int rank, size, next, before;
static double there[N][2], here[N][2];

static void one_after_the_other(int64_t it, MPI_Comm half)
{
    int me, of, a = (int)it, b = -1;
    MPI_Sendrecv(&a, 1, MPI_INT, next, 1, &b, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(&a, 1, MPI_INT, next, 2, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_rank(half, &me);
    MPI_Comm_size(half, &of);
    if (of > 1 && me < 2) { /* another rank there than in the world */
        if (!me)
            MPI_Ssend(&a, 1, MPI_INT, 1, 3, half);
        else
            MPI_Recv(&b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, half, MPI_STATUS_IGNORE);
    }
    MPI_Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
}

/* A column of a matrix, as one datatype that is free before the receive has ended. */
static void at_once(int way)
{
    MPI_Datatype column;
    MPI_Request r[4];
    int done = 0, n = 4, index[4], flag = 0;
    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(&here[0][0], 1, column, before, 5, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&here[0][1], 1, column, before, 6, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(&there[0][0], 1, column, next, 5, MPI_COMM_WORLD, &r[2]);
    MPI_Issend(&there[0][1], 1, column, next, 6, MPI_COMM_WORLD, &r[3]);
    MPI_Type_free(&column);
    for (; done < 4; done += n) {
        if (way == 0 && !done)
            MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        else if (way == 1)
            MPI_Waitany(4, r, &index[0], MPI_STATUS_IGNORE), n = 1;
        else if (way == 2)
            MPI_Waitsome(4, r, &n, index, MPI_STATUSES_IGNORE);
        else if (way == 3)
            MPI_Testsome(4, r, &n, index, MPI_STATUSES_IGNORE);
        else if (way == 4)
            MPI_Testany(4, r, &index[0], &flag, MPI_STATUS_IGNORE), n = flag;
        else if (way == 5)
            MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE), n = flag ? 4 : 0;
        else
            MPI_Wait(&r[done], MPI_STATUS_IGNORE), n = 1;
    }
}

static void lasting(MPI_Request r[2])
{
    int flag = 0;
    MPI_Startall(2, r);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int64_t it = 0, steps = argc > 2 ? atoll(argv[2]) : 20;
    int cross = argc > 1 && !strcmp(argv[1], "cross"), extra = 0;
    MPI_Comm half;
    MPI_Request r[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Send_init(there, 2 * N, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(here, 2 * N, MPI_DOUBLE, before, 7, MPI_COMM_WORLD, &r[1]);
    saikai_init(MPI_COMM_WORLD, NULL);
    saikai_protect("there", there, SAIKAI_F64, 1, (size_t[]){2 * N});
    saikai_restart(&it);
    while (it < steps) {
        for (int i = 0; i < N; i++)
            there[i][0] = (double)(it + rank), there[i][1] = here[i][0] + 1;
        one_after_the_other(it, half);
        at_once((int)(it % 7));
        lasting(r);
        MPI_Request crossing;
        int number = (int)it;
        MPI_Isend(&number, 1, MPI_INT, next, 8, MPI_COMM_WORLD, &crossing);
        if (!cross)
            MPI_Recv(&extra, 1, MPI_INT, before, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        saikai_checkpoint(++it);
        if (cross)
            MPI_Recv(&extra, 1, MPI_INT, before, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&crossing, MPI_STATUS_IGNORE);
    }
    saikai_finalize();
    if (!rank)
        printf("%d ranks, %lld steps: done\n", size, (long long)it);
    MPI_Finalize();
    return 0;
}
