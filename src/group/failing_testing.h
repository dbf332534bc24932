/* For tests: a group that stands before another one and whose n-th collective call fails, as do all that follow. All ranks count the same
 * calls: when each has such a group, it fails on all at the same place, and no rank waits for another. Messages from rank to rank go
 * through. */
#ifndef SK_GROUP_FAILING_TESTING_H
#define SK_GROUP_FAILING_TESTING_H

#include "group/group.h"

#include <stdlib.h>

struct failing_group {
    struct sk_group g;
    struct sk_group *inner;
    int *left;        /* calls that work, of all groups of this rank together … */
    int only_whole;   /* … or of this one: those that are split from it work, as threads of their own may use them */
};

static struct failing_group *failing_of(struct sk_group *g)
{
    return (struct failing_group *)g;
}

static int failing_call(struct sk_group *g)
{
    int *left = failing_of(g)->left;
    *left -= *left > 0;
    return *left ? 0 : SAIKAI_EMPI;
}

static int failing_barrier(struct sk_group *g)
{
    int rc = failing_call(g);
    return rc ? rc : sk_group_barrier(failing_of(g)->inner);
}

static int failing_bcast(struct sk_group *g, void *data, size_t n, int root)
{
    int rc = failing_call(g);
    return rc ? rc : sk_group_bcast(failing_of(g)->inner, data, n, root);
}

static int failing_allreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op)
{
    int rc = failing_call(g);
    return rc ? rc : sk_group_allreduce(failing_of(g)->inner, v, count, op);
}

static int failing_allgather(struct sk_group *g, const void *in, void *out, size_t n)
{
    int rc = failing_call(g);
    return rc ? rc : sk_group_allgather(failing_of(g)->inner, in, out, n);
}

static int failing_iallreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op, struct sk_request **req)
{
    int rc = failing_call(g);
    return rc ? rc : sk_group_iallreduce(failing_of(g)->inner, v, count, op, req);
}

static int failing_isend(struct sk_group *g, const void *data, size_t n, int to, int tag, struct sk_request **req)
{
    return sk_group_isend(failing_of(g)->inner, data, n, to, tag, req);
}

static int failing_irecv(struct sk_group *g, void *data, size_t n, int from, int tag, struct sk_request **req)
{
    return sk_group_irecv(failing_of(g)->inner, data, n, from, tag, req);
}

static int failing_test(struct sk_group *g, struct sk_request **req, int *done)
{
    return sk_group_test(failing_of(g)->inner, req, done);
}

static int failing_wait(struct sk_group *g, struct sk_request **req)
{
    return sk_group_wait(failing_of(g)->inner, req);
}

static int failing_split(struct sk_group *g, int colour, int key, struct sk_group **out);

static void failing_free(struct sk_group *g)
{
    sk_group_free(failing_of(g)->inner);
    free(g);
}

static const struct sk_group_ops failing_ops = {
    .barrier = failing_barrier, .bcast = failing_bcast, .allreduce = failing_allreduce, .allgather = failing_allgather,
    .iallreduce = failing_iallreduce, .isend = failing_isend, .irecv = failing_irecv, .test = failing_test, .wait = failing_wait,
    .split = failing_split, .free = failing_free,
};

/* Takes inner over; *left calls work. */
static struct sk_group *failing_new(struct sk_group *inner, int *left)
{
    struct failing_group *f = calloc(1, sizeof *f);
    if (f)
        *f = (struct failing_group){{&failing_ops, inner->rank, inner->size, inner->threads}, inner, left, 0};
    return f ? &f->g : NULL;
}

static int failing_split(struct sk_group *g, int colour, int key, struct sk_group **out)
{
    struct sk_group *sub = NULL;
    *out = NULL;
    int rc = failing_call(g);
    if (!rc)
        rc = sk_group_split(failing_of(g)->inner, colour, key, &sub);
    if (!rc && sub)
        *out = failing_of(g)->only_whole ? sub : failing_new(sub, failing_of(g)->left);
    return rc;
}

#endif
