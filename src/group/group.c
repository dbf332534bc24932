/* What every group can do by means of its own functions: one verdict for all ranks, and waiting for
 * some of several requests. */
#include "group/group.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sk_group_verdict(struct sk_group *g, int code, struct saikai_error *err)
{
    /* lowest rank that failed; its sentence is then told to everybody */
    int64_t first = code ? g->rank : g->size;
    int rc = sk_group_allreduce(g, &first, 1, SK_OP_MIN);
    if (rc)
        return code ? code : sk_fail(err, rc, "the ranks could not agree on a result");
    if (first == g->size)
        return 0;
    struct saikai_error theirs = {0};
    if (g->rank == first) {
        if (err && err->code)
            theirs = *err;
        theirs.code = code;
    }
    rc = sk_group_bcast(g, &theirs, sizeof theirs, (int)first);
    if (code)
        return code;
    if (rc)
        return sk_fail(err, rc, "the ranks could not agree on a result");
    theirs.text[sizeof theirs.text - 1] = 0;
    return sk_fail(err, SAIKAI_EPEER, "rank %d: %s", (int)first,
                   *theirs.text ? theirs.text : "failed without a reason");
}

/* One look at each. */
static int test_each(struct sk_group *g, struct sk_request **const req[], int n, int *open, int *ended)
{
    *open = *ended = 0;
    for (int i = 0; i < n; i++) {
        int done = 0;
        if (!*req[i])
            continue;
        int rc = sk_group_test(g, req[i], &done);
        if (rc)
            return rc;
        *open += !done;
        *ended += done;
    }
    return 0;
}

int sk_group_some(struct sk_group *g, struct sk_request **const req[], int n, int block, int *ended)
{
    if (g->ops->some)
        return g->ops->some(g, req, n, block, ended);
    for (int open;;) {
        int rc = test_each(g, req, n, &open, ended);
        if (rc || *ended || !open || !block)
            return rc;
        sk_sleep(20e-6);
    }
}
