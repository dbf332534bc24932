/* Calls what the layer between program and MPI wraps, in every form, and prints a number for each call: with and without the layer they
 * must be the same. The layer is fully at work within saikai_in_place alone.
 * usage: layered [-p PIDFILE]             in saikai_in_place
 *        layered [-p PIDFILE] loop N      a loop of N candidates that is not in it, whose last line says "verified"
 *        layered [-p PIDFILE] ends N      the same in it, which also ends MPI there
 *        layered [-p PIDFILE] kept N      one in it, with attributes and an error handler of MPI_COMM_WORLD before and after it
 *        layered -p PIDFILE early N       the same, where rank 1 dies before its saikai_init when it is back from the first repair and PIDFILE.die is there
 *        layered -p PIDFILE inside N      the same, where it dies then while it makes a communicator
 *        layered [-p PIDFILE] makes N     one in it, which makes communicators in each turn, and calls one with a wrong argument */
#include <mpi.h>
#include <saikai/saikai.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

/* The words of all ranks, mixed, by rank 0. */
static void tell(const char *what, const void *data, size_t n)
{
    uint64_t mine = 0xcbf29ce484222325u, all[64] = {0};
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++)
        mine = (mine ^ p[i]) * 0x100000001b3u;
    MPI_Gather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank)
        return;
    printf("%s", what);
    for (int r = 0; r < ranks; r++)
        printf(" %016llx", (unsigned long long)all[r]);
    printf("\n");
}

enum { N = 24 };
static int a[64 * N], b[64 * N], counts[64], displs[64];

static void fresh(void)
{
    for (int i = 0; i < 64 * N; i++) {
        a[i] = rank * 100000 + i;
        b[i] = -1;
    }
}

#define TRY(name, call)                      \
    do {                                     \
        fresh();                             \
        int rc_ = call;                      \
        tell(name, b, sizeof b);             \
        tell(name " a", a, sizeof a);        \
        if (rc_)                             \
            MPI_Abort(MPI_COMM_WORLD, 1);    \
    } while (0)
