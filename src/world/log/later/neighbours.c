/* Collectives with neighbours under the protocols `logging` and `replication`: a message to each and one from each, as a collective that does not block, which is
 * waited for if it has to. Without these protocols they are refused.
 *
 * Between two processes messages are matched by their order. On a grid what is sent to the negative side comes from the positive one, so there the order
 * of receives within a dimension is the other one: also where both sides are the same process (MPI 4.0, section 8.6). */
#include "world/comms/topology.h"
#include "world/log/later/later.h"
#include "world/view/wrong.h"
#include "world/wait.h"

#include <stdlib.h>

/* Where the block of neighbour i is. */
struct lying {
    const void *buf;
    int is_one, count; /* is_one: the same for all; else one after the other, … */
    MPI_Datatype type;
    const int *counts, *displs;
    const MPI_Aint *bytes; /* … or of types, each with its place */
    const MPI_Datatype *types;
};

/* Of this rank; on a grid in the order of sends. The list is to be freed, NULL: no memory. */
static int *neighbours(const struct sk_members *g, int incoming, int *n)
{
    const struct sk_topology *t = g->topology;
    const int *known = NULL;
    if (t->kind == SK_TOPOLOGY_CART)
        *n = 2 * t->n[0];
    else if (t->kind == SK_TOPOLOGY_GRAPH)
        *n = sk_graph_neighbours(t, g->rank, &known);
    else
        *n = t->n[!incoming], known = incoming ? t->first : t->second;
    int *list = malloc(sizeof *list * (size_t)(*n + 1));
    for (int i = 0; list && i < *n; i++)
        list[i] = known ? known[i] : sk_cart_along(t, g->rank, i / 2, i % 2 ? 1 : -1);
    return list;
}

static void *place(const struct lying *l, int i)
{
    MPI_Aint lb, extent = 0;
    char *buf = (char *)(uintptr_t)l->buf;
    if (l->types)
        return buf + l->bytes[i];
    if (l->is_one)
        return buf;
    SK_CALL(Type_get_extent, (l->type, &lb, &extent));
    return buf + (l->counts ? (MPI_Aint)l->displs[i] : (MPI_Aint)i * l->count) * extent;
}

static int what_is_wrong(const struct lying *l, int n)
{
    if (l->types || l->counts)
        return !n ? 0 : l->types ? sk_wrong_types(n, l->counts, l->types) : sk_wrong_blocks(n, l->counts, l->type);
    return sk_wrong_block(l->count, l->type);
}

/* Sends before receives, as none waits for what is sent to leave. */
static int plan(struct sk_steps *s, const struct sk_members *g, const struct lying *l, int receives, const int *peer, int n)
{
    int flip = receives && g->topology->kind == SK_TOPOLOGY_CART;
    for (int k = 0; k < n; k++) {
        int i = flip ? k ^ 1 : k, count = l->counts ? l->counts[i] : l->count;
        uint64_t type = SK_KEY(l->types ? l->types[i] : l->type);
        struct sk_step step = {.what = receives ? SK_STEP_RECEIVE : SK_STEP_SEND};
        if (peer[i] < 0 || peer[i] >= g->n) /* nobody */
            continue;
        step.peer = g->world[peer[i]];
        if (receives)
            step.to = place(l, i), step.n_to = count, step.t_to = type;
        else
            step.from = place(l, i), step.n_from = count, step.t_from = type;
        if (sk_steps_add(s, &step))
            return MPI_ERR_NO_MEM;
    }
    return 0;
}

