/* Programs that are right without the layer, and in which one rank waits inside MPI, in something that is not logged, while others wait for what it has begun
 * before: an operation that does not block, a duplicate of a communicator, a receive of whatever comes. They must not hang with the layer either.
 * usage: aside [-p PIDFILE] STEPS WHAT…        with 4 ranks; WHAT: window, lock, file, spawn, inter, match; simple: without duplicates, as Open MPI 4.1.4
 * itself hangs in what makes a communicator of its own beside MPI_Comm_idup */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4 };

static int rank, bad, parts, is_simple;
static char **part, *program;
static int64_t state;

static void must(int holds, const char *what)
{
    if (!holds && !bad++)
        printf("rank %d: %s\n", rank, what);
}

/* What is open in rank 0 while the others wait for it: they come to what rank 0 is in only when it is over. */
struct open {
    MPI_Request r[4];
    MPI_Comm copy;
    int64_t sum, got;
};

static void begin(struct open *o, long it)
{
    int64_t one = it + rank;
    static int64_t kept;
    kept = one;
    o->got = -1;
    if (rank)
        usleep(3000); /* so that rank 0 finds nothing of theirs yet */
    MPI_Iallreduce(&kept, &o->sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &o->r[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &o->r[1]);
    o->r[2] = MPI_REQUEST_NULL;
    if (!is_simple)
        MPI_Comm_idup(MPI_COMM_WORLD, &o->copy, &o->r[2]);
    if (!rank)
        MPI_Irecv(&o->got, 1, MPI_INT64_T, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &o->r[3]);
    else if (rank == 1)
        MPI_Issend(&kept, 1, MPI_INT64_T, 0, 9, MPI_COMM_WORLD, &o->r[3]);
    else
        o->r[3] = MPI_REQUEST_NULL;
}

static void end(struct open *o, long it)
{
    MPI_Waitall(4, o->r, (MPI_Status[4]){0});
    must(o->sum == RANKS * it + RANKS * (RANKS - 1) / 2, "MPI_Iallreduce");
    must(rank || o->got == it + 1, "what came from any source");
    if (!is_simple)
        MPI_Comm_free(&o->copy);
    state = state * 31 + o->sum;
}

/* Rank 0 is in it while all is open; the others come when it is over with them. */
#define WHILE_OPEN(it, ...)    \
    {                          \
        struct open o_;        \
        begin(&o_, it);        \
        if (rank)              \
            end(&o_, it);      \
        __VA_ARGS__            \
        if (!rank)             \
            end(&o_, it);      \
    }

static void window(long it)
{
    static int64_t mine, *base;
    MPI_Win w, all;
    WHILE_OPEN(it, MPI_Win_create(&mine, sizeof mine, sizeof mine, MPI_INFO_NULL, MPI_COMM_WORLD, &w);)
    WHILE_OPEN(it, MPI_Win_fence(0, w);)
    int64_t put = it * 7 + rank;
    MPI_Put(&put, 1, MPI_INT64_T, (rank + 1) % RANKS, 0, 1, MPI_INT64_T, w);
    WHILE_OPEN(it, MPI_Win_fence(0, w);)
    must(mine == it * 7 + (rank + RANKS - 1) % RANKS, "what was put into the window");
    WHILE_OPEN(it, MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &all);)
    MPI_Win_free(&all);
    WHILE_OPEN(it, MPI_Win_free(&w);)
}

