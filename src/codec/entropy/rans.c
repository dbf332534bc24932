/* Bits in and out, and the models of rANS: frequencies from counts, their cost, and their coding. */
#include "codec/entropy/rans.h"

#include <math.h>

void sk_bits_put(struct sk_rans_bits_out *b, uint64_t value, unsigned n)
{
    b->acc |= value << b->n;
    b->n += n;
    while (b->n >= 8) {
        sk_buf_put_u8(b->out, (uint8_t)b->acc);
        b->acc >>= 8;
        b->n -= 8;
    }
}

void sk_bits_flush(struct sk_rans_bits_out *b)
{
    if (b->n)
        sk_buf_put_u8(b->out, (uint8_t)b->acc);
    b->acc = 0;
    b->n = 0;
}

uint32_t sk_bits_get(struct sk_rans_bits_in *b, unsigned n)
{
    uint64_t v = 0;
    if (n > b->size_bits - b->at) {
        b->bad = 1;
        return 0;
    }
    for (unsigned got = 0; got < n;) {
        unsigned shift = b->at & 7, take = 8 - shift < n - got ? 8 - shift : n - got;
        v |= (uint64_t)((b->p[b->at >> 3] >> shift) & ((1u << take) - 1)) << got;
        got += take;
        b->at += take;
    }
    return (uint32_t)v;
}

static unsigned length_of(unsigned f)
{
    return f ? 32u - (unsigned)__builtin_clz(f) : 0;
}

/* A number as its distance from a guess: unary of the zigzag. */
static void put_near(struct sk_rans_bits_out *out, int value, int guess)
{
    int d = value - guess;
    unsigned z = d > 0 ? 2u * (unsigned)d - 1 : 2u * (unsigned)-d;
    sk_bits_put(out, (uint64_t)1 << z, z + 1);
}

static int get_near(struct sk_rans_bits_in *in, int guess)
{
    unsigned z = 0;
    while (z < 30 && !in->bad && !sk_bits_get(in, 1))
        z++;
    return z & 1 ? guess + (int)(z + 1) / 2 : guess - (int)(z / 2);
}

/* What the reader makes of the frequency f when only mb bits below its leading one are kept. */
static unsigned coarse(unsigned f, unsigned mb)
{
    unsigned k = length_of(f);
    return k > mb + 1 ? f >> (k - 1 - mb) << (k - 1 - mb) : f;
}

/* Scale weights to the exact sum; every weight that is not zero stays so. Writer and reader call it
 * alike. */
static int settle(struct sk_rans_model *m, const uint32_t w[SK_TOKENS])
{
    uint64_t sum = 0;
    unsigned used = 0, top = 0;
    for (unsigned t = 0; t < SK_TOKENS; t++) {
        sum += w[t];
        used += w[t] != 0;
        if (w[t] > w[top])
            top = t;
    }
    memset(m, 0, sizeof *m);
    if (!used)
        return 0;
    int left = SK_RANS_ONE;
    for (unsigned t = 0; t < SK_TOKENS; t++) {
        uint64_t f = ((uint64_t)w[t] * SK_RANS_ONE + sum / 2) / sum;
        m->freq[t] = (uint16_t)(w[t] && !f ? 1 : f);
        left -= m->freq[t];
    }
    for (unsigned guard = 0; left + (int)m->freq[top] < 1 && guard < SK_TOKENS; guard++)
        for (unsigned t = 0; t < SK_TOKENS; t++)
            if (t != top && m->freq[t] > 1 && left < 0) {
                m->freq[t]--;
                left++;
            }
    if (left + (int)m->freq[top] < 1)
        return -1;
    m->freq[top] = (uint16_t)(m->freq[top] + left);
    unsigned at = 0;
    for (unsigned t = 0; t < SK_TOKENS; t++) {
        m->start[t] = (uint16_t)at;
        at += m->freq[t];
    }
    return 0;
}

static unsigned precision_of(uint64_t n)
{
    return n > 60000 ? 5 : n > 6000 ? 4 : n > 600 ? 3 : 2;
}

void sk_rans_model_write(struct sk_rans_model *m, const uint32_t counts[SK_TOKENS],
                         struct sk_rans_bits_out *out)
{
    uint64_t n = 0;
    int last = -1;
    for (int t = 0; t < SK_TOKENS; t++) {
        n += counts[t];
        if (counts[t])
            last = t;
    }
    sk_bits_put(out, (uint64_t)(last + 1), 8);
    uint32_t w[SK_TOKENS] = {0};
    if (last < 0) {
        settle(m, w);
        return;
    }
    unsigned mb = precision_of(n);
    sk_bits_put(out, mb - 2, 2);
    int guess = 11;
    for (int t = 0; t <= last; t++) {
        uint64_t f = ((uint64_t)counts[t] * SK_RANS_ONE + n / 2) / n;
        unsigned g = coarse(counts[t] && !f ? 1 : (unsigned)f, mb), k = length_of(g);
        put_near(out, (int)k, guess);
        if (k > 1) {
            unsigned keep = k - 1 < mb ? k - 1 : mb;
            sk_bits_put(out, (g >> (k - 1 - keep)) & ((1u << keep) - 1), keep);
        }
        w[t] = g;
        guess = (int)k;
    }
    settle(m, w);
}

int sk_rans_model_read(struct sk_rans_model *m, struct sk_rans_bits_in *in)
{
    uint32_t w[SK_TOKENS] = {0};
    unsigned n = sk_bits_get(in, 8);
    if (in->bad || n > SK_TOKENS)
        return -1;
    if (!n)
        return settle(m, w);
    unsigned mb = 2 + sk_bits_get(in, 2);
    int guess = 11;
    uint64_t sum = 0;
    for (unsigned t = 0; t < n; t++) {
        int k = get_near(in, guess);
        if (in->bad || k < 0 || k > SK_RANS_BITS + 1)
            return -1;
        if (k > 0) {
            unsigned keep = (unsigned)k - 1 < mb ? (unsigned)k - 1 : mb;
            w[t] = ((1u << keep) | sk_bits_get(in, keep)) << ((unsigned)k - 1 - keep);
        }
        sum += w[t];
        guess = k;
    }
    return in->bad || !sum ? -1 : settle(m, w);
}

double sk_rans_model_cost(const uint32_t counts[SK_TOKENS])
{
    double bits = 10;
    uint32_t n = 0; /* of values in one piece, as the counts are */
    int last = 0;
    unsigned used = 0;
    for (int t = 0; t < SK_TOKENS; t++) {
        int at = counts[t] ? t : 0;
        n += counts[t];
        last = at > last ? at : last;
        used += counts[t] != 0;
    }
    return bits + used * (1.6 + precision_of(n)) + 1.2 * (last + 1 - (int)used);
}