/* out NULL: until it is over. */
static int with_neighbours(struct sk_members *g, MPI_Comm comm, const struct lying *from, const struct lying *to, MPI_Request *out)
{
    MPI_Request r;
    int n_to = 0, n_from = 0, rc;
    if (!g->topology)
        return sk_wrong(comm, MPI_ERR_TOPOLOGY);
    int *dest = neighbours(g, 0, &n_to), *source = neighbours(g, 1, &n_from);
    struct sk_steps *steps = sk_steps_new();
    rc = !dest || !source || !steps ? MPI_ERR_NO_MEM : what_is_wrong(from, n_to) ?: what_is_wrong(to, n_from);
    if (rc)
        sk_wrong(comm, rc);
    else
        rc = plan(steps, g, from, 0, dest, n_to) ?: plan(steps, g, to, 1, source, n_from);
    free(dest);
    free(source);
    rc = sk_later_begin(g, steps, rc, out ? out : &r);
    return rc || out ? rc : sk_wait(&r, MPI_STATUS_IGNORE, 0);
}

#define UNPACK(...) __VA_ARGS__
#define ONE(b, n, t)           (&(struct lying){.buf = (b), .is_one = 1, .count = (n), .type = (t)})
#define EVERY(b, n, t)         (&(struct lying){.buf = (b), .count = (n), .type = (t)})
#define LYING(b, ns, ds, t)    (&(struct lying){.buf = (b), .counts = (ns), .displs = (ds), .type = (t)})
#define LYING_AS(b, ns, ds, t) (&(struct lying){.buf = (b), .counts = (ns), .bytes = (ds), .types = (t)})
#define WITH_NEIGHBOURS(Name, out, from, to, by_mpi)                                       \
    if (!SK_PLAIN) {                                                                       \
        struct sk_members *g = sk_logs_on(comm);                                           \
        int rc;                                                                            \
        if (!g)                                                                            \
            sk_world_cannot(SK_WORLD_FUNCTION, "MPI_" #Name);                              \
        if ((rc = sk_world_enter(comm)))                                                   \
            return rc;                                                                     \
        if (g)                                                                             \
            return with_neighbours(g, comm, from, to, out);                                \
    }                                                                                      \
    return by_mpi
#define PAIR(Name, Iname, params, args, from, to)                                                            \
    SK_WRAP(Name, (UNPACK params, MPI_Comm comm))                                                            \
    {                                                                                                        \
        WITH_NEIGHBOURS(Name, NULL, from, to, SK_CALL_ASIDE(Name, (UNPACK args, sk_comm(comm))));                  \
    }                                                                                                        \
    SK_WRAP(Iname, (UNPACK params, MPI_Comm comm, MPI_Request *request))                                     \
    {                                                                                                        \
        WITH_NEIGHBOURS(Iname, request, from, to, SK_CALL(Iname, (UNPACK args, sk_comm(comm), request)));    \
    }

PAIR(Neighbor_allgather, Ineighbor_allgather, (const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr),
     (send, ns, ts, recv, nr, tr), ONE(send, ns, ts), EVERY(recv, nr, tr))
PAIR(Neighbor_allgatherv, Ineighbor_allgatherv,
     (const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *dr, MPI_Datatype tr),
     (send, ns, ts, recv, nr, dr, tr), ONE(send, ns, ts), LYING(recv, nr, dr, tr))
PAIR(Neighbor_alltoall, Ineighbor_alltoall, (const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr),
     (send, ns, ts, recv, nr, tr), EVERY(send, ns, ts), EVERY(recv, nr, tr))
PAIR(Neighbor_alltoallv, Ineighbor_alltoallv,
     (const void *send, const int *ns, const int *ds, MPI_Datatype ts, void *recv, const int *nr, const int *dr, MPI_Datatype tr),
     (send, ns, ds, ts, recv, nr, dr, tr), LYING(send, ns, ds, ts), LYING(recv, nr, dr, tr))
PAIR(Neighbor_alltoallw, Ineighbor_alltoallw,
     (const void *send, const int *ns, const MPI_Aint *ds, const MPI_Datatype *ts, void *recv, const int *nr, const MPI_Aint *dr, const MPI_Datatype *tr),
     (send, ns, ds, ts, recv, nr, dr, tr), LYING_AS(send, ns, ds, ts), LYING_AS(recv, nr, dr, tr))
