/* A program that makes communicators of every kind, before its loop and in it, and talks on all of them in every way, under the protocol logging: whoever
 * survives a fault computes no step twice and keeps its handles, and a process that is made again makes them alone. What it is told (ranks,
 * statuses, neighbours, groups) is held against what it must be.
 * usage: made [-p PIDFILE] COUNTS STEPS        with 4 ranks */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, HALO = 300, TAG_MOST = 1048575 };

static int rank, bad, keyval, copied;
static long executed;
static struct {
    MPI_Comm dup, half, turned, grid, row, column, graph, dist, list, some, node, own;
    MPI_Group all;
} on;

static void must(int holds, const char *what)
{
    if (!holds && !bad++)
        printf("rank %d: %s\n", rank, what);
}

static void mix(int64_t *hash, const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t h = (uint64_t)*hash;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    *hash = (int64_t)h;
}

static int rank_on(MPI_Comm c)
{
    int r;
    MPI_Comm_rank(c, &r);
    return r;
}

static int size_of(MPI_Comm c)
{
    int n;
    MPI_Comm_size(c, &n);
    return n;
}

static int copy_attribute(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag)
{
    (void)c, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    copied++;
    return MPI_SUCCESS;
}

static void make_all(void)
{
    static int value = 7;
    void *got = NULL;
    int there = 0;
    MPI_Group some;
    MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &value);
    MPI_Comm_dup(MPI_COMM_WORLD, &on.dup);
    MPI_Comm_get_attr(on.dup, keyval, &got, &there);
    must(there && got == &value && copied == 1, "what is kept at MPI_COMM_WORLD does not go over to its duplicate");
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &on.half);
    MPI_Comm_split(on.dup, rank == 3 ? MPI_UNDEFINED : 5, -rank, &on.turned);
    MPI_Cart_create(on.dup, 2, (int[]){2, 2}, (int[]){1, 0}, 0, &on.grid);
    MPI_Cart_sub(on.grid, (int[]){0, 1}, &on.row);
    MPI_Cart_sub(on.grid, (int[]){1, 0}, &on.column);
    MPI_Graph_create(MPI_COMM_WORLD, 4, (int[]){1, 3, 5, 6}, (int[]){1, 0, 2, 1, 3, 2}, 0, &on.graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, (int[]){(rank + 1) % 4}, (int[]){3}, 1, (int[]){(rank + 3) % 4}, (int[]){4}, MPI_INFO_NULL, 0,
                                   &on.dist);
    MPI_Dist_graph_create(on.half, 1, (int[]){rank_on(on.half)}, (int[]){1}, (int[]){!rank_on(on.half)}, (int[]){6}, MPI_INFO_NULL, 0, &on.list);
    MPI_Comm_group(MPI_COMM_WORLD, &on.all);
    MPI_Group_incl(on.all, 3, (int[]){3, 0, 2}, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &on.some);
    MPI_Group_free(&some);
    MPI_Comm_split_type(on.dup, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &on.node);
    MPI_Comm_dup(MPI_COMM_SELF, &on.own);
}

/* What is known of them. */
static void ask(void)
{
    int coords[2], dims[2], periods[2], n, m, weighted, a, b, list[4], weight[4], result, kind;
    MPI_Group g;
    must(size_of(on.dup) == 4 && rank_on(on.dup) == rank, "the duplicate");
    must(size_of(on.half) == 2 && rank_on(on.half) == rank / 2, "the half");
    must(rank == 3 ? on.turned == MPI_COMM_NULL : size_of(on.turned) == 3 && rank_on(on.turned) == 2 - rank, "the turned one");
    must(rank == 1 ? on.some == MPI_COMM_NULL : rank_on(on.some) == (rank == 3 ? 0 : rank == 0 ? 1 : 2), "of a group");
    must(size_of(on.node) == 4 && size_of(on.own) == 1, "on a node");
    MPI_Cart_get(on.grid, 2, dims, periods, coords);
    must(dims[0] == 2 && periods[0] && !periods[1] && coords[0] == rank / 2 && coords[1] == rank % 2, "the grid");
    MPI_Cart_shift(on.grid, 0, 1, &a, &b);
    must(a == (rank + 2) % 4 && b == (rank + 2) % 4, "along the column");
    MPI_Cart_shift(on.grid, 1, 1, &a, &b);
    must(a == (rank % 2 ? rank - 1 : MPI_PROC_NULL) && b == (rank % 2 ? MPI_PROC_NULL : rank + 1), "along the row");
    MPI_Cart_rank(on.grid, (int[]){3, 1}, &a);
    must(a == 3 && rank_on(on.row) == rank % 2 && rank_on(on.column) == rank / 2 && size_of(on.row) == 2, "rows and columns");
    MPI_Cartdim_get(on.row, &n);
    MPI_Topo_test(on.row, &kind);
    must(n == 1 && kind == MPI_CART, "a row is a grid");
    MPI_Graph_neighbors_count(on.graph, rank, &n);
    MPI_Graph_neighbors(on.graph, rank, 4, list);
    must(n == (rank == 0 || rank == 3 ? 1 : 2) && list[0] == (rank ? rank - 1 : 1), "the graph");
    MPI_Dist_graph_neighbors_count(on.dist, &n, &m, &weighted);
    MPI_Dist_graph_neighbors(on.dist, 1, &a, weight, 1, &b, weight + 1);
    must(n == 1 && m == 1 && weighted && a == (rank + 1) % 4 && b == (rank + 3) % 4 && weight[0] == 3 && weight[1] == 4, "the distributed graph");
    MPI_Dist_graph_neighbors(on.list, 1, &a, weight, 1, &b, weight + 1);
    must(a == !rank_on(on.half) && b == a && weight[0] == 6, "the distributed graph that all tell of");
    MPI_Comm_compare(on.dup, MPI_COMM_WORLD, &result);
    must(result == MPI_CONGRUENT, "congruent");
    MPI_Comm_compare(on.grid, on.row, &result);
    must(result == MPI_UNEQUAL, "unequal");
    MPI_Comm_group(on.half, &g);
    MPI_Group_translate_ranks(g, 2, (int[]){0, 1}, on.all, list);
    must(list[0] == rank % 2 && list[1] == rank % 2 + 2, "the group of the half");
    MPI_Group_free(&g);
}

