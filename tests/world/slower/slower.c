/* A program whose steps take ten times as long while there is a file PIDFILE.slow: the test makes it after a repair in place, as if the new process were
 * reached by a slower way.
 * usage: slower [-p PIDFILE] STEPS MILLISECONDS        that a step takes; with 4 ranks
 * Rank 0 leaves in PIDFILE.step how far it is, and each rank its process id in PIDFILE.RANK. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank;
static long steps, step_ms;
static const char *notes = "pid";

static void leave(const char *what, long number)
{
    char name[4096], part[4100];
    snprintf(name, sizeof name, "%s.%s", notes, what);
    snprintf(part, sizeof part, "%s~", name);
    FILE *f = fopen(part, "w");
    if (!f)
        return;
    fprintf(f, "%ld\n", number);
    if (!fclose(f))
        rename(part, name);
}

static void wait_a_step(void)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.slow", notes);
    nanosleep(&(struct timespec){.tv_nsec = step_ms * (access(name, F_OK) ? 1 : 10) * 1000000L}, NULL);
}

static void body(void *arg)
{
    static double sum;
    long it = 0;
    double all = 0;
    (void)arg;
    sum = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("sum", &sum, SAIKAI_F64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        double mine = 1.0 / (double)(++it + rank);
        wait_a_step();
        MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum = 0.5 * sum + mine;
        if (!rank && it % 10 == 0)
            leave("step", it);
        saikai_checkpoint(it);
    }
    saikai_finalize();
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("slower: %ld steps, %a: verified\n", steps, all);
}

int main(int argc, char **argv)
{
    char name[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        notes = argv[2];
        argv += 2;
        argc -= 2;
    }
    if (argc != 3)
        return 2;
    steps = atol(argv[1]);
    step_ms = atol(argv[2]);
    snprintf(name, sizeof name, "%d", rank);
    leave(name, (long)getpid());
    saikai_in_place(body, NULL);
    MPI_Finalize();
    return 0;
}
