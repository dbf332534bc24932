/* Grids in row-major order, as MPI has them, and lists of neighbours. */
#include "world/comms/topology.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int *copy(const int *from, int n)
{
    int *to = from ? malloc(sizeof *to * (size_t)(n + 1)) : NULL;
    if (to && n)
        memcpy(to, from, sizeof *to * (size_t)n);
    return to;
}

/* first and second: of so many numbers. */
static struct sk_topology *make(enum sk_topology_kind kind, int n0, int n1, int n_first, const int *first, int n_second, const int *second)
{
    static const int none[1];
    struct sk_topology *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct sk_topology){.kind = kind, .n = {n0, n1}};
    s->first = copy(n_first ? first : none, n_first);
    s->second = copy(n_second ? second : none, n_second);
    if (s->first && s->second)
        return s;
    sk_topology_free(s);
    return NULL;
}

struct sk_topology *sk_topology_cart(int dimensions, const int *dims, const int *periods)
{
    return make(SK_TOPOLOGY_CART, dimensions, 0, dimensions, dims, dimensions, periods);
}

struct sk_topology *sk_topology_graph(int nodes, const int *index, const int *edges)
{
    int n = nodes ? index[nodes - 1] : 0;
    return make(SK_TOPOLOGY_GRAPH, nodes, n, nodes, index, n, edges);
}

struct sk_topology *sk_topology_dist(int n_sources, const int *sources, const int *source_weight, int n_destinations, const int *destinations,
                               const int *destination_weight)
{
    struct sk_topology *s = make(SK_TOPOLOGY_DIST, n_sources, n_destinations, n_sources, sources, n_destinations, destinations);
    if (!s || !source_weight || !destination_weight)
        return s;
    s->weighted = 1;
    s->weight[0] = copy(source_weight, n_sources);
    s->weight[1] = copy(destination_weight, n_destinations);
    if (s->weight[0] && s->weight[1])
        return s;
    sk_topology_free(s);
    return NULL;
}

struct sk_topology *sk_topology_copy(const struct sk_topology *s)
{
    if (!s)
        return NULL;
    switch (s->kind) {
    case SK_TOPOLOGY_CART: return sk_topology_cart(s->n[0], s->first, s->second);
    case SK_TOPOLOGY_GRAPH: return sk_topology_graph(s->n[0], s->first, s->second);
    default: return sk_topology_dist(s->n[0], s->first, s->weight[0], s->n[1], s->second, s->weight[1]);
    }
}

void sk_topology_free(struct sk_topology *s)
{
    if (!s)
        return;
    free(s->first);
    free(s->second);
    free(s->weight[0]);
    free(s->weight[1]);
    free(s);
}

/* ---- Cartesian ---- */

int sk_cart_size(int dimensions, const int *dims)
{
    long long n = 1;
    for (int d = 0; d < dimensions; d++) {
        if (dims[d] <= 0)
            return -1;
        n *= dims[d];
        if (n > INT_MAX)
            return -1;
    }
    return (int)n;
}

void sk_cart_coords(const struct sk_topology *s, int rank, int *coords)
{
    for (int d = s->n[0] - 1; d >= 0; d--) {
        coords[d] = rank % s->first[d];
        rank /= s->first[d];
    }
}

int sk_cart_rank(const struct sk_topology *s, const int *coords)
{
    int rank = 0;
    for (int d = 0; d < s->n[0]; d++) {
        int at = coords[d], n = s->first[d];
        if (s->second[d])
            at = (at % n + n) % n;
        if (at < 0 || at >= n)
            return SK_TOPOLOGY_NOBODY;
        rank = rank * n + at;
    }
    return rank;
}

int sk_cart_along(const struct sk_topology *s, int rank, int dimension, int displacement)
{
    int stride = 1, n = s->first[dimension];
    for (int d = dimension + 1; d < s->n[0]; d++)
        stride *= s->first[d];
    int at = rank / stride % n;
    long long to = (long long)at + displacement;
    if (s->second[dimension])
        to = (to % n + n) % n;
    return to < 0 || to >= n ? SK_TOPOLOGY_NOBODY : rank + ((int)to - at) * stride;
}

struct sk_topology *sk_cart_sub(const struct sk_topology *s, int rank, const int *remains, int *colour, int *key)
{
    int kept = 0;
    struct sk_topology *left = sk_topology_cart(s->n[0], s->first, s->second);
    int *coords = malloc(sizeof *coords * (size_t)(s->n[0] + 1));
    if (!left || !coords) {
        sk_topology_free(left);
        free(coords);
        return NULL;
    }
    sk_cart_coords(s, rank, coords);
    *colour = *key = 0;
    for (int d = 0; d < s->n[0]; d++) {
        int *number = remains[d] ? key : colour;
        *number = *number * s->first[d] + coords[d];
        if (remains[d]) {
            left->first[kept] = s->first[d];
            left->second[kept++] = s->second[d];
        }
    }
    left->n[0] = kept;
    free(coords);
    return left;
}

/* ---- graph ---- */

int sk_graph_neighbours(const struct sk_topology *s, int rank, const int **begin)
{
    int from = rank ? s->first[rank - 1] : 0;
    *begin = s->second + from;
    return s->first[rank] - from;
}
