/* Collectives of the protocol logging, made of messages that are kept as all others are: so a lost process has its part of them given
 * again, whichever ranks were through with one and which were not. All ranks compute with the same operands in the same order.
 *
 * What a rank does depends on nothing that it receives. So a collective that does not block is the same: what is done here one after the other is
 * noted instead (steps.h). */
#include "world/log/collective.h"

#include "world/log/log.h"
#include "world/view/alone.h"

#include <stdlib.h>
#include <string.h>

/* Of what is sent to a rank of g, and of what is received. */
static int tag_to(const struct sk_members *g, int dest)
{
    return sk_wire_own(sk_members_to(g, dest), SK_LOGGING_COLLECTIVE);
}

static int tag_here(const struct sk_members *g)
{
    return sk_wire_own(g->context, SK_LOGGING_COLLECTIVE);
}

static struct sk_steps *noted; /* NULL: they are done at once */

void sk_logging_note(struct sk_steps *steps)
{
    noted = steps;
}

static int note(struct sk_step s)
{
    return sk_steps_add(noted, &s) ? MPI_ERR_NO_MEM : 0;
}

static int note_send(const struct sk_members *g, int dest, const void *buf, int count, MPI_Datatype type)
{
    return note((struct sk_step){.what = SK_STEP_SEND, .peer = g->world[dest], .from = buf, .n_from = count, .t_from = SK_KEY(type)});
}

static int note_receive(const struct sk_members *g, int source, void *buf, int count, MPI_Datatype type)
{
    return note((struct sk_step){.what = SK_STEP_RECEIVE, .peer = g->world[source], .to = buf, .n_to = count, .t_to = SK_KEY(type)});
}

static int send_to(struct sk_members *g, int dest, const void *buf, int count, MPI_Datatype type)
{
    if (noted)
        return note_send(g, dest, buf, count, type);
    return sk_logging_send(SK_LOGGING_PLAIN, buf, count, type, g->world[dest], tag_to(g, dest));
}

static int receive_from(struct sk_members *g, int source, void *buf, int count, MPI_Datatype type)
{
    if (noted)
        return note_receive(g, source, buf, count, type);
    return sk_logging_recv(g, buf, count, type, g->world[source], tag_here(g), MPI_STATUS_IGNORE);
}

/* Both at once. */
static int exchange(struct sk_members *g, int dest, const void *send, int ns, MPI_Datatype ts, int source, void *recv, int nr, MPI_Datatype tr)
{
    if (noted) {
        int rc = note_send(g, dest, send, ns, ts);
        return rc ? rc : note_receive(g, source, recv, nr, tr);
    }
    return sk_logging_exchange(g, send, ns, ts, g->world[dest], tag_to(g, dest), recv, nr, tr, g->world[source], tag_here(g), MPI_STATUS_IGNORE);
}

static ptrdiff_t extent_of(MPI_Datatype type)
{
    MPI_Aint lb = 0, extent = sk_plain_bytes(type);
    if (extent >= 0)
        return extent;
    SK_CALL(Type_get_extent, (type, &lb, &extent));
    return extent;
}

static void *at(const void *buf, ptrdiff_t elements, MPI_Datatype type)
{
    return (char *)(uintptr_t)buf + elements * extent_of(type);
}

static int copy(const void *from, int nf, MPI_Datatype tf, void *to, int nt, MPI_Datatype tt)
{
    if (noted)
        return note((struct sk_step){.what = SK_STEP_COPY, .from = from, .to = to, .n_from = nf, .n_to = nt, .t_from = SK_KEY(tf), .t_to = SK_KEY(tt)});
    int each = tf == tt && nf == nt && nf >= 0 ? sk_plain_bytes(tf) : -1;
    if (each >= 0) { /* a message to oneself costs more than all others of a small reduction */
        if (nf)
            memmove(to, from, (size_t)each * (size_t)nf);
        return 0;
    }
    int rc = sk_alone_copy(from, nf, tf, to, nt, tt);
    if (rc)
        SK_CALL(Comm_call_errhandler, (sk_world.comm, rc));
    return rc;
}

/* into = from op into. */
static int reduce(const void *from, void *into, int count, MPI_Datatype type, MPI_Op op)
{
    if (noted)
        return note((struct sk_step){.what = SK_STEP_REDUCE, .from = from, .to = into, .n_to = count, .t_to = SK_KEY(type), .op = SK_KEY(op)});
    return SK_CALL(Reduce_local, (from, into, count, type, op));
}

