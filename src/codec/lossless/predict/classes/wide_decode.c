/* Decodes 32 lanes side by side: in plain C, what a vector form leaves of the last steps, and what both need. */
#include "codec/lossless/predict/classes/wide.h"

#include "base/error.h"

#include <pthread.h>
#include <stdlib.h>

/* The next class of a lane. Words are looked at whether they are needed or not, unless few are left (few): then -1 where there are none. */
static inline __attribute__((always_inline)) int get(const wide_slot *slot, uint32_t *state, const uint8_t **p, const uint8_t *end,
                                                     uint8_t *c, int few)
{
    wide_slot e = slot[*state & (PROB - 1)];
    uint32_t x = (*state >> PROB_BITS) * (e >> 20) + (e >> 8 & 0xfff), low = x < WIDE_LOW;
    uint16_t word = 0;
    if (few && low && end - *p < 2)
        return -1;
    if (!few || low)
        memcpy(&word, *p, 2);
    *state = low ? x << 16 | word : x;
    *p += 2 * low;
    *c = (uint8_t)e;
    return 0;
}

static size_t steps_plain(struct wide_in *w, size_t from, size_t to, const struct wide_lag *back, int all)
{
    const struct wide_lag up = w->way.up, before = *back;
    const uint8_t *p = w->p, *const end = w->end;
    const wide_slot *of[CONTEXTS];
    uint32_t x[WIDE];
    for (int c = 0; c < CONTEXTS; c++)
        of[c] = w->slot + (size_t)w->map[c] * PROB;
    memcpy(x, w->x, sizeof x);
    for (; from < to && end - p >= 2 * WIDE; from++) {
        uint8_t *c = w->c + from * WIDE, context[WIDE], now[WIDE];
        wide_contexts(c, &up, &before, context);
        memset(now, w->first, WIDE);
        for (unsigned q = 0; q < WIDE; q++) {
            unsigned k = sk_wide_lane(q);
            if (all || wide_works(&w->way, from, k))
                get(of[context[k]], &x[q], &p, end, &now[k], 0);
        }
        memcpy(c, now, WIDE);
    }
    memcpy(w->x, x, sizeof x);
    w->p = p;
    return from;
}

/* The same to the last word. -1: there are too few. */
static int steps_to_the_end(struct wide_in *w, size_t from, size_t to, const struct wide_lag *back)
{
    for (; from < to; from++) {
        uint8_t *c = w->c + from * WIDE, context[WIDE];
        wide_contexts(c, &w->way.up, back, context);
        memset(c, w->first, WIDE);
        for (unsigned q = 0; q < WIDE; q++) {
            unsigned k = sk_wide_lane(q);
            if (wide_works(&w->way, from, k) && get(w->slot + (size_t)w->map[context[k]] * PROB, &w->x[q], &w->p, w->end, &c[k], 1))
                return -1;
        }
    }
    return 0;
}

wide_steps *sk_wide_steps_at(int level)
{
    if (level == 0)
        return steps_plain;
#if defined(__x86_64__)
    if (level == 1 && __builtin_cpu_supports("avx2"))
        return sk_wide_steps_avx2;
#endif
    return NULL;
}

static wide_steps *best;

static void find_best(void)
{
    const char *most = getenv("SAIKAI_SIMD");
    best = most && !strcmp(most, "base") ? NULL : sk_wide_steps_at(1);
    if (!best)
        best = sk_wide_steps_at(0);
}

wide_steps *sk_wide_steps(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_best);
    return best;
}

static int decode_steps(struct wide_in *w, wide_steps *steps)
{
    const struct wide_way *way = &w->way;
    const size_t turns[] = {way->busy, way->idle, way->back_from, way->steps};
    for (size_t at = 0; at < way->steps;) {
        size_t end = way->steps;
        for (int k = 0; k < 4; k++)
            end = turns[k] > at && turns[k] < end ? turns[k] : end;
        const struct wide_lag *back = at < way->back_from ? &way->up : &way->back;
        at = steps(w, at, end, back, at >= way->busy && at < way->idle);
        if (at < end && steps_to_the_end(w, at, end, back))
            return -1;
        at = end;
    }
    for (int q = 0; q < WIDE; q++)
        if (w->x[q] != WIDE_LOW)
            return -1;
    return w->p == w->end ? 0 : -1;
}

static void slots_of(const uint16_t freq[SK_CLASSES], wide_slot slot[PROB])
{
    unsigned at = 0;
    for (unsigned s = 0; s < SK_CLASSES; s++)
        for (unsigned i = 0; i < freq[s]; i++)
            slot[at++] = s | i << 8 | (wide_slot)freq[s] << 20;
}

/* All classes from their steps into the array's order. */
static void gather(const struct wide_in *w, uint8_t *classes)
{
    const struct wide_way *way = &w->way;
    for (size_t row = 0, at = 0; at < way->n; row++) {
        const uint8_t *from = w->c + wide_place(way, row, 0);
        size_t n = way->n - at < way->row ? way->n - at : way->row;
        for (size_t i = 0; i < n; i++)
            classes[at + i] = from[i * WIDE];
        at += n;
    }
}

/* The tables and all before the words. */
static int get_head(struct wide_in *w, struct class_model *m, struct sk_rd *in)
{
    w->first = sk_rd_u8(in);
    if (w->first >= SK_CLASSES || sk_class_model_get(m, in))
        return -1;
    memcpy(w->map, m->map, sizeof w->map);
    size_t words = sk_rd_u32(in);
    for (int q = 0; q < WIDE; q++)
        w->x[q] = sk_rd_u32(in);
    w->p = words <= sk_rd_left(in) / 2 ? sk_rd_bytes(in, 2 * words) : NULL;
    if (!w->p)
        return -1;
    w->end = w->p + 2 * words;
    return 0;
}

int sk_wide_decode(const struct sk_class_plane *p, struct sk_rd *in, uint8_t *classes, wide_steps *steps)
{
    struct class_model *m = malloc(sizeof *m);
    struct wide_in w = {0};
    wide_slot(*slot)[PROB] = NULL;
    uint8_t *store = NULL;
    int rc = m ? -1 : SAIKAI_ENOMEM;
    if (!m || p->skip || p->n < WIDE_LEAST || get_head(&w, m, in))
        goto out;
    sk_wide_way(p, &w.way);
    rc = SAIKAI_ENOMEM;
    slot = malloc((size_t)m->tables * sizeof *slot);
    /* two steps behind the last may be looked at, though nothing of them is used */
    store = malloc((w.way.before + w.way.steps + 2) * WIDE);
    if (!slot || !store)
        goto out;
    for (int t = 0; t < m->tables; t++)
        slots_of(m->freq[t], slot[t]);
    memset(store, w.first, w.way.before * WIDE);
    w.slot = slot[0];
    w.c = store + w.way.before * WIDE;
    rc = decode_steps(&w, steps);
    if (!rc)
        gather(&w, classes);
out:
    free(m);
    free(slot);
    free(store);
    return rc;
}
