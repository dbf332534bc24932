/* Where data lie, and what is made of them. */
#include "rare.h"

#include <string.h>

/* n ints where they lie in memory, for MPI_BOTTOM. */
static MPI_Datatype at_address(const int *p, int n)
{
    MPI_Datatype t;
    MPI_Aint at;
    MPI_Get_address(p, &at);
    MPI_Type_create_hindexed_block(1, n, &at, MPI_INT, &t);
    MPI_Type_commit(&t);
    return t;
}

/* ---- addresses ---- */

void bottom(void)
{
    static int a[64 * 3000], b[64 * 3000];
    int ones[64], zeros[64] = {0};
    for (int n = 10; n <= 3000; n *= 300) {
        MPI_Datatype from = at_address(a, n), to = at_address(b, n), ts[64], tr[64];
        MPI_Request r[2];
        memset(b, 0, sizeof b);
        fill(a, n, rank * 5000);
        MPI_Bcast(MPI_BOTTOM, 1, from, 1, MPI_COMM_WORLD);
        tell("broadcast", a[n - 1]);
        fill(a, n, rank * 5000);
        MPI_Irecv(MPI_BOTTOM, 1, to, before, 1, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(MPI_BOTTOM, 1, from, next, 1, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        tell("sent", b[n - 1]);
        MPI_Sendrecv(MPI_BOTTOM, 1, from, before, 1, MPI_BOTTOM, 1, to, next, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        tell("exchanged", b[n - 1]);
        MPI_Gather(MPI_BOTTOM, 1, from, b, n, MPI_INT, 1, MPI_COMM_WORLD);
        tell("gathered", b[n * ranks - 1]);
        for (int i = 0; i < ranks; i++) {
            ones[i] = 1;
            ts[i] = at_address(a + i * n, n);
            tr[i] = at_address(b + i * n, n);
            fill(a + i * n, n, rank * 5000 + i * 100000);
        }
        memset(b, 0, sizeof b);
        MPI_Alltoallw(MPI_BOTTOM, ones, zeros, ts, MPI_BOTTOM, ones, zeros, tr, MPI_COMM_WORLD);
        tell("all to all", sum_of(b, sizeof(int) * (size_t)(n * ranks)));
        memset(b, 0, sizeof b);
        MPI_Ialltoallw(MPI_BOTTOM, ones, zeros, ts, MPI_BOTTOM, ones, zeros, tr, MPI_COMM_WORLD, &r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        tell("all to all, later", sum_of(b, sizeof(int) * (size_t)(n * ranks)));
        for (int i = 0; i < ranks; i++) {
            MPI_Type_free(&ts[i]);
            MPI_Type_free(&tr[i]);
        }
        MPI_Type_free(&from);
        MPI_Type_free(&to);
        from = at_address(a, n);
        MPI_Type_create_resized(from, 0, (MPI_Aint)sizeof(int) * n, &to); /* absolute, one behind the other */
        MPI_Type_commit(&to);
        fill(a, n, rank);
        memset(b, 0, sizeof b);
        tr[0] = at_address(b, n);
        MPI_Type_create_resized(tr[0], 0, (MPI_Aint)sizeof(int) * n, &tr[1]);
        MPI_Type_commit(&tr[1]);
        MPI_Allgather(MPI_BOTTOM, 1, to, MPI_BOTTOM, 1, tr[1], MPI_COMM_WORLD);
        tell("gathered by all", sum_of(b, sizeof(int) * (size_t)(n * ranks)));
        MPI_Type_free(&tr[0]);
        MPI_Type_free(&tr[1]);
        MPI_Type_free(&from);
        MPI_Type_free(&to);
    }
}

/* ---- what is between the data of an operation ---- */

void gaps(void)
{
    enum { N = 40, WIDE = 2 * N };
    static int a[WIDE], grid[64 * WIDE], counts[64], even[64], odd[64];
    MPI_Datatype t = every_second(N);
    MPI_Request r[2];
    MPI_Status s;
    fill(a, WIDE, rank * 100);
    memset(grid, 0, sizeof grid);
    MPI_Ibcast(grid, 1, t, 0, MPI_COMM_WORLD, &r[0]);
    for (int i = 0; i < N; i++)
        grid[2 * i + 1] = rank + i; /* the program's meanwhile */
    MPI_Wait(&r[0], &s);
    tell("written between a broadcast", sum_of(grid, sizeof(int) * WIDE));
    MPI_Ibcast(grid, 1, t, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Ibcast(grid + 1, 1, t, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Wait(&r[1], &s);
    MPI_Wait(&r[0], &s);
    tell("two in each other", sum_of(grid, sizeof(int) * WIDE));
    for (int i = 0; i < ranks; i++) {
        counts[i] = N;
        even[i] = i * WIDE;
        odd[i] = i * WIDE + N;
    }
    memset(grid, 0, sizeof grid);
    MPI_Iallgatherv(a, N, MPI_INT, grid, counts, even, MPI_INT, MPI_COMM_WORLD, &r[0]);
    MPI_Iallgatherv(a + N, N, MPI_INT, grid, counts, odd, MPI_INT, MPI_COMM_WORLD, &r[1]);
    MPI_Wait(&r[1], &s);
    MPI_Wait(&r[0], &s);
    tell("in turns", sum_of(grid, sizeof(int) * (size_t)(WIDE * ranks)));
    memset(grid, 0, sizeof grid);
    MPI_Irecv(grid + 1, 1, t, before, 3, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(a, N, MPI_INT, next, 3, MPI_COMM_WORLD, &r[1]);
    for (int i = 0; i < 20; i++)
        MPI_Bcast(grid, 1, t, i % ranks, MPI_COMM_WORLD);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    tell("received beside a broadcast", sum_of(grid, sizeof(int) * WIDE));
    MPI_Iallreduce(MPI_IN_PLACE, grid, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]);
    MPI_Ireduce(a, grid + N, N, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    tell("reduced side by side", sum_of(grid, sizeof(int) * WIDE));
    MPI_Type_free(&t);
    t = every_second(N);
    MPI_Ibcast(grid, 1, t, 2, MPI_COMM_WORLD, &r[0]);
    MPI_Type_free(&t);
    memset(counts, 0xff, sizeof counts);
    MPI_Wait(&r[0], &s);
    tell("of a type that was freed", sum_of(grid, sizeof(int) * WIDE));
}

/* ---- operations ---- */

/* 2 x 2 matrices modulo a prime: whose product is another one the other way round. */
enum { PRIME = 9973 };

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++, a += 4, b += 4) {
        int c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        for (int k = 0; k < 4; k++)
            b[k] = c[k] % PRIME;
    }
}

static int place_seen;
static MPI_Comm place_of;

/* Ints one of which is left out after each; it asks where it is. */
static void add_with_gaps(void *in, void *inout, int *n, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    int me, size, there, all;
    MPI_Type_get_extent(*type, &lb, &extent);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(place_of, &there);
    MPI_Comm_size(place_of, &all);
    place_seen |= me != rank || size != ranks || there != ranks - 1 - rank || all != ranks;
    for (int i = 0; i < *n; i++)
        *(int *)((char *)inout + i * extent) += *(int *)((char *)in + i * extent);
}

static void reduce_all(MPI_Op op, MPI_Datatype t, int n)
{
    enum { MOST = 20000 };
    static int a[MOST], b[MOST];
    int *from = a, *to = b, counts[64];
    MPI_Request r;
    for (int i = 0; i < MOST; i++)
        a[i] = (i + 3 * rank) % PRIME;
    for (int root = 0; root < ranks; root++) {
        memset(b, 0, sizeof b);
        MPI_Reduce(from, to, n, t, op, root, MPI_COMM_WORLD);
        tell("reduced", rank == root ? sum_of(b, sizeof b) : 0);
    }
    for (int i = 0; i < ranks; i++)
        counts[i] = i == 1 ? 0 : n / ranks;
    memset(b, 0, sizeof b);
    MPI_Allreduce(from, to, n, t, op, MPI_COMM_WORLD);
    tell("by all", sum_of(b, sizeof b));
    MPI_Scan(from, to, n, t, op, MPI_COMM_WORLD);
    tell("so far", sum_of(b, sizeof b));
    if (rank)
        memset(b, 0, sizeof b);
    MPI_Exscan(from, to, n, t, op, MPI_COMM_WORLD);
    tell("before", rank ? sum_of(b, sizeof b) : 0);
    memset(b, 0, sizeof b);
    MPI_Reduce_scatter_block(from, to, n / ranks, t, op, MPI_COMM_WORLD);
    tell("in parts", sum_of(b, sizeof b));
    memset(b, 0, sizeof b);
    MPI_Reduce_scatter(from, to, counts, t, op, MPI_COMM_WORLD);
    tell("in other parts", sum_of(b, sizeof b));
    memcpy(b, a, sizeof b);
    MPI_Allreduce(MPI_IN_PLACE, to, n, t, op, MPI_COMM_WORLD);
    tell("in place", sum_of(b, sizeof b));
    memcpy(b, a, sizeof b);
    MPI_Iallreduce(MPI_IN_PLACE, to, n, t, op, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    tell("in place, later", sum_of(b, sizeof b));
    memcpy(b, a, sizeof b);
    MPI_Reduce(rank == 1 ? MPI_IN_PLACE : from, to, n, t, op, 1, MPI_COMM_WORLD);
    tell("in place of one", rank == 1 ? sum_of(b, sizeof b) : 0);
    memcpy(b, a, sizeof b);
    MPI_Scan(MPI_IN_PLACE, to, n, t, op, MPI_COMM_WORLD);
    tell("so far, in place", sum_of(b, sizeof b));
    MPI_Reduce_local(from, to, n, t, op);
    tell("here", sum_of(b, sizeof b));
}

void operations(void)
{
    MPI_Op product, sum;
    MPI_Datatype matrix, wide;
    MPI_Op_create(multiply, 0, &product);
    MPI_Op_create(add_with_gaps, 1, &sum);
    MPI_Type_contiguous(4, MPI_INT, &matrix);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &wide);
    MPI_Type_commit(&matrix);
    MPI_Type_commit(&wide);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &place_of);
    for (int n = ranks; n < 5000; n *= 40) {
        reduce_all(product, matrix, n);
        reduce_all(sum, wide, n);
        tell("where that was", place_seen);
        reduce_all(MPI_MAXLOC, MPI_2INT, n);
        data_of = sizeof(double) + sizeof(int), of = 2 * sizeof(double);
        reduce_all(MPI_MINLOC, MPI_DOUBLE_INT, n / 2 + ranks);
        data_of = of = 1;
        reduce_all(MPI_BXOR, MPI_INT, n);
    }
    MPI_Comm_free(&place_of);
    MPI_Type_free(&matrix);
    MPI_Type_free(&wide);
    MPI_Op_free(&product);
    MPI_Op_free(&sum);
}

/* ---- nothing ---- */

void nothing(void)
{
    int zeros[64] = {0}, b[4] = {1, 2, 3, 4};
    MPI_Datatype empty, ts[64];
    MPI_Request r[6];
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    for (int i = 0; i < 64; i++)
        ts[i] = MPI_INT;
    tell("barrier", MPI_Barrier(MPI_COMM_WORLD));
    tell("bcast", MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    tell("bcast of what is empty", MPI_Bcast(b, 4, empty, 0, MPI_COMM_WORLD));
    tell("gather", MPI_Gather(NULL, 0, MPI_INT, b, 0, MPI_INT, 0, MPI_COMM_WORLD));
    tell("gatherv", MPI_Gatherv(NULL, 0, MPI_INT, b, rank ? NULL : zeros, rank ? NULL : zeros, MPI_INT, 0, MPI_COMM_WORLD));
    tell("scatterv", MPI_Scatterv(b, rank ? NULL : zeros, rank ? NULL : zeros, rank ? MPI_DATATYPE_NULL : MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    tell("allgather", MPI_Allgather(b, 0, MPI_INT, b, 0, MPI_INT, MPI_COMM_WORLD));
    tell("allgatherv", MPI_Allgatherv(b, 0, MPI_INT, b + 1, zeros, zeros, MPI_INT, MPI_COMM_WORLD));
    tell("alltoall", MPI_Alltoall(b, 0, MPI_INT, b + 1, 0, MPI_INT, MPI_COMM_WORLD));
    tell("alltoallv", MPI_Alltoallv(b, zeros, zeros, MPI_INT, b + 1, zeros, zeros, MPI_INT, MPI_COMM_WORLD));
    tell("alltoallw", MPI_Alltoallw(b, zeros, zeros, ts, b + 1, zeros, zeros, ts, MPI_COMM_WORLD));
    tell("allreduce", MPI_Allreduce(b, b + 1, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    tell("reduce", MPI_Reduce(b, b + 1, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    tell("scan", MPI_Scan(b, b + 1, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    tell("exscan", MPI_Exscan(b, b + 1, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    tell("reduce_scatter", MPI_Reduce_scatter(b, b + 1, zeros, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    MPI_Ibcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Iallreduce(b, b + 1, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[1]);
    MPI_Ialltoallw(b, zeros, zeros, ts, b + 1, zeros, zeros, ts, MPI_COMM_WORLD, &r[2]);
    MPI_Igatherv(NULL, 0, MPI_INT, b, rank ? NULL : zeros, rank ? NULL : zeros, MPI_INT, 0, MPI_COMM_WORLD, &r[3]);
    MPI_Iallgatherv(b, 0, MPI_INT, b + 1, zeros, zeros, MPI_INT, MPI_COMM_WORLD, &r[4]);
    MPI_Ibarrier(MPI_COMM_WORLD, &r[5]);
    tell("all of them, later", MPI_Waitall(6, r, MPI_STATUSES_IGNORE));
    tell("what was there", sum_of(b, sizeof b));
    MPI_Type_free(&empty);
}
