/* Filters in the stream: what the reader needs to know of the weights, in few bits. */
#include "codec/wavelet/kernel/lift_filter.h"

enum { MOST_UNARY = 24 };

/* How weights are written: bits of the code's parameter, of the unit's number and of weights that the code is too long for;
 * units are powers of 2^step. */
static const struct form {
    unsigned rice, shift, escape, step;
} forms[] = {{4, 2, 24, 2}, {5, 3, 32, 3}};

static const struct form *form_of(int fine)
{
    return &forms[fine != 0];
}

int sk_lift_filter_units(int fine)
{
    return 1 << form_of(fine)->shift;
}

int sk_lift_filter_unit(int fine, int i)
{
    return 1 << (int)form_of(fine)->step * i;
}

static uint32_t folded(int32_t v)
{
    return (uint32_t)v << 1 ^ (uint32_t)(v >> 31);
}

static int32_t unfolded(uint32_t z)
{
    return (int32_t)(z >> 1 ^ (0u - (z & 1)));
}

static unsigned length_of(const struct form *form, uint32_t z, unsigned k)
{
    return z >> k < MOST_UNARY ? (z >> k) + 1 + k : MOST_UNARY + form->escape;
}

/* The parameter of R. Rice's code that suits a filter's weights. */
static unsigned parameter_of(const struct lift_filter *f, int fine, unsigned *bits)
{
    const struct form *form = form_of(fine);
    int unit = sk_lift_filter_unit(fine, f->coarse);
    unsigned best = 0;
    *bits = ~0u;
    for (unsigned k = 0; k < 1u << form->rice; k++) {
        unsigned sum = 0;
        for (int g = 1; g <= f->n; g++)
            sum += length_of(form, folded(f->stored[g] / unit), k);
        if (sum < *bits) {
            *bits = sum;
            best = k;
        }
    }
    return best;
}

unsigned sk_lift_filter_bits(const struct lift_filter *f, int fine)
{
    unsigned bits;
    if (f->fitted != LIFT_FITTED)
        return f->fitted == LIFT_STANDARD ? 1 : 2;
    parameter_of(f, fine, &bits);
    return 2 + form_of(fine)->shift + form_of(fine)->rice + bits;
}

void sk_lift_filter_put(const struct lift_filter *f, int fine, struct sk_rans_bits_out *out)
{
    const struct form *form = form_of(fine);
    int unit = sk_lift_filter_unit(fine, f->coarse);
    unsigned bits, k;
    sk_bits_put(out, f->fitted == LIFT_STANDARD ? 0 : f->fitted == LIFT_AS_BEFORE ? 1 : 3,
                f->fitted == LIFT_STANDARD ? 1 : 2);
    if (f->fitted != LIFT_FITTED)
        return;
    k = parameter_of(f, fine, &bits);
    sk_bits_put(out, (unsigned)f->coarse, form->shift);
    sk_bits_put(out, k, form->rice);
    for (int g = 1; g <= f->n; g++) {
        uint32_t z = folded(f->stored[g] / unit);
        if (z >> k < MOST_UNARY) {
            sk_bits_put(out, (1u << (z >> k)) - 1, (z >> k) + 1);
            sk_bits_put(out, z & ((1u << k) - 1), k);
        } else {
            sk_bits_put(out, (1u << MOST_UNARY) - 1, MOST_UNARY);
            sk_bits_put(out, z, form->escape);
        }
    }
}

void sk_lift_filter_as_before(struct lift_filter *f, const struct lift_filter *before)
{
    for (int g = 0; g <= f->n; g++)
        f->stored[g] = before->stored[g];
}

int sk_lift_filter_get(struct lift_filter *f, const struct lift_filter *before, int fine,
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
    const struct form *form = form_of(fine);
    f->coarse = (int)sk_bits_get(in, form->shift);
    unsigned k = sk_bits_get(in, form->rice);
    for (int g = 1; g <= f->n; g++) {
        uint32_t z = 0;
        while (z < MOST_UNARY && !in->bad && sk_bits_get(in, 1))
            z++;
        z = z < MOST_UNARY ? z << k | sk_bits_get(in, k) : sk_bits_get(in, form->escape);
        int64_t weight = (int64_t)unfolded(z) * sk_lift_filter_unit(fine, f->coarse);
        if (weight > INT32_MAX || weight < -INT32_MAX)
            return -1;
        f->stored[g] = (int32_t)weight;
    }
    return in->bad ? -1 : 0;
}
