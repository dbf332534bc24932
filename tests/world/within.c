/* A program that makes a communicator in each step and sums up on it, and one rank of which stops before it does so: the others are within the call
 * then, until that rank is dead and made again.
 * usage: within [-p PIDFILE] NOTES dup|split|create|setup|init|inside STEPS        with 4 ranks
 * setup, init: by MPI_Comm_dup in each step, but the rank stops before the first one of all, or before saikai_init; inside: within that, in MPI's own MPI_Comm_dup.
 * In the middle rank 2 writes NOTES.stopped and waits for its end, unless that file is there; the others write NOTES.within.RANK right before the call of
 * that step. At the end each rank leaves in NOTES.RANK how many steps its process has computed. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, VICTIM = 2 };

static int rank;
static long executed, steps;
static const char *notes, *how;

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
    if (rank != VICTIM) {
        snprintf(name, sizeof name, ".within.%d", rank);
        note(name, 1);
    } else if (access(name, F_OK)) {
        note(".stopped", 1);
        for (;;)
            pause();
    }
}

/* Of all ranks, in another order or not; or of those of one parity. */
static MPI_Comm made(long it)
{
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Group all;
    if (strcmp(how, "split") && strcmp(how, "create")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &c);
    } else if (!strcmp(how, "split")) {
        MPI_Comm_split(MPI_COMM_WORLD, (int)((rank + it) % 2), -rank, &c);
    } else {
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Comm_create(MPI_COMM_WORLD, all, &c);
        MPI_Group_free(&all);
    }
    return c;
}

/* MPI asks for attributes while it makes a duplicate, and others wait for it. */
static int stop_while_copied(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag)
{
    (void)old, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    stop_once();
    return MPI_SUCCESS;
}

static void stop_inside(void)
{
    int key;
    if (rank != VICTIM) {
        stop_once();
        return;
    }
    MPI_Comm_create_keyval(stop_while_copied, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL);
}

static void body(void *arg)
{
    static double sum;
    long it = 0;
    int n = 0, wrong = 0, any = 0;
    double all = 0;
    (void)arg;
    sum = 0;
    if (!strcmp(how, "setup")) {
        stop_once();
        MPI_Comm c = made(0);
        MPI_Comm_free(&c);
    }
    if (!strcmp(how, "init"))
        stop_once();
    if (!strcmp(how, "inside"))
        stop_inside();
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("sum", &sum, SAIKAI_F64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        double mine = 1.0 / (double)(++it + rank), of_these = 0;
        executed++;
        if (it == steps / 2 && strcmp(how, "setup") && strcmp(how, "init") && strcmp(how, "inside"))
            stop_once();
        MPI_Comm c = made(it);
        MPI_Comm_size(c, &n);
        wrong |= n != (strcmp(how, "split") ? RANKS : RANKS / 2);
        MPI_Allreduce(&mine, &of_these, 1, MPI_DOUBLE, MPI_SUM, c);
        MPI_Comm_free(&c);
        sum = 0.5 * sum + of_these;
        saikai_checkpoint(it);
    }
    saikai_finalize();
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("within %s: %ld steps, %a: %s\n", how, steps, all, any ? "WRONG" : "verified");
}

int main(int argc, char **argv)
{
    int ranks;
    char name[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        snprintf(name, sizeof name, "%s.%d", argv[2], rank);
        leave(name, (long)getpid());
        argv += 2;
        argc -= 2;
    }
    if (argc != 4 || ranks != RANKS)
        return 2;
    notes = argv[1];
    how = argv[2];
    steps = strtol(argv[3], NULL, 10);
    saikai_in_place(body, NULL);
    snprintf(name, sizeof name, ".%d", rank);
    note(name, executed);
    MPI_Finalize();
    return 0;
}
