/* The second half of writing planes: contexts that save nothing alone are joined, then tables and
 * symbols are coded. The step is Duda's (rans.h). */
#include "codec/entropy/each.h"
#include "codec/entropy/plane_writer.h"
#include "codec/entropy/scratch.h"

#include <stdlib.h>
#include <string.h>

typedef double four __attribute__((vector_size(32)));
typedef int64_t four_bits __attribute__((vector_size(32)));
typedef int32_t four_counts __attribute__((vector_size(16)));

/* log2 of whole numbers from 1 on, to about 1e-5 (of 0: anything finite): nothing that is decoded depends on it. The exponent and the
 * fraction are parts of a double. */
static inline __attribute__((always_inline)) void log2_of(const four *n, four *out)
{
    const int64_t fraction = ((int64_t)1 << 52) - 1, one = (int64_t)1023 << 52, magic = (int64_t)1075 << 52;
    const double magic_one = 0x1p52 + 1023;
    four_bits bits = (four_bits)*n;
    four e = (four)((bits >> 52) | magic) - magic_one, m = (four)((bits & fraction) | one) - 1, m2 = m * m;
    /* a polynomial fitted on [0, 1] */
    *out = e + m * (1.44252727 - 0.71791346 * m + m2 * (0.45654033 - 0.27596883 * m) +
                    m2 * m2 * (0.12010017 - 0.02528548 * m));
}

/* Bits of so many of each of the first `tokens` tokens (the others do not occur), without their table. */
static double entropy_of(const uint32_t *counts, unsigned tokens, uint32_t *n)
{
    four all = {0}, sum = {0}, x, log2;
    for (unsigned t = 0; t < tokens; t += 4) {
        four_counts c;
        memcpy(&c, counts + t, sizeof c);
        x = (four){SK_EACH_4(c, double)};
        log2_of(&x, &log2);
        sum -= x * log2;
        all += x;
    }
    double total = (all[0] + all[1]) + (all[2] + all[3]);
    *n = (uint32_t)total;
    if (total < 1)
        return 0;
    x = (four){total, total, total, total};
    log2_of(&x, &log2);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + total * log2[0];
}

static double entropy_cost(const uint32_t *counts, unsigned tokens)
{
    uint32_t n;
    double bits = entropy_of(counts, tokens, &n);
    return n ? bits + sk_rans_model_cost(counts) : 0;
}

/* Tokens up to the last that occurs in contexts [first, last). */
static unsigned tokens_of(struct sk_plane_writer *w, unsigned first, unsigned last)
{
    uint32_t any[SK_TOKENS] = {0};
    unsigned n = SK_TOKENS;
    for (unsigned k = first; k < last; k++)
        for (int t = 0; t < SK_TOKENS; t++)
            any[t] |= plane_counts_of(w, k)[t];
    while (n && !any[n - 1])
        n--;
    return n;
}

/* Bits with `together` contexts for one table, without the tables. */
static double bits_of(struct sk_plane_writer *w, unsigned together)
{
    sk_plane_gather_counts(w);
    double bits = (double)w->raw.len * 8;
    for (unsigned s = 0; s <= SK_PLANE_SETS; s++) {
        unsigned last = s * FINE + w->top[s], tokens = tokens_of(w, s * FINE, last);
        for (unsigned k = s * FINE; k < last; k += together) {
            uint32_t counts[SK_TOKENS] = {0}, n;
            for (unsigned j = k; j < k + together && j < last; j++)
                for (unsigned t = 0; t < tokens; t++)
                    counts[t] += plane_counts_of(w, j)[t];
            bits += entropy_of(counts, tokens, &n);
        }
    }
    return bits;
}

double sk_plane_writer_bits(struct sk_plane_writer *w)
{
    return bits_of(w, 4);
}

double sk_plane_writer_least_bits(struct sk_plane_writer *w)
{
    return bits_of(w, 1);
}

struct cluster {
    unsigned first, last; /* contexts */
    double cost, with_next;
    uint32_t counts[SK_TOKENS];
};

