/* What a solver on a grid of processes does: a Cartesian communicator, neighbours by MPI_Cart_shift, persistent requests for the halo with datatypes of rows and
 * columns, and reductions along rows and columns of processes. Under the protocol
 * logging whoever survives a fault computes no step twice. Reductions of prefixes and parts are held against what they must be.
 * usage: halo [-p PIDFILE] COUNTS STEPS        with 4 ranks */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "until.h"

enum { RANKS = 4, N = 24, WIDE = N + 2, DIRECTIONS = 4, SIDES = 2 * DIRECTIONS };

static int rank, bad;
static long executed;
static double u[WIDE][WIDE], next_u[WIDE][WIDE];
static struct {
    MPI_Comm grid, row, column;
    MPI_Datatype line, pillar; /* one row of the inner points, and one column */
    MPI_Request side[SIDES];
} on;

static void must(int holds, const char *what)
{
    if (!holds && !bad++)
        printf("rank %d: %s\n", rank, what);
}

static void set_up(void)
{
    int up, down, left, right;
    double *first[DIRECTIONS] = {&u[1][1], &u[N][1], &u[1][1], &u[1][N]}, *ghost[DIRECTIONS] = {&u[0][1], &u[N + 1][1], &u[1][0], &u[1][N + 1]};
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){1, 0}, 1, &on.grid);
    MPI_Cart_sub(on.grid, (int[]){0, 1}, &on.row);
    MPI_Cart_sub(on.grid, (int[]){1, 0}, &on.column);
    MPI_Type_contiguous(N, MPI_DOUBLE, &on.line);
    MPI_Type_vector(N, 1, WIDE, MPI_DOUBLE, &on.pillar);
    MPI_Type_commit(&on.line);
    MPI_Type_commit(&on.pillar);
    MPI_Cart_shift(on.grid, 0, 1, &up, &down);
    MPI_Cart_shift(on.grid, 1, 1, &left, &right);
    const int peer[DIRECTIONS] = {up, down, left, right};
    for (int d = 0; d < DIRECTIONS; d++) {
        MPI_Datatype t = d < 2 ? on.line : on.pillar;
        MPI_Recv_init(ghost[d], 1, t, peer[d], d ^ 1, on.grid, &on.side[d]);
        (d % 2 ? MPI_Send_init : MPI_Ssend_init)(first[d], 1, t, peer[d], d, on.grid, &on.side[DIRECTIONS + d]);
    }
}

static void tear_down(void)
{
    for (int d = 0; d < SIDES; d++)
        MPI_Request_free(&on.side[d]);
    MPI_Type_free(&on.line);
    MPI_Type_free(&on.pillar);
    MPI_Comm_free(&on.row);
    MPI_Comm_free(&on.column);
    MPI_Comm_free(&on.grid);
}

/* The halo: in three ways of waiting for requests that stay. */
static void exchange(long it)
{
    MPI_Status s[SIDES];
    int index[SIDES], n, ended = 0;
    MPI_Startall(SIDES - 1, on.side);
    MPI_Start(&on.side[SIDES - 1]);
    if (it % 3 == 0) {
        MPI_Waitall(SIDES, on.side, s);
        for (int d = 0; d < DIRECTIONS; d++)
            must(s[d].MPI_SOURCE == MPI_PROC_NULL || s[d].MPI_TAG == (d ^ 1), "the tag of a persistent receive");
    } else if (it % 3 == 1) {
        while (ended < SIDES) {
            MPI_Waitsome(SIDES, on.side, &n, index, s);
            must(n != MPI_UNDEFINED, "requests are left");
            ended += n;
        }
    } else {
        for (int left = 1; left; left = index[0] != MPI_UNDEFINED)
            MPI_Waitany(SIDES, on.side, index, s);
    }
    MPI_Waitany(SIDES, on.side, index, s);
    must(index[0] == MPI_UNDEFINED, "all requests are at rest");
}

static double relax(void)
{
    double change = 0;
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++) {
            next_u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) + 1e-3 * (rank + 1);
            change += (next_u[i][j] - u[i][j]) * (next_u[i][j] - u[i][j]);
        }
    memcpy(u, next_u, sizeof u);
    return change;
}

