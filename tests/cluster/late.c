/* Rank 2 sends large messages to rank 0, which looks at each, then uses the memory that it came into for something of its own, while it communicates with
 * rank 1, and looks whether that is as it left it: of what rank 2 had sent when it died nothing may come there later.
 * usage: late -p FILE STEPS        with 4 ranks. At least so many, and more until there is the file LATE_UNTIL; FILE.step tells how many there were. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 1 << 21, TURNS = 20, SENDER = 2 };

static int rank;
static long wrong;
static uint64_t *memory;
static const char *prefix, *until;

static uint64_t word(long it, long i)
{
    return (uint64_t)it * 0x9e3779b97f4a7c15u + (uint64_t)i;
}

static void must_be(long it, uint64_t own, const char *what)
{
    long bad = 0;
    for (long i = 0; i < WORDS; i++)
        bad += memory[i] != (own ? own : word(it, i));
    if (bad && !wrong++)
        printf("rank %d: step %ld: %ld words of %s are not what they should be\n", rank, it, bad, what);
}

static void step(long it)
{
    if (rank == SENDER) {
        for (long i = 0; i < WORDS; i++)
            memory[i] = word(it, i);
        MPI_Send(memory, WORDS, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD);
    } else if (!rank) {
        MPI_Recv(memory, WORDS, MPI_UINT64_T, SENDER, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        must_be(it, 0, "a message");
        for (long i = 0; i < WORDS; i++)
            memory[i] = UINT64_MAX - (uint64_t)it;
    }
    for (int turn = 0; turn < TURNS && rank < 2; turn++) {
        int in, out = turn;
        MPI_Sendrecv(&out, 1, MPI_INT, !rank, 2, &in, 1, MPI_INT, !rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(1000);
    }
    if (!rank)
        must_be(it, UINT64_MAX - (uint64_t)it, "its own");
}

static void leave(const char *suffix, long number)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%s", prefix, suffix);
    FILE *f = fopen(name, "w");
    if (!f)
        return;
    fprintf(f, "%ld\n", number);
    fclose(f);
}

static void run(void *arg)
{
    long it = 0, steps = *(long *)arg, all = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("wrong", &wrong, SAIKAI_I64, 1, (size_t[]){1}) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int more = 1; more; saikai_checkpoint(it)) {
        it++;
        step(it);
        more = it < steps || access(until, F_OK);
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (!rank)
            leave("step", it);
    }
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    saikai_finalize();
    if (!rank)
        printf("late: %ld steps: %s\n", steps, all ? "WRONG" : "verified");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 4 || strcmp(argv[1], "-p"))
        return 2;
    char own[16];
    snprintf(own, sizeof own, "%d", rank);
    prefix = argv[2];
    until = getenv("LATE_UNTIL");
    until = until ? until : "/";
    leave(own, (long)getpid());
    long steps = strtol(argv[3], NULL, 10);
    memory = malloc(WORDS * sizeof *memory);
    if (!memory)
        return 2;
    saikai_in_place(run, &steps);
    MPI_Finalize();
    return 0;
}
