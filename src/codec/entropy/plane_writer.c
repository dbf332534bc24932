#include "codec/entropy/plane_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A symbol waiting to be coded: token | lane << 7 | context << 10. */
struct sk_plane_writer {
    uint32_t *symbols;
    size_t n, cap;
    struct sk_buf raw;
    uint64_t acc;
    unsigned acc_bits;
    int failed;
    unsigned last_flag;
    uint8_t fine[SUM_LIMIT];
    uint32_t counts[CONTEXTS][SK_TOKENS];
    /* every other lane counts here: equal symbols in a row would wait for each other */
    uint32_t other_counts[CONTEXTS][SK_TOKENS];
};

struct sk_plane_writer *sk_plane_writer_new(size_t max_values)
{
    struct sk_plane_writer *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    for (unsigned s = 0; s < SUM_LIMIT; s++)
        w->fine[s] = (uint8_t)fine_of(s);
    w->cap = max_values + max_values / 4 + 4096;
    w->symbols = malloc(w->cap * sizeof *w->symbols);
    if (!w->symbols) {
        free(w);
        return NULL;
    }
    return w;
}

void sk_plane_writer_free(struct sk_plane_writer *w)
{
    if (!w)
        return;
    free(w->symbols);
    sk_buf_free(&w->raw);
    free(w);
}

static int reserve(struct sk_plane_writer *w, size_t n)
{
    if (w->cap - w->n >= n)
        return 0;
    size_t cap = w->cap * 2 + n;
    uint32_t *p = realloc(w->symbols, cap * sizeof *p);
    if (!p) {
        w->failed = 1;
        return -1;
    }
    w->symbols = p;
    w->cap = cap;
    return 0;
}

static void put(struct sk_plane_writer *w, unsigned token, unsigned lane, unsigned context)
{
    (lane & 1 ? w->other_counts : w->counts)[context][token]++;
    w->symbols[w->n++] = token | lane << 7 | context << 10;
}

static inline void put_raw(struct sk_plane_writer *w, uint32_t value, unsigned n)
{
    w->acc |= (uint64_t)value << w->acc_bits;
    w->acc_bits += n;
    if (w->acc_bits >= 32) {
        uint32_t low = (uint32_t)w->acc;
        uint8_t b[4] = {(uint8_t)low, (uint8_t)(low >> 8), (uint8_t)(low >> 16),
                        (uint8_t)(low >> 24)};
        sk_buf_put(&w->raw, b, 4);
        w->acc >>= 32;
        w->acc_bits -= 32;
    }
}

#define SKIP UINT32_MAX /* in place of a symbol: masked */

struct block {
    uint16_t sum[LANES][BLOCK + SPARE];
    uint32_t symbol[LANES][BLOCK + SPARE];
    const int32_t *q[LANES];
    int large; /* some token has raw bits */
};

/* Contexts of a block of one lane, those of the same row included: the writer knows them all. */
static inline __attribute__((always_inline)) void sum_all(const struct lanes *v,
                                                          const uint8_t *level, size_t lane,
                                                          size_t col, size_t n, uint16_t *sum)
{
    unsigned w1 = v->p->weights.left, w2 = v->p->weights.left2;
    const uint8_t *u = level + v->origin[lane] + col;
    sum_block(v, level, lane, v->origin[lane] + col, n, sum);
    if (col) {
        add_levels(sum, u - 1, w1, whole(n));
        if (w2)
            add_levels(sum, u - 2, w2, whole(n));
        return;
    }
    for (size_t i = 1; i < n; i++)
        sum[i] = (uint16_t)(sum[i] + w1 * u[i - 1]);
    for (size_t i = 2; i < n; i++)
        sum[i] = (uint16_t)(sum[i] + w2 * u[i - 2]);
}

static inline __attribute__((always_inline)) int any_in(const int32_t *q, size_t n)
{
    int32_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= q[i];
    return any != 0;
}

/* Symbols of a block of one lane. */
static inline __attribute__((always_inline)) void make_symbols(const struct sk_plane_writer *w,
                                                               const struct sk_plane *p,
                                                               struct block *b, unsigned lane,
                                                               size_t n)
{
    uint8_t token[BLOCK + SPARE];
    const int32_t *q = b->q[lane];
    const uint16_t *sum = b->sum[lane];
    uint32_t *symbol = b->symbol[lane], same = lane << 7 | (unsigned)p->set * FINE << 10;
    uint32_t large = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t a = q[i] < 0 ? -q[i] : q[i];
        token[i] = (uint8_t)(2 * a - (q[i] > 0));
        large |= (uint32_t)a >> 3;
    }
    if (large) {
        b->large = 1;
        for (size_t i = 0; i < n; i++)
            token[i] = (uint8_t)sk_token_of(q[i]);
    }
    for (size_t i = 0; i < n; i++)
        symbol[i] = ((uint32_t)w->fine[sum[i] & (SUM_LIMIT - 1)] << 10) + (same | token[i]);
    for (size_t i = 0; p->mask && i < n; i++)
        symbol[i] = sum[i] >= SUM_MASKED ? SKIP : symbol[i];
}