/* The form that does not block, too. */
#define BOTH(Name, name, arguments)                                                             \
    do {                                                                                        \
        MPI_Request q_;                                                                         \
        TRY(#name, MPI_##Name(PLAIN arguments, MPI_COMM_WORLD));                                 \
        TRY("i" #name, (MPI_I##name(PLAIN arguments, MPI_COMM_WORLD, &q_), MPI_Wait(&q_, MPI_STATUS_IGNORE))); \
    } while (0)
#define PLAIN(...) __VA_ARGS__

static void collectives(void)
{
    MPI_Datatype types[64], gapped;
    int bytes[64];
    MPI_Type_vector(3, 2, 4, MPI_INT, &gapped);
    MPI_Type_commit(&gapped);
    for (int r = 0; r < ranks; r++) {
        counts[r] = 3;
        displs[r] = (ranks - 1 - r) * 5; /* backwards, with gaps */
        bytes[r] = displs[r] * (int)sizeof(int);
        types[r] = MPI_INT;
    }
    BOTH(Bcast, bcast, (b, N, MPI_INT, ranks - 1));
    BOTH(Bcast, bcast, (rank ? b : a, 2, gapped, 0));
    BOTH(Reduce, reduce, (a, b, N, MPI_INT, MPI_SUM, 1 % ranks));
    BOTH(Reduce, reduce, (rank ? a : MPI_IN_PLACE, rank ? NULL : a, N, MPI_INT, MPI_MAX, 0));
    BOTH(Allreduce, allreduce, (a, b, N, MPI_INT, MPI_SUM));
    BOTH(Allreduce, allreduce, (MPI_IN_PLACE, a, N, MPI_INT, MPI_BXOR));
    BOTH(Scan, scan, (a, b, N, MPI_INT, MPI_SUM));
    BOTH(Scan, scan, (MPI_IN_PLACE, a, N, MPI_INT, MPI_SUM));
    BOTH(Exscan, exscan, (a, b, N, MPI_INT, MPI_SUM));
    BOTH(Gather, gather, (a, 3, MPI_INT, b, 3, MPI_INT, 0));
    BOTH(Gather, gather, (a, 1, gapped, b, 6, MPI_INT, ranks - 1));
    BOTH(Gatherv, gatherv, (a, 3, MPI_INT, b, counts, displs, MPI_INT, 0));
    BOTH(Scatter, scatter, (a, 3, MPI_INT, b, 3, MPI_INT, 0));
    BOTH(Scatterv, scatterv, (a, counts, displs, MPI_INT, b, 3, MPI_INT, 0));
    BOTH(Allgather, allgather, (a, 3, MPI_INT, b, 3, MPI_INT));
    BOTH(Allgather, allgather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 3, MPI_INT));
    BOTH(Allgatherv, allgatherv, (a, 3, MPI_INT, b, counts, displs, MPI_INT));
    BOTH(Alltoall, alltoall, (a, 2, MPI_INT, b, 2, MPI_INT));
    BOTH(Alltoallv, alltoallv, (a, counts, displs, MPI_INT, b, counts, displs, MPI_INT));
    BOTH(Alltoallw, alltoallw, (a, counts, bytes, types, b, counts, bytes, types));
    BOTH(Reduce_scatter, reduce_scatter, (a, b, counts, MPI_INT, MPI_SUM));
    BOTH(Reduce_scatter_block, reduce_scatter_block, (a, b, 2, MPI_INT, MPI_SUM));
    MPI_Type_free(&gapped);
}

/* What is large goes another way through the layer. */
enum { LARGE = 9001 }; /* elements for each rank: nothing divides it */
static int *much, *more;

static void fresh_large(void)
{
    for (int i = 0; i < ranks * LARGE; i++) {
        much[i] = rank * 100000 + i;
        more[i] = -1;
    }
}

#define TRY_LARGE(name, call)                                            \
    do {                                                                 \
        fresh_large();                                                   \
        int rc_ = call;                                                  \
        tell("large " name, more, sizeof *more * (size_t)(ranks * LARGE));   \
        tell("large " name " a", much, sizeof *much * (size_t)(ranks * LARGE)); \
        if (rc_)                                                         \
            MPI_Abort(MPI_COMM_WORLD, 1);                                \
    } while (0)

static void large_collectives(MPI_Comm c)
{
    MPI_Datatype types[64];
    int part[64], at[64], bytes[64], me, n;
    MPI_Comm_rank(c, &me);
    MPI_Comm_size(c, &n);
    for (int r = 0; r < n; r++) {
        part[r] = (r % 2) * LARGE / (r + 1); /* some have nothing */
        at[r] = (n - 1 - r) * LARGE;
        bytes[r] = at[r] * (int)sizeof(int);
        types[r] = MPI_INT;
    }
    for (int turn = 0; turn < ranks; turn++) { /* as often in all parts of the world */
        int root = turn % n;
        TRY_LARGE("bcast", MPI_Bcast(me == root ? much : more, LARGE, MPI_INT, root, c));
        TRY_LARGE("gather", MPI_Gather(much, LARGE, MPI_INT, me == root ? more : NULL, LARGE, MPI_INT, root, c));
        TRY_LARGE("gather in place", MPI_Gather(me == root ? MPI_IN_PLACE : much, LARGE, MPI_INT, me == root ? more : NULL, LARGE, MPI_INT, root, c));
        TRY_LARGE("scatter", MPI_Scatter(me == root ? much : NULL, LARGE, MPI_INT, more, LARGE, MPI_INT, root, c));
        TRY_LARGE("scatter in place", MPI_Scatter(me == root ? much : NULL, LARGE, MPI_INT, me == root ? MPI_IN_PLACE : more, LARGE, MPI_INT, root, c));
        TRY_LARGE("gatherv", MPI_Gatherv(much, part[me], MPI_INT, more, part, at, MPI_INT, root, c));
        TRY_LARGE("scatterv", MPI_Scatterv(much, part, at, MPI_INT, more, part[me], MPI_INT, root, c));
    }
    TRY_LARGE("allgather", MPI_Allgather(much, LARGE, MPI_INT, more, LARGE, MPI_INT, c));
    TRY_LARGE("allgather in place", MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, much, LARGE, MPI_INT, c));
    TRY_LARGE("allgatherv", MPI_Allgatherv(much, part[me], MPI_INT, more, part, at, MPI_INT, c));
    TRY_LARGE("allgatherv in place", MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, much, part, at, MPI_INT, c));
    TRY_LARGE("alltoall", MPI_Alltoall(much, LARGE, MPI_INT, more, LARGE, MPI_INT, c));
    TRY_LARGE("alltoall in place", MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, much, LARGE, MPI_INT, c));
    for (int r = 0; r < n; r++)
        part[r] = (r + me) % 3 * LARGE / 2; /* the same from here to there as there from here */
    TRY_LARGE("alltoallv", MPI_Alltoallv(much, part, at, MPI_INT, more, part, at, MPI_INT, c));
    TRY_LARGE("alltoallw", MPI_Alltoallw(much, part, bytes, types, more, part, bytes, types, c));
    TRY_LARGE("allreduce", MPI_Allreduce(much, more, n * LARGE, MPI_INT, MPI_SUM, c));
    TRY_LARGE("allreduce in place", MPI_Allreduce(MPI_IN_PLACE, much, n * LARGE, MPI_INT, MPI_BXOR, c));
    TRY_LARGE("allreduce in bytes", MPI_Allreduce(much, more, n * LARGE * (int)sizeof(int), MPI_UNSIGNED_CHAR, MPI_MAX, c));
}

