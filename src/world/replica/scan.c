/* Prefixes go along a chain of the ranks; a reduction that is scattered is reduced by rank 0, which gives each its part. */
#include "world/replica/scan.h"

#include "world/log/collective.h"
#include "world/log/log.h"

#include <stdlib.h>

static int tag_of(const struct sk_members *g)
{
    return sk_wire_own(g->context, SK_LOGGING_COLLECTIVE);
}

static int copy(const void *from, void *to, int count, MPI_Datatype type)
{
    return SK_CALL(Sendrecv, (from, count, type, 0, 0, to, count, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
}

/* Room for so many elements, as the program would have it: *whole is to be freed. */
static void *room(MPI_Aint count, MPI_Datatype type, void **whole)
{
    MPI_Aint lb = 0, bytes = 0, start = 0, extent = 0;
    SK_CALL(Type_get_true_extent, (type, &lb, &bytes));
    SK_CALL(Type_get_extent, (type, &start, &extent));
    if (count > 1)
        bytes += (count - 1) * extent;
    *whole = malloc((size_t)(bytes > 0 ? bytes : 1));
    if (!*whole)
        sk_world_fail(SK_WORLD_FAILED, "no memory for a collective operation: the job is started again");
    return (char *)*whole - lb;
}

/* own becomes what all ranks up to this one give; before, where there are any: what those before it give. */
static int along(struct sk_members *g, void *own, void *before, int count, MPI_Datatype type, MPI_Op op)
{
    int rc = 0;
    if (g->rank && !(rc = sk_logging_recv(g, before, count, type, g->world[g->rank - 1], tag_of(g), MPI_STATUS_IGNORE)))
        rc = SK_CALL(Reduce_local, (before, own, count, type, op));
    if (!rc && g->rank + 1 < g->n)
        rc = sk_logging_send(SK_LOGGING_PLAIN, own, count, type, g->world[g->rank + 1], tag_of(g));
    return rc;
}

int sk_replica_Scan(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op)
{
    void *whole, *before = room(count, type, &whole);
    int rc = send == MPI_IN_PLACE ? 0 : copy(send, recv, count, type);
    if (!rc)
        rc = along(g, recv, before, count, type, op);
    free(whole);
    return rc;
}

int sk_replica_Exscan(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op)
{
    void *whole[2], *own = room(count, type, &whole[0]), *before = room(count, type, &whole[1]);
    int rc = copy(send == MPI_IN_PLACE ? recv : send, own, count, type);
    if (!rc)
        rc = along(g, own, before, count, type, op);
    if (!rc && g->rank)
        rc = copy(before, recv, count, type);
    free(whole[0]);
    free(whole[1]);
    return rc;
}

int sk_replica_Reduce_scatter(struct sk_members *g, const void *send, void *recv, const int *nr, MPI_Datatype type, MPI_Op op)
{
    int all = 0, rc = 0, *at = malloc(sizeof *at * (size_t)g->n);
    void *whole = NULL, *sum;
    if (!at)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < g->n; i++) {
        at[i] = all;
        all += nr[i];
    }
    sum = room(all, type, &whole);
    rc = sk_logging_Reduce(g, send == MPI_IN_PLACE ? recv : send, sum, all, type, op, 0);
    if (!rc)
        rc = sk_logging_Scatterv(g, sum, nr, at, type, recv, nr[g->rank], type, 0);
    free(whole);
    free(at);
    return rc;
}

int sk_replica_Reduce_scatter_block(struct sk_members *g, const void *send, void *recv, int nr, MPI_Datatype type, MPI_Op op)
{
    int *each = malloc(sizeof *each * (size_t)g->n);
    if (!each)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < g->n; i++)
        each[i] = nr;
    int rc = sk_replica_Reduce_scatter(g, send, recv, each, type, op);
    free(each);
    return rc;
}