/* Room for count elements; *whole is to be freed: NULL, if the steps that are noted have it. */
static void *room(int count, MPI_Datatype type, void **whole)
{
    MPI_Aint lb = 0, bytes = sk_plain_bytes(type);
    if (bytes < 0)
        SK_CALL(Type_get_true_extent, (type, &lb, &bytes));
    if (count > 1)
        bytes += (count - 1) * extent_of(type);
    *whole = malloc((size_t)(bytes > 0 ? bytes : 1));
    if (!*whole)
        sk_world_fail(SK_WORLD_FAILED, "no memory for a collective operation: the job is started again");
    char *start = (char *)*whole - lb;
    if (noted) {
        if (sk_steps_own(noted, *whole))
            sk_world_fail(SK_WORLD_FAILED, "no memory for a collective operation: the job is started again");
        *whole = NULL;
    }
    return start;
}

int sk_logging_Barrier(struct sk_members *g)
{
    int n = g->n, me = g->rank, rc = 0;
    for (int step = 1; step < n && !rc; step *= 2)
        rc = exchange(g, (me + step) % n, NULL, 0, MPI_BYTE, (me - step + n) % n, NULL, 0, MPI_BYTE);
    return rc;
}

int sk_logging_Bcast(struct sk_members *g, void *buf, int count, MPI_Datatype type, int root)
{
    int n = g->n, me = (g->rank - root + n) % n, step = 1, rc = 0;
    for (; step < n; step *= 2)
        if (me & step) {
            rc = receive_from(g, (me - step + root) % n, buf, count, type);
            break;
        }
    for (step /= 2; step && !rc; step /= 2)
        if (me + step < n)
            rc = send_to(g, (me + step + root) % n, buf, count, type);
    return rc;
}

/* acc = acc op more, in the order of the ranks when acc is of the lower ones, else more op acc. more is used up. */
static int join(void *acc, void *more, int lower, int count, MPI_Datatype type, MPI_Op op)
{
    if (!lower)
        return reduce(more, acc, count, type, op);
    int rc = reduce(acc, more, count, type, op);
    return rc ? rc : copy(more, count, type, acc, count, type);
}

/* Into acc of rank 0. */
static int reduce_to_first(struct sk_members *g, void *acc, int count, MPI_Datatype type, MPI_Op op)
{
    int n = g->n, me = g->rank, rc = 0;
    void *whole, *more = room(count, type, &whole);
    for (int step = 1; step < n && !rc; step *= 2) {
        if (me & step) {
            rc = send_to(g, me - step, acc, count, type);
            break;
        }
        if (me + step < n && !(rc = receive_from(g, me + step, more, count, type)))
            rc = join(acc, more, 1, count, type, op);
    }
    free(whole);
    return rc;
}

int sk_logging_Reduce(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root)
{
    int me = g->rank;
    void *whole, *acc = room(count, type, &whole);
    int rc = copy(send == MPI_IN_PLACE ? recv : send, count, type, acc, count, type);
    if (!rc)
        rc = reduce_to_first(g, acc, count, type, op);
    if (!rc && root && !me)
        rc = send_to(g, root, acc, count, type);
    else if (!rc && me == root)
        rc = root ? receive_from(g, 0, recv, count, type) : copy(acc, count, type, recv, count, type);
    free(whole);
    return rc;
}

int sk_logging_Allreduce(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op)
{
    int n = g->n, me = g->rank;
    int rc = send == MPI_IN_PLACE ? 0 : copy(send, count, type, recv, count, type);
    if (n & (n - 1)) {
        if (!rc)
            rc = reduce_to_first(g, recv, count, type, op);
        return rc ? rc : sk_logging_Bcast(g, recv, count, type, 0);
    }
    void *whole, *more = room(count, type, &whole);
    for (int step = 1; step < n && !rc; step *= 2) {
        int other = me ^ step;
        rc = exchange(g, other, recv, count, type, other, more, count, type);
        if (!rc)
            rc = join(recv, more, me < other, count, type, op);
    }
    free(whole);
    return rc;
}

/* Where block i of a buffer is. types: of each, and displs are in bytes. */
struct blocks {
    void *buf;
    const int *counts, *displs;
    int count;
    MPI_Datatype type;
    const MPI_Datatype *types;
};

static MPI_Datatype type_of(const struct blocks *b, int i)
{
    return b->types ? b->types[i] : b->type;
}

static int count_of(const struct blocks *b, int i)
{
    return b->counts ? b->counts[i] : b->count;
}

static void *block(const struct blocks *b, int i)
{
    if (b->types)
        return (char *)b->buf + b->displs[i];
    return at(b->buf, b->counts ? b->displs[i] : (ptrdiff_t)i * b->count, b->type);
}

static int gather(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, const struct blocks *to, int root)
{
    int me = g->rank, rc = 0;
    if (me != root)
        return send_to(g, root, send, ns, ts);
    for (int i = 0; i < g->n && !rc; i++)
        if (i != me)
            rc = receive_from(g, i, block(to, i), count_of(to, i), to->type);
        else if (send != MPI_IN_PLACE)
            rc = copy(send, ns, ts, block(to, i), count_of(to, i), to->type);
    return rc;
}

