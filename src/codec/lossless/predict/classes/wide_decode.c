/* Decodes 32 lanes side by side: in plain C, what a vector form leaves of the last steps, and what both need. */
#include "codec/lossless/predict/classes/wide.h"

#include "base/error.h"

#include <pthread.h>
#include <stdlib.h>

/* What a state is by its slot, before it takes a word. */
static inline uint32_t by_slot(uint32_t x, wide_slot e)
{
    return (x >> PROB_BITS) * (e >> 20) + (e >> 8 & 0xfff);
}

/* Looks at two bytes at *p whether they are needed or not: whether they are cannot be foreseen, and a branch would cost more. */
static inline __attribute__((always_inline)) uint8_t get(const wide_slot *slot, uint32_t *state, const uint8_t **p)
{
    wide_slot e = slot[*state & (PROB - 1)];
    uint32_t x = by_slot(*state, e), low = 0 - (uint32_t)(x < WIDE_LOW);
    uint16_t word;
    memcpy(&word, *p, 2);
    *state = x ^ ((x ^ (x << 16 | word)) & low);
    *p += low & 2;
    return (uint8_t)e;
}

static inline __attribute__((always_inline)) size_t steps_of(struct wide_in *w, size_t from, size_t to, const struct wide_lag *back, int all)
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
        if (!all)
            memset(now, w->first, WIDE);
#pragma GCC unroll 32
        for (unsigned q = 0; q < WIDE; q++) {
            const unsigned k = sk_wide_lane(q);
            if (all || wide_works(&w->way, from, k))
                now[k] = get(of[context[k]], &x[q], &p);
        }
        memcpy(c, now, WIDE);
    }
    memcpy(w->x, x, sizeof x);
    w->p = p;
    return from;
}

static size_t steps_plain(struct wide_in *w, size_t from, size_t to, const struct wide_lag *back, int all)
{
    return all ? steps_of(w, from, to, back, 1) : steps_of(w, from, to, back, 0);
}

/* The same to the last word. -1: there are too few. */
static int steps_to_the_end(struct wide_in *w, size_t from, size_t to, const struct wide_lag *back)
{
    for (; from < to; from++) {
        uint8_t *c = w->c + from * WIDE, context[WIDE];
        wide_contexts(c, &w->way.up, back, context);
        memset(c, w->first, WIDE);
        for (unsigned q = 0; q < WIDE; q++) {
            const unsigned k = sk_wide_lane(q);
            if (!wide_works(&w->way, from, k))
                continue;
            wide_slot e = w->slot[(size_t)w->map[context[k]] * PROB + (w->x[q] & (PROB - 1))];
            uint16_t word;
            c[k] = (uint8_t)e;
            w->x[q] = by_slot(w->x[q], e);
            if (w->x[q] >= WIDE_LOW)
                continue;
            if (w->end - w->p < 2)
                return -1;
            memcpy(&word, w->p, 2);
            w->x[q] = w->x[q] << 16 | word;
            w->p += 2;
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

typedef uint8_t bytes __attribute__((vector_size(16)));
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (bytes){__VA_ARGS__})
#endif
enum { TURN = sizeof(bytes) }; /* steps and lanes that are turned around at once */

/* Columns of TURN lanes: each pass deals the steps as cards are riffled, and after four they are lanes. */
static inline __attribute__((always_inline)) void by_lane(const uint8_t *c, bytes x[TURN])
{
    bytes y[TURN];
    for (int i = 0; i < TURN; i++)
        memcpy(&x[i], c + i * WIDE, TURN);
#pragma GCC unroll 4
    for (int pass = 0; pass < 4; pass++) {
        for (int i = 0; i < TURN / 2; i++) {
            y[2 * i] = SHUFFLE(x[i], x[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            y[2 * i + 1] = SHUFFLE(x[i], x[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        memcpy(x, y, sizeof y);
    }
}
#undef SHUFFLE

/* Of TURN steps of a lane those from … end - 1 to where they belong; *col: of the first of them in its row, *to: that place. */
static inline void put_lane(size_t row, const bytes *x, size_t from, size_t end, size_t *col, uint8_t **to)
{
    if (from == 0 && end == TURN && *col + TURN <= row) {
        memcpy(*to, x, TURN);
        *to += TURN;
        *col += TURN;
        return;
    }
    while (from < end) {
        if (*col == row) { /* on with the next row of the lane */
            *col = 0;
            *to += (WIDE - 1) * row;
        }
        size_t n = end - from < row - *col ? end - from : row - *col;
        for (size_t i = 0; i < n; i++)
            (*to)[i] = (*x)[from + i];
        from += n;
        *to += n;
        *col += n;
    }
}

/* All classes from their steps into the array's order. */
static void gather(const struct wide_in *w, uint8_t *classes)
{
    const struct wide_way *way = &w->way;
    size_t col[WIDE] = {0};
    uint8_t *to[WIDE];
    bytes x[TURN];
    for (size_t k = 0; k < WIDE; k++)
        to[k] = way->values[k] ? classes + k * way->row : classes;
    for (size_t t = 0; t < way->steps; t += TURN)
        for (unsigned half = 0; half < WIDE; half += TURN) {
            by_lane(w->c + t * WIDE + half, x);
            for (unsigned k = half; k < half + TURN; k++) {
                size_t begin = way->begin[k], end = begin + way->values[k];
                if (end > t && begin < t + TURN)
                    put_lane(way->row, &x[k - half], begin > t ? begin - t : 0, end - t < TURN ? end - t : TURN, &col[k], &to[k]);
            }
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
    /* steps behind the last may be looked at, though nothing of them is used */
    store = malloc((w.way.before + w.way.steps + TURN) * WIDE);
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