static void cost_with_next(struct cluster *c, int n, int i, unsigned tokens)
{
    if (i + 1 >= n)
        return;
    uint32_t both[SK_TOKENS];
    for (int t = 0; t < SK_TOKENS; t++)
        both[t] = c[i].counts[t] + c[i + 1].counts[t];
    c[i].with_next = entropy_cost(both, tokens);
}

/* Join neighbouring contexts as long as that saves bits, or there are too many. */
static int join(struct cluster *c, int n, int most, unsigned tokens)
{
    for (int i = 0; i < n; i++)
        cost_with_next(c, n, i, tokens);
    for (;;) {
        int best = -1;
        double gain = n > most ? -1e300 : 0;
        for (int i = 0; i + 1 < n; i++)
            if (c[i].cost + c[i + 1].cost - c[i].with_next > gain) {
                gain = c[i].cost + c[i + 1].cost - c[i].with_next;
                best = i;
            }
        if (best < 0)
            return n;
        c[best].last = c[best + 1].last;
        c[best].cost = c[best].with_next;
        for (int t = 0; t < SK_TOKENS; t++)
            c[best].counts[t] += c[best + 1].counts[t];
        memmove(&c[best + 1], &c[best + 2], (size_t)(n - best - 2) * sizeof *c);
        n--;
        cost_with_next(c, n, best, tokens);
        if (best > 0)
            cost_with_next(c, n, best - 1, tokens);
    }
}

struct models {
    struct sk_rans_model m[MAX_MODELS];
    uint8_t of[CONTEXTS];
    int n;
};

static int empty(const uint32_t *counts)
{
    uint32_t any = 0;
    for (int t = 0; t < SK_TOKENS; t++)
        any |= counts[t];
    return !any;
}

/* Tables of contexts [first, last): how many, then for each the last context it serves and the
 * table. */
static int write_set(struct sk_plane_writer *w, struct models *m, unsigned first, unsigned last,
                     int most, struct sk_rans_bits_out *out)
{
    struct cluster *c = malloc((last - first) * sizeof *c);
    if (!c)
        return -1;
    int n = 0;
    unsigned tokens = tokens_of(w, first, last);
    for (unsigned k = first; k < last; k++) {
        if (empty(plane_counts_of(w, k)))
            continue;
        c[n].first = c[n].last = k;
        memcpy(c[n].counts, plane_counts_of(w, k), sizeof c[n].counts);
        c[n].cost = entropy_cost(c[n].counts, tokens);
        n++;
    }
    n = join(c, n, most, tokens);
    sk_bits_put(out, (uint64_t)n, 6);
    for (int i = 0; i < n; i++) {
        sk_bits_put(out, c[i].last - first, 7);
        sk_rans_model_write(&m->m[m->n], c[i].counts, out);
        for (unsigned k = c[i].first; k <= c[i].last; k++)
            m->of[k] = (uint8_t)m->n;
        m->n++;
    }
    free(c);
    return 0;
}

/* What coding a token takes: x becomes x + start + (x / freq) (SK_RANS_ONE - freq), which is Duda's
 * step. Since x < freq 2^20 then, the division is a multiplication by 2^44 / freq, rounded up, which is exact and stays below 2^64. */
struct code {
    uint64_t inverse;
    uint32_t start;
    uint16_t freq, rest;
};

struct coder {
    struct code (*code)[SK_TOKENS]; /* by model; the last is the certain zero of masked places */
    const struct code *of[CONTEXTS];
    uint16_t *words; /* filled from the end */
    uint32_t state[LANES];
};

enum { INVERSE_BITS = 2 * 32 - (32 - SK_RANS_BITS) };

static struct code code_of(unsigned freq, unsigned start)
{
    return (struct code){(((uint64_t)1 << INVERSE_BITS) + freq - 1) / freq, start, (uint16_t)freq, (uint16_t)(SK_RANS_ONE - freq)};
}

static void prepare(struct coder *c, const struct models *m)
{
    for (int i = 0; i < m->n; i++)
        for (int t = 0; t < SK_TOKENS; t++)
            if (m->m[i].freq[t])
                c->code[i][t] = code_of(m->m[i].freq[t], m->m[i].start[t]);
    for (int k = 0; k < CONTEXTS; k++)
        c->of[k] = c->code[m->of[k]];
    c->of[CTX_MASKED] = c->code[m->n];
    c->code[m->n][0] = code_of(SK_RANS_ONE, 0);
    for (int l = 0; l < LANES; l++)
        c->state[l] = SK_RANS_LOW;
}

