/* A program that is saved in one of several forms, and says from where each start goes on.
 * usage: forms array|stream|files|global STEPS
 * FORMS_DIE=N: the last rank dies at the N-th candidate of a start; FORMS_FAULTS=F: in the first F starts of a `saikai run` alone. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALL = 6000 };

struct part {
    double u[ALL];
    size_t from, count; /* of all cells, those of this rank */
};

static void step(double *u, size_t from, size_t count, long it)
{
    for (size_t i = 0; i < count; i++)
        u[i] = u[i] * 0.75 + (double)(it % 13) + (double)(from + i) * 1e-6;
}

static void begin(double *u, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        u[i] = (double)(from + i);
}

static int write_part(FILE *f, void *arg)
{
    struct part *p = arg;
    return fwrite(p->u, sizeof *p->u, p->count, f) != p->count;
}

static int read_part(FILE *f, void *arg)
{
    struct part *p = arg;
    return fread(p->u, sizeof *p->u, p->count, f) != p->count;
}

static int protect(const char *form, struct part *p)
{
    if (!strcmp(form, "stream"))
        return saikai_protect_stream("u", write_part, read_part, p);
    if (!strcmp(form, "global"))
        return saikai_protect_global("u", p->u, SAIKAI_F64, 1, (size_t[]){p->count}, (size_t[]){ALL}, (size_t[]){p->from});
    return strcmp(form, "array") ? 0 : saikai_protect("u", p->u, SAIKAI_F64, 1, (size_t[]){p->count});
}

static int with_file(const char *path, const char *mode, int (*fn)(FILE *f, void *arg), struct part *p)
{
    FILE *f = fopen(path, mode);
    int rc = f ? fn(f, p) : -1;
    return f && fclose(f) ? -1 : rc;
}

static void candidate(const char *form, struct part *p, long it)
{
    char path[4096];
    if (strcmp(form, "files")) {
        saikai_checkpoint(it);
    } else if (saikai_checkpoint_begin(it) > 0) {
        int ok = !saikai_file_path("u.dat", path, sizeof path) && !with_file(path, "w", write_part, p);
        saikai_checkpoint_end(ok);
    }
}

/* What was captured gets the time to reach its file: how fast the machine is, is not what is tested. */
static void maybe_die(int rank, int size, long candidates)
{
    const char *at = getenv("FORMS_DIE"), *faults = getenv("FORMS_FAULTS"), *start = getenv("SAIKAI_START");
    if (!at || rank != size - 1 || candidates != atol(at) || (faults && start && atol(start) > atol(faults)))
        return;
    nanosleep(&(struct timespec){0, 500000000}, NULL);
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    static struct part p;
    static double expect[ALL];
    char path[4096];
    int rank, size, restored;
    long it = 0, steps = argc > 2 ? atol(argv[2]) : 100, candidates = 0;
    const char *form = argc > 1 ? argv[1] : "array";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    p.from = (size_t)ALL * (size_t)rank / (size_t)size;
    p.count = (size_t)ALL * (size_t)(rank + 1) / (size_t)size - p.from;
    begin(p.u, p.from, p.count);
    saikai_init(MPI_COMM_WORLD, NULL);
    protect(form, &p);
    restored = saikai_restart(&it);
    if (restored > 0 && !strcmp(form, "files") &&
        (saikai_restored_file("u.dat", path, sizeof path) || with_file(path, "r", read_part, &p)))
        MPI_Abort(MPI_COMM_WORLD, 4);
    if (rank == 0) {
        printf("from %ld\n", it);
        fflush(stdout);
    }
    while (it < steps) {
        int token = rank;
        step(p.u, p.from, p.count, it++);
        MPI_Allreduce(MPI_IN_PLACE, &token, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        nanosleep(&(struct timespec){0, 200000}, NULL);
        candidate(form, &p, it);
        maybe_die(rank, size, ++candidates);
    }
    begin(expect, p.from, p.count);
    for (long k = 0; k < steps; k++)
        step(expect, p.from, p.count, k);
    int good = !memcmp(expect, p.u, p.count * sizeof *expect), all = 0;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", all ? "verified" : "WRONG");
    saikai_finalize();
    MPI_Finalize();
    return all ? 0 : 1;
}
