/* Lags, and the coding of four runs side by side. */
#include "codec/lossless/predict/classes/classes_runs.h"
#include "codec/lossless/predict/classes/wide.h"

#include <math.h>
#include <stdlib.h>

void sk_class_lags(struct sk_class_plane *p, size_t row, size_t plane)
{
    size_t run = p->n / LANES;
    if (p->wide) { /* it sees for itself which it can use */
        p->row = row;
        p->plane = plane;
        return;
    }
    p->row = row < 3 || row > run / 2 ? 3 : row;
    p->plane = plane <= p->row || plane > run / 2 ? p->row : plane;
    if (p->row == 3)
        p->plane = 5;
}

struct code {
    uint64_t inverse;
    uint16_t freq, start;
    uint8_t shift;
};

/* x / freq by a multiplication, exact for x < 2^63: inverse = ceil(2^(63 + shift) / freq) with
 * 2^shift >= freq. */
static void codes_of(const uint16_t freq[SK_CLASSES], struct code code[SK_CLASSES])
{
    unsigned start = 0;
    for (int s = 0; s < SK_CLASSES; s++) {
        unsigned f = freq[s], shift = 0;
        if (!f)
            continue;
        while (1u << shift < f)
            shift++;
        unsigned __int128 one = (unsigned __int128)1 << (63 + shift);
        code[s] = (struct code){.inverse = (uint64_t)((one + f - 1) / f),
                                .freq = (uint16_t)f,
                                .start = (uint16_t)start};
        code[s].shift = (uint8_t)shift;
        start += f;
    }
}

struct out_lane {
    uint64_t x;
    uint32_t *p; /* written downwards */
};

static inline void put(struct out_lane *o, const struct code *k)
{
    uint64_t x = o->x;
    if (x >= (LOW >> PROB_BITS << 32) * k->freq) {
        *--o->p = (uint32_t)x;
        x >>= 32;
    }
    uint64_t q = (uint64_t)((unsigned __int128)x * k->inverse >> 63) >> k->shift;
    o->x = x + q * (PROB - k->freq) + k->start;
}

static void contexts_of(const struct class_work *w, const struct class_lane *l, uint8_t *context)
{
    uint16_t sum[CHUNK];
    for (size_t at = 0; at < l->n; at += CHUNK) {
        size_t n = l->n - at < CHUNK ? l->n - at : CHUNK;
        const uint8_t *c = l->c + at;
        sum_before(c, w->p.row, w->p.plane, n, sum);
        for (size_t i = 0; i < n; i++)
            context[at + i] = (uint8_t)context_of(sum[i], c[(ptrdiff_t)i - 1], c[(ptrdiff_t)i - 2]);
    }
}

static void count_kept(const struct class_lane *l, const uint8_t *context, const uint8_t *skip,
                       uint32_t hist[CONTEXTS][SK_CLASSES])
{
    for (size_t i = 0; i < l->n; i++)
        if (!skip[i])
            hist[context[i]][l->c[i]]++;
}

/* Classes into the lanes, their contexts, and how often each class follows each context. */
static int measure(struct class_work *w, const struct sk_class_plane *p, const uint8_t *classes,
                   uint8_t **context, uint32_t hist[CONTEXTS][SK_CLASSES])
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->n; i++)
        sum += classes[i];
    if (sk_class_work_init(w, p, (uint8_t)(p->n ? sum / p->n : 0)))
        return -1;
    *context = malloc(LANES * w->run + 1);
    if (!*context)
        return -1;
    for (int k = 0; k < LANES; k++) {
        struct class_lane *l = &w->lane[k];
        const uint8_t *skip = p->skip ? p->skip + l->start : NULL;
        uint8_t *x = *context + (size_t)k * w->run;
        memcpy(l->c, classes + l->start, l->n);
        for (size_t i = 0; skip && i < l->n; i++)
            l->c[i] = skip[i] ? l->c[(ptrdiff_t)i - 1] : l->c[i];
        contexts_of(w, l, x);
        if (skip)
            count_kept(l, x, skip, hist);
        else
            sk_class_count(l->c, x, l->n, hist);
    }
    return 0;
}

