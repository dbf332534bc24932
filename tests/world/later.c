/* A solver that overlaps everything: collective operations that do not block, several of them at once, on communicators that overlap, waited for in other
 * orders than they were begun in, together with messages. Under the protocol logging whoever survives a fault computes no step twice. What each gives is held
 * against what it must be.
 * usage: later [-p PIDFILE] COUNTS STEPS [open]        with 4 ranks; open: a receive is open at a checkpoint, which is not logged, so all go back */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "neighbours/until.h"

enum { RANKS = 4, N = 64, KINDS = 8 };

static int rank, bad, opens;
static MPI_Request never; /* nobody sends that */
static long executed;
static double u[N];

static void must(int holds, const char *what)
{
    if (!holds && !bad++)
        printf("rank %d: %s\n", rank, what);
}

/* ---- several at once ---- */

static MPI_Request from_before; /* from the step before: MPI has one request for all that ends at once, the layer's own as well */

/* All of them end, in one of five ways. */
static void await(MPI_Request r[], int n, long it)
{
    int index[KINDS], some, flag = 0, left = n;
    MPI_Status s[KINDS];
    switch (it % 5) {
    case 0: MPI_Waitall(n, r, s); break;
    case 1:
        for (int i = n; i-- > 0;)
            MPI_Wait(&r[i], &s[0]);
        break;
    case 2:
        while (left > 0) {
            MPI_Waitsome(n, r, &some, index, s);
            must(some != MPI_UNDEFINED, "requests are left");
            left -= some;
        }
        break;
    case 3:
        while (!flag)
            MPI_Testall(n, r, &flag, s);
        break;
    default:
        for (int i = n / 2; i < n; i++) {
            for (flag = 0; !flag;)
                MPI_Test(&r[i], &flag, &s[0]);
            must(r[i] == MPI_REQUEST_NULL, "a request that has ended");
        }
        for (index[0] = 0; index[0] != MPI_UNDEFINED;)
            MPI_Waitany(n, r, index, s);
    }
    for (int i = 0; i < n; i++)
        must(r[i] == MPI_REQUEST_NULL, "a request that was waited for");
}

static void relax(double heat)
{
    double next[N];
    for (int i = 0; i < N; i++)
        next[i] = 0.5 * u[i] + 0.25 * (u[(i + 1) % N] + u[(i + N - 1) % N]) + 1e-4 * heat * (i + 1);
    memcpy(u, next, sizeof u);
}

static void overlap(MPI_Comm part, long it)
{
    int next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS, root = (int)(it % RANKS);
    double mine[3] = {u[0], u[1] * 1e3, u[2] * 1e-3}, all[3], also[3], edge = 0, last = u[N - 1], table[5];
    static double unused;
    MPI_Request r[KINDS];
    for (int i = 0; i < 5; i++)
        table[i] = rank == root ? (double)it / (i + 1) : -1;
    MPI_Iallreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&edge, 1, MPI_DOUBLE, before, 5, MPI_COMM_WORLD, &r[1]);
    MPI_Iallreduce(mine, also, 3, MPI_DOUBLE, MPI_MAX, part, &r[2]);
    MPI_Ibcast(table, 5, MPI_DOUBLE, root, MPI_COMM_WORLD, &r[3]);
    MPI_Ibarrier(part, &r[4]);
    MPI_Isend(&last, 1, MPI_DOUBLE, next, 5, MPI_COMM_WORLD, &r[5]);
    MPI_Ibarrier(MPI_COMM_WORLD, &r[6]);
    MPI_Wait(&from_before, MPI_STATUS_IGNORE);
    MPI_Isend(&last, 1, MPI_DOUBLE, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &from_before);
    MPI_Wait(&from_before, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_SELF, &from_before);
    if (opens && it == 20)
        MPI_Irecv(&unused, 1, MPI_DOUBLE, next, 9, MPI_COMM_WORLD, &never);
    if (it == 30 && never != MPI_REQUEST_NULL) {
        MPI_Cancel(&never);
        MPI_Wait(&never, MPI_STATUS_IGNORE);
    }
    relax(1);
    await(r, 7, it);
    for (int i = 0; i < 5; i++)
        must(table[i] == (double)it / (i + 1), "MPI_Ibcast");
    u[0] += 1e-5 * (all[0] + all[1] * 1e-3 + all[2]) + 1e-6 * also[0];
    u[1] += 1e-3 * edge;
}