static int64_t sum_to(int64_t n)
{
    return n * (n + 1) / 2;
}

/* Reductions of prefixes and parts, of numbers that all know: rank r has it + r. */
static void parts(MPI_Comm c, long it)
{
    int n, me;
    MPI_Comm_size(c, &n);
    MPI_Comm_rank(c, &me);
    int64_t mine = it + me, got = -7, all[RANKS], part[RANKS] = {0};
    int counts[RANKS], ones[RANKS], at[RANKS];
    MPI_Datatype types[RANKS];
    for (int i = 0; i < n; i++) {
        counts[i] = 1;
        all[i] = 10 * i + me;
        ones[i] = 1;
        at[i] = (int)(i * (int)sizeof *all);
        types[i] = MPI_INT64_T;
    }
    MPI_Scan(&mine, &got, 1, MPI_INT64_T, MPI_SUM, c);
    must(got == it * (me + 1) + sum_to(me), "MPI_Scan");
    got = -7;
    MPI_Exscan(&mine, &got, 1, MPI_INT64_T, MPI_SUM, c);
    must(got == (me ? it * me + sum_to(me - 1) : -7), "MPI_Exscan");
    MPI_Reduce_scatter(all, &got, counts, MPI_INT64_T, MPI_SUM, c);
    must(got == 10 * me * n + sum_to(n - 1), "MPI_Reduce_scatter");
    MPI_Reduce_scatter_block(all, &got, 1, MPI_INT64_T, MPI_SUM, c);
    must(got == 10 * me * n + sum_to(n - 1), "MPI_Reduce_scatter_block");
    MPI_Alltoallw(all, ones, at, types, part, ones, at, types, c);
    for (int i = 0; i < n; i++)
        must(part[i] == 10 * me + i, "MPI_Alltoallw");
}

static void step(double *norm, long it)
{
    double change, along[2] = {0, 0}, across[2] = {0, 0}, both[2];
    exchange(it);
    change = relax();
    both[0] = change + *norm;
    both[1] = u[1][1];
    MPI_Allreduce(both, along, 2, MPI_DOUBLE, MPI_SUM, on.row);
    MPI_Allreduce(both, across, 2, MPI_DOUBLE, MPI_MAX, on.column);
    parts(it % 2 ? on.row : on.grid, it);
    MPI_Allreduce(along, both, 2, MPI_DOUBLE, MPI_SUM, on.column);
    *norm = 0.5 * both[0] + 0.25 * across[0] + 1e-3 * across[1] / (1 + both[1] * both[1]);
    u[1][1] += 1e-6 * *norm;
}

static void run(void *arg)
{
    static double norm;
    long it = 0, steps = *(long *)arg;
    int wrong = 0;
    memset(u, 0, sizeof u);
    norm = 0;
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++)
            u[i][j] = rank + 1e-2 * i * j;
    set_up();
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("u", u, SAIKAI_F64, 2, (size_t[]){WIDE, WIDE}) < 0 ||
        saikai_protect("norm", &norm, SAIKAI_F64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        usleep(1000);
        if (++it == steps)
            wait_for_the_end();
        executed++;
        step(&norm, it);
        saikai_checkpoint(it);
    }
    int64_t hash = 0x1234567, all = 0;
    for (int i = 0; i < WIDE * WIDE; i++) {
        int64_t bits;
        memcpy(&bits, &u[i / WIDE][i % WIDE], sizeof bits);
        hash = (int64_t)(((uint64_t)hash ^ (uint64_t)bits) * 0x100000001b3u);
    }
    MPI_Reduce(&hash, &all, 1, MPI_INT64_T, MPI_SUM, 0, on.grid);
    MPI_Reduce(&bad, &wrong, 1, MPI_INT, MPI_SUM, 0, on.grid);
    tear_down();
    saikai_finalize();
    if (!rank)
        printf("halo: %ld steps, hash %016llx: %s\n", steps, (unsigned long long)all, wrong ? "WRONG" : "verified");
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
