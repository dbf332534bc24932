/* Collects ranges, sorts and joins them, and counts their bytes. */
#include "capture/ranges.h"

#include <stdlib.h>
#include <string.h>

static uint64_t end_of(const struct sk_range *x)
{
    return x->offset + x->size_bytes;
}

void sk_ranges_add(struct sk_ranges *r, uint32_t region, uint64_t offset, uint64_t size_bytes)
{
    if (!size_bytes || r->failed)
        return;
    struct sk_range *last = r->n ? &r->v[r->n - 1] : NULL;
    if (last && last->region == region && offset >= last->offset && offset <= end_of(last)) {
        if (offset + size_bytes > end_of(last))
            last->size_bytes = offset + size_bytes - last->offset;
        return;
    }
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        struct sk_range *v = realloc(r->v, cap * sizeof *v);
        if (!v) {
            r->failed = 1;
            return;
        }
        r->v = v;
        r->cap = cap;
    }
    r->v[r->n++] = (struct sk_range){region, offset, size_bytes};
}

void sk_ranges_add_all(struct sk_ranges *r, const struct sk_ranges *b)
{
    for (size_t i = 0; i < b->n; i++)
        sk_ranges_add(r, b->v[i].region, b->v[i].offset, b->v[i].size_bytes);
    r->failed |= b->failed;
}

static int compare(const void *pa, const void *pb)
{
    const struct sk_range *a = pa, *b = pb;
    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int sorted(const struct sk_ranges *r)
{
    for (size_t i = 1; i < r->n; i++)
        if (compare(&r->v[i - 1], &r->v[i]) > 0)
            return 0;
    return 1;
}

void sk_ranges_normalise(struct sk_ranges *r)
{
    if (!sorted(r))
        qsort(r->v, r->n, sizeof *r->v, compare);
    sk_ranges_join(r, 0);
}

void sk_ranges_join(struct sk_ranges *r, uint64_t gap_bytes)
{
    size_t n = r->n, kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct sk_range *last = kept ? &r->v[kept - 1] : NULL;
        const struct sk_range x = r->v[i];
        if (!last || last->region != x.region ||
            (x.offset > end_of(last) && x.offset - end_of(last) > gap_bytes))
            r->v[kept++] = x;
        else if (end_of(&x) > end_of(last))
            last->size_bytes = end_of(&x) - last->offset;
    }
    r->n = kept;
}

uint64_t sk_ranges_bytes(const struct sk_ranges *r)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->n; i++)
        sum += r->v[i].size_bytes;
    return sum;
}

void sk_ranges_clear(struct sk_ranges *r)
{
    r->n = 0;
    r->failed = 0;
}

void sk_ranges_free(struct sk_ranges *r)
{
    if (!r)
        return;
    free(r->v);
    memset(r, 0, sizeof *r);
}
