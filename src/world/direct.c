/* Each block is one message, and all are under way at the same time; a broadcast goes along a binomial tree. */
#include "world/direct.h"

#include "world/form/form.h"
#include "world/wait.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 1, LARGE = 4096, LARGE_PART = 16384, NOBODY = -1, ALL = -2 };

/* The hidden communicator beside MPI_COMM_WORLD; of others it stands in their object. */
static struct {
    uint64_t key;
    uint32_t epoch;
} beside_world;

int sk_is_large(int count, MPI_Datatype type)
{
    int size = 0;
    SK_CALL(Type_size, (type, &size));
    return (long long)size * count >= LARGE;
}

int sk_are_large(int n, const int *counts, MPI_Datatype type)
{
    int size = 0;
    long long all = 0;
    SK_CALL(Type_size, (type, &size));
    for (int i = 0; i < n; i++)
        all += counts[i];
    return all * size >= (long long)LARGE * n;
}

/* ---- the communicator of these messages ---- */

static uint64_t known_beside(MPI_Comm comm)
{
    if (comm == MPI_COMM_WORLD)
        return beside_world.epoch == sk_world.epoch ? beside_world.key : 0;
    const struct sk_object *o = sk_objects_find(&sk_world.comms, SK_KEY(comm));
    return o ? o->of : 0;
}

static void remember_beside(MPI_Comm comm, MPI_Comm made)
{
    struct sk_object *o;
    sk_made_comm(made, comm);
    if (comm == MPI_COMM_WORLD) {
        beside_world.key = SK_KEY(made);
        beside_world.epoch = sk_world.epoch;
    } else if ((o = sk_objects_find(&sk_world.comms, SK_KEY(comm)))) {
        o->of = SK_KEY(made);
    }
}

/* It is made without blocking, since a process may die meanwhile; then MPI may still write the handle when we have left. */
static int beside(MPI_Comm comm, MPI_Comm *out)
{
    uint64_t key = known_beside(comm);
    MPI_Request r = MPI_REQUEST_NULL;
    *out = (MPI_Comm)(uintptr_t)key;
    if (key)
        return 0;
    MPI_Comm *made = malloc(sizeof *made);
    if (!made)
        return MPI_ERR_NO_MEM;
    int rc = SK_CALL(Comm_idup, (sk_comm(comm), made, &r));
    if (!rc)
        rc = sk_wait(&r, MPI_STATUS_IGNORE, sk_world_is_quiet(comm));
    if (rc)
        return rc;
    *out = *made;
    free(made);
    remember_beside(comm, *out);
    return sk_form_set_errors(*out, MPI_ERRORS_RETURN); /* they are told of the program's own (told) */
}

void sk_direct_forget(MPI_Comm comm)
{
    struct sk_object *o = sk_objects_find(&sk_world.comms, SK_KEY(comm));
    uint64_t key = o ? o->of : 0;
    if (!key)
        return;
    MPI_Comm c = (MPI_Comm)(uintptr_t)key;
    o->of = 0;
    sk_objects_remove(&sk_world.comms, key);
    SK_CALL(Comm_free, (&c));
}

/* ---- messages ---- */

/* One operation of this rank. */
struct exchange {
    MPI_Comm c;
    int me, n, without_me, quiet, begun;
    MPI_Request *r;
};

/* Room for n requests, which stays: the body may be left. */
static MPI_Request *room(int n)
{
    static MPI_Request *all;
    static int most;
    if (n > most) {
        MPI_Request *more = realloc(all, sizeof *more * (size_t)n);
        if (!more)
            return NULL;
        all = more;
        most = n;
    }
    return all;
}

/* Where rank i's block lies, which is NULL for addresses from MPI_BOTTOM on. 0: nothing is sent, which both ends see. */
static int block(const struct sk_blocks *b, int i, void **place, int *count, MPI_Datatype *type)
{
    MPI_Aint lb = 0, extent = 1, at = 0;
    int size = 0;
    *type = b->types ? b->types[i] : b->type;
    *count = b->counts ? b->counts[i] : b->count;
    if (*count > 0)
        SK_CALL(Type_size, (*type, &size));
    if (!size)
        return 0;
    if (!b->types)
        SK_CALL(Type_get_extent, (*type, &lb, &extent));
    if (!b->is_one)
        at = b->displs ? b->displs[i] : (MPI_Aint)b->count * i;
    *place = (void *)((uintptr_t)b->buf + (uintptr_t)(at * extent));
    return 1;
}