/* ---- what each gives ---- */

static int64_t sum_to(int64_t n)
{
    return n * (n + 1) / 2;
}

static void reductions(MPI_Comm c, long it)
{
    int n, me, counts[RANKS] = {1, 1, 1, 1};
    MPI_Comm_size(c, &n);
    MPI_Comm_rank(c, &me);
    int64_t mine = it + me, at_root = -7, up_to = -7, below = -7, part = -7, block = -7, all[RANKS], place = it * me, root = it % n;
    MPI_Request r[KINDS];
    for (int i = 0; i < n; i++)
        all[i] = 10 * i + me;
    MPI_Ireduce(&mine, &at_root, 1, MPI_INT64_T, MPI_SUM, (int)root, c, &r[0]);
    MPI_Iscan(&mine, &up_to, 1, MPI_INT64_T, MPI_SUM, c, &r[1]);
    MPI_Iexscan(&mine, &below, 1, MPI_INT64_T, MPI_SUM, c, &r[2]);
    MPI_Ireduce_scatter(all, &part, counts, MPI_INT64_T, MPI_SUM, c, &r[3]);
    MPI_Ireduce_scatter_block(all, &block, 1, MPI_INT64_T, MPI_SUM, c, &r[4]);
    MPI_Iallreduce(MPI_IN_PLACE, &place, 1, MPI_INT64_T, MPI_SUM, c, &r[5]);
    MPI_Iallreduce(NULL, NULL, 0, MPI_INT64_T, MPI_SUM, c, &r[6]);
    await(r, 7, it + 1);
    must(at_root == (me == root ? it * n + sum_to(n - 1) : -7), "MPI_Ireduce");
    must(up_to == it * (me + 1) + sum_to(me), "MPI_Iscan");
    must(below == (me ? it * me + sum_to(me - 1) : -7), "MPI_Iexscan");
    must(part == 10 * me * n + sum_to(n - 1), "MPI_Ireduce_scatter");
    must(block == 10 * me * n + sum_to(n - 1), "MPI_Ireduce_scatter_block");
    must(place == it * sum_to(n - 1), "MPI_Iallreduce in place");
}