static inline __attribute__((always_inline)) void
put_value(const struct class_work *w, int k, size_t i, struct out_lane *o,
          const struct code *const by_context[CONTEXTS], const uint8_t *context)
{
    const struct class_lane *l = &w->lane[k];
    if (!w->p.skip || !w->p.skip[l->start + i])
        put(o, by_context[context[(size_t)k * w->run + i]] + l->c[i]);
}

static void encode_lanes(const struct class_work *w, const struct class_model *m, const uint8_t *context,
                         struct out_lane o[LANES])
{
    struct code(*code)[SK_CLASSES] = calloc((size_t)m->tables, sizeof *code);
    const struct code *by_context[CONTEXTS];
    if (!code) {
        o[0].p = NULL;
        return;
    }
    for (int t = 0; t < m->tables; t++)
        codes_of(m->freq[t], code[t]);
    for (int c = 0; c < CONTEXTS; c++)
        by_context[c] = code[m->map[c]];
    size_t common = w->lane[LANES - 1].n;
    for (int k = 0; k < LANES; k++)
        for (size_t i = w->lane[k].n; i-- > common;)
            put_value(w, k, i, &o[k], by_context, context);
    struct out_lane q[LANES];
    memcpy(q, o, sizeof q);
    for (size_t i = common; i-- > 0;)
        for (int k = 0; k < LANES; k++)
            put_value(w, k, i, &q[k], by_context, context);
    memcpy(o, q, sizeof q);
    free(code);
}

static void encode_four(const struct sk_class_plane *p, const uint8_t *classes, struct sk_buf *out)
{
    struct class_work w = {0};
    struct class_model *m = malloc(sizeof *m);
    uint32_t(*hist)[SK_CLASSES] = calloc(CONTEXTS, sizeof *hist), *words = NULL;
    uint8_t *context = NULL;
    struct out_lane o[LANES];
    int ok = 0;
    if (!m || !hist || measure(&w, p, classes, &context, hist))
        goto out;
    sk_class_model_build(m, hist);
    /* a class takes at most PROB_BITS bits: this many words for a run, and two for the state */
    size_t room = w.run * PROB_BITS / 32 + 4;
    words = malloc(LANES * room * sizeof *words);
    if (!words)
        goto out;
    for (int k = 0; k < LANES; k++)
        o[k] = (struct out_lane){LOW, words + (size_t)(k + 1) * room};
    encode_lanes(&w, m, context, o);
    if (!o[0].p)
        goto out;
    sk_buf_put_u8(out, w.first);
    sk_class_model_put(m, out);
    for (int k = 0; k < LANES; k++) {
        *--o[k].p = (uint32_t)o[k].x;
        *--o[k].p = (uint32_t)(o[k].x >> 32);
        sk_buf_put_u32(out, (uint32_t)(words + (size_t)(k + 1) * room - o[k].p));
    }
    for (int k = 0; k < LANES; k++)
        sk_buf_put(out, o[k].p, (size_t)(words + (size_t)(k + 1) * room - o[k].p) * sizeof *words);
    ok = 1;
out:
    if (!ok)
        out->failed = 1;
    free(m);
    free(hist);
    free(words);
    free(context);
    free(w.classes);
}

void sk_classes_encode(const struct sk_class_plane *p, const uint8_t *classes, struct sk_buf *out)
{
    if (p->wide)
        sk_wide_encode(p, classes, out);
    else
        encode_four(p, classes, out);
}

double sk_classes_cost(const struct sk_class_plane *p, const uint8_t *classes)
{
    uint32_t h[SK_CLASSES] = {0};
    double bits = 0;
    for (size_t i = 0; i < p->n; i++)
        h[classes[i]]++;
    for (int s = 0; s < SK_CLASSES; s++)
        if (h[s])
            bits -= h[s] * log2((double)h[s] / (double)p->n);
    return bits;
}
