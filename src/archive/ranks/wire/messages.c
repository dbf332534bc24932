/* Sends the length first and then the bytes in pieces, and sleeps the longer between two looks the
 * longer nothing has come. */
#include "archive/ranks/wire/messages.h"

#include <stdlib.h>
#include <time.h>

enum { PIECE = 64 << 10 };

int sk_message_send(struct sk_group *g, int to, const void *data, size_t n)
{
    uint64_t length = n;
    struct sk_request *r = NULL;
    int rc = sk_group_isend(g, &length, sizeof length, to, SK_TAG_LENGTH, &r);
    if (!rc)
        rc = sk_group_wait(g, &r);
    for (size_t at = 0; at < n && !rc; at += PIECE) {
        size_t k = n - at < PIECE ? n - at : PIECE;
        rc = sk_group_isend(g, (const char *)data + at, k, to, SK_TAG_DATA, &r);
        if (!rc)
            rc = sk_group_wait(g, &r);
    }
    return rc;
}

int sk_message_recv(struct sk_group *g, int from, void **data, size_t *n)
{
    uint64_t length = 0;
    struct sk_request *r = NULL;
    int rc = sk_group_irecv(g, &length, sizeof length, from, SK_TAG_LENGTH, &r);
    if (!rc)
        rc = sk_group_wait(g, &r);
    char nowhere[PIECE], *out = rc ? NULL : malloc((size_t)length + 1);
    for (size_t at = 0; at < length && !rc; at += PIECE) {
        size_t k = length - at < PIECE ? (size_t)length - at : PIECE;
        rc = sk_group_irecv(g, out ? out + at : nowhere, k, from, SK_TAG_DATA, &r);
        if (!rc)
            rc = sk_group_wait(g, &r);
    }
    if (rc) {
        free(out);
        return rc;
    }
    *data = out;
    *n = (size_t)length;
    return 0;
}

int sk_message_bcast(struct sk_group *g, int root, void **data, size_t *n, struct saikai_error *err)
{
    uint64_t length = *n;
    int rc = sk_group_bcast(g, &length, sizeof length, root);
    if (rc)
        return sk_fail(err, rc, "the ranks lost touch");
    void *to = g->rank == root ? *data : malloc((size_t)length + 1);
    rc = sk_group_verdict(g, to ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for what rank %d tells", root), err);
    if (!rc && (rc = sk_group_bcast(g, to, (size_t)length, root)))
        sk_fail(err, rc, "the ranks lost touch");
    if (rc) {
        if (g->rank != root)
            free(to);
        return rc;
    }
    *data = to;
    *n = (size_t)length;
    return 0;
}

long sk_message_pause_ns(unsigned idle)
{
    unsigned n = idle < 16 ? idle : 16;
    return n < 4 ? 0 : (long)(n - 3) * 38000;
}

void sk_message_relax(unsigned *idle)
{
    nanosleep(&(struct timespec){.tv_nsec = sk_message_pause_ns(*idle)}, NULL);
    ++*idle;
}