/* Rank i has 100 * i + it + j for rank j, or in its place j. */
static void data(MPI_Comm c, long it)
{
    int n, me, ones[RANKS], places[RANKS], bytes[RANKS];
    MPI_Comm_size(c, &n);
    MPI_Comm_rank(c, &me);
    int64_t from[RANKS], gathered[2][RANKS], given[2] = {-7, -7}, all[2][RANKS], every[4][RANKS];
    int root = (int)(it % n);
    MPI_Datatype types[RANKS];
    MPI_Request r[KINDS], q[KINDS];
    for (int i = 0; i < n; i++) {
        from[i] = every[3][i] = 100 * me + it + i;
        ones[i] = 1;
        places[i] = n - 1 - i;
        bytes[i] = i * (int)sizeof *from;
        types[i] = MPI_INT64_T;
    }
    all[1][places[me]] = from[0];
    MPI_Igather(from, 1, MPI_INT64_T, gathered[0], 1, MPI_INT64_T, root, c, &r[0]);
    MPI_Igatherv(from, 1, MPI_INT64_T, gathered[1], ones, places, MPI_INT64_T, root, c, &r[1]);
    MPI_Iscatter(from, 1, MPI_INT64_T, &given[0], 1, MPI_INT64_T, root, c, &r[2]);
    MPI_Iscatterv(from, ones, places, MPI_INT64_T, &given[1], 1, MPI_INT64_T, root, c, &r[3]);
    MPI_Iallgather(from, 1, MPI_INT64_T, all[0], 1, MPI_INT64_T, c, &r[4]);
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all[1], ones, places, MPI_INT64_T, c, &r[5]);
    MPI_Ialltoall(from, 1, MPI_INT64_T, every[0], 1, MPI_INT64_T, c, &q[0]);
    MPI_Ialltoallv(from, ones, places, MPI_INT64_T, every[1], ones, places, MPI_INT64_T, c, &q[1]);
    MPI_Ialltoallw(from, ones, bytes, types, every[2], ones, bytes, types, c, &q[2]);
    MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, every[3], 1, MPI_INT64_T, c, &q[3]);
    await(q, 4, it + 2); /* those that were begun last */
    await(r, 6, it + 3);
    must(given[0] == 100 * root + it + me && given[1] == 100 * root + it + places[me], "MPI_Iscatter(v)");
    for (int i = 0; i < n; i++) {
        must(me != root || (gathered[0][i] == 100 * i + it && gathered[1][places[i]] == 100 * i + it), "MPI_Igather(v)");
        must(all[0][i] == 100 * i + it && all[1][places[i]] == 100 * i + it, "MPI_Iallgather(v)");
        must(every[0][i] == 100 * i + it + me && every[2][i] == every[0][i] && every[3][i] == every[0][i], "MPI_Ialltoall(w)");
        must(every[1][places[i]] == 100 * i + it + places[me], "MPI_Ialltoallv");
    }
}

/* ---- an operation, a type and a communicator of the program's, freed before they have done (Open MPI 4 crashes at the last without the layer) ---- */

struct matrix {
    int64_t a, b, c, d;
};

/* Products of matrices: their order counts. */
static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const struct matrix *x = in;
    struct matrix *y = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        y[i] = (struct matrix){x[i].a * y[i].a + x[i].b * y[i].c, x[i].a * y[i].b + x[i].b * y[i].d, x[i].c * y[i].a + x[i].d * y[i].c,
                               x[i].c * y[i].b + x[i].d * y[i].d};
}

static struct matrix matrix_of(int r, long it)
{
    return (struct matrix){r + 1, it % 7, 1, r % 2};
}

