/* The program of raw_repair.c as one of `saikai run`, repaired by the layer: repair.py puts the two beside each other. When all ranks have met in
 * the world after a repair, rank 0 prints "repaired SECONDS" (CLOCK_MONOTONIC), and when all have the newest generation "back SECONDS"; a hundred
 * steps later it ends.
 * usage: repaired DIR      ranks write their process numbers to DIR/pid.RANK */
#include <mpi.h>
#include <saikai/saikai.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WORK = 20000, STATE = 1 << 17, LAST = 100000000, MORE = 100 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void tell_number(const char *dir, int rank)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/pid.%d", dir, rank);
    FILE *f = fopen(path, "w");
    if (!f || fprintf(f, "%ld\n", (long)getpid()) < 0 || fclose(f))
        MPI_Abort(MPI_COMM_WORLD, 2);
}

/* When all have come here, rank 0 says so, if one of them has been here before: the process in the dead one's place has not. */
static int meet(const char *what, int before, int rank)
{
    double mine[2] = {before, 0}, all[2];
    MPI_Barrier(MPI_COMM_WORLD);
    mine[1] = now();
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (all[0] > 0 && !rank) {
        printf("%s %.6f\n", what, all[1]);
        fflush(stdout);
    }
    return all[0] > 0;
}

static void step(int rank, int n, double *in, double *out)
{
    for (int i = 0; i < WORK; i++)
        *out = 0.5 * (*out + *in) + 1e-9 * i;
    MPI_Sendrecv(out, 1, MPI_DOUBLE, (rank + 1) % n, 0, in, 1, MPI_DOUBLE, (rank + n - 1) % n, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void body(void *arg)
{
    static double state[STATE];
    static int runs;
    size_t cells = STATE;
    long at = 0, last = LAST;
    int rank, n;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int repaired = meet("repaired", runs++, rank);
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("state", state, SAIKAI_F64, 1, &cells) < 0 || saikai_restart(&at) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (repaired) {
        meet("back", 1, rank);
        last = at + MORE;
    }
    tell_number(arg, rank);
    while (at < last) {
        step(rank, n, &state[0], &state[1]);
        saikai_checkpoint(++at);
    }
    saikai_finalize();
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: saikai run --recovery process=in-place -n N -- repaired DIR\n", stderr);
        return 2;
    }
    MPI_Init(&argc, &argv);
    saikai_in_place(body, argv[1]);
    MPI_Finalize();
    return 0;
}
