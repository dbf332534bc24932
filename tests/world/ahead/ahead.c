/* A blocking send under `logging`: whether the program goes on before it is received, and whether it is received while the sender computes.
 * usage: ahead trial|ahead|gaps        with 2 ranks, in a directory of its own
 * trial: whether MPI alone brings a message while its sender calls nothing. ahead: whether MPI_Send comes back before its message is received. gaps: whether what goes into gaps
 * comes while the sender, behind MPI_Send, calls nothing. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = 40000, LIMIT_S = 15, TURN_US = 1000 };
static int rank;
static double data[2 * N];

static void say(const char *file)
{
    FILE *f = fopen(file, "w");
    if (f)
        fclose(f);
}

/* 1: the other rank has said it. */
static int await(const char *file)
{
    for (int turn = 0; turn < LIMIT_S * 1000000 / TURN_US; turn++) {
        if (!access(file, F_OK))
            return 1;
        usleep(TURN_US);
    }
    return 0;
}

static void trial(void)
{
    MPI_Request r;
    if (rank) {
        MPI_Recv(data, N, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        say("received");
        return;
    }
    MPI_Isend(data, N, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &r);
    int moves = await("received");
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    puts(moves ? "yes" : "no");
}

static void ahead(void)
{
    if (!rank) {
        data[N - 1] = 7;
        MPI_Send(data, N, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
        data[N - 1] = 8; /* it is the program's again */
        say("sent");
        return;
    }
    int before = await("sent");
    MPI_Recv(data, N, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    puts(data[N - 1] != 7 ? "WRONG" : before ? "yes" : "no");
}

/* The first tells the other rank that there are gaps. */
static void gaps(void)
{
    MPI_Datatype type;
    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2; i++) {
        if (rank) {
            MPI_Recv(data, 1, type, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
            if (i)
                say("laid out");
            continue;
        }
        MPI_Send(data, N, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
        if (i)
            puts(await("laid out") ? "yes" : "no");
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&type);
}

static void run(void *arg)
{
    const char *what = arg;
    (strcmp(what, "trial") ? strcmp(what, "ahead") ? gaps : ahead : trial)();
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1)
        saikai_in_place(run, argv[1]);
    MPI_Finalize();
    return argc < 2;
}