static void own_kinds(long it)
{
    struct matrix mine = matrix_of(rank, it), all, should = matrix_of(0, it);
    MPI_Datatype type, column;
    MPI_Op op;
    MPI_Request r[KINDS];
    MPI_Comm copy;
    int64_t grid[4][4], root = it % RANKS, sum = rank, sums = -1;
    for (int i = 0; i < 16; i++)
        grid[i / 4][i % 4] = rank == root ? it * 16 + i : -1;
    MPI_Type_contiguous(4, MPI_INT64_T, &type);
    MPI_Type_commit(&type);
    MPI_Type_vector(4, 1, 4, MPI_INT64_T, &column);
    MPI_Type_commit(&column);
    MPI_Op_create(multiply, 0, &op);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Iallreduce(&mine, &all, 1, type, op, MPI_COMM_WORLD, &r[0]);
    MPI_Ibcast(&grid[0][1], 1, column, (int)root, MPI_COMM_WORLD, &r[1]);
    MPI_Iallreduce(&sum, &sums, 1, MPI_INT64_T, MPI_SUM, copy, &r[2]);
    MPI_Ibarrier(MPI_COMM_SELF, &r[3]);
    MPI_Wait(&r[3], MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    MPI_Type_free(&column);
    MPI_Op_free(&op);
    MPI_Comm_free(&copy);
    must(type == MPI_DATATYPE_NULL && op == MPI_OP_NULL && copy == MPI_COMM_NULL, "what was freed");
    await(r, 3, it + 4);
    for (int i = 1; i < RANKS; i++) {
        struct matrix next = matrix_of(i, it);
        multiply(&should, &next, &(int){1}, NULL);
        should = next;
    }
    must(!memcmp(&all, &should, sizeof all), "MPI_Iallreduce with an operation that does not commute");
    must(sums == sum_to(RANKS - 1), "MPI_Iallreduce on a communicator that was freed");
    for (int i = 0; i < 16; i++)
        must(grid[i / 4][i % 4] == (rank == root || i % 4 == 1 ? it * 16 + i : -1), "MPI_Ibcast of a column");
}

/* What MPI forbids of such a request is an error, and does it no harm. */
static void forbidden(void)
{
    MPI_Request r;
    int rc[2], class[2] = {0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    rc[0] = MPI_Request_free(&r);
    rc[1] = MPI_Cancel(&r);
    for (int i = 0; i < 2; i++)
        MPI_Error_class(rc[i], &class[i]);
    must(class[0] == MPI_ERR_REQUEST && class[1] == MPI_ERR_REQUEST && r != MPI_REQUEST_NULL, "MPI_Request_free and MPI_Cancel of a collective");
    must(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS && r == MPI_REQUEST_NULL, "a collective after that");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- neighbours ---- */

/* A ring of two by two, where both neighbours of a dimension are the same process: what goes down comes from above. */
static void beside(MPI_Comm grid, long it)
{
    int peer[4];
    int64_t mine = 1000 * rank + it, to[4], all[4], from[4];
    MPI_Aint bytes[4];
    MPI_Datatype types[4];
    int ones[4] = {1, 1, 1, 1}, mirrored[4] = {3, 2, 1, 0};
    int64_t all_v[4], from_v[4], from_w[4];
    MPI_Request r[KINDS];
    for (int d = 0; d < 2; d++)
        MPI_Cart_shift(grid, d, 1, &peer[2 * d], &peer[2 * d + 1]);
    for (int i = 0; i < 4; i++) {
        to[i] = 10 * mine + i;
        bytes[i] = i * (MPI_Aint)sizeof *to;
        types[i] = MPI_INT64_T;
    }
    MPI_Ineighbor_alltoall(to, 1, MPI_INT64_T, from, 1, MPI_INT64_T, grid, &r[0]);
    MPI_Ineighbor_allgather(&mine, 1, MPI_INT64_T, all, 1, MPI_INT64_T, grid, &r[1]);
    MPI_Ineighbor_allgatherv(&mine, 1, MPI_INT64_T, all_v, ones, mirrored, MPI_INT64_T, grid, &r[2]);
    MPI_Ineighbor_alltoallw(to, ones, bytes, types, from_w, ones, bytes, types, grid, &r[3]);
    MPI_Neighbor_alltoallv(to, ones, mirrored, MPI_INT64_T, from_v, ones, mirrored, MPI_INT64_T, grid);
    await(r, 4, it);
    for (int i = 0; i < 4; i++) {
        int64_t theirs = 1000 * peer[i] + it;
        must(all[i] == theirs && all_v[3 - i] == theirs, "MPI_Ineighbor_allgather(v)");
        must(from[i] == 10 * theirs + (i ^ 1) && from_w[i] == from[i], "MPI_Ineighbor_alltoall(w) in a ring of two");
        must(from_v[3 - i] == 10 * theirs + 3 - (i ^ 1), "MPI_Neighbor_alltoallv in a ring of two");
    }
    MPI_Neighbor_allgather(&mine, 1, MPI_INT64_T, all, 1, MPI_INT64_T, grid);
    MPI_Neighbor_alltoall(to, 1, MPI_INT64_T, from, 1, MPI_INT64_T, grid);
    must(all[3] == 1000 * peer[3] + it && from[2] == 10 * (1000 * (int64_t)peer[2] + it) + 3, "neighbours that are waited for");
}

/* Each sends to the next one twice, and to itself; the last sends nothing, the first hears nothing but itself. */
static void along_edges(MPI_Comm chain, long it)
{
    int64_t to[3] = {rank + it, rank + 2 * it, rank + 3 * it}, from[3] = {-1, -1, -1}, all[3] = {-1, -1, -1};
    int first = rank == 0, last = rank == RANKS - 1;
    MPI_Neighbor_alltoall(last ? to + 2 : to, 1, MPI_INT64_T, from, 1, MPI_INT64_T, chain);
    must(from[0] == rank + 3 * it, "what goes to oneself");
    must(first || (from[1] == rank - 1 + it && from[2] == rank - 1 + 2 * it), "two edges between the same");
    MPI_Neighbor_allgather(to, 1, MPI_INT64_T, all, 1, MPI_INT64_T, chain);
    must(all[0] == to[0] && (first || (all[1] == to[0] - 1 && all[2] == to[0] - 1)), "MPI_Neighbor_allgather along edges");
}

/* ---- the program ---- */

static struct {
    MPI_Comm half, grid, chain;
} on;

static void set_up(void)
{
    int last = rank == RANKS - 1, first = rank == 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &on.half);
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){1, 1}, 0, &on.grid);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, first ? 1 : 3, (int[]){rank, rank - 1, rank - 1}, (int[]){1, 1, 1}, last ? 1 : 3,
                                   last ? (int[]){rank, 0, 0} : (int[]){rank + 1, rank + 1, rank}, (int[]){1, 1, 1}, MPI_INFO_NULL, 0, &on.chain);
}