/* In the world, in a part of it, and in that made once more under the same handle, as MPI may give. */
static void large(void)
{
    much = malloc(sizeof *much * (size_t)(ranks * LARGE));
    more = malloc(sizeof *more * (size_t)(ranks * LARGE));
    if (!much || !more)
        MPI_Abort(MPI_COMM_WORLD, 1);
    large_collectives(MPI_COMM_WORLD);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Comm some;
        MPI_Comm_split(MPI_COMM_WORLD, rank > 0, -rank, &some);
        large_collectives(some);
        MPI_Comm_free(&some);
    }
    free(much);
    free(more);
}

static void messages(void)
{
    int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks, index = 0, flag = 0, n = 0, many[4];
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request r[4];
    MPI_Status s[4];
    TRY("sendrecv", MPI_Sendrecv(a, N, MPI_INT, up, 1, b, N, MPI_INT, down, 1, w, s));
    TRY("sendrecv null", MPI_Sendrecv(a, N, MPI_INT, MPI_PROC_NULL, 1, b, N, MPI_INT, MPI_PROC_NULL, 1, w, s));
    TRY("sendrecv_replace", MPI_Sendrecv_replace(a, N, MPI_INT, up, 1, down, 1, w, s));
    if (ranks % 2 == 0) {
        TRY("even odd", rank % 2 ? MPI_Recv(b, N, MPI_INT, down, 2, w, s) : MPI_Ssend(a, N, MPI_INT, up, 2, w));
        TRY("odd even", rank % 2 ? MPI_Send(a, N, MPI_INT, up, 2, w) : MPI_Recv(b, N, MPI_INT, down, MPI_ANY_TAG, w, s));
    }
    TRY("large", (MPI_Irecv(b, 32 * N, MPI_INT, down, 3, w, r), MPI_Send(a, 32 * N, MPI_INT, up, 3, w), MPI_Wait(r, s)));
    TRY("waitall", (MPI_Irecv(b, N, MPI_INT, down, 4, w, &r[0]), MPI_Isend(a, N, MPI_INT, up, 4, w, &r[1]), MPI_Waitall(2, r, s)));
    tell("status", &s[0].MPI_SOURCE, sizeof s[0].MPI_SOURCE);
    MPI_Irecv(b, N, MPI_INT, down, 5, w, &r[0]);
    MPI_Isend(a, N, MPI_INT, up, 5, w, &r[1]);
    for (int left = 2; left; left--)
        MPI_Waitany(2, r, &index, s);
    tell("waitany", b, sizeof b);
    MPI_Irecv(b, N, MPI_INT, down, 6, w, &r[0]);
    MPI_Isend(a, N, MPI_INT, up, 6, w, &r[1]);
    for (int left = 2; left; left -= n)
        MPI_Waitsome(2, r, &n, many, s);
    for (flag = 0; !flag;)
        MPI_Testall(2, r, &flag, s);
    tell("waitsome", b, sizeof b);
    MPI_Recv_init(b, N, MPI_INT, down, 7, w, &r[0]);
    MPI_Send_init(a, N, MPI_INT, up, 7, w, &r[1]);
    for (int i = 0; i < 3; i++) {
        fresh();
        a[0] = i;
        MPI_Startall(2, r);
        MPI_Waitall(2, r, s);
        tell("persistent", b, sizeof b);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Isend(a, rank + 1, MPI_INT, up, 8, w, r);
    MPI_Probe(MPI_ANY_SOURCE, 8, w, s);
    MPI_Get_count(s, MPI_INT, &n);
    fresh();
    MPI_Recv(b, n, MPI_INT, s[0].MPI_SOURCE, 8, w, s);
    MPI_Wait(r, s);
    tell("probe", b, sizeof b);
}

static void communicators(void)
{
    MPI_Comm half, grid, copy, some;
    MPI_Group all, few;
    int dims[1] = {ranks}, periods[1] = {1}, v[4] = {0}, first[1] = {0};
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &v[0]);
    MPI_Allreduce(&rank, &v[1], 1, MPI_INT, MPI_SUM, half);
    tell("split", v, sizeof v);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
    MPI_Cart_shift(grid, 0, 1, &v[0], &v[1]);
    MPI_Sendrecv(&rank, 1, MPI_INT, v[1], 0, &v[2], 1, MPI_INT, v[0], 0, grid, MPI_STATUS_IGNORE);
    tell("cart", v, sizeof v);
    MPI_Comm_dup(grid, &copy);
    MPI_Comm_compare(grid, copy, &v[0]);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_excl(all, 1, first, &few);
    MPI_Comm_create(MPI_COMM_WORLD, few, &some);
    v[1] = some != MPI_COMM_NULL;
    if (v[1])
        MPI_Comm_size(some, &v[2]);
    tell("group", v, sizeof v);
    if (v[1])
        MPI_Comm_free(&some);
    MPI_Group_free(&few);
    MPI_Group_free(&all);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&half);
    v[1] = half == MPI_COMM_NULL && grid == MPI_COMM_NULL;
    MPI_Comm_get_parent(&half);
    v[2] = half == MPI_COMM_NULL;
    tell("freed", v, sizeof v);
}

