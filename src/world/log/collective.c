/* Collectives of the protocol logging, made of messages that are kept as all others are: so a lost process has its part of them given
 * again, whichever ranks were through with one and which were not. All ranks compute with the same operands in the same order. */
#include "world/log/collective.h"

#include "world/log/log.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = SK_LOGGING_TAG_COLLECTIVE };

static int send_to(int dest, const void *buf, int count, MPI_Datatype type)
{
    return sk_logging_send(buf, count, type, dest, TAG);
}

static int receive_from(int source, void *buf, int count, MPI_Datatype type)
{
    return sk_logging_recv(buf, count, type, source, TAG, MPI_STATUS_IGNORE);
}

static ptrdiff_t extent_of(MPI_Datatype type)
{
    MPI_Aint lb = 0, extent = 0;
    SK_CALL(Type_get_extent, (type, &lb, &extent));
    return extent;
}

static void *at(const void *buf, ptrdiff_t elements, MPI_Datatype type)
{
    return (char *)(uintptr_t)buf + elements * extent_of(type);
}

static int copy(const void *from, int nf, MPI_Datatype tf, void *to, int nt, MPI_Datatype tt)
{
    return SK_CALL(Sendrecv, (from, nf, tf, 0, 0, to, nt, tt, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
}

/* Room for count elements; *whole is to be freed. */
static void *room(int count, MPI_Datatype type, void **whole)
{
    MPI_Aint lb = 0, bytes = 0;
    SK_CALL(Type_get_true_extent, (type, &lb, &bytes));
    if (count > 1)
        bytes += (count - 1) * extent_of(type);
    *whole = malloc((size_t)(bytes > 0 ? bytes : 1));
    if (!*whole)
        sk_world_fail(SK_WORLD_FAILED, "no memory for a collective operation: the job is started again");
    return (char *)*whole - lb;
}

int sk_logging_Barrier(void)
{
    int n = sk_world.size, me = sk_world.rank, rc = 0;
    for (int step = 1; step < n && !rc; step *= 2)
        rc = sk_logging_exchange(NULL, 0, MPI_BYTE, (me + step) % n, TAG, NULL, 0, MPI_BYTE, (me - step + n) % n, TAG, MPI_STATUS_IGNORE);
    return rc;
}

int sk_logging_Bcast(void *buf, int count, MPI_Datatype type, int root)
{
    int n = sk_world.size, me = (sk_world.rank - root + n) % n, step = 1, rc = 0;
    for (; step < n; step *= 2)
        if (me & step) {
            rc = receive_from((me - step + root) % n, buf, count, type);
            break;
        }
    for (step /= 2; step && !rc; step /= 2)
        if (me + step < n)
            rc = send_to((me + step + root) % n, buf, count, type);
    return rc;
}

/* acc = acc op more, in the order of the ranks when acc is of the lower ones, else more op acc. more is used up. */
static int join(void *acc, void *more, int lower, int count, MPI_Datatype type, MPI_Op op)
{
    if (!lower)
        return SK_CALL(Reduce_local, (more, acc, count, type, op));
    int rc = SK_CALL(Reduce_local, (acc, more, count, type, op));
    return rc ? rc : copy(more, count, type, acc, count, type);
}

/* Into acc of rank 0. */
static int reduce_to_first(void *acc, int count, MPI_Datatype type, MPI_Op op)
{
    int n = sk_world.size, me = sk_world.rank, rc = 0;
    void *whole, *more = room(count, type, &whole);
    for (int step = 1; step < n && !rc; step *= 2) {
        if (me & step) {
            rc = send_to(me - step, acc, count, type);
            break;
        }
        if (me + step < n && !(rc = receive_from(me + step, more, count, type)))
            rc = join(acc, more, 1, count, type, op);
    }
    free(whole);
    return rc;
}

int sk_logging_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root)
{
    int me = sk_world.rank;
    void *whole, *acc = room(count, type, &whole);
    int rc = copy(send == MPI_IN_PLACE ? recv : send, count, type, acc, count, type);
    if (!rc)
        rc = reduce_to_first(acc, count, type, op);
    if (!rc && root && !me)
        rc = send_to(root, acc, count, type);
    else if (!rc && me == root)
        rc = root ? receive_from(0, recv, count, type) : copy(acc, count, type, recv, count, type);
    free(whole);
    return rc;
}

int sk_logging_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op)
{
    int n = sk_world.size, me = sk_world.rank;
    int rc = send == MPI_IN_PLACE ? 0 : copy(send, count, type, recv, count, type);
    if (n & (n - 1)) {
        if (!rc)
            rc = reduce_to_first(recv, count, type, op);
        return rc ? rc : sk_logging_Bcast(recv, count, type, 0);
    }
    void *whole, *more = room(count, type, &whole);
    for (int step = 1; step < n && !rc; step *= 2) {
        int other = me ^ step;
        rc = sk_logging_exchange(recv, count, type, other, TAG, more, count, type, other, TAG, MPI_STATUS_IGNORE);
        if (!rc)
            rc = join(recv, more, me < other, count, type, op);
    }
    free(whole);
    return rc;
}

/* Where block i of a buffer is. */
struct blocks {
    void *buf;
    const int *counts, *displs;
    int count;
    MPI_Datatype type;
};

static int count_of(const struct blocks *b, int i)
{
    return b->counts ? b->counts[i] : b->count;
}