/* One symbol into one state; words go down. */
static inline __attribute__((always_inline)) uint32_t code_symbol(const struct coder *c, uint32_t x,
                                                                  unsigned symbol, uint16_t **words)
{
    const struct code *k = c->of[symbol / SK_TOKENS] + symbol % SK_TOKENS;
    int full = (x >> (32 - SK_RANS_BITS)) >= k->freq;
    (*words)[-1] = (uint16_t)x;
    *words -= full;
    x = full ? x >> 16 : x;
    uint32_t quotient = (uint32_t)(x * k->inverse >> INVERSE_BITS);
    return x + k->start + quotient * k->rest;
}

static inline __attribute__((always_inline)) void code_block(struct coder *c, const uint16_t *s,
                                                             size_t n, size_t lanes)
{
    uint32_t x[LANES];
    uint16_t *words = c->words;
    for (size_t l = 0; l < lanes; l++)
        x[l] = c->state[l];
    for (size_t i = n; i-- > 0;) {
#pragma GCC unroll 8
        for (size_t l = lanes; l-- > 0;)
            x[l] = code_symbol(c, x[l], s[l * n + i], &words);
    }
    for (size_t l = 0; l < lanes; l++)
        c->state[l] = x[l];
    c->words = words;
}

/* Code the symbols backwards; the words come out in the order in which the reader wants them. */
static void code(struct coder *c, const struct sk_plane_writer *w)
{
    const uint16_t *s = w->symbols + w->n;
    for (size_t i = w->n_blocks; i-- > 0;) {
        const struct plane_block *b = &w->blocks[i];
        s -= (size_t)b->n * b->lanes;
        if (b->lanes == LANES)
            code_block(c, s, b->n, LANES);
        else
            code_block(c, s, b->n, b->lanes);
        c->state[0] = code_symbol(c, c->state[0], (CTX_FLAG + b->context) * SK_TOKENS + (b->n != 0),
                                  &c->words);
    }
}

static int write_tables(struct sk_plane_writer *w, struct models *m, struct sk_buf *out)
{
    struct sk_rans_bits_out bits = {.out = out};
    m->n = 0;
    memset(m->of, 0, sizeof m->of);
    sk_plane_gather_counts(w);
    for (unsigned s = 0; s < SK_PLANE_SETS; s++)
        if (write_set(w, m, s * FINE, (s + 1) * FINE, 20, &bits))
            return -1;
    if (write_set(w, m, CTX_FLAG, CTX_FLAG + 2, 2, &bits))
        return -1;
    sk_bits_flush(&bits);
    return 0;
}

int sk_plane_writer_finish(struct sk_plane_writer *w, struct sk_buf *out, struct saikai_error *err)
{
    struct coder c = {0};
    struct models *m = malloc(sizeof *m);
    size_t most = w->n + w->n_blocks + 1, n_words;
    uint16_t *words = sk_scratch_take(most * sizeof *words);
    int rc = SAIKAI_ENOMEM;
    c.code = sk_scratch_take((MAX_MODELS + 1) * sizeof *c.code);
    if (!m || !words || !c.code || w->failed || write_tables(w, m, out))
        goto out;
    prepare(&c, m);
    c.words = words + most;
    code(&c, w);
    n_words = (size_t)(words + most - c.words);
    if (w->acc_bits)
        sk_buf_put_u8(&w->raw, (uint8_t)w->acc);
    sk_buf_put_u32(out, (uint32_t)n_words);
    for (int l = 0; l < LANES; l++)
        sk_buf_put_u32(out, c.state[l]);
    sk_buf_put(out, c.words, 2 * n_words); /* little-endian, as this machine is */
    sk_buf_put(out, w->raw.data, w->raw.len);
    if (sk_buf_ok(out) && sk_buf_ok(&w->raw))
        rc = 0;
out:
    free(m);
    sk_scratch_give(words);
    sk_scratch_give(c.code);
    return rc ? sk_fail(err, rc, "out of memory for coding") : 0;
}
