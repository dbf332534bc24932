#include "world/all_to_all.h"

#include "world/wait.h"

#include <stdlib.h>

enum { TAG = 1, LARGE = 4096 };

/* The hidden communicator beside MPI_COMM_WORLD; of others it stands in their object. */
static struct {
    uint64_t key;
    uint32_t epoch;
} beside_world;

int sk_are_large(int count, MPI_Datatype type)
{
    int size = 0;
    SK_CALL(Type_size, (type, &size));
    return (long long)size * count >= LARGE;
}

static uint64_t known_beside(MPI_Comm comm)
{
    if (comm == MPI_COMM_WORLD)
        return beside_world.epoch == sk_world.epoch ? beside_world.key : 0;
    const struct sk_object *o = sk_objects_find(&sk_world.comms, SK_KEY(comm));
    return o ? o->of : 0;
}

static int remember_beside(MPI_Comm comm, MPI_Comm made)
{
    struct sk_object *o;
    sk_made_comm(made, comm);
    if (comm == MPI_COMM_WORLD) {
        beside_world.key = SK_KEY(made);
        beside_world.epoch = sk_world.epoch;
    } else if ((o = sk_objects_find(&sk_world.comms, SK_KEY(comm)))) {
        o->of = SK_KEY(made);
    }
    return 0;
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
    return remember_beside(comm, *out);
}

/* Where rank i's block lies; *bytes: 0: nothing is sent, which both ends see. */
static void *block(const struct sk_blocks *b, int i, int *count, MPI_Datatype *type, long long *bytes)
{
    MPI_Aint lb = 0, extent = 1;
    int size = 0;
    *type = b->types ? b->types[i] : b->type;
    *count = b->counts ? b->counts[i] : b->count;
    if (*count > 0)
        SK_CALL(Type_size, (*type, &size));
    *bytes = (long long)size * *count;
    if (!*bytes)
        return NULL;
    if (!b->types)
        SK_CALL(Type_get_extent, (*type, &lb, &extent));
    MPI_Aint at = b->displs ? b->displs[i] : (MPI_Aint)b->count * i;
    return (void *)((uintptr_t)b->buf + (uintptr_t)(at * extent));
}

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

/* Receives first, so that what comes has its place; each rank begins with another one. */
static int begin(const struct sk_blocks *b, int receives, MPI_Comm c, int me, int n, MPI_Request *r, int *begun)
{
    int rc = 0;
    for (int i = 0; i < n && !rc; i++) {
        int peer = receives ? (me - i + n) % n : (me + i) % n, count;
        MPI_Datatype type;
        long long bytes;
        void *p = block(b, peer, &count, &type, &bytes);
        if (!bytes)
            continue;
        if (receives && !(rc = SK_CALL(Irecv, (p, count, type, peer, TAG, c, &r[*begun]))))
            sk_made_receive(r[(*begun)++], c, peer, 0);
        else if (!receives && !(rc = SK_CALL(Isend, (p, count, type, peer, TAG, c, &r[*begun]))))
            sk_made_request(r[(*begun)++], c, 0);
    }
    return rc;
}

int sk_all_to_all(const struct sk_blocks *send, const struct sk_blocks *recv, MPI_Comm comm)
{
    MPI_Comm c = MPI_COMM_NULL;
    int me = 0, n = 0, begun = 0, quiet = sk_world_is_quiet(comm);
    int rc = beside(comm, &c);
    if (rc)
        return rc;
    SK_CALL(Comm_rank, (c, &me));
    SK_CALL(Comm_size, (c, &n));
    MPI_Request *r = room(2 * n);
    if (!r)
        return MPI_ERR_NO_MEM;
    rc = begin(recv, 1, c, me, n, r, &begun);
    if (!rc)
        rc = begin(send, 0, c, me, n, r, &begun);
    for (int i = 0; i < begun && !rc; i++)
        rc = sk_wait(&r[i], MPI_STATUS_IGNORE, quiet);
    return rc;
}

void sk_all_to_all_forget(MPI_Comm comm)
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
