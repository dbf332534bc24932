/* A program whose result depends on its argument and on every step: whoever goes on from another job's state ends wrong.
 * usage: worker SEED STEPS [apart]; apart: each half of the ranks is a job of its own, named by its half in `left:right`
 * The environment WORKER_KILL=RANK:STEP:FILE lets that rank die at that step, once: FILE is made first. WORKER_END=FILE: STEPS
 * count only until rank 0 sees the file. WORKER_THREADS: it begins MPI with MPI_THREAD_MULTIPLE. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <saikai/saikai.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N = 4096 };

static void begin(double *u, long seed, int rank)
{
    for (int i = 0; i < N; i++)
        u[i] = (double)(seed * 1000 + rank) + i * 1e-3;
}

static void step(double *u, long seed, long it)
{
    for (int i = 0; i < N; i++)
        u[i] = u[i] * 0.75 + (double)(seed * 7 + it % 13) + i * 1e-6;
}

static void maybe_die(int rank, long it)
{
    const char *text = getenv("WORKER_KILL");
    char path[1024];
    int who;
    long when;
    if (!text || sscanf(text, "%d:%ld:%1000s", &who, &when, path) != 3 || who != rank || when != it)
        return;
    if (open(path, O_CREAT | O_EXCL, 0600) >= 0)
        raise(SIGKILL);
}

/* 1: rank 0 sees the file. The ranks wait for each other without keeping a processor busy. */
static int has_ended(const char *end, int rank)
{
    int sees = !rank && !access(end, F_OK), done = 0;
    MPI_Request r;
    MPI_Ibcast(&sees, 1, MPI_INT, 0, MPI_COMM_WORLD, &r);
    while (MPI_Test(&r, &done, MPI_STATUS_IGNORE), !done)
        nanosleep(&(struct timespec){0, 200000}, NULL);
    return sees;
}

int main(int argc, char **argv)
{
    static double u[N], expect[N];
    int rank, size;
    if (getenv("WORKER_THREADS"))
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &(int){0});
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long seed = argc > 1 ? atol(argv[1]) : 1, steps = argc > 2 ? atol(argv[2]) : 100, it = 0, stored = seed;
    MPI_Comm comm = MPI_COMM_WORLD;
    const char *config = NULL;
    if (argc > 3) {
        MPI_Comm_split(MPI_COMM_WORLD, rank * 2 / size, rank, &comm);
        seed += rank * 2 / size;
        stored = seed;
        config = strcmp(argv[3], "named") ? NULL : rank * 2 / size ? "job.name=right" : "job.name=left";
    }
    begin(u, seed, rank);
    if (saikai_init(comm, config) < 0) {
        fprintf(stderr, "worker: %s\n", saikai_error_text());
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    saikai_protect("u", u, SAIKAI_F64, 1, (size_t[]){N});
    saikai_protect("seed", &stored, SAIKAI_I64, 0, NULL);
    if (saikai_restart(&it) < 0) {
        fprintf(stderr, "worker: %s\n", saikai_error_text());
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    if (stored != seed)
        printf("WRONG: restored the state of seed %ld into seed %ld\n", stored, seed);
    const char *end = getenv("WORKER_END");
    while (it < steps) {
        int ends = 0, all = 0;
        step(u, seed, it++);
        if (end)
            all = has_ended(end, rank);
        else
            MPI_Allreduce(&ends, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        steps = all ? it : steps;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        saikai_checkpoint(it);
        maybe_die(rank, it);
    }
    begin(expect, seed, rank);
    for (long k = 0; k < steps; k++)
        step(expect, seed, k);
    int good = stored == seed && !memcmp(u, expect, sizeof u), all = 0;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        printf("seed %ld: %s\n", seed, all ? "verified" : "WRONG");
    saikai_finalize();
    MPI_Finalize();
    return all ? 0 : 1;
}