static void step(long it)
{
    MPI_Comm half = on.half;
    overlap(half, it);
    reductions(it % 2 ? half : MPI_COMM_WORLD, it);
    data(it % 3 ? MPI_COMM_WORLD : half, it);
    own_kinds(it);
    forbidden();
    beside(on.grid, it);
    along_edges(on.chain, it);
}

static void run(void *arg)
{
    long it = 0, steps = *(long *)arg;
    int wrong = 0;
    for (int i = 0; i < N; i++)
        u[i] = rank + 1e-2 * i;
    from_before = never = MPI_REQUEST_NULL;
    set_up();
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("u", u, SAIKAI_F64, 1, (size_t[]){N}) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        usleep(1000);
        if (++it == steps)
            wait_for_the_end();
        executed++;
        step(it);
        saikai_checkpoint(it);
    }
    MPI_Wait(&from_before, MPI_STATUS_IGNORE);
    int64_t hash = 0x1234567, all = 0;
    for (int i = 0; i < N; i++) {
        int64_t bits;
        memcpy(&bits, &u[i], sizeof bits);
        hash = (int64_t)(((uint64_t)hash ^ (uint64_t)bits) * 0x100000001b3u);
    }
    MPI_Reduce(&hash, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&bad, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Comm_free(&on.half);
    MPI_Comm_free(&on.grid);
    MPI_Comm_free(&on.chain);
    saikai_finalize();
    if (!rank)
        printf("later: %ld steps, hash %016llx: %s\n", steps, (unsigned long long)all, wrong ? "WRONG" : "verified");
}

static void leave(const char *base, long number)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", base, rank);
    FILE *f = fopen(name, "w");
    if (!f)
        return;
    fprintf(f, "%ld\n", number);
    fclose(f);
}

int main(int argc, char **argv)
{
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        leave(argv[2], (long)getpid());
        argv += 2;
        argc -= 2;
    }
    if (argc < 3 || ranks != RANKS)
        return 2;
    long steps = strtol(argv[2], NULL, 10);
    opens = argc > 3 && !strcmp(argv[3], "open");
    saikai_in_place(run, &steps);
    leave(argv[1], executed);
    MPI_Finalize();
    return 0;
}