/* Round a communicator, and what the statuses say. */
static void round_on(MPI_Comm c, int64_t *hash, int tag)
{
    int n = size_of(c), me = rank_on(c), up = (me + 1) % n, down = (me + n - 1) % n, count;
    int64_t mine = *hash, got[2] = {0, 0};
    MPI_Request r[3];
    MPI_Status s[3];
    MPI_Irecv(&got[0], 1, MPI_INT64_T, down, tag, c, &r[0]);
    MPI_Irecv(&got[1], 1, MPI_INT64_T, up, tag + 1, c, &r[1]);
    MPI_Isend(&mine, 1, MPI_INT64_T, up, tag, c, &r[2]);
    MPI_Ssend(&mine, 1, MPI_INT64_T, down, tag + 1, c);
    MPI_Waitall(3, r, s);
    MPI_Get_count(&s[0], MPI_INT64_T, &count);
    must(s[0].MPI_SOURCE == down && s[0].MPI_TAG == tag && count == 1, "the status of the first");
    must(s[1].MPI_SOURCE == up && s[1].MPI_TAG == tag + 1, "the status of the second");
    MPI_Sendrecv(&mine, 1, MPI_INT64_T, up, tag, &got[1], 1, MPI_INT64_T, down, tag, c, s);
    must(got[1] == got[0] && s[0].MPI_SOURCE == down && s[0].MPI_TAG == tag, "there and back");
    mix(hash, got, sizeof got);
}

/* Collectives on it. */
static void together(MPI_Comm c, int64_t *hash, long it)
{
    int n = size_of(c), root = (int)(it % n);
    int64_t one = *hash & 0xffff, sum = 0, all[RANKS] = {0}, other[RANKS] = {0};
    MPI_Allreduce(&one, &sum, 1, MPI_INT64_T, MPI_SUM, c);
    MPI_Allgather(&one, 1, MPI_INT64_T, all, 1, MPI_INT64_T, c);
    for (int i = 0; i < n; i++)
        sum -= all[i];
    must(!sum && all[rank_on(c)] == one, "the sum is that of all");
    MPI_Alltoall(all, 1, MPI_INT64_T, other, 1, MPI_INT64_T, c);
    MPI_Gather(&one, 1, MPI_INT64_T, other, 1, MPI_INT64_T, root, c);
    MPI_Scatter(other, 1, MPI_INT64_T, &one, 1, MPI_INT64_T, root, c);
    must(one == (*hash & 0xffff), "gathered and scattered");
    MPI_Bcast(&all[0], 1, MPI_INT64_T, root, c);
    MPI_Reduce(&one, &sum, 1, MPI_INT64_T, MPI_MAX, root, c);
    MPI_Barrier(c);
    mix(hash, all, sizeof *all * (size_t)n);
}

/* Tags of one communicator are not those of another: rank 0 takes what comes on one by any source or tag, while something else has come before. */
static void any(int64_t *hash)
{
    int64_t value[2 * RANKS] = {0}, seen = 0;
    MPI_Status s;
    MPI_Request r[2];
    int found = 0, from[RANKS] = {0};
    if (rank) {
        int64_t first = 1000 + rank, second = 2000 + rank;
        MPI_Isend(&first, 1, MPI_INT64_T, 0, 3, on.dup, &r[0]);
        MPI_Isend(&second, 1, MPI_INT64_T, 0, TAG_MOST - rank, on.grid, &r[1]);
        MPI_Waitall(2, r, (MPI_Status[2]){0});
    }
    for (int i = 1; !rank && i < RANKS; i++) {
        if (i == 1) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, on.grid, &s);
            must(s.MPI_TAG == TAG_MOST - s.MPI_SOURCE, "what was found");
            MPI_Recv(&value[i], 1, MPI_INT64_T, s.MPI_SOURCE, s.MPI_TAG, on.grid, &s);
        } else if (i == 2) {
            while (!found)
                MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, on.grid, &found, &s);
            MPI_Recv(&value[i], 1, MPI_INT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, on.grid, &s);
        } else {
            MPI_Irecv(&value[i], 1, MPI_INT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, on.grid, &r[0]);
            MPI_Wait(&r[0], &s);
        }
        must(s.MPI_TAG == TAG_MOST - s.MPI_SOURCE && value[i] == 2000 + s.MPI_SOURCE && !from[s.MPI_SOURCE]++, "any source and tag of the grid");
        seen += value[i];
    }
    for (int i = 1; !rank && i < RANKS; i++) {
        MPI_Recv(&value[RANKS + i], 1, MPI_INT64_T, i, 3, on.dup, &s);
        must(value[RANKS + i] == 1000 + i && s.MPI_SOURCE == i && s.MPI_TAG == 3, "what was sent before on another communicator");
        seen += value[RANKS + i];
    }
    mix(hash, &seen, sizeof seen);
}