static int receive(struct exchange *x, const struct sk_blocks *b, int peer)
{
    int count;
    MPI_Datatype type;
    void *p;
    if (!block(b, peer, &p, &count, &type))
        return 0;
    int rc = SK_CALL(Irecv, (p, count, type, peer, TAG, x->c, &x->r[x->begun]));
    if (!rc)
        sk_made_receive(x->r[x->begun++], x->c, peer, 0);
    return rc;
}

static int transmit(struct exchange *x, const struct sk_blocks *b, int peer)
{
    int count;
    MPI_Datatype type;
    void *p;
    if (!block(b, peer, &p, &count, &type))
        return 0;
    int rc = SK_CALL(Isend, (p, count, type, peer, TAG, x->c, &x->r[x->begun]));
    if (!rc)
        sk_made_request(x->r[x->begun++], x->c, 0);
    return rc;
}

static int finish(struct exchange *x)
{
    int rc = 0;
    for (int i = 0; i < x->begun && !rc; i++)
        rc = sk_wait(&x->r[i], MPI_STATUS_IGNORE, x->quiet);
    x->begun = 0;
    return rc;
}

/* Receives first, so that what comes has its place; each rank begins with another one. from, to: a rank, NOBODY or ALL. */
static int exchange(struct exchange *x, const struct sk_blocks *send, int to, const struct sk_blocks *recv, int from)
{
    int rc = 0;
    for (int i = 0; i < x->n && !rc; i++) {
        int peer = (x->me - i + x->n) % x->n;
        if ((from == ALL || from == peer) && !(x->without_me && peer == x->me))
            rc = receive(x, recv, peer);
    }
    for (int i = 0; i < x->n && !rc; i++) {
        int peer = (x->me + i) % x->n;
        if ((to == ALL || to == peer) && !(x->without_me && peer == x->me))
            rc = transmit(x, send, peer);
    }
    return rc ? rc : finish(x);
}

/* Along a binomial tree: whose number from the root on has its lowest bit at 2^k gets it from the one without that bit. */
static int broadcast(struct exchange *x, const struct sk_blocks *b, int root)
{
    int number = (x->me - root + x->n) % x->n, bit = 1, rc = 0;
    while (bit < x->n && !(number & bit))
        bit *= 2;
    if (number)
        rc = receive(x, b, (number - bit + root) % x->n);
    if (!rc)
        rc = finish(x);
    for (bit /= 2; bit && !rc; bit /= 2)
        if (number + bit < x->n)
            rc = transmit(x, b, (number + bit + root) % x->n);
    return rc ? rc : finish(x);
}

/* In place, what a rank would send itself is where it belongs. */
static struct sk_blocks own_block(const struct sk_blocks *all, int me)
{
    struct sk_blocks own = *all;
    MPI_Aint lb = 0, extent = 0;
    SK_CALL(Type_get_extent, (all->type, &lb, &extent));
    MPI_Aint at = all->displs ? all->displs[me] : (MPI_Aint)all->count * me;
    own.buf = (void *)((uintptr_t)all->buf + (uintptr_t)(at * extent));
    own.is_one = 1;
    own.count = all->counts ? all->counts[me] : all->count;
    own.counts = own.displs = NULL;
    return own;
}

/* Ready for an operation on comm. */
static int prepare(struct exchange *x, MPI_Comm comm)
{
    int rc = beside(comm, &x->c);
    if (rc)
        return rc;
    x->quiet = sk_world_is_quiet(comm);
    SK_CALL(Comm_rank, (x->c, &x->me));
    SK_CALL(Comm_size, (x->c, &x->n));
    x->r = room(2 * x->n);
    return x->r ? 0 : MPI_ERR_NO_MEM;
}

/* The program hears of an error as one of the communicator that it knows. */
static int told(int rc, MPI_Comm comm)
{
    if (rc && !sk_world_is_quiet(comm))
        SK_CALL(Comm_call_errhandler, (sk_comm(comm), rc));
    return rc;
}

