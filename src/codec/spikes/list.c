/* The list of isolated values: gaps between them and distances from the decoded rest, as powers of two with probabilities that adapt, and the bits
 * below. */
#include "codec/spikes/list.h"

#include "codec/entropy/adaptive/adaptive.h"

#include <math.h>
#include <string.h>

enum { TREE = 64 /* exponents */, HEADS = 2 /* bits below the power that have contexts */, MOST_EXPONENT = 52, LEAST_STEP = 128, WHOLE = 0 };

struct number {
    sk_adaptive_slot exponent[TREE], head[TREE][1 << HEADS];
};

struct models {
    struct number count, gap, height;
    sk_adaptive_slot sign;
};

static void models_new(struct models *m)
{
    struct number *all[] = {&m->count, &m->gap, &m->height};
    for (int k = 0; k < 3; k++) {
        sk_adaptive_slots(all[k]->exponent, TREE);
        sk_adaptive_slots(&all[k]->head[0][0], TREE * (1 << HEADS));
    }
    sk_adaptive_slots(&m->sign, 1);
}

/* The lowest n bits of v, that follow no rule. */
static uint64_t code_bits(struct sk_adaptive *c, uint64_t v, int n, int decoding)
{
    uint64_t got = 0;
    for (int b = n - 1; b >= 0; b--)
        got = got << 1 | (uint64_t)sk_adaptive_split(c, 1u << 15, (int)(v >> b & 1), decoding);
    return got;
}

/* A number below 2^63. */
static uint64_t code_number(struct sk_adaptive *c, struct number *m, uint64_t v, int decoding)
{
    unsigned length = v ? 64 - (unsigned)__builtin_clzll(v) : 0, node = 1;
    for (int b = 5; b >= 0; b--)
        node = node << 1 | (unsigned)sk_adaptive_alone(c, &m->exponent[node], (int)(length >> b & 1), decoding);
    length = node - TREE;
    if (length < 2)
        return length;
    int below = (int)length - 1, heads = below < HEADS ? below : HEADS;
    uint64_t got = 1;
    node = 1;
    for (int k = 1; k <= heads; k++) {
        unsigned bit = (unsigned)sk_adaptive_alone(c, &m->head[length][node], (int)(v >> (below - k) & 1), decoding);
        node = node << 1 | bit;
        got = got << 1 | bit;
    }
    return got << (below - heads) | code_bits(c, v, below - heads, decoding);
}

static double value_at(const void *values, size_t i, size_t size)
{
    return size == sizeof(float) ? ((const float *)values)[i] : ((const double *)values)[i];
}

/* The value k steps from `rest`, in its type. */
static double value_of(double rest, double step, int64_t k, size_t size)
{
    double v = rest + step * (double)k;
    return size == sizeof(float) ? (double)(float)v : v;
}

/* How many steps x is from `rest`; WHOLE: it is to be kept bit by bit. */
static int64_t steps_of(double x, double rest, double step, double bound, size_t size)
{
    double k = floor((x - rest) / step + 0.5), most = size == sizeof(float) ? 0x1p29 : 0x1p52;
    if (!(fabs(k) < most) || k == 0)
        return WHOLE;
    return fabs(value_of(rest, step, (int64_t)k, size) - x) <= bound ? (int64_t)k : WHOLE;
}

/* No more than twice the bound: mantissa of eight bits, exponent. */
static double step_of(double bound, unsigned *mantissa, int *exponent)
{
    double m = floor(frexp(bound, exponent) * (2 * LEAST_STEP));
    *mantissa = (unsigned)m;
    *exponent += 1 - 8;
    if (!isfinite(ldexp(m, *exponent)))
        --*exponent;
    return ldexp(m, *exponent);
}

int sk_spikes_put(const struct sk_spikes *s, const void *in, const void *rest, size_t size, double bound, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_adaptive c;
    struct models m;
    unsigned mantissa;
    int exponent;
    double step = step_of(bound, &mantissa, &exponent);
    models_new(&m);
    sk_buf_put_u8(out, (uint8_t)mantissa);
    sk_buf_put_u16(out, (uint16_t)exponent);
    sk_adaptive_encoder(&c, out);
    code_number(&c, &m.count, s->n, 0);
    for (size_t i = 0, next = 0; i < s->n; i++) {
        size_t at = s->at[i];
        int64_t k = steps_of(value_at(in, at, size), value_at(rest, at, size), step, bound, size);
        uint64_t bits = 0;
        code_number(&c, &m.gap, at - next, 0);
        code_number(&c, &m.height, (uint64_t)(k < 0 ? -k : k), 0);
        memcpy(&bits, (const uint8_t *)in + at * size, size);
        if (k == WHOLE)
            code_bits(&c, bits, (int)(8 * size), 0);
        else
            sk_adaptive_alone(&c, &m.sign, k < 0, 0);
        next = at + 1;
    }
    sk_adaptive_flush(&c);
    return sk_buf_ok(out) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "out of memory for isolated values");
}

static void set(void *values, size_t i, size_t size, double v)
{
    if (size == sizeof(float))
        ((float *)values)[i] = (float)v;
    else
        ((double *)values)[i] = v;
}

static int damaged(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "the isolated values of a wavelet piece are damaged");
}

int sk_spikes_get(const void *in, size_t length, void *values, size_t n, size_t size, struct saikai_error *err)
{
    struct sk_rd rd = sk_rd_init(in, length);
    struct sk_adaptive c;
    struct models m;
    unsigned mantissa = sk_rd_u8(&rd);
    double step = ldexp(mantissa, (int16_t)sk_rd_u16(&rd));
    if (rd.bad || mantissa < LEAST_STEP || !isfinite(step))
        return damaged(err);
    models_new(&m);
    sk_adaptive_decoder(&c, rd.p, sk_rd_left(&rd));
    uint64_t count = code_number(&c, &m.count, 0, 1);
    if (count > n)
        return damaged(err);
    for (size_t i = 0, at = 0; i < count; i++, at++) {
        uint64_t gap = code_number(&c, &m.gap, 0, 1), k = code_number(&c, &m.height, 0, 1);
        if (gap >= n - at || k >> MOST_EXPONENT || c.past > sizeof c.code)
            return damaged(err);
        at += (size_t)gap;
        if (k == WHOLE) {
            uint64_t bits = code_bits(&c, 0, (int)(8 * size), 1);
            memcpy((uint8_t *)values + at * size, &bits, size);
        } else {
            int64_t steps = sk_adaptive_alone(&c, &m.sign, 0, 1) ? -(int64_t)k : (int64_t)k;
            set(values, at, size, value_of(value_at(values, at, size), step, steps, size));
        }
    }
    return sk_adaptive_ended(&c) ? 0 : damaged(err);
}
