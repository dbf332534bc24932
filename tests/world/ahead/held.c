/* A program in which two ranks give messages by blocking sends to two others, who receive them later: in the middle not before they are let, so that all of that
 * step's messages are late when a rank is killed then.
 * usage: held [-p PIDFILE] NOTES STEPS        with 4 ranks
 * In the middle a rank that has sent writes NOTES.late.RANK; all wait for NOTES.go then. At the end each rank leaves in NOTES.RANK how many steps its process has computed. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS = 4, MESSAGES = 6, DOUBLES = 16384 };

static int rank;
static long executed, steps;
static const char *notes;

static void leave(const char *name, long number)
{
    FILE *f = fopen(name, "w");
    if (!f)
        return;
    fprintf(f, "%ld\n", number);
    fclose(f);
}

static void wait_to_go(void)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.go", notes);
    while (access(name, F_OK))
        usleep(1000);
}

static double value(int from, int to, int message, long it)
{
    return (double)(it * 1000 + from * 100 + to * 10 + message);
}

/* The memory of a message is written again as soon as its send has come back. */
static void give(double *all, long it)
{
    char name[4096];
    for (int m = 0; m < MESSAGES; m++)
        for (int to = 1; to < RANKS; to += 2) {
            for (int i = 0; i < DOUBLES; i++)
                all[i] = value(rank, to, m, it);
            MPI_Send(all, DOUBLES, MPI_DOUBLE, to, m, MPI_COMM_WORLD);
        }
    if (it != steps / 2)
        return;
    snprintf(name, sizeof name, "%s.late.%d", notes, rank);
    leave(name, it);
    wait_to_go();
}

/* The sum of what this rank is given; *wrong: something else has come. */
static double take(double *all, long it, int *wrong)
{
    double sum = 0;
    if (it == steps / 2)
        wait_to_go();
    for (int m = 0; m < MESSAGES; m++)
        for (int from = 0; from < RANKS; from += 2) {
            MPI_Recv(all, DOUBLES, MPI_DOUBLE, from, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < DOUBLES; i++)
                *wrong |= all[i] != value(from, rank, m, it);
            sum += all[0];
        }
    return sum;
}

static void body(void *arg)
{
    static double sum;
    double *all = arg;
    long it = 0;
    int wrong = 0, any = 0;
    sum = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("sum", &sum, SAIKAI_F64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        double taken = 0, of_all = 0;
        it++;
        executed++;
        if (rank % 2)
            taken = take(all, it, &wrong);
        else
            give(all, it);
        MPI_Allreduce(&taken, &of_all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum = 0.5 * sum + of_all;
        saikai_checkpoint(it);
    }
    saikai_finalize();
    MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("late: %ld steps, %a: %s\n", steps, sum, any ? "WRONG" : "verified");
}

int main(int argc, char **argv)
{
    int ranks;
    char name[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && argv[1][0] == '-') {
        snprintf(name, sizeof name, "%s.%d", argv[2], rank);
        leave(name, (long)getpid());
        argv += 2;
        argc -= 2;
    }
    if (argc != 3 || ranks != RANKS)
        return 2;
    notes = argv[1];
    steps = strtol(argv[2], NULL, 10);
    double *all = malloc(DOUBLES * sizeof *all);
    if (!all)
        return 3;
    saikai_in_place(body, all);
    free(all);
    snprintf(name, sizeof name, "%s.%d", notes, rank);
    leave(name, executed);
    MPI_Finalize();
    return 0;
}
