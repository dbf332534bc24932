/* Topologies of communicators that the layer makes itself: Cartesian, graph, and distributed graph. Pure. Ranks are never reordered. A process
 * keeps its own part of a distributed graph alone. Ranks that do not exist are SK_TOPOLOGY_NOBODY; the caller has MPI_PROC_NULL for it. */
#ifndef SK_WORLD_COMMS_TOPOLOGY_H
#define SK_WORLD_COMMS_TOPOLOGY_H

enum sk_topology_kind { SK_TOPOLOGY_CART, SK_TOPOLOGY_GRAPH, SK_TOPOLOGY_DIST };
enum { SK_TOPOLOGY_NOBODY = -1 };

struct sk_topology {
    enum sk_topology_kind kind;
    int n[2];       /* Cartesian: dimensions; graph: nodes, edges; distributed: sources, destinations */
    int weighted;   /* a distributed graph */
    int *first, *second; /* dims, periods; index, edges; sources, destinations */
    int *weight[2]; /* of sources, of destinations; NULL: not weighted */
};

/* NULL: no memory. All that is given is copied. */
struct sk_topology *sk_topology_cart(int dimensions, const int *dims, const int *periods);
struct sk_topology *sk_topology_graph(int nodes, const int *index, const int *edges);
struct sk_topology *sk_topology_dist(int n_sources, const int *sources, const int *source_weight, int n_destinations, const int *destinations,
                               const int *destination_weight);
struct sk_topology *sk_topology_copy(const struct sk_topology *s); /* NULL of NULL, too */
void sk_topology_free(struct sk_topology *s);                   /* NULL is accepted */

/* How many processes a grid has; -1: a dimension is not positive, or they are more than an int holds. */
int sk_cart_size(int dimensions, const int *dims);
void sk_cart_coords(const struct sk_topology *s, int rank, int *coords);
/* Coordinates outside wrap round where the dimension is periodic. SK_TOPOLOGY_NOBODY: they are outside. */
int sk_cart_rank(const struct sk_topology *s, const int *coords);
/* The rank so far along a dimension. */
int sk_cart_along(const struct sk_topology *s, int rank, int dimension, int displacement);
/* Of MPI_Cart_sub: who stays together (colour), in which order (key), and the grid that is left (NULL: no memory). */
struct sk_topology *sk_cart_sub(const struct sk_topology *s, int rank, const int *remains, int *colour, int *key);
/* Neighbours of a node of a graph: their number, and where they begin in the edges. */
int sk_graph_neighbours(const struct sk_topology *s, int rank, const int **begin);

#endif