static void *block(const struct blocks *b, int i)
{
    return at(b->buf, b->counts ? b->displs[i] : (ptrdiff_t)i * b->count, b->type);
}

static int gather(const void *send, int ns, MPI_Datatype ts, const struct blocks *to, int root)
{
    int me = sk_world.rank, rc = 0;
    if (me != root)
        return send_to(root, send, ns, ts);
    for (int i = 0; i < sk_world.size && !rc; i++)
        if (i != me)
            rc = receive_from(i, block(to, i), count_of(to, i), to->type);
        else if (send != MPI_IN_PLACE)
            rc = copy(send, ns, ts, block(to, i), count_of(to, i), to->type);
    return rc;
}

int sk_logging_Gather(const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root)
{
    return gather(send, ns, ts, &(struct blocks){.buf = recv, .count = nr, .type = tr}, root);
}

int sk_logging_Gatherv(const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *displs, MPI_Datatype tr, int root)
{
    return gather(send, ns, ts, &(struct blocks){.buf = recv, .counts = nr, .displs = displs, .type = tr}, root);
}

static int scatter(const struct blocks *from, void *recv, int nr, MPI_Datatype tr, int root)
{
    int me = sk_world.rank, rc = 0;
    if (me != root)
        return receive_from(root, recv, nr, tr);
    for (int i = 0; i < sk_world.size && !rc; i++)
        if (i != me)
            rc = send_to(i, block(from, i), count_of(from, i), from->type);
        else if (recv != MPI_IN_PLACE)
            rc = copy(block(from, i), count_of(from, i), from->type, recv, nr, tr);
    return rc;
}

int sk_logging_Scatter(const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root)
{
    return scatter(&(struct blocks){.buf = (void *)(uintptr_t)send, .count = ns, .type = ts}, recv, nr, tr, root);
}

int sk_logging_Scatterv(const void *send, const int *ns, const int *displs, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root)
{
    return scatter(&(struct blocks){.buf = (void *)(uintptr_t)send, .counts = ns, .displs = displs, .type = ts}, recv, nr, tr, root);
}

/* Each with each other; from: one block for each, or, of one block, the same for all (one). */
static int all_to_all(const struct blocks *from, int one, const struct blocks *to)
{
    int n = sk_world.size, me = sk_world.rank, rc = 0;
    for (int i = 0; i < n && !rc; i++) {
        int dest = (me + i) % n, source = (me - i + n) % n, b = one ? 0 : dest;
        if (!i && from->buf != block(to, me))
            rc = copy(block(from, b), count_of(from, b), from->type, block(to, me), count_of(to, me), to->type);
        else if (i)
            rc = sk_logging_exchange(block(from, b), count_of(from, b), from->type, dest, TAG, block(to, source), count_of(to, source), to->type,
                                 source, TAG, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int all_gather(const void *send, int ns, MPI_Datatype ts, const struct blocks *to)
{
    int me = sk_world.rank;
    struct blocks from = {.buf = (void *)(uintptr_t)send, .count = ns, .type = ts};
    if (send == MPI_IN_PLACE)
        from = (struct blocks){.buf = block(to, me), .count = count_of(to, me), .type = to->type};
    return all_to_all(&from, 1, to);
}

int sk_logging_Allgather(const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr)
{
    return all_gather(send, ns, ts, &(struct blocks){.buf = recv, .count = nr, .type = tr});
}

int sk_logging_Allgatherv(const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *displs, MPI_Datatype tr)
{
    return all_gather(send, ns, ts, &(struct blocks){.buf = recv, .counts = nr, .displs = displs, .type = tr});
}

/* In place: a copy of all that is sent. */
static int all_to_all_in_place(const struct blocks *to)
{
    int n = sk_world.size, rc = 0;
    void **whole = calloc((size_t)n, sizeof *whole), **from = calloc((size_t)n, sizeof *from);
    if (!whole || !from)
        sk_world_fail(SK_WORLD_FAILED, "no memory for a collective operation: the job is started again");
    for (int i = 0; i < n && !rc; i++) {
        from[i] = room(count_of(to, i), to->type, &whole[i]);
        rc = copy(block(to, i), count_of(to, i), to->type, from[i], count_of(to, i), to->type);
    }
    for (int i = 1; i < n && !rc; i++) {
        int dest = (sk_world.rank + i) % n, source = (sk_world.rank - i + n) % n;
        rc = sk_logging_exchange(from[dest], count_of(to, dest), to->type, dest, TAG, block(to, source), count_of(to, source), to->type, source,
                             TAG, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < n; i++)
        free(whole[i]);
    free(whole);
    free(from);
    return rc;
}

int sk_logging_Alltoall(const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr)
{
    struct blocks to = {.buf = recv, .count = nr, .type = tr};
    if (send == MPI_IN_PLACE)
        return all_to_all_in_place(&to);
    return all_to_all(&(struct blocks){.buf = (void *)(uintptr_t)send, .count = ns, .type = ts}, 0, &to);
}

int sk_logging_Alltoallv(const void *send, const int *ns, const int *ds, MPI_Datatype ts, void *recv, const int *nr, const int *dr,
                     MPI_Datatype tr)
{
    struct blocks to = {.buf = recv, .counts = nr, .displs = dr, .type = tr};
    if (send == MPI_IN_PLACE)
        return all_to_all_in_place(&to);
    return all_to_all(&(struct blocks){.buf = (void *)(uintptr_t)send, .counts = ns, .displs = ds, .type = ts}, 0, &to);
}
