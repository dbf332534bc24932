/* A program whose node-local files are damaged, and that is told to end: few of its values change in an iteration, and after a
 * restart it compares all of them with what they must be.
 *
 * usage: subject ITERATIONS MILLISECONDS_EACH; SUBJECT_STALL: seconds that it waits after a restart, before its first
 * candidate. Rank 0 prints "fresh" or "resumed K", then each 10th iteration, and "done" at the end. */
#include <saikai/saikai.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CELLS = 60000 };
static double u[CELLS], expected[CELLS];

static void pause_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&t, &t))
        ;
}

static void step(double *v, int rank, long it)
{
    for (int i = 0; i < 5; i++)
        v[(it * 7919 + i * 31 + rank) % CELLS] += (double)(it + i);
}

int main(int argc, char **argv)
{
    int rank, sum, one = 1;
    long from = 0;
    const char *stall = getenv("SUBJECT_STALL");
    if (argc != 3)
        return 2;
    long until = atol(argv[1]);
    double each = atof(argv[2]) / 1000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (saikai_init(MPI_COMM_WORLD, NULL))
        MPI_Abort(MPI_COMM_WORLD, 4);
    for (int i = 0; i < CELLS; i++)
        u[i] = expected[i] = rank + i * 0.5;
    if (saikai_protect("u", u, SAIKAI_F64, 1, (size_t[]){CELLS}))
        MPI_Abort(MPI_COMM_WORLD, 4);
    int rc = saikai_restart(&from);
    if (rc < 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
    for (long it = 1; it <= from; it++)
        step(expected, rank, it);
    for (int i = 0; i < CELLS; i++)
        if (u[i] != expected[i]) /* the same operations in the same order */
            MPI_Abort(MPI_COMM_WORLD, 5);
    if (!rank && rc > 0)
        printf("resumed %ld\n", from);
    else if (!rank)
        puts("fresh");
    fflush(stdout);
    if (rc > 0 && stall)
        pause_for(atof(stall));
    for (long it = from + 1; it <= until; it++) {
        step(u, rank, it);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        pause_for(each);
        saikai_checkpoint(it);
        if (!rank && it % 10 == 0) {
            printf("%ld\n", it);
            fflush(stdout);
        }
    }
    if (!rank)
        puts("done");
    saikai_finalize();
    MPI_Finalize();
    return 0;
}
