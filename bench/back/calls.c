/* Processor time of one call of MPI, for what the layer between program and MPI adds to each: one process that speaks to itself, so that nobody is waited for.
 * Prints a line "KIND NANOSECONDS" for each kind: the least of many turns of BATCH calls, as what else a machine does only adds. With "large", messages of
 * LARGE bytes as well. calls.py starts it.
 * usage: calls TURNS */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 2000 };

static double from[4], to[4];
static int one = 1, none;

static void message(void)
{
    MPI_Request r;
    MPI_Irecv(to, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, &r);
    MPI_Send(from, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void sendrecv(void)
{
    MPI_Sendrecv(from, 1, MPI_DOUBLE, 0, 3, to, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void allreduce(void)
{
    MPI_Allreduce(from, to, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce(void)
{
    MPI_Reduce(from, to, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allgather(void)
{
    MPI_Allgather(from, 1, MPI_DOUBLE, to, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void alltoall(void)
{
    MPI_Alltoall(from, 1, MPI_DOUBLE, to, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void alltoallv(void)
{
    MPI_Alltoallv(from, &one, &none, MPI_DOUBLE, to, &one, &none, MPI_DOUBLE, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*call)(void);
} kinds[] = {{"message", message}, {"sendrecv", sendrecv}, {"allreduce", allreduce}, {"reduce", reduce}, {"allgather", allgather}, {"alltoall", alltoall}, {"alltoallv", alltoallv}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static double used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double batch(void (*call)(void))
{
    double begun = used();
    for (int i = 0; i < BATCH; i++)
        call();
    return (used() - begun) / BATCH;
}

static long turns;

static void body(void *arg)
{
    double *least = arg;
    for (long t = 0; t < turns; t++)
        for (int k = 0; k < KINDS; k++) {
            double s = batch(kinds[k].call);
            least[k] = !t || s < least[k] ? s : least[k];
        }
}

int main(int argc, char **argv)
{
    double least[KINDS] = {0};
    turns = argc > 1 ? atol(argv[1]) : 0;
    if (turns < 1) {
        fputs("usage: calls TURNS\n", stderr);
        return 2;
    }
    MPI_Init(&argc, &argv);
    saikai_in_place(body, least);
    for (int k = 0; k < KINDS; k++)
        printf("%s %.2f\n", kinds[k].name, least[k] * 1e9);
    MPI_Finalize();
    return 0;
}
