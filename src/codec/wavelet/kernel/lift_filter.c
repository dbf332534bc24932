/* Filters in the stream: what the reader needs to know of the weights, in few bits. */
#include "codec/wavelet/kernel/lift_filter.h"

enum { RICE_BITS = 4, SHIFT_BITS = 2, MOST_UNARY = 24, ESCAPE_BITS = 24 };

static uint32_t folded(int32_t v)
{
    return (uint32_t)v << 1 ^ (uint32_t)(v >> 31);
}

static int32_t unfolded(uint32_t z)
{
    return (int32_t)(z >> 1 ^ (0u - (z & 1)));
}

static unsigned length_of(uint32_t z, unsigned k)
{
    return z >> k < MOST_UNARY ? (z >> k) + 1 + k : MOST_UNARY + ESCAPE_BITS;
}

/* The parameter of R. Rice's code that suits a filter's weights. */
static unsigned parameter_of(const struct lift_filter *f, unsigned *bits)
{
    unsigned best = 0;
    *bits = ~0u;
    for (unsigned k = 0; k < 1 << RICE_BITS; k++) {
        unsigned sum = 0;
        for (int g = 1; g <= f->n; g++)
            sum += length_of(folded(f->stored[g] / (1 << 2 * f->coarse)), k);
        if (sum < *bits) {
            *bits = sum;
            best = k;
        }
    }
    return best;
}

unsigned sk_lift_filter_bits(const struct lift_filter *f)
{
    unsigned bits;
    if (f->fitted != LIFT_FITTED)
        return f->fitted == LIFT_STANDARD ? 1 : 2;
    parameter_of(f, &bits);
    return 2 + SHIFT_BITS + RICE_BITS + bits;
}

void sk_lift_filter_put(const struct lift_filter *f, struct sk_rans_bits_out *out)
{
    unsigned bits, k;
    sk_bits_put(out, f->fitted == LIFT_STANDARD ? 0 : f->fitted == LIFT_AS_BEFORE ? 1 : 3,
                f->fitted == LIFT_STANDARD ? 1 : 2);
    if (f->fitted != LIFT_FITTED)
        return;
    k = parameter_of(f, &bits);
    sk_bits_put(out, (unsigned)f->coarse, SHIFT_BITS);
    sk_bits_put(out, k, RICE_BITS);
    for (int g = 1; g <= f->n; g++) {
        uint32_t z = folded(f->stored[g] / (1 << 2 * f->coarse));
        if (z >> k < MOST_UNARY) {
            sk_bits_put(out, (1u << (z >> k)) - 1, (z >> k) + 1);
            sk_bits_put(out, z & ((1u << k) - 1), k);
        } else {
            sk_bits_put(out, (1u << MOST_UNARY) - 1, MOST_UNARY);
            sk_bits_put(out, z, ESCAPE_BITS);
        }
    }
}

void sk_lift_filter_as_before(struct lift_filter *f, const struct lift_filter *before)
{
    for (int g = 0; g <= f->n; g++)
        f->stored[g] = before->stored[g];
}

int sk_lift_filter_get(struct lift_filter *f, const struct lift_filter *before,
                       struct sk_rans_bits_in *in)
{
    f->fitted = !sk_bits_get(in, 1) ? LIFT_STANDARD
                : sk_bits_get(in, 1) ? LIFT_FITTED
                                     : LIFT_AS_BEFORE;
    if (f->fitted == LIFT_AS_BEFORE) {
        if (!before)
            return -1;
        sk_lift_filter_as_before(f, before);
    }
    if (f->fitted != LIFT_FITTED)
        return in->bad ? -1 : 0;
    f->coarse = (int)sk_bits_get(in, SHIFT_BITS);
    unsigned k = sk_bits_get(in, RICE_BITS);
    for (int g = 1; g <= f->n; g++) {
        uint32_t z = 0;
        while (z < MOST_UNARY && !in->bad && sk_bits_get(in, 1))
            z++;
        z = z < MOST_UNARY ? z << k | sk_bits_get(in, k) : sk_bits_get(in, ESCAPE_BITS);
        f->stored[g] = unfolded(z) * (1 << 2 * f->coarse);
    }
    return in->bad ? -1 : 0;
}
