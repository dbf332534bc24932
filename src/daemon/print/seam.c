/* Counts lines and bytes, and keeps the newest of them. */
#include "daemon/print/seam.h"

#include <stdlib.h>
#include <string.h>

void sk_seam_count(struct sk_printed *p, const char *data, size_t n)
{
    const char *end = data + n, *at = data, *next;
    while (at < end && (next = memchr(at, '\n', (size_t)(end - at)))) {
        p->lines++;
        p->bytes = 0;
        at = next + 1;
    }
    p->bytes += (uint64_t)(end - at);
}

static int is_there(const struct sk_printed *at, const struct sk_printed *to, char next)
{
    return at->lines > to->lines || (at->lines == to->lines && (at->bytes >= to->bytes || next == '\n'));
}

size_t sk_seam_before(struct sk_printed *at, const struct sk_printed *to, const char *data, size_t n)
{
    size_t i = 0;
    for (; i < n && !is_there(at, to, data[i]); i++)
        sk_seam_count(at, data + i, 1);
    return i;
}

/* Twice as much fits as is wanted, so that little is moved. */
static void drop_oldest(struct sk_unseen *h, size_t n)
{
    if (n > h->n)
        n = h->n;
    sk_seam_count(&h->from, h->data, n);
    memmove(h->data, h->data + n, h->n - n);
    h->n -= n;
}

int sk_unseen_add(struct sk_unseen *h, const char *data, size_t n)
{
    if (h->n + n > 2 * h->most && h->n)
        drop_oldest(h, h->n > h->most ? h->n - h->most : h->n);
    if (h->n + n > h->cap) {
        size_t cap = h->cap ? h->cap : 4096;
        while (cap < h->n + n)
            cap *= 2;
        char *grown = realloc(h->data, cap);
        if (!grown) {
            drop_oldest(h, h->n);
            sk_seam_count(&h->from, data, n);
            return -1;
        }
        h->data = grown;
        h->cap = cap;
    }
    memcpy(h->data + h->n, data, n);
    h->n += n;
    return 0;
}

void sk_unseen_free(struct sk_unseen *h)
{
    free(h->data);
    *h = (struct sk_unseen){.most = h->most};
}