/* Rank 0 exposes its window to others that come late. */
static void lock(long it)
{
    static int64_t mine;
    MPI_Win w;
    MPI_Group world, one;
    int64_t put = it + rank;
    MPI_Win_create(&mine, sizeof mine, sizeof mine, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (!rank) {
        MPI_Group_incl(world, 1, (int[]){2}, &one);
        MPI_Win_post(one, 0, w);
    } else {
        MPI_Group_incl(world, 1, (int[]){0}, &one);
    }
    WHILE_OPEN(it, if (rank == 2) {
        MPI_Win_start(one, 0, w);
        MPI_Put(&put, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, w);
        MPI_Win_complete(w);
    } else if (!rank) MPI_Win_wait(w);)
    must(rank || mine == it + 2, "what was put into a window that waits");
    MPI_Group_free(&one);
    MPI_Group_free(&world);
    MPI_Win_free(&w);
}

static void file(long it)
{
    MPI_File f;
    int64_t one = it * 5 + rank, back = -1;
    WHILE_OPEN(it, MPI_File_open(MPI_COMM_WORLD, "aside.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);)
    WHILE_OPEN(it, MPI_File_write_at_all(f, rank * (MPI_Offset)sizeof one, &one, 1, MPI_INT64_T, MPI_STATUS_IGNORE);)
    WHILE_OPEN(it, MPI_File_sync(f);)
    WHILE_OPEN(it, MPI_File_read_at_all(f, rank * (MPI_Offset)sizeof one, &back, 1, MPI_INT64_T, MPI_STATUS_IGNORE);)
    must(back == one, "what was read back");
    WHILE_OPEN(it, MPI_File_close(&f);)
}

static void spawn(long it)
{
    MPI_Comm child, all;
    int64_t one = rank, sum = -1;
    WHILE_OPEN(it, MPI_Comm_spawn(program, (char *[]){"child", NULL}, 1, MPI_INFO_NULL, 3, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);)
    WHILE_OPEN(it, MPI_Intercomm_merge(child, 0, &all);)
    WHILE_OPEN(it, MPI_Allreduce(&one, &sum, 1, MPI_INT64_T, MPI_SUM, all);)
    must(sum == 100 + RANKS * (RANKS - 1) / 2, "a sum with a process that was started");
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&child); /* in which Open MPI itself goes on with nothing */
}

/* Between groups. */
static void inter(long it)
{
    MPI_Comm half, c;
    int64_t one = rank, sum = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    WHILE_OPEN(it, MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 4, &c);)
    WHILE_OPEN(it, MPI_Allreduce(&one, &sum, 1, MPI_INT64_T, MPI_SUM, c);)
    must(sum == (rank < 2 ? 5 : 1), "the sum of the other half");
    WHILE_OPEN(it, MPI_Barrier(c);)
    MPI_Comm_free(&c);
    MPI_Comm_free(&half);
}

static void match(long it)
{
    int64_t one = it, got = 0;
    MPI_Message m;
    WHILE_OPEN(it, if (rank == 3) MPI_Ssend(&one, 1, MPI_INT64_T, 0, 5, MPI_COMM_WORLD); else if (!rank) {
        MPI_Mprobe(3, 5, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
        MPI_Mrecv(&got, 1, MPI_INT64_T, &m, MPI_STATUS_IGNORE);
    })
    must(rank || got == it, "what was matched");
}

static void step(long it)
{
    static const struct {
        const char *name;
        void (*go)(long it);
    } kinds[] = {{"window", window}, {"lock", lock}, {"file", file}, {"spawn", spawn}, {"inter", inter}, {"match", match}};
    for (int i = 0; i < parts; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (!strcmp(part[i], kinds[k].name))
                kinds[k].go(it);
}

static void run(void *arg)
{
    long it = 0, steps = *(long *)arg;
    int wrong = 0;
    state = rank;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("state", &state, SAIKAI_I64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        usleep(1000);
        it++;
        step(it);
        saikai_checkpoint(it);
    }
    MPI_Reduce(&bad, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    saikai_finalize();
    if (!rank)
        printf("aside: %ld steps, %016llx: %s\n", steps, (unsigned long long)state, wrong ? "WRONG" : "verified");
}

/* The process that is started. */
static int be_child(void)
{
    MPI_Comm parent, all;
    int64_t one = 100, sum = 0;
    MPI_Comm_get_parent(&parent);
    MPI_Intercomm_merge(parent, 1, &all);
    MPI_Allreduce(&one, &sum, 1, MPI_INT64_T, MPI_SUM, all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    int ranks;
    program = argv[0];
    MPI_Init(&argc, &argv);
    if (argc == 2 && !strcmp(argv[1], "child"))
        return be_child();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        char name[4096];
        snprintf(name, sizeof name, "%s.%d", argv[2], rank);
        FILE *f = fopen(name, "w");
        if (f) {
            fprintf(f, "%ld\n", (long)getpid());
            fclose(f);
        }
        argv += 2;
        argc -= 2;
    }
    if (argc < 3 || ranks != RANKS)
        return 2;
    long steps = strtol(argv[1], NULL, 10);
    part = argv + 2;
    parts = argc - 2;
    is_simple = !strcmp(argv[argc - 1], "simple");
    saikai_in_place(run, &steps);
    MPI_Finalize();
    return 0;
}