static inline void put_raw_of(struct sk_plane_writer *w, int32_t q)
{
    const struct sk_token *t = &sk_token_table()[sk_token_of(q)];
    uint32_t a = q < 0 ? 0u - (uint32_t)q : (uint32_t)q;
    put_raw(w, (a - t->base) << 1 | (q < 0), t->bits);
}

/* Interleave the lanes. */
static inline __attribute__((always_inline)) void
put_block(struct sk_plane_writer *w, const struct block *b, size_t n, size_t lanes, int masked)
{
    uint32_t *to = w->symbols + w->n;
    for (size_t i = 0; i < n; i++) {
#pragma GCC unroll 8
        for (size_t l = 0; l < lanes; l++) {
            uint32_t s = b->symbol[l][i];
            if (masked && s == SKIP)
                continue;
            (l & 1 ? w->other_counts : w->counts)[s >> 10][s & 127]++;
            *to++ = s;
        }
        for (size_t l = 0; b->large && l < lanes; l++)
            if ((b->symbol[l][i] & 127) >= SK_TOKEN_SMALL && b->symbol[l][i] != SKIP)
                put_raw_of(w, b->q[l][i]);
    }
    w->n = (size_t)(to - w->symbols);
}

static inline __attribute__((always_inline)) void
write_step(struct sk_plane_writer *w, const struct lanes *v, const int32_t *q, const uint8_t *level)
{
    struct block b; /* not cleared: it is large, and a step may be short */
    for (size_t col = 0; col < v->width; col += BLOCK) {
        size_t n = v->width - col < BLOCK ? v->width - col : BLOCK;
        int any = 0;
        for (size_t l = 0; l < v->active; l++)
            any |= any_in(q + v->origin[l] + col, n);
        put(w, (unsigned)any, 0, CTX_FLAG + w->last_flag);
        w->last_flag = (unsigned)any;
        if (!any)
            continue;
        b.large = 0;
        for (size_t l = 0; l < v->active; l++) {
            sum_all(v, level, l, col, n, b.sum[l]);
            b.q[l] = q + v->origin[l] + col;
            make_symbols(w, v->p, &b, (unsigned)l, n);
        }
        if (v->active == LANES && !v->p->mask)
            put_block(w, &b, n, LANES, 0);
        else
            put_block(w, &b, n, v->active, v->p->mask != NULL);
    }
}

static inline __attribute__((always_inline)) void levels_of(const int32_t *restrict q,
                                                            uint8_t *restrict level, size_t n)
{
    for (size_t i = 0; i < n; i++)
        level[i] = (uint8_t)sk_level_of(q[i]);
}

/* What is left of a single row after it was cut into lanes of equal width. */
static struct sk_plane rest_of(const struct sk_plane *p, const struct lanes *v)
{
    struct sk_plane rest = *p;
    rest.origin += LANES * v->width;
    rest.width -= LANES * v->width;
    return rest;
}

static inline __attribute__((always_inline)) void
write_rows(struct sk_plane_writer *w, struct lanes v, const int32_t *q, uint8_t *level)
{
    struct lanes rows = v;
    for (size_t step = 0; step < v.per_lane; step++, lanes_next(&rows))
        for (size_t l = 0; l < rows.active; l++)
            levels_of(q + rows.origin[l], level + rows.origin[l], v.width);
    for (size_t step = 0; step < v.per_lane; step++, lanes_next(&v))
        write_step(w, &v, q, level);
}

static void write_rows_plain(struct sk_plane_writer *w, struct lanes v, const int32_t *q,
                             uint8_t *level)
{
    write_rows(w, v, q, level);
}

#ifdef __x86_64__
/* The same for processors with AVX2. */
__attribute__((target("avx2"))) static void
write_rows_avx2(struct sk_plane_writer *w, struct lanes v, const int32_t *q, uint8_t *level)
{
    write_rows(w, v, q, level);
}
#endif

void sk_plane_write(struct sk_plane_writer *w, const struct sk_plane *p, const int32_t *q,
                    uint8_t *level)
{
    struct lanes v = lanes_of(p);
    if (!v.rows || !v.width)
        return;
    if (w->failed || reserve(w, v.rows * (v.width + v.width / BLOCK + 1)))
        return;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        write_rows_avx2(w, v, q, level);
    else
#endif
        write_rows_plain(w, v, q, level);
    if (v.cut) {
        struct sk_plane rest = rest_of(p, &v);
        sk_plane_write(w, &rest, q, level);
    }
}

/* ---- tables ---- */

static double entropy_cost(const uint32_t *counts)
{
    double bits = 0;
    uint64_t n = 0;
    for (int t = 0; t < SK_TOKENS; t++)
        if (counts[t]) {
            n += counts[t];
            bits -= counts[t] * log2(counts[t]);
        }
    return n ? bits + (double)n * log2((double)n) + sk_rans_model_cost(counts) : 0;
}

