/* Bits of varying number, lowest first. */
#ifndef SK_CODEC_LOSSLESS_BITS_H
#define SK_CODEC_LOSSLESS_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Writes whole 8-byte words at p: 8 bytes behind what is written must be writable. */
struct sk_bits_out {
    uint8_t *p;
    uint64_t hold;
    unsigned fill; /* bits in hold, fewer than 8 between calls */
};

/* n <= 56, v < 2^n */
static inline void sk_bits_put_some(struct sk_bits_out *b, uint64_t v, unsigned n)
{
    b->hold |= v << b->fill;
    memcpy(b->p, &b->hold, 8);
    b->fill += n;
    b->p += b->fill >> 3;
    b->hold >>= b->fill & ~7u;
    b->fill &= 7;
}

/* n <= 64, v < 2^n */
static inline void sk_bits_put(struct sk_bits_out *b, uint64_t v, unsigned n)
{
    if (n > 56) {
        sk_bits_put_some(b, v & 0xffffffff, 32);
        v >>= 32;
        n -= 32;
    }
    sk_bits_put_some(b, v, n);
}

/* End at a byte; returns where that is. */
static inline uint8_t *sk_bits_end(struct sk_bits_out *b)
{
    if (b->fill)
        *b->p++ = (uint8_t)b->hold;
    b->hold = b->fill = 0;
    return b->p;
}

/* Reads whole 8-byte words: 15 bytes behind the last bit must be readable. */
struct sk_bits_in {
    const uint8_t *p;
    uint64_t at; /* bits read */
};

/* n <= 56 */
static inline uint64_t sk_bits_get_some(struct sk_bits_in *b, unsigned n)
{
    uint64_t w;
    memcpy(&w, b->p + (b->at >> 3), 8);
    w >>= b->at & 7;
    b->at += n;
    return w & (((uint64_t)1 << n) - 1);
}

/* n <= 64 */
static inline uint64_t sk_bits_get(struct sk_bits_in *b, unsigned n)
{
    if (n > 56) {
        uint64_t low = sk_bits_get_some(b, 32);
        return low | sk_bits_get_some(b, n - 32) << 32;
    }
    return sk_bits_get_some(b, n);
}

#endif