/* Made and freed in each turn: of a part, of a part of that, of groups at different times. */
static void in_the_loop(int64_t *hash, long it)
{
    MPI_Comm part, again, pair;
    MPI_Group g;
    MPI_Comm_split(MPI_COMM_WORLD, (int)((rank + it) % 3), rank, &part);
    MPI_Comm_dup(part, &again);
    MPI_Comm_free(&part);
    round_on(again, hash, 20);
    together(again, hash, it);
    MPI_Comm_free(&again);
    if (rank < 2) {
        MPI_Group_incl(on.all, 2, (int[]){1, 0}, &g);
        MPI_Comm_create_group(MPI_COMM_WORLD, g, 9, &pair);
        must(rank_on(pair) == !rank, "a pair");
        round_on(pair, hash, 5);
        MPI_Comm_free(&pair);
        MPI_Group_free(&g);
    }
}

static void step(int64_t *hash, double *halo, long it)
{
    static double up[HALO], left[HALO];
    int a, b;
    MPI_Comm each[] = {on.dup, on.half, on.turned, on.grid, on.row, on.column, on.graph, on.dist, on.list, on.some, on.node, on.own};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (each[i] != MPI_COMM_NULL) {
            if (each[i] != on.own)
                round_on(each[i], hash, 100 + (int)i);
            together(each[i], hash, it);
        }
    memset(left, 0, sizeof left);
    MPI_Cart_shift(on.grid, 0, 1, &a, &b);
    MPI_Sendrecv(halo, HALO, MPI_DOUBLE, b, 1, up, HALO, MPI_DOUBLE, a, 1, on.grid, MPI_STATUS_IGNORE);
    MPI_Cart_shift(on.grid, 1, 1, &a, &b);
    MPI_Sendrecv(halo, HALO, MPI_DOUBLE, b, 2, left, HALO, MPI_DOUBLE, a, 2, on.grid, MPI_STATUS_IGNORE);
    for (int i = 0; i < HALO; i++)
        halo[i] = 0.4 * halo[i] + 0.3 * up[i] + 0.3 * left[i] + 1e-3 * i;
    MPI_Sendrecv_replace(halo, HALO, MPI_DOUBLE, !rank_on(on.row), 4, !rank_on(on.row), 4, on.row, MPI_STATUS_IGNORE);
    any(hash);
    in_the_loop(hash, it);
    ask();
    mix(hash, halo, sizeof *halo * HALO);
}

/* A matched probe could get a message of another communicator, since all travel on one: it is refused, in a sentence. */
static void matched_probes(void)
{
    int found = 0;
    MPI_Message message;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(on.dup, MPI_ERRORS_RETURN);
    must(MPI_Improbe(MPI_ANY_SOURCE, 5, on.dup, &found, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS, "a matched probe on a duplicate");
    must(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS, "a matched probe of any tag");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(on.dup, MPI_ERRORS_ARE_FATAL);
}

static void run(void *arg)
{
    static int64_t hash;
    static double halo[HALO];
    long it = 0, steps = *(long *)arg;
    int64_t all = 0;
    hash = rank + 1;
    for (int i = 0; i < HALO; i++)
        halo[i] = rank + 0.01 * i;
    make_all();
    ask();
    round_on(on.grid, &hash, 7);
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("hash", &hash, SAIKAI_I64, 0, NULL) < 0 ||
        saikai_protect("halo", halo, SAIKAI_F64, 1, (size_t[]){HALO}) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        usleep(1000);
        it++;
        executed++;
        step(&hash, halo, it);
        saikai_checkpoint(it);
    }
    if (getenv("SAIKAI_WORLD_LOG"))
        matched_probes();
    int wrong = 0;
    MPI_Reduce(&hash, &all, 1, MPI_INT64_T, MPI_BXOR, 0, on.dup);
    MPI_Reduce(&bad, &wrong, 1, MPI_INT, MPI_SUM, 0, on.dup);
    MPI_Comm_free(&on.dup);
    saikai_finalize();
    if (!rank)
        printf("made: %ld steps, hash %016llx: %s\n", steps, (unsigned long long)all, wrong ? "WRONG" : "verified");
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
    saikai_in_place(run, &steps);
    leave(argv[1], executed);
    MPI_Finalize();
    return 0;
}
