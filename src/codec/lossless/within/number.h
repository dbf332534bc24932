/* Whole numbers: what divides two of them; and small ones in few bytes, seven bits each, the lowest first, the eighth bit says that more follow. */
#ifndef SK_CODEC_LOSSLESS_NUMBER_H
#define SK_CODEC_LOSSLESS_NUMBER_H

#include "base/buf.h"

/* The greatest that divides both, by Euclid's algorithm; of 0 and another, that one. */
static inline uint64_t sk_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static inline void sk_number_put(struct sk_buf *b, uint64_t v)
{
    for (; v > 127; v >>= 7)
        sk_buf_put_u8(b, (uint8_t)(v | 128));
    sk_buf_put_u8(b, (uint8_t)v);
}

/* What is no such number, or cut, sets r->bad. */
static inline uint64_t sk_number_get(struct sk_rd *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = sk_rd_u8(r);
        v |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            return v;
    }
    r->bad = 1;
    return 0;
}

#endif
