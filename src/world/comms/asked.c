/* What the program asks of a communicator: of those that the layer made, it answers itself. */
#include "world/comms/made.h"

#include "world/comms/topology.h"
#include "world/log/log.h"


/* The members, where the layer is to answer. */
static struct sk_members *asked(MPI_Comm c)
{
    return SK_PLAIN || c == MPI_COMM_WORLD ? NULL : sk_logs_on(c);
}

/* The topology, if it is of this kind; else the program's error handler is told. */
static const struct sk_topology *topology(const struct sk_members *g, MPI_Comm c, enum sk_topology_kind kind)
{
    if (g->topology && g->topology->kind == kind)
        return g->topology;
    SK_CALL(Comm_call_errhandler, (c, MPI_ERR_TOPOLOGY));
    return NULL;
}

static int wrong(MPI_Comm c, int code)
{
    SK_CALL(Comm_call_errhandler, (c, code));
    return code;
}

static void list(int *to, int most, const int *from, int n)
{
    for (int i = 0; i < n && i < most; i++)
        to[i] = from[i];
}

#define ASK(Name, params, args, ...)                    \
    SK_WRAP(Name, params)                               \
    {                                                   \
        struct sk_members *g = asked(comm);             \
        if (!g)                                         \
            return SK_CALL(Name, args);                 \
        __VA_ARGS__                                     \
        return MPI_SUCCESS;                             \
    }
/* The topology as t. */
#define SHAPED(KIND)                                                                    \
    const struct sk_topology *t = topology(g, comm, SK_TOPOLOGY_##KIND);                \
    if (!t)                                                                             \
        return MPI_ERR_TOPOLOGY;

/* Functions of the program's that MPI calls, such as those that delete attributes or reduce, ask for their place, too: in the world, … */
static int is_called_back(MPI_Comm comm)
{
    return sk_world.armed && sk_world_depth && comm == MPI_COMM_WORLD && sk_world.comm != MPI_COMM_WORLD;
}
/* … and among others. */
static const struct sk_members *members(MPI_Comm comm)
{
    if (!sk_world.armed || !sk_world.makes || !sk_world_depth || comm == MPI_COMM_WORLD || comm == MPI_COMM_NULL)
        return asked(comm);
    const struct sk_object *o = sk_objects_find(&sk_world.comms, SK_KEY(comm));
    return o && o->flags & SK_OBJECT_MADE ? o->more : NULL;
}
#define PLACE(Name, result, here, member)                                        \
    SK_WRAP(Name, (MPI_Comm comm, int *result))                                  \
    {                                                                            \
        const struct sk_members *g = members(comm);                              \
        if (!result || (!g && !is_called_back(comm)))                            \
            return SK_CALL(Name, (sk_comm(comm), result));                       \
        *result = g ? g->member : sk_world.here;                                 \
        return MPI_SUCCESS;                                                      \
    }

PLACE(Comm_rank, rank, rank, rank)
PLACE(Comm_size, size, size, n)

SK_WRAP(Comm_compare, (MPI_Comm comm1, MPI_Comm comm2, int *result))
{
    static const int means[] = {MPI_CONGRUENT, MPI_SIMILAR, MPI_UNEQUAL};
    struct sk_members *a = SK_PLAIN ? NULL : sk_logs_on(comm1), *b = a ? sk_logs_on(comm2) : NULL;
    if (!a || !b)
        return SK_CALL(Comm_compare, (sk_comm(comm1), sk_comm(comm2), result));
    int near = sk_members_compare(a, b), far = a->remote && b->remote ? sk_members_compare(a->remote, b->remote) : 0;
    *result = a == b ? MPI_IDENT : !a->remote != !b->remote ? MPI_UNEQUAL : means[near > far ? near : far];
    return MPI_SUCCESS;
}

SK_WRAP(Comm_group, (MPI_Comm comm, MPI_Group *group))
{
    int plain = SK_PLAIN;
    struct sk_members *g = plain ? NULL : sk_logs_on(comm);
    int rc = g ? sk_made_group_of(g, group) : SK_CALL(Comm_group, (sk_comm(comm), group));
    if (!plain && !rc)
        sk_made_group(*group);
    return rc;
}

/* ---- of two groups ---- */

static struct sk_members *of_two(MPI_Comm comm)
{
    struct sk_members *g = asked(comm);
    return g && g->remote ? g : NULL;
}

SK_WRAP(Comm_test_inter, (MPI_Comm comm, int *flag))
{
    if (!of_two(comm))
        return SK_CALL(Comm_test_inter, (sk_asked(comm), flag));
    *flag = 1;
    return MPI_SUCCESS;
}

SK_WRAP(Comm_remote_size, (MPI_Comm comm, int *size))
{
    const struct sk_members *g = of_two(comm);
    if (!g)
        return SK_CALL(Comm_remote_size, (sk_asked(comm), size));
    *size = g->remote->n;
    return MPI_SUCCESS;
}

SK_WRAP(Comm_remote_group, (MPI_Comm comm, MPI_Group *group))
{
    int plain = SK_PLAIN;
    const struct sk_members *g = of_two(comm);
    int rc = g ? sk_made_group_of(g->remote, group) : SK_CALL(Comm_remote_group, (sk_asked(comm), group));
    if (!plain && !rc)
        sk_made_group(*group);
    return rc;
}

/* ---- Cartesian ---- */

ASK(Topo_test, (MPI_Comm comm, int *status), (sk_comm(comm), status), {
    static const int means[] = {MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH};
    *status = g->topology ? means[g->topology->kind] : MPI_UNDEFINED;
})

ASK(Cartdim_get, (MPI_Comm comm, int *ndims), (sk_comm(comm), ndims), {
    SHAPED(CART)
    *ndims = t->n[0];
})

ASK(Cart_get, (MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]), (sk_comm(comm), maxdims, dims, periods, coords), {
    SHAPED(CART)
    if (maxdims < t->n[0])
        return wrong(comm, MPI_ERR_ARG);
    list(dims, maxdims, t->first, t->n[0]);
    list(periods, maxdims, t->second, t->n[0]);
    sk_cart_coords(t, g->rank, coords);
})

