#include "group/group.h"

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