static int move(enum sk_direct what, const struct sk_blocks *send, const struct sk_blocks *recv, int root, MPI_Comm comm)
{
    struct exchange x = {0};
    int rc = prepare(&x, comm);
    if (rc)
        return rc;
    x.without_me = send->buf == MPI_IN_PLACE || recv->buf == MPI_IN_PLACE;
    switch (what) {
    case SK_DIRECT_ALLGATHER: {
        struct sk_blocks own = x.without_me ? own_block(recv, x.me) : *send;
        return exchange(&x, &own, ALL, recv, ALL);
    }
    case SK_DIRECT_GATHER:
        return exchange(&x, send, root, recv, x.me == root ? ALL : NOBODY);
    case SK_DIRECT_SCATTER:
        return exchange(&x, send, x.me == root ? ALL : NOBODY, recv, root);
    case SK_DIRECT_BCAST:
        return broadcast(&x, recv, root);
    default:
        return exchange(&x, send, ALL, recv, ALL);
    }
}

int sk_direct(enum sk_direct what, const struct sk_blocks *send, const struct sk_blocks *recv, int root, MPI_Comm comm)
{
    return told(move(what, send, recv, root, comm), comm);
}

/* ---- reduction ---- */

int sk_reduces_directly(int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int commutes = 0, n = 1, bytes = sk_plain_bytes(type);
    SK_CALL(Comm_size, (sk_comm(comm), &n));
    if (bytes <= 0 || (long long)bytes * count < (long long)LARGE_PART * n)
        return 0;
    SK_CALL(Op_commutative, (op, &commutes));
    return commutes;
}

/* What a ring works on: the buffer is cut into as many parts as there are ranks. */
struct parts {
    char *buf;
    int count, bytes, n; /* bytes of an element */
    MPI_Datatype type;
};

static int first_of(const struct parts *p, int i)
{
    return (int)((long long)p->count * i / p->n);
}

static struct sk_blocks part(const struct parts *p, int i)
{
    int first = first_of(p, i);
    return (struct sk_blocks){.buf = p->buf + (size_t)first * (size_t)p->bytes, .is_one = 1, .count = first_of(p, i + 1) - first, .type = p->type};
}

/* Memory that stays, as that of requests does. */
static void *work_space(size_t bytes)
{
    static void *all;
    static size_t most;
    if (bytes > most) {
        free(all);
        all = malloc(bytes);
        most = all ? bytes : 0;
    }
    return all;
}

/* Each part goes round, and every rank adds its own to it. */
static int reduce_parts(struct exchange *x, const struct parts *p, MPI_Op op)
{
    struct sk_blocks got = {.buf = work_space(((size_t)p->count / (size_t)p->n + 1) * (size_t)p->bytes), .is_one = 1, .type = p->type};
    int rc = got.buf ? 0 : MPI_ERR_NO_MEM, next = (x->me + 1) % x->n, before = (x->me - 1 + x->n) % x->n;
    for (int step = 0; step < x->n - 1 && !rc; step++) {
        struct sk_blocks away = part(p, (x->me - step + x->n) % x->n), own = part(p, (x->me - step - 1 + x->n) % x->n);
        got.count = own.count;
        rc = receive(x, &got, before);
        if (!rc)
            rc = transmit(x, &away, next);
        if (!rc)
            rc = finish(x);
        if (!rc)
            rc = SK_CALL(Reduce_local, (got.buf, (void *)(uintptr_t)own.buf, own.count, p->type, op));
    }
    return rc;
}

static int reduce_to_all(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct exchange x = {0};
    int rc = prepare(&x, comm);
    struct parts p = {.buf = recv, .count = count, .bytes = sk_plain_bytes(type), .n = x.n, .type = type};
    if (rc)
        return rc;
    if (send != MPI_IN_PLACE)
        memcpy(recv, send, (size_t)count * (size_t)p.bytes);
    rc = reduce_parts(&x, &p, op);
    for (int i = 1; i < x.n && !rc; i++) { /* whose part is whole is the rank before its number */
        int peer = (x.me - i + x.n) % x.n;
        struct sk_blocks theirs = part(&p, (peer + 1) % x.n);
        rc = receive(&x, &theirs, peer);
    }
    struct sk_blocks mine = part(&p, (x.me + 1) % x.n);
    for (int i = 1; i < x.n && !rc; i++)
        rc = transmit(&x, &mine, (x.me + i) % x.n);
    return rc ? rc : finish(&x);
}

int sk_direct_allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return told(reduce_to_all(send, recv, count, type, op, comm), comm);
}
