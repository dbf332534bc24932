/* Residuals: how far a value is from its prediction, as a class and the bits that the class leaves
 * open.
 *
 * Values and predictions are mapped to integers in the order of the numbers, their difference is
 * folded to an unsigned one (0, -1, 1, -2 …), and that is written as the number of its significant
 * bits (the symbol, one byte, which a general codec then shrinks) and the bits below the leading
 * one (raw, packed). The map and the split follow Lindstrom and Isenburg, "Fast and Efficient
 * Compression of Floating-Point Data" (2006), section 3. The value +0 has a symbol of its own,
 * because masks of zeros are common and no smooth prediction meets them. */
#ifndef SK_CODEC_RESIDUAL_RESIDUAL_H
#define SK_CODEC_RESIDUAL_RESIDUAL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SK_SYMBOL_ZERO = 65, SK_SYMBOLS = 66 };
#define SK_BITS_SLACK 16 /* bytes that may be written or read past the packed bits */

/* Order-preserving maps: the difference of two images counts the floating-point numbers between
 * them. */
static inline int64_t sk_map64(double x)
{
    int64_t b;
    memcpy(&b, &x, 8);
    return b ^ (int64_t)((uint64_t)(b >> 63) >> 1);
}
static inline double sk_unmap64(int64_t b)
{
    double x;
    b ^= (int64_t)((uint64_t)(b >> 63) >> 1);
    memcpy(&x, &b, 8);
    return x;
}
static inline int32_t sk_map32(float x)
{
    int32_t b;
    memcpy(&b, &x, 4);
    return b ^ (int32_t)((uint32_t)(b >> 31) >> 1);
}
static inline float sk_unmap32(int32_t b)
{
    float x;
    b ^= (int32_t)((uint32_t)(b >> 31) >> 1);
    memcpy(&x, &b, 4);
    return x;
}

static inline uint64_t sk_fold(int64_t d)
{
    return ((uint64_t)d << 1) ^ (uint64_t)(d >> 63);
}
static inline int64_t sk_unfold(uint64_t z)
{
    return (int64_t)(z >> 1) ^ -(int64_t)(z & 1);
}

struct sk_open_out {
    uint8_t *p;
    uint64_t acc;
    unsigned fill; /* bits in acc, < 8 between calls */
};

static inline void sk_open_put_some(struct sk_open_out *o, uint64_t v, unsigned n) /* n <= 56 */
{
    o->acc |= v << o->fill;
    o->fill += n;
    memcpy(o->p, &o->acc, 8);
    o->p += o->fill >> 3;
    o->acc >>= o->fill & ~7u;
    o->fill &= 7;
}
/* Write the low n bits of v, n <= 63; all other bits of v are zero. */
static inline void sk_open_put(struct sk_open_out *o, uint64_t v, unsigned n)
{
    if (__builtin_expect(n > 56, 0)) {
        sk_open_put_some(o, v & 0xffffffffu, 32);
        v >>= 32;
        n -= 32;
    }
    sk_open_put_some(o, v, n);
}
static inline uint8_t *sk_open_end(struct sk_open_out *o)
{
    if (o->fill)
        *o->p++ = (uint8_t)o->acc;
    return o->p;
}

struct sk_open_in {
    const uint8_t *p;
    uint64_t at; /* in bits */
};

static inline uint64_t sk_open_get_some(struct sk_open_in *in, unsigned n) /* n <= 56 */
{
    uint64_t v;
    memcpy(&v, in->p + (in->at >> 3), 8);
    v >>= in->at & 7;
    in->at += n;
    return v & (((uint64_t)1 << n) - 1);
}
static inline uint64_t sk_open_get(struct sk_open_in *in, unsigned n) /* n <= 63 */
{
    if (__builtin_expect(n <= 56, 1))
        return sk_open_get_some(in, n);
    uint64_t low = sk_open_get_some(in, 32);
    return low | sk_open_get_some(in, n - 32) << 32;
}

/* One folded residual: returns the symbol. Short residuals come in no order, so that nothing here
 * may depend on a branch between them. */
static inline uint8_t sk_residual_put(struct sk_open_out *o, uint64_t z)
{
    unsigned some = z != 0, len = 63 - (unsigned)__builtin_clzll(z | 1) + some, open = len - some;
    sk_open_put(o, z & (((uint64_t)1 << open) - 1), open);
    return (uint8_t)len;
}
static inline uint64_t sk_residual_get(struct sk_open_in *in, uint8_t symbol)
{
    if (symbol <= 1)
        return symbol;
    unsigned some = symbol != 0, open = symbol - some;
    return sk_open_get(in, open) | (uint64_t)some << open;
}

/* Bits that these fewer than 2^32 symbols leave open; (uint64_t)-1 when one of them is no symbol of
 * `width`-bit values. */
uint64_t sk_residual_open_bits(const uint8_t *symbols, size_t n, int width);

/* Estimated bits of n values with this histogram of symbols: entropy of the symbols plus the open
 * bits. */
double sk_residual_cost(const uint32_t histogram[SK_SYMBOLS]);

#endif
