/* Takes apart what checkpoints cost a kernel (Table 4 of the Cuckoo paper). It is linked into examples/npb/cg.c and stands before the functions that are
 * timed: the program's candidates (saikai_checkpoint), what of MPI the library calls in them, and the cut of logged messages, which the library tells the layer
 * to do (saikai_world_cut). At the end rank 0 prints to standard error "parts: sync S dump S gc S exchanges N saved N cuts N", each as of the rank where it was longest:
 * sync: all that ranks exchange in candidates; dump: the candidates that saved, without these two; gc: the cuts. */
#include <mpi.h>
#include <saikai/saikai.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int is_inside;
static double sync_seconds, dump_seconds, gc_seconds;
static long exchanges, saved, cuts;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *next(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (!f) {
        fprintf(stderr, "parts: there is no %s\n", name);
        abort();
    }
    return f;
}

/* The next one of this name, and how long it took where the program is in a candidate. */
#define TIMED(name, arguments)                           \
    static __typeof__(&name) real;                       \
    if (!real)                                           \
        *(void **)&real = next(#name);                   \
    double begun = is_inside ? now() : 0;                \
    int rc = real arguments;                             \
    sync_seconds += is_inside ? now() - begun : 0;       \
    return rc

int MPI_Iallreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    exchanges += is_inside;
    TIMED(MPI_Iallreduce, (in, out, n, type, op, comm, request));
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    TIMED(MPI_Test, (request, flag, status));
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    TIMED(MPI_Wait, (request, status));
}

int MPI_Barrier(MPI_Comm comm)
{
    TIMED(MPI_Barrier, (comm));
}

int MPI_Allgather(const void *in, int n, MPI_Datatype type, void *out, int each, MPI_Datatype to, MPI_Comm comm)
{
    TIMED(MPI_Allgather, (in, n, type, out, each, to, comm));
}

/* Where there is no layer nobody has it. */
__attribute__((visibility("default"))) void saikai_world_cut(int64_t key);
void saikai_world_cut(int64_t key)
{
    void (*real)(int64_t);
    *(void **)&real = dlsym(RTLD_NEXT, "saikai_world_cut");
    double begun = now();
    if (real)
        real(key);
    gc_seconds += now() - begun;
    cuts++;
}

int __real_saikai_checkpoint(long iteration);
int __wrap_saikai_checkpoint(long iteration);
int __wrap_saikai_checkpoint(long iteration)
{
    double begun = now(), others = sync_seconds + gc_seconds;
    is_inside = 1;
    int rc = __real_saikai_checkpoint(iteration);
    is_inside = 0;
    if (rc == 1) {
        saved++;
        dump_seconds += now() - begun - (sync_seconds + gc_seconds - others);
    }
    return rc;
}

int __real_saikai_finalize(void);
int __wrap_saikai_finalize(void);
int __wrap_saikai_finalize(void)
{
    double mine[6] = {sync_seconds, dump_seconds, gc_seconds, (double)exchanges, (double)saved, (double)cuts}, most[6];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(mine, most, 6, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!rank)
        fprintf(stderr, "parts: sync %.9f dump %.9f gc %.9f exchanges %.0f saved %.0f cuts %.0f\n", most[0], most[1], most[2], most[3], most[4], most[5]);
    return __real_saikai_finalize();
}