static void gather_counts(struct sk_plane_writer *w)
{
    for (unsigned k = 0; k < CONTEXTS; k++)
        for (int t = 0; t < SK_TOKENS; t++)
            w->counts[k][t] += w->other_counts[k][t];
    memset(w->other_counts, 0, sizeof w->other_counts);
}

double sk_plane_writer_bits(struct sk_plane_writer *w)
{
    gather_counts(w);
    enum { TOGETHER = 4 };
    double bits = (double)w->raw.len * 8;
    for (unsigned k = 0; k < CONTEXTS; k += TOGETHER) {
        uint32_t counts[SK_TOKENS] = {0};
        for (unsigned j = k; j < k + TOGETHER && j < CONTEXTS; j++)
            for (int t = 0; t < SK_TOKENS; t++)
                counts[t] += w->counts[j][t];
        double cost = entropy_cost(counts);
        bits += cost > 0 ? cost - sk_rans_model_cost(counts) : 0;
    }
    return bits;
}

struct cluster {
    unsigned first, last; /* contexts */
    double cost, with_next;
    uint32_t counts[SK_TOKENS];
};

static void cost_with_next(struct cluster *c, int n, int i)
{
    if (i + 1 >= n)
        return;
    uint32_t both[SK_TOKENS];
    for (int t = 0; t < SK_TOKENS; t++)
        both[t] = c[i].counts[t] + c[i + 1].counts[t];
    c[i].with_next = entropy_cost(both);
}

/* Join neighbouring contexts as long as that saves bits, or there are too many. */
static int join(struct cluster *c, int n, int most)
{
    for (int i = 0; i < n; i++)
        cost_with_next(c, n, i);
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
        cost_with_next(c, n, best);
        if (best > 0)
            cost_with_next(c, n, best - 1);
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
                     int most, struct sk_bits_out *out)
{
    struct cluster *c = malloc((last - first) * sizeof *c);
    if (!c)
        return -1;
    int n = 0;
    for (unsigned k = first; k < last; k++) {
        if (empty(w->counts[k]))
            continue;
        c[n].first = c[n].last = k;
        memcpy(c[n].counts, w->counts[k], sizeof c[n].counts);
        c[n].cost = entropy_cost(c[n].counts);
        n++;
    }
    n = join(c, n, most);
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

/* Code the symbols backwards; the words come out in the order in which the reader wants them.
 * Returns the first word used of words[0, n], -1 when they do not suffice. */
static ptrdiff_t code(const struct sk_plane_writer *w, const struct models *m, uint16_t *words,
                      size_t n, uint32_t state[LANES])
{
    size_t at = n;
    for (int l = 0; l < LANES; l++)
        state[l] = SK_RANS_LOW;
    for (size_t i = w->n; i-- > 0;) {
        uint32_t s = w->symbols[i], token = s & 127, lane = s >> 7 & 7;
        const struct sk_rans_model *k = &m->m[m->of[s >> 10]];
        uint32_t f = k->freq[token], x = state[lane];
        if (f == SK_RANS_ONE)
            continue;
        if (x >= (uint64_t)f << (32 - SK_RANS_BITS)) {
            if (!at)
                return -1;
            words[--at] = (uint16_t)x;
            x >>= 16;
        }
        state[lane] = (x / f << SK_RANS_BITS) + x % f + k->start[token];
    }
    return (ptrdiff_t)at;
}

int sk_plane_writer_finish(struct sk_plane_writer *w, struct sk_buf *out, struct saikai_error *err)
{
    struct models *m = malloc(sizeof *m);
    uint16_t *words = malloc((w->n + 1) * sizeof *words);
    struct sk_bits_out bits = {.out = out};
    uint32_t state[LANES];
    int rc = SAIKAI_ENOMEM;
    if (!m || !words || w->failed)
        goto out;
    m->n = 0;
    gather_counts(w);
    for (unsigned s = 0; s < SK_PLANE_SETS; s++)
        if (write_set(w, m, s * FINE, (s + 1) * FINE, 20, &bits))
            goto out;
    if (write_set(w, m, CTX_FLAG, CTX_FLAG + 2, 2, &bits))
        goto out;
    sk_bits_flush(&bits);
    ptrdiff_t at = code(w, m, words, w->n, state);
    if (at < 0)
        goto out;
    size_t n_words = w->n - (size_t)at;
    while (w->acc_bits) {
        sk_buf_put_u8(&w->raw, (uint8_t)w->acc);
        w->acc >>= 8;
        w->acc_bits -= w->acc_bits < 8 ? w->acc_bits : 8;
    }
    sk_buf_put_u32(out, (uint32_t)n_words);
    for (int l = 0; l < LANES; l++)
        sk_buf_put_u32(out, state[l]);
    sk_buf_put(out, words + at, 2 * n_words); /* little-endian, as this machine is */
    sk_buf_put(out, w->raw.data, w->raw.len);
    if (sk_buf_ok(out) && sk_buf_ok(&w->raw))
        rc = 0;
out:
    free(m);
    free(words);
    return rc ? sk_fail(err, rc, "out of memory for coding") : 0;
}
