/* A rank has begun to receive any message, of any tag, and computes, so that it does not hear of the death of another, after which a third begins to make the world again. What
 * MPI sends for that is not to be taken for a message of the program's: MPI would wait for it for ever.
 * usage: unheard       with 3 ranks, in a directory of its own; the first computes until there is a file `go` */
#include <mpi.h>
#include <saikai/saikai.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { LIMIT_S = 200, TURN_US = 10000, LATER_S = 2 };

static void touch(const char *name)
{
    FILE *f = fopen(name, "w");
    if (f)
        fclose(f);
}

static void wait_for(const char *name)
{
    for (long turn = 0; access(name, F_OK) && turn < LIMIT_S * 1000000L / TURN_US; turn++)
        usleep(TURN_US);
}

static void receive_any(int is_repaired)
{
    int got = 0;
    MPI_Status s;
    MPI_Request r;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r);
    touch("begun");
    wait_for("go");
    MPI_Wait(&r, &s);
    if (got != 17 || s.MPI_SOURCE != 1 || s.MPI_TAG != 5)
        printf("WRONG message: %d from %d with tag %d\n", got, s.MPI_SOURCE, s.MPI_TAG);
    else
        puts(is_repaired ? "taken after a repair" : "taken");
}

static void die_or_send(int is_repaired)
{
    int said = 17;
    wait_for("begun");
    if (!is_repaired) {
        sleep(LATER_S); /* the launcher has heard that all are where they can be repaired */
        touch("died");
        raise(SIGKILL);
    }
    MPI_Send(&said, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
}

static void body(void *arg)
{
    static double kept;
    int *rank = arg, is_repaired;
    long it = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("kept", &kept, SAIKAI_F64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    is_repaired = !access("died", F_OK);
    if (*rank == 0)
        receive_any(is_repaired);
    else if (*rank == 1)
        die_or_send(is_repaired);
    MPI_Barrier(MPI_COMM_WORLD);
    saikai_finalize();
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    saikai_in_place(body, &rank);
    MPI_Finalize();
    return 0;
}
