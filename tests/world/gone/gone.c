/* A program whose ranks send much to one of them, which stops in the middle and receives nothing more: the others' connections to it are full then, until it is
 * dead and made again.
 * usage: gone [-p PIDFILE] NOTES STEPS        with 4 ranks
 * In the middle rank 1 writes NOTES.stopped and waits for its end, unless that file is there; the others write NOTES.within.RANK when they have begun to send what
 * belongs to that step. At the end each rank leaves in NOTES.RANK how many steps its process has computed. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS = 4, VICTIM = 1, MESSAGES = 640, DOUBLES = 4096 };

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

static void note(const char *what, long number)
{
    char name[4096];
    snprintf(name, sizeof name, "%s%s", notes, what);
    leave(name, number);
}

static void stop_once(void)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.stopped", notes);
    if (!access(name, F_OK))
        return;
    note(".stopped", 1);
    for (;;)
        pause();
}

/* Messages of 32 KiB, which MPI sends at once: 20 MiB, more than the kernel keeps for a connection. */
static void give(double *all, long it)
{
    static MPI_Request r[MESSAGES];
    static MPI_Status ended[MESSAGES];
    char name[32];
    for (int m = 0; m < MESSAGES; m++) {
        for (int i = 0; i < DOUBLES; i++)
            all[m * DOUBLES + i] = (double)(it + rank + m);
        MPI_Isend(all + m * DOUBLES, DOUBLES, MPI_DOUBLE, VICTIM, 7, MPI_COMM_WORLD, &r[m]);
    }
    if (it == steps / 2) {
        snprintf(name, sizeof name, ".within.%d", rank);
        note(name, it);
    }
    MPI_Waitall(MESSAGES, r, ended);
}

/* The sum of what all give; *wrong: something else has come. */
static double take(double *all, long it, int *wrong)
{
    double sum = 0;
    if (it == steps / 2)
        stop_once();
    for (int m = 0; m < MESSAGES; m++)
        for (int from = 0; from < RANKS; from++) {
            if (from == VICTIM)
                continue;
            MPI_Recv(all, DOUBLES, MPI_DOUBLE, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < DOUBLES; i++)
                *wrong |= all[i] != (double)(it + from + m);
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
        double of_these = 0;
        it++;
        executed++;
        if (rank == VICTIM)
            of_these = take(all, it, &wrong);
        else
            give(all, it);
        MPI_Bcast(&of_these, 1, MPI_DOUBLE, VICTIM, MPI_COMM_WORLD);
        sum = 0.5 * sum + of_these;
        saikai_checkpoint(it);
    }
    saikai_finalize();
    MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("gone: %ld steps, %a: %s\n", steps, sum, any ? "WRONG" : "verified");
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
    double *all = malloc((size_t)MESSAGES * DOUBLES * sizeof *all);
    if (!all)
        return 3;
    saikai_in_place(body, all);
    free(all);
    snprintf(name, sizeof name, ".%d", rank);
    note(name, executed);
    MPI_Finalize();
    return 0;
}