static void body(void *arg)
{
    (void)arg;
    MPI_Barrier(MPI_COMM_WORLD);
    collectives();
    large();
    messages();
    communicators();
    if (!rank)
        printf("layered: verified\n");
}

/* What cannot be repaired is called by one rank alone. */
static void alone(void *arg)
{
    static char buffer[1000 + MPI_BSEND_OVERHEAD];
    int one = 1, all = 0, got = 0, size = sizeof buffer;
    void *attached = buffer;
    (void)arg;
    MPI_Buffer_attach(buffer, size);
    if (rank == ranks - 1) {
        MPI_Bsend(&one, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Buffer_detach(&attached, &size);
    for (int i = 0; i < 20; i++) {
        MPI_Request r;
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        got += all;
        MPI_Ibcast(&got, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!rank)
        printf("layered: %d: %s\n", got, got == 20 * ranks + 1 ? "verified" : "WRONG");
}

static void loop(long steps)
{
    long it = 0, sum = 0, all = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("sum", &sum, SAIKAI_I64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        usleep(5000);
        it++;
        MPI_Allreduce(&it, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
        saikai_checkpoint(it);
    }
    saikai_finalize();
    if (!rank)
        printf("layered: %ld steps, sum %ld: verified\n", steps, sum);
}

static void ends(void *arg)
{
    loop(*(long *)arg);
    MPI_Finalize();
}

static int heard;

static void on_error(MPI_Comm *c, int *code, ...)
{
    (void)c, (void)code;
    heard++;
}

/* Of the ranks of one parity, and of the same ones again. Errors are the program's affair there. 0: all is as it must be. */
static int made_and_freed(long it, long *sum)
{
    MPI_Comm part, again;
    MPI_Errhandler mine, set, got;
    int n = 0, before = heard;
    long all = 0;
    MPI_Comm_split(MPI_COMM_WORLD, (int)((rank + it) % 2), -rank, &part);
    MPI_Comm_create_errhandler(on_error, &mine);
    set = mine;
    MPI_Comm_set_errhandler(part, mine);
    MPI_Errhandler_free(&mine);
    MPI_Comm_dup(part, &again);
    MPI_Comm_free(&part);
    MPI_Comm_get_errhandler(again, &got);
    int known = got == set;
    MPI_Errhandler_free(&got);
    MPI_Comm_size(again, &n);
    int wrong = MPI_Send(&it, 1, MPI_LONG, 77, 0, again) != MPI_SUCCESS;
    MPI_Allreduce(&it, &all, 1, MPI_LONG, MPI_SUM, again);
    MPI_Comm_free(&again);
    *sum += all;
    return !known || !wrong || heard != before + 1 || n != ranks / 2 || all != it * n;
}

static void makes(void *arg)
{
    long it = 0, sum = 0, steps = *(long *)arg;
    int bad = 0, any = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("sum", &sum, SAIKAI_I64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        bad |= made_and_freed(++it, &sum);
        saikai_checkpoint(it);
    }
    saikai_finalize();
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!rank)
        printf("layered: %ld steps that make communicators, sum %ld: %s\n", steps, sum, any ? "WRONG" : "verified");
}

static MPI_Comm heard_of;

static void on_world_error(MPI_Comm *c, int *code, ...)
{
    (void)code;
    heard_of = *c;
    heard++;
}

static int copy_attribute(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag)
{
    (void)key, (void)extra;
    *(void **)out = old == MPI_COMM_WORLD ? (char *)in + 1 : NULL;
    *flag = 1;
    return MPI_SUCCESS;
}

/* What is kept at MPI_COMM_WORLD holds for whatever that is now. 0: it does. */
static int what_is_kept(void)
{
    MPI_Comm copy;
    MPI_Errhandler mine;
    static char some[2];
    char *value = NULL;
    int key, found = 0, before = heard;
    MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, some);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_attr(copy, key, &value, &found);
    MPI_Comm_free(&copy);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_create_errhandler(on_world_error, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Errhandler_free(&mine);
    heard_of = MPI_COMM_NULL;
    MPI_Send(&key, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
    int of_world = heard_of == MPI_COMM_WORLD;
    MPI_Send(&key, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return !found || value != some + 1 || !of_world || heard != before + 2;
}

/* A body that reads a command line finds its options in each run. 0: it does. */
static int options(void)
{
    char *words[] = {"layered", "-n", "3", "-q", "end", NULL};
    int option, n = 0, quiet = 0;
    while ((option = getopt(5, words, "n:q")) >= 0) {
        n = option == 'n' ? atoi(optarg) : n;
        quiet += option == 'q';
    }
    return n != 3 || quiet != 1 || optind != 4;
}

/* How often the body has begun in this process, and where rank 1 is to die when it is back from a repair of another one. */
static int runs;
static enum place { NOWHERE, EARLY, INSIDE } dies;
static char may_die[4096]; /* it waits until this file is there: all are back by then */

static void die_at(enum place place)
{
    if (runs != 2 || rank != 1 || dies != place)
        return;
    while (access(may_die, F_OK))
        usleep(1000);
    raise(SIGKILL);
}

static int die_of_copy(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag)
{
    (void)old, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    die_at(INSIDE);
    return MPI_SUCCESS;
}

/* While the others make the same, and wait for it. */
static void make_a_copy(void)
{
    MPI_Comm mine, copy;
    int key;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &mine);
    MPI_Comm_create_keyval(die_of_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(mine, key, NULL);
    MPI_Comm_dup(mine, &copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&mine);
    MPI_Comm_free_keyval(&key);
}

static void kept(void *arg)
{
    long it = 0, sum = 0, all = 0, steps = *(long *)arg;
    runs++;
    die_at(EARLY);
    if (dies == INSIDE)
        make_a_copy();
    int bad = what_is_kept() | options(), any = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("sum", &sum, SAIKAI_I64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        usleep(2000);
        it++;
        MPI_Allreduce(&it, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
        saikai_checkpoint(it);
    }
    saikai_finalize();
    bad |= what_is_kept();
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!rank)
        printf("layered: %ld steps, sum %ld: %s\n", steps, sum, any ? "WRONG" : "verified");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *to = getenv("LAYERED_OUTPUT");
    if (to && !rank && !freopen(to, "w", stdout))
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        char name[4096];
        snprintf(name, sizeof name, "%s.%d", argv[2], rank);
        snprintf(may_die, sizeof may_die, "%s.die", argv[2]);
        FILE *f = fopen(name, "w");
        if (f) {
            fprintf(f, "%ld\n", (long)getpid());
            fclose(f);
        }
        argv += 2;
        argc -= 2;
    }
    if (argc > 2 && !strcmp(argv[1], "loop"))
        loop(atol(argv[2]));
    else if (argc > 2 && !strcmp(argv[1], "ends"))
        saikai_in_place(ends, &(long){atol(argv[2])});
    else if (argc > 2 && !strcmp(argv[1], "makes"))
        saikai_in_place(makes, &(long){atol(argv[2])});
    else if (argc > 2 && (!strcmp(argv[1], "kept") || !strcmp(argv[1], "early") || !strcmp(argv[1], "inside"))) {
        dies = !strcmp(argv[1], "early") ? EARLY : !strcmp(argv[1], "inside") ? INSIDE : NOWHERE;
        saikai_in_place(kept, &(long){atol(argv[2])});
    }
    else if (argc > 1 && !strcmp(argv[1], "alone"))
        saikai_in_place(alone, NULL);
    else
        saikai_in_place(body, NULL);
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (!is_over)
        MPI_Finalize();
    return 0;
}