ASK(Cart_coords, (MPI_Comm comm, int rank, int maxdims, int coords[]), (sk_comm(comm), rank, maxdims, coords), {
    SHAPED(CART)
    if (rank < 0 || rank >= g->n)
        return wrong(comm, MPI_ERR_RANK);
    if (maxdims < t->n[0])
        return wrong(comm, MPI_ERR_ARG);
    sk_cart_coords(t, rank, coords);
})

ASK(Cart_rank, (MPI_Comm comm, const int coords[], int *rank), (sk_comm(comm), coords, rank), {
    SHAPED(CART)
    int found = sk_cart_rank(t, coords);
    if (found < 0)
        return wrong(comm, MPI_ERR_ARG);
    *rank = found;
})

ASK(Cart_shift, (MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest), (sk_comm(comm), direction, disp, rank_source, rank_dest), {
    SHAPED(CART)
    if (direction < 0 || direction >= t->n[0])
        return wrong(comm, MPI_ERR_DIMS);
    int from = disp == INT32_MIN ? SK_TOPOLOGY_NOBODY : sk_cart_along(t, g->rank, direction, -disp), to = sk_cart_along(t, g->rank, direction, disp);
    *rank_source = from < 0 ? MPI_PROC_NULL : from;
    *rank_dest = to < 0 ? MPI_PROC_NULL : to;
})

/* As the functions that make them: nobody's rank becomes another one. */
ASK(Cart_map, (MPI_Comm comm, int ndims, const int dims[], const int periods[], int *newrank), (sk_comm(comm), ndims, dims, periods, newrank), {
    int size = ndims < 0 ? -1 : sk_cart_size(ndims, dims);
    if (size < 0 || size > g->n)
        return wrong(comm, MPI_ERR_DIMS);
    *newrank = g->rank < size ? g->rank : MPI_UNDEFINED;
})

/* ---- graphs ---- */

ASK(Graph_map, (MPI_Comm comm, int nnodes, const int index[], const int edges[], int *newrank), (sk_comm(comm), nnodes, index, edges, newrank), {
    if (nnodes < 0 || nnodes > g->n)
        return wrong(comm, MPI_ERR_ARG);
    *newrank = g->rank < nnodes ? g->rank : MPI_UNDEFINED;
})

ASK(Graphdims_get, (MPI_Comm comm, int *nnodes, int *nedges), (sk_comm(comm), nnodes, nedges), {
    SHAPED(GRAPH)
    *nnodes = t->n[0];
    *nedges = t->n[1];
})

ASK(Graph_get, (MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[]), (sk_comm(comm), maxindex, maxedges, index, edges), {
    SHAPED(GRAPH)
    list(index, maxindex, t->first, t->n[0]);
    list(edges, maxedges, t->second, t->n[1]);
})

ASK(Graph_neighbors_count, (MPI_Comm comm, int rank, int *nneighbors), (sk_comm(comm), rank, nneighbors), {
    const int *begin;
    SHAPED(GRAPH)
    if (rank < 0 || rank >= g->n)
        return wrong(comm, MPI_ERR_RANK);
    *nneighbors = sk_graph_neighbours(t, rank, &begin);
})

ASK(Graph_neighbors, (MPI_Comm comm, int rank, int maxneighbors, int neighbors[]), (sk_comm(comm), rank, maxneighbors, neighbors), {
    const int *begin;
    SHAPED(GRAPH)
    if (rank < 0 || rank >= g->n)
        return wrong(comm, MPI_ERR_RANK);
    int n = sk_graph_neighbours(t, rank, &begin);
    list(neighbors, maxneighbors, begin, n);
})

ASK(Dist_graph_neighbors_count, (MPI_Comm comm, int *inneighbors, int *outneighbors, int *weighted),
    (sk_comm(comm), inneighbors, outneighbors, weighted), {
    SHAPED(DIST)
    *inneighbors = t->n[0];
    *outneighbors = t->n[1];
    *weighted = t->weighted;
})

ASK(Dist_graph_neighbors, (MPI_Comm comm, int maxindegree, int sources[], int sourceweights[], int maxoutdegree, int destinations[], int destweights[]),
    (sk_comm(comm), maxindegree, sources, sourceweights, maxoutdegree, destinations, destweights), {
    SHAPED(DIST)
    list(sources, maxindegree, t->first, t->n[0]);
    list(destinations, maxoutdegree, t->second, t->n[1]);
    if (t->weighted && sourceweights != MPI_UNWEIGHTED)
        list(sourceweights, maxindegree, t->weight[0], t->n[0]);
    if (t->weighted && destweights != MPI_UNWEIGHTED)
        list(destweights, maxoutdegree, t->weight[1], t->n[1]);
})
