/* Integers as tokens: small ones have a token each, larger ones share one by quarter octave and add
 * raw bits.
 *
 *   0 -> 0;  +-1 .. +-7 -> 1 .. 14 (odd: positive);  |q| >= 8: 15 + 4 (e - 3) + (the two bits below
 * the leading one), where e = floor(log2 |q|); e - 2 raw bits of |q| and one sign bit follow.
 *
 * The level of a number, 0 for 0 and else about 2 + 2 log2 |q|, is what contexts are made of. */
#ifndef SK_CODEC_ENTROPY_TOKEN_H
#define SK_CODEC_ENTROPY_TOKEN_H

#include <stdint.h>

enum {
    SK_TOKENS = 128,
    SK_TOKEN_SMALL = 15, /* tokens below have no raw bits */
    SK_TOKEN_MAX_BITS = 28,
    SK_LEVEL_MAX = 61,
};
#define SK_TOKEN_LIMIT (1 << 29) /* |q| stays below */

struct sk_token {
    uint32_t base; /* smallest |q| */
    int32_t value; /* of a token without raw bits */
    uint8_t bits;  /* raw bits, the sign (lowest) among them */
    uint8_t level;
    uint8_t negative; /* of the tokens without raw bits */
};

/* The token table; [0, SK_TOKENS) are all valid entries. */
extern const struct sk_token *sk_token_table(void);

static inline unsigned sk_token_of(int32_t q)
{
    uint32_t a = q < 0 ? 0u - (uint32_t)q : (uint32_t)q;
    if (a < 8)
        return a ? 2 * a - (q > 0) : 0;
    unsigned e = 31u - (unsigned)__builtin_clz(a);
    return SK_TOKEN_SMALL + 4 * (e - 3) + ((a >> (e - 2)) & 3);
}

static inline int32_t sk_token_value(const struct sk_token *t, uint32_t raw)
{
    uint32_t negative = t->bits ? raw & 1 : t->negative;
    uint32_t a = t->base + (raw >> 1);
    return (int32_t)((a ^ (0u - negative)) + negative);
}

/* The level of q; the same number as in the token's entry. */
static inline unsigned sk_level_of(int32_t q)
{
    int32_t a = q < 0 ? -q : q;
    a &= ~(a >> 4); /* no carry into the bits that count when rounded to float */
    union {
        float f;
        uint32_t u;
    } x = {.f = (float)a};
    return a ? (x.u >> 22) - 252 : 0;
}

#endif
