/* Encodes 32 lanes side by side. */
#include "codec/lossless/predict/classes/wide.h"

#include <stdlib.h>

/* x / freq by a multiplication, exact for x < 2^32: inverse = ceil(2^64 / freq). That of 1 would be 2^64; with one less, x / 1 is one too
 * small, and start makes up for it. */
struct code {
    uint64_t inverse;
    uint16_t freq, others, start; /* others: PROB - freq */
};

static void codes_of(const uint16_t freq[SK_CLASSES], struct code code[SK_CLASSES])
{
    unsigned start = 0;
    for (int s = 0; s < SK_CLASSES; s++) {
        unsigned f = freq[s];
        if (f == 1)
            code[s] = (struct code){UINT64_MAX, 1, PROB - 1, (uint16_t)(start + PROB - 1)};
        else if (f)
            code[s] = (struct code){UINT64_MAX / f + 1, (uint16_t)f, (uint16_t)(PROB - f), (uint16_t)start};
        start += f;
    }
}

struct work {
    struct wide_way way;
    uint8_t *store, *c, *context; /* by step and lane */
    uint8_t first;
};

static void deal(struct work *w, const uint8_t *classes)
{
    const struct wide_way *way = &w->way;
    for (size_t row = 0, at = 0; at < way->n; row++) {
        uint8_t *to = w->c + wide_place(way, row, 0);
        size_t n = way->n - at < way->row ? way->n - at : way->row;
        for (size_t i = 0; i < n; i++)
            to[i * WIDE] = classes[at + i];
        at += n;
    }
}

static void count(const struct work *w, uint32_t hist[CONTEXTS][SK_CLASSES])
{
    const struct wide_way *way = &w->way;
    for (size_t t = 0; t < way->steps; t++) {
        const uint8_t *c = w->c + t * WIDE, *context = w->context + t * WIDE;
        if (t == way->busy && way->idle > t) {
            sk_class_count(c, context, (way->idle - t) * WIDE, hist);
            t = way->idle - 1;
            continue;
        }
        for (unsigned k = 0; k < WIDE; k++)
            hist[context[k]][c[k]] += (uint32_t)wide_works(way, t, k);
    }
}

static int measure(struct work *w, const struct sk_class_plane *p, const uint8_t *classes, uint32_t hist[CONTEXTS][SK_CLASSES])
{
    struct wide_way *way = &w->way;
    uint64_t sum = 0;
    sk_wide_way(p, way);
    /* two steps behind the last may be looked at, though nothing of them is used */
    w->store = malloc((way->before + 2 * way->steps + 2) * WIDE);
    if (!w->store)
        return -1;
    for (size_t i = 0; i < p->n; i++)
        sum += classes[i];
    w->first = (uint8_t)(sum / p->n);
    memset(w->store, w->first, (way->before + way->steps + 2) * WIDE);
    w->c = w->store + way->before * WIDE;
    w->context = w->c + (way->steps + 2) * WIDE;
    deal(w, classes);
    for (size_t t = 0; t < way->steps; t++)
        wide_contexts(w->c + t * WIDE, &way->up, t < way->back_from ? &way->up : &way->back, w->context + t * WIDE);
    count(w, hist);
    return 0;
}

/* Whether a word is written cannot be foreseen: a branch would cost more than writing it in vain. */
static inline __attribute__((always_inline)) void put_class(const struct code *k, uint32_t *x, uint16_t **p)
{
    uint32_t y = *x;
    unsigned full = y >> 21 >= k->freq;
    (*p)[-1] = (uint16_t)y;
    *p -= full;
    y >>= full << 4;
    *x = y + (uint32_t)((unsigned __int128)y * k->inverse >> 64) * k->others + k->start;
}

/* A step, its last lane first. */
static inline __attribute__((always_inline)) uint16_t *encode_step(const struct work *w, size_t t, const struct code *const of[CONTEXTS],
                                                                   uint32_t x[WIDE], uint16_t *p, int all)
{
    const uint8_t *c = w->c + t * WIDE, *context = w->context + t * WIDE;
#pragma GCC unroll 32
    for (unsigned q = WIDE; q-- > 0;) {
        const unsigned k = sk_wide_lane(q);
        if (all || wide_works(&w->way, t, k))
            put_class(of[context[k]] + c[k], &x[q], &p);
    }
    return p;
}

/* The words before p, downwards; returns the first of them. */
static uint16_t *encode_steps(const struct work *w, const struct class_model *m, struct code (*code)[SK_CLASSES], uint32_t state[WIDE],
                              uint16_t *p)
{
    const struct wide_way *way = &w->way;
    const struct code *of[CONTEXTS];
    uint32_t x[WIDE];
    for (int c = 0; c < CONTEXTS; c++)
        of[c] = code[m->map[c]];
    for (unsigned q = 0; q < WIDE; q++)
        x[q] = WIDE_LOW;
    size_t t = way->steps;
    while (t > way->idle)
        p = encode_step(w, --t, of, x, p, 0);
    while (t > way->busy)
        p = encode_step(w, --t, of, x, p, 1);
    while (t > 0)
        p = encode_step(w, --t, of, x, p, 0);
    memcpy(state, x, sizeof x);
    return p;
}

static void put(const struct work *w, const struct class_model *m, const uint32_t x[WIDE], const uint16_t *p, const uint16_t *end,
                struct sk_buf *out)
{
    sk_buf_put_u8(out, w->first);
    sk_class_model_put(m, out);
    sk_buf_put_u32(out, (uint32_t)(end - p));
    for (unsigned q = 0; q < WIDE; q++)
        sk_buf_put_u32(out, x[q]);
    sk_buf_put(out, p, (size_t)(end - p) * sizeof *p);
}

void sk_wide_encode(const struct sk_class_plane *p, const uint8_t *classes, struct sk_buf *out)
{
    struct work w = {0};
    struct class_model *m = malloc(sizeof *m);
    uint32_t(*hist)[SK_CLASSES] = calloc(CONTEXTS, sizeof *hist), x[WIDE];
    struct code(*code)[SK_CLASSES] = calloc(MAX_TABLES, sizeof *code);
    uint16_t *words = NULL;
    int ok = 0;
    if (!m || !hist || !code || measure(&w, p, classes, hist))
        goto out;
    sk_class_model_build(m, hist);
    for (int t = 0; t < m->tables; t++)
        codes_of(m->freq[t], code[t]);
    /* a class takes hardly more than PROB_BITS bits, and the place before the words is written, too */
    size_t room = (p->n / 16 + 1) * (PROB_BITS + 1) + WIDE;
    words = malloc(room * sizeof *words);
    if (!words)
        goto out;
    put(&w, m, x, encode_steps(&w, m, code, x, words + room), words + room, out);
    ok = 1;
out:
    if (!ok)
        out->failed = 1;
    free(m);
    free(hist);
    free(code);
    free(words);
    free(w.store);
}
