/* Gathers the lengths and then the strings themselves, each padded to the longest. */
#include "redundancy/transfer/exchange.h"

#include <stdlib.h>
#include <string.h>

int sk_exchange(struct sk_group *g, int code, const void *data, size_t n, struct sk_exchange *x,
                struct saikai_error *err)
{
    *x = (struct sk_exchange){0};
    int64_t most = (int64_t)n;
    int rc = sk_group_allreduce(g, &most, 1, SK_OP_MAX);
    if (rc)
        return code ? code : sk_fail(err, rc, "the ranks cannot speak with each other");
    x->stride = ((size_t)most + 7) / 8 * 8;
    x->size = calloc((size_t)g->size, sizeof *x->size);
    x->data = malloc((size_t)g->size * x->stride + 1);
    uint8_t *mine = calloc(1, x->stride + 1);
    if (!code && (!x->size || !x->data || !mine))
        code = sk_fail(err, SAIKAI_ENOMEM, "no memory for what %d ranks say", g->size);
    rc = sk_group_verdict(g, code, err);
    if (!rc) {
        if (n)
            memcpy(mine, data, n);
        uint64_t length = n;
        rc = sk_group_allgather(g, &length, x->size, sizeof length);
        if (!rc && x->stride)
            rc = sk_group_allgather(g, mine, x->data, x->stride);
        if (rc)
            sk_fail(err, rc, "the ranks cannot speak with each other");
    }
    free(mine);
    return rc;
}

const uint8_t *sk_exchange_at(const struct sk_exchange *x, int rank)
{
    return x->data + (size_t)rank * x->stride;
}

void sk_exchange_free(struct sk_exchange *x)
{
    free(x->data);
    free(x->size);
    *x = (struct sk_exchange){0};
}
