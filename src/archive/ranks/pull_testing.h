/* What the tests of the two ends of a pull share: bytes of made files, numbers in messages, and a group whose messages fail. */
#ifndef SK_ARCHIVE_RANKS_PULL_TESTING_H
#define SK_ARCHIVE_RANKS_PULL_TESTING_H

#include "archive/ranks/wire/messages.h"

#include "archive/write/testing.h"
#include "base/hash.h"
#include "group/loop.h"

enum { PIECE = 16, FILE_BYTES = 70000, SEND = 0, RECEIVE, TEST, WAIT, KINDS, NEVER = 1 << 30 };

/* Bytes of a file that are asked for. */
struct wish {
    uint32_t file;
    uint64_t offset;
    size_t bytes;
};

TESTING uint8_t byte_of(uint32_t file, uint64_t offset)
{
    return (uint8_t)(file * 31 + offset * 7 + (offset >> 8));
}

TESTING void put(uint8_t *to, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(v >> 8 * i);
}

TESTING uint64_t get(const uint8_t *from, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | from[i];
    return v;
}

/* ---- a group whose n-th message of a kind fails, and all after it ---- */

struct flaky {
    struct sk_group g;
    struct sk_group *inner;
    int left[KINDS], failed;
};

TESTING struct flaky *flaky_of(struct sk_group *g)
{
    return (struct flaky *)g;
}

TESTING int flaky(struct sk_group *g, int kind)
{
    struct flaky *f = flaky_of(g);
    f->left[kind] -= f->left[kind] > 0;
    f->failed |= !f->left[kind];
    return f->failed ? SAIKAI_EMPI : 0;
}

TESTING int flaky_isend(struct sk_group *g, const void *data, size_t n, int to, int tag, struct sk_request **req)
{
    int rc = flaky(g, SEND);
    return rc ? rc : sk_group_isend(flaky_of(g)->inner, data, n, to, tag, req);
}

TESTING int flaky_irecv(struct sk_group *g, void *data, size_t n, int from, int tag, struct sk_request **req)
{
    int rc = flaky(g, RECEIVE);
    return rc ? rc : sk_group_irecv(flaky_of(g)->inner, data, n, from, tag, req);
}

TESTING int flaky_test(struct sk_group *g, struct sk_request **req, int *done)
{
    int rc = flaky(g, TEST);
    return rc ? rc : sk_group_test(flaky_of(g)->inner, req, done);
}

TESTING int flaky_wait(struct sk_group *g, struct sk_request **req)
{
    int rc = flaky(g, WAIT);
    return rc ? rc : sk_group_wait(flaky_of(g)->inner, req);
}

TESTING int flaky_allreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op)
{
    return sk_group_allreduce(flaky_of(g)->inner, v, count, op);
}

TESTING int flaky_allgather(struct sk_group *g, const void *in, void *out, size_t n)
{
    return sk_group_allgather(flaky_of(g)->inner, in, out, n);
}

TESTING int flaky_bcast(struct sk_group *g, void *data, size_t n, int root)
{
    return sk_group_bcast(flaky_of(g)->inner, data, n, root);
}

static const struct sk_group_ops flaky_ops = {.isend = flaky_isend, .irecv = flaky_irecv, .test = flaky_test, .wait = flaky_wait,
                                              .allreduce = flaky_allreduce, .allgather = flaky_allgather, .bcast = flaky_bcast};

TESTING struct flaky flaky_new(struct sk_group *g, int kind, int works)
{
    struct flaky f = {.g = {&flaky_ops, g->rank, g->size, g->threads}, .inner = g, .left = {NEVER, NEVER, NEVER, NEVER}};
    f.left[kind] = works;
    return f;
}

TESTING void says(struct sk_group *g, int to, const void *data, size_t n, int tag)
{
    struct sk_request *r = NULL;
    assert_int_equal(sk_group_isend(g, data, n, to, tag, &r), 0);
    assert_int_equal(sk_group_wait(g, &r), 0);
}

#endif
