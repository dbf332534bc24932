/* A group of ranks: who they are and how they speak. One table of functions, so that everything above is tested
 * with N ranks in one process (loop.c) and runs over MPI (mpi.c) unchanged.
 *
 * Every collective function must be called by all ranks of the group, in the same order. The functions block unless
 * said otherwise. They return 0 or a negative code; after a failure of a collective the group is unusable. One thread
 * at a time uses a group; a thread of its own takes a group of its own (sk_group_dup). */
#ifndef SK_GROUP_GROUP_H
#define SK_GROUP_GROUP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum sk_op { SK_OP_MIN, SK_OP_MAX, SK_OP_SUM };

struct sk_group;

/* A transfer or collective under way; made by the i… functions, ended by wait or a test that says done. */
struct sk_request;

struct sk_group_ops {
    int (*barrier)(struct sk_group *g);
    int (*bcast)(struct sk_group *g, void *data, size_t n, int root);
    /* v[count] of all ranks, reduced element by element, in place. */
    int (*allreduce)(struct sk_group *g, int64_t *v, int count, enum sk_op op);
    /* n bytes of each rank to out[size * n]. */
    int (*allgather)(struct sk_group *g, const void *in, void *out, size_t n);
    /* Non-blocking allreduce in place; v stays untouched by the caller until it is done. */
    int (*iallreduce)(struct sk_group *g, int64_t *v, int count, enum sk_op op,
                      struct sk_request **req);
    /* Point to point; tag in 0…32767; messages of one pair and tag keep their order. The buffer of isend must stay
     * unchanged, that of irecv untouched, until the request is done. A message longer than n is an error. */
    int (*isend)(struct sk_group *g, const void *data, size_t n, int to, int tag,
                 struct sk_request **req);
    int (*irecv)(struct sk_group *g, void *data, size_t n, int from, int tag,
                 struct sk_request **req);
    /* *done = 1: ended, *req freed and set to NULL. A NULL request is done. Non-blocking. */
    int (*test)(struct sk_group *g, struct sk_request **req, int *done);
    int (*wait)(struct sk_group *g, struct sk_request **req);
    /* Collective: ranks of equal colour form a new group, ordered by key, then old rank. colour < 0: *out is NULL. */
    int (*split)(struct sk_group *g, int colour, int key, struct sk_group **out);
    /* Collective over the group's ranks (for MPI: frees the communicator). */
    void (*free)(struct sk_group *g);
    /* As sk_group_some; NULL: made of test. */
    int (*some)(struct sk_group *g, struct sk_request **const req[], int n, int block, int *ended);
};

struct sk_group {
    const struct sk_group_ops *ops;
    int rank, size;
    int threads; /* 1: other threads may use other groups at the same time */
};

static inline int sk_group_barrier(struct sk_group *g)
{
    return g->ops->barrier(g);
}
static inline int sk_group_bcast(struct sk_group *g, void *data, size_t n, int root)
{
    return g->ops->bcast(g, data, n, root);
}
static inline int sk_group_allreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op)
{
    return g->ops->allreduce(g, v, count, op);
}
static inline int sk_group_allgather(struct sk_group *g, const void *in, void *out, size_t n)
{
    return g->ops->allgather(g, in, out, n);
}
static inline int sk_group_iallreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op,
                                      struct sk_request **req)
{
    return g->ops->iallreduce(g, v, count, op, req);
}
static inline int sk_group_isend(struct sk_group *g, const void *data, size_t n, int to, int tag,
                                 struct sk_request **req)
{
    return g->ops->isend(g, data, n, to, tag, req);
}
static inline int sk_group_irecv(struct sk_group *g, void *data, size_t n, int from, int tag,
                                 struct sk_request **req)
{
    return g->ops->irecv(g, data, n, from, tag, req);
}
static inline int sk_group_test(struct sk_group *g, struct sk_request **req, int *done)
{
    return g->ops->test(g, req, done);
}
static inline int sk_group_wait(struct sk_group *g, struct sk_request **req)
{
    return g->ops->wait(g, req);
}
/* Of req[n] (each may point to NULL: done) end all that can be ended, as test does; with block, wait until that is at
 * least one, if any is open. *ended: how many. One look at the network for all of them: testing one by one costs a look
 * each, and where ranks share a core a turn of the others each. */
int sk_group_some(struct sk_group *g, struct sk_request **const req[], int n, int block, int *ended);
static inline int sk_group_split(struct sk_group *g, int colour, int key, struct sk_group **out)
{
    return g->ops->split(g, colour, key, out);
}
static inline int sk_group_dup(struct sk_group *g, struct sk_group **out)
{
    return g->ops->split(g, 0, g->rank, out);
}
static inline void sk_group_free(struct sk_group *g)
{
    if (g)
        g->ops->free(g);
}

/* One verdict for all: collective; returns 0 when code is 0 everywhere. Otherwise every rank gets a negative code: its
 * own, or SAIKAI_EPEER on ranks that were fine, with *err naming the lowest rank that failed and its sentence. */
int sk_group_verdict(struct sk_group *g, int code, struct saikai_error *err);

#endif