int sk_logging_Gather(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root)
{
    return gather(g, send, ns, ts, &(struct blocks){.buf = recv, .count = nr, .type = tr}, root);
}

int sk_logging_Gatherv(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *displs, MPI_Datatype tr, int root)
{
    return gather(g, send, ns, ts, &(struct blocks){.buf = recv, .counts = nr, .displs = displs, .type = tr}, root);
}

static int scatter(struct sk_members *g, const struct blocks *from, void *recv, int nr, MPI_Datatype tr, int root)
{
    int me = g->rank, rc = 0;
    if (me != root)
        return receive_from(g, root, recv, nr, tr);
    for (int i = 0; i < g->n && !rc; i++)
        if (i != me)
            rc = send_to(g, i, block(from, i), count_of(from, i), from->type);
        else if (recv != MPI_IN_PLACE)
            rc = copy(block(from, i), count_of(from, i), from->type, recv, nr, tr);
    return rc;
}

int sk_logging_Scatter(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root)
{
    return scatter(g, &(struct blocks){.buf = (void *)(uintptr_t)send, .count = ns, .type = ts}, recv, nr, tr, root);
}

int sk_logging_Scatterv(struct sk_members *g, const void *send, const int *ns, const int *displs, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root)
{
    return scatter(g, &(struct blocks){.buf = (void *)(uintptr_t)send, .counts = ns, .displs = displs, .type = ts}, recv, nr, tr, root);
}

/* Each with each other; from: one block for each, or, of one block, the same for all (one). */
static int all_to_all(struct sk_members *g, const struct blocks *from, int one, const struct blocks *to)
{
    int n = g->n, me = g->rank, rc = 0;
    for (int i = 0; i < n && !rc; i++) {
        int dest = (me + i) % n, source = (me - i + n) % n, b = one ? 0 : dest;
        if (!i && (from->buf != block(to, me) || from->buf == MPI_BOTTOM)) /* in place there is nothing to copy */
            rc = copy(block(from, b), count_of(from, b), type_of(from, b), block(to, me), count_of(to, me), type_of(to, me));
        else if (i)
            rc = exchange(g, dest, block(from, b), count_of(from, b), type_of(from, b), source, block(to, source), count_of(to, source), type_of(to, source));
    }
    return rc;
}

static int all_gather(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, const struct blocks *to)
{
    int me = g->rank;
    struct blocks from = {.buf = (void *)(uintptr_t)send, .count = ns, .type = ts};
    if (send == MPI_IN_PLACE)
        from = (struct blocks){.buf = block(to, me), .count = count_of(to, me), .type = to->type};
    return all_to_all(g, &from, 1, to);
}

int sk_logging_Allgather(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr)
{
    return all_gather(g, send, ns, ts, &(struct blocks){.buf = recv, .count = nr, .type = tr});
}

int sk_logging_Allgatherv(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *displs, MPI_Datatype tr)
{
    return all_gather(g, send, ns, ts, &(struct blocks){.buf = recv, .counts = nr, .displs = displs, .type = tr});
}

/* In place: a copy of all that is sent. */
static int all_to_all_in_place(struct sk_members *g, const struct blocks *to)
{
    int n = g->n, rc = 0;
    void **whole = calloc((size_t)n, sizeof *whole), **from = calloc((size_t)n, sizeof *from);
    if (!whole || !from)
        sk_world_fail(SK_WORLD_FAILED, "no memory for a collective operation: the job is started again");
    for (int i = 0; i < n && !rc; i++) {
        from[i] = room(count_of(to, i), type_of(to, i), &whole[i]);
        rc = copy(block(to, i), count_of(to, i), type_of(to, i), from[i], count_of(to, i), type_of(to, i));
    }
    for (int i = 1; i < n && !rc; i++) {
        int dest = (g->rank + i) % n, source = (g->rank - i + n) % n;
        rc = exchange(g, dest, from[dest], count_of(to, dest), type_of(to, dest), source, block(to, source), count_of(to, source), type_of(to, source));
    }
    for (int i = 0; i < n; i++)
        free(whole[i]);
    free(whole);
    free(from);
    return rc;
}

int sk_logging_Alltoall(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr)
{
    struct blocks to = {.buf = recv, .count = nr, .type = tr};
    if (send == MPI_IN_PLACE)
        return all_to_all_in_place(g, &to);
    return all_to_all(g, &(struct blocks){.buf = (void *)(uintptr_t)send, .count = ns, .type = ts}, 0, &to);
}

