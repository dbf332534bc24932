/* Finds the zeros of a field, and keeps of their bitmap only where it differs from what the place
 * before or another field lets expect. */
#include "archive/coding/zeros.h"

#include "codec/residual/residual.h"

#include "base/types.h"

#include <string.h>

static inline int get(const uint8_t *bits, size_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}
static inline void flip(uint8_t *bits, size_t i, int v)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] ^ v << (i & 7));
}

/* 1: value i of a field is +0 (all bits zero). */
static inline int is_zero(const struct sk_field *f, size_t i)
{
    uint64_t v = 0;
    if (f->width == 64)
        memcpy(&v, (const uint8_t *)f->x + 8 * i, 8);
    else
        memcpy(&v, (const uint8_t *)f->x + 4 * i, 4);
    return v == 0;
}

/* How far back the expected bit stands: a plane, else a row, else the value before. */
static size_t reach_of(struct sk_stencil_box b)
{
    return b.nz > 1 ? b.ny * b.nx : b.ny > 1 ? b.nx : 1;
}

/* Replace each bit by whether it differs from the one expected. From the end, so that what is
 * expected still stands. */
static void to_changes(const struct sk_part *p, const struct sk_field *source, uint8_t *bits,
                       size_t n)
{
    if (source) {
        for (size_t i = 0; i < n; i++)
            flip(bits, i, is_zero(source, i));
        return;
    }
    for (size_t s = p->count, end = n; s-- > 0;) {
        struct sk_stencil_box b = p->segments[s].box;
        size_t count = sk_box_count(b), first = end - count, reach = reach_of(b);
        for (size_t i = end; i-- > first;)
            if (i - first >= reach)
                flip(bits, i, get(bits, i - reach));
        end = first;
    }
}

size_t sk_zeros_restore(const struct sk_part *p, const struct sk_field *source, uint8_t *bits,
                        size_t n)
{
    size_t zeros = 0;
    if (source)
        for (size_t i = 0; i < n; i++)
            flip(bits, i, is_zero(source, i));
    for (size_t s = 0, first = 0; s < p->count && !source; s++) {
        struct sk_stencil_box b = p->segments[s].box;
        size_t count = sk_box_count(b), reach = reach_of(b);
        for (size_t i = first + reach; i < first + count; i++)
            flip(bits, i, get(bits, i - reach));
        first += count;
    }
    for (size_t i = 0; i < n; i++)
        zeros += (size_t)get(bits, i);
    return n - zeros;
}

void sk_zeros_find(const struct sk_part *p, const uint8_t *symbols, size_t n,
                   const struct sk_field *source, uint8_t *bits)
{
    memset(bits, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++)
        bits[i >> 3] = (uint8_t)(bits[i >> 3] | (symbols[i] == SK_SYMBOL_ZERO) << (i & 7));
    to_changes(p, source, bits, n);
}

int sk_zeros_source(const struct sk_part *parts, int i, const uint8_t *symbols, size_t n)
{
    size_t least = n / 64; /* a plane above does about as well as this */
    int best = -1;
    for (int k = 0; k < i && least; k++) {
        int width = parts[k].type == SAIKAI_F64 ? 64 : parts[k].type == SAIKAI_F32 ? 32 : 0;
        struct sk_field f = {parts[k].raw, width};
        size_t differ = 0;
        if (!width || !parts[k].native || parts[k].size_bytes / sk_type_size(parts[k].type) != n)
            continue;
        for (size_t v = 0; v < n && differ < least; v++)
            differ += is_zero(&f, v) != (symbols[v] == SK_SYMBOL_ZERO);
        if (differ < least) {
            least = differ;
            best = k;
        }
    }
    return best;
}