int sk_logging_Alltoallv(struct sk_members *g, const void *send, const int *ns, const int *ds, MPI_Datatype ts, void *recv, const int *nr, const int *dr,
                     MPI_Datatype tr)
{
    struct blocks to = {.buf = recv, .counts = nr, .displs = dr, .type = tr};
    if (send == MPI_IN_PLACE)
        return all_to_all_in_place(g, &to);
    return all_to_all(g, &(struct blocks){.buf = (void *)(uintptr_t)send, .counts = ns, .displs = ds, .type = ts}, 0, &to);
}

int sk_logging_Alltoallw(struct sk_members *g, const void *send, const int *ns, const int *ds, const MPI_Datatype *ts, void *recv, const int *nr,
                         const int *dr, const MPI_Datatype *tr)
{
    struct blocks to = {.buf = recv, .counts = nr, .displs = dr, .types = tr};
    if (send == MPI_IN_PLACE)
        return all_to_all_in_place(g, &to);
    return all_to_all(g, &(struct blocks){.buf = (void *)(uintptr_t)send, .counts = ns, .displs = ds, .types = ts}, 0, &to);
}

/* ---- reductions of prefixes and parts ---- */

/* Each rank gets what is before it (before, unless it is the first), and hands on what it comes to with its own (acc): all in the order of the ranks. */
static int scan(struct sk_members *g, void *acc, void *before, int count, MPI_Datatype type, MPI_Op op)
{
    void *whole, *copied = room(count, type, &whole);
    int rc = g->rank ? receive_from(g, g->rank - 1, before, count, type) : 0;
    if (!rc && g->rank)
        rc = copy(before, count, type, copied, count, type);
    if (!rc && g->rank)
        rc = join(acc, copied, 0, count, type, op);
    if (!rc && g->rank + 1 < g->n)
        rc = send_to(g, g->rank + 1, acc, count, type);
    free(whole);
    return rc;
}

int sk_logging_Scan(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op)
{
    void *whole, *before = room(count, type, &whole);
    int rc = send == MPI_IN_PLACE ? 0 : copy(send, count, type, recv, count, type);
    if (!rc)
        rc = scan(g, recv, before, count, type, op);
    free(whole);
    return rc;
}

int sk_logging_Exscan(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op)
{
    void *whole, *acc = room(count, type, &whole);
    int rc = copy(send == MPI_IN_PLACE ? recv : send, count, type, acc, count, type);
    if (!rc)
        rc = scan(g, acc, recv, count, type, op); /* the first one's recv stays as it is */
    free(whole);
    return rc;
}

/* All are reduced to the first, which gives each its part. */
int sk_logging_Reduce_scatter(struct sk_members *g, const void *send, void *recv, const int *nr, MPI_Datatype type, MPI_Op op)
{
    int all = 0, *first = malloc(sizeof *first * (size_t)g->n);
    if (!first)
        sk_world_fail(SK_WORLD_FAILED, "no memory for a collective operation: the job is started again");
    for (int i = 0; i < g->n; all += nr[i++])
        first[i] = all;
    void *whole, *acc = room(all, type, &whole);
    int rc = copy(send == MPI_IN_PLACE ? recv : send, all, type, acc, all, type);
    if (!rc)
        rc = reduce_to_first(g, acc, all, type, op);
    if (!rc)
        rc = sk_logging_Scatterv(g, acc, nr, first, type, recv, nr[g->rank], type, 0);
    free(whole);
    free(first);
    return rc;
}

int sk_logging_Reduce_scatter_block(struct sk_members *g, const void *send, void *recv, int nr, MPI_Datatype type, MPI_Op op)
{
    int *each = malloc(sizeof *each * (size_t)g->n);
    if (!each)
        sk_world_fail(SK_WORLD_FAILED, "no memory for a collective operation: the job is started again");
    for (int i = 0; i < g->n; i++)
        each[i] = nr;
    int rc = sk_logging_Reduce_scatter(g, send, recv, each, type, op);
    free(each);
    return rc;
}

/* As an allgather, with messages of another kind. */
int sk_logging_tell_all(struct sk_members *g, int own, const void *mine, size_t bytes, void *all)
{
    int rc = 0, tag = sk_wire_own(g->context, own), n = (int)bytes;
    memcpy((char *)all + bytes * (size_t)g->rank, mine, bytes);
    for (int i = 1; i < g->n && !rc; i++) {
        int dest = (g->rank + i) % g->n, source = (g->rank - i + g->n) % g->n;
        rc = sk_logging_exchange(g, mine, n, MPI_BYTE, g->world[dest], sk_wire_own(sk_members_to(g, dest), own), (char *)all + bytes * (size_t)source, n, MPI_BYTE, g->world[source], tag,
                                 MPI_STATUS_IGNORE);
    }
    return rc;
}
