/* Decodes four runs side by side, their states and contexts in registers. */
#include "codec/lossless/predict/classes/classes_runs.h"
#include "codec/lossless/predict/classes/wide.h"

#include "base/error.h"

#include <stdlib.h>

/* class | (slot - start) << 8 | freq << 20 */
typedef uint32_t slot_t;

struct in_lane {
    uint64_t x;
    const uint8_t *p;
    uint8_t *c;
    const uint8_t *skip;
    unsigned west, west2;
};

static void slots_of(const uint16_t freq[SK_CLASSES], slot_t slot[PROB])
{
    unsigned at = 0;
    for (unsigned s = 0; s < SK_CLASSES; s++)
        for (unsigned i = 0; i < freq[s]; i++)
            slot[at++] = s | i << 8 | (slot_t)freq[s] << 20;
}

/* Reads 4 bytes at *p whether they are needed or not: whether they are cannot be foreseen, and a branch would cost more. */
static inline __attribute__((always_inline)) void next_state(uint64_t *state, const uint8_t **p, slot_t e)
{
    uint64_t x = (*state >> PROB_BITS) * (e >> 20) + (e >> 8 & 0xfff);
    uint32_t word;
    memcpy(&word, *p, 4);
    uint64_t low = 0 - (uint64_t)(x < LOW);
    *state = x ^ ((x ^ (x << 32 | word)) & low);
    *p += low & 4;
}

/* The next class of a lane. */
static inline __attribute__((always_inline)) void get(struct in_lane *l,
                                                      const slot_t *const by_context[CONTEXTS],
                                                      unsigned before, size_t i, int skips)
{
    if (skips && l->skip[i]) {
        l->c[i] = (uint8_t)l->west;
        l->west2 = l->west;
        return;
    }
    slot_t e = by_context[context_of(before, l->west, l->west2)][l->x & (PROB - 1)];
    next_state(&l->x, &l->p, e);
    l->west2 = l->west;
    l->west = e & 0xff;
    l->c[i] = (uint8_t)l->west;
}

static inline __attribute__((always_inline)) void
get_chunk(struct in_lane l[LANES], int lanes, size_t row, size_t plane, size_t n,
          const slot_t *const by_context[CONTEXTS], int skips)
{
    uint16_t sum[LANES][CHUNK];
    struct in_lane q[LANES]; /* local: what is stored through c cannot change it */
    for (int k = 0; k < lanes; k++) {
        q[k] = l[k];
        sum_before(l[k].c, row, plane, n, sum[k]);
    }
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < lanes; k++)
            get(&q[k], by_context, sum[k][i], i, skips);
    for (int k = 0; k < lanes; k++) {
        l[k] = q[k];
        l[k].c += n;
        if (skips)
            l[k].skip += n;
    }
}

/* The same of all lanes, none of them skipping. Written so that what lives from one value to the next fits the registers of a processor: of
 * a class only its double is carried on in one, and added to the sum of the value after the next in memory, long before that is needed. */
static void get_chunks(struct in_lane l[LANES], size_t row, size_t plane, size_t n, const slot_t *const by_context[CONTEXTS])
{
    uint16_t sum[LANES][CHUNK + 1];
    uint8_t got[LANES][CHUNK];
    const slot_t *by[CONTEXTS];
    for (int k = 0; k < LANES; k++) {
        sum_before(l[k].c, row, plane, n, sum[k]);
        sum[k][0] = (uint16_t)(sum[k][0] + l[k].west2);
        sum[k][n] = 0;
    }
    memcpy(by, by_context, sizeof by);
    uint64_t x0 = l[0].x, x1 = l[1].x, x2 = l[2].x, x3 = l[3].x;
    const uint8_t *p0 = l[0].p, *p1 = l[1].p, *p2 = l[2].p, *p3 = l[3].p;
    unsigned w0 = l[0].west, w1 = l[1].west, w2 = l[2].west, w3 = l[3].west;
#define GET(k)                                                                    \
    {                                                                             \
        slot_t e = by[(sum[k][i] + 2 * w##k) >> 4][x##k & (PROB - 1)];            \
        sum[k][i + 1] = (uint16_t)(sum[k][i + 1] + w##k);                         \
        w##k = e & 0xff;                                                          \
        got[k][i] = (uint8_t)w##k;                                                \
        next_state(&x##k, &p##k, e);                                              \
    }
    for (size_t i = 0; i < n; i++) {
        GET(0)
        GET(1)
        GET(2)
        GET(3)
    }
#undef GET
#define KEEP(k)                                                                   \
    memcpy(l[k].c, got[k], n);                                                    \
    l[k].west2 = n > 1 ? got[k][n - 2] : l[k].west;                               \
    l[k].x = x##k;                                                                \
    l[k].p = p##k;                                                                \
    l[k].west = w##k;                                                             \
    l[k].c += n;
    KEEP(0)
    KEEP(1)
    KEEP(2)
    KEEP(3)
#undef KEEP
}

/* Rows so short that what is needed of them is not yet there for a chunk. */
static inline __attribute__((always_inline)) void
get_short(struct in_lane l[LANES], int lanes, size_t row, size_t plane, size_t n,
          const slot_t *const by_context[CONTEXTS], int skips)
{
    struct in_lane q[LANES];
    for (int k = 0; k < lanes; k++)
        q[k] = l[k];
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < lanes; k++) {
            const uint8_t *c = q[k].c + i;
            unsigned before = 2u * c[-(ptrdiff_t)row] + c[1 - (ptrdiff_t)row] +
                              c[-1 - (ptrdiff_t)row] + c[-(ptrdiff_t)plane] + 7u;
            get(&q[k], by_context, before, i, skips);
        }
    for (int k = 0; k < lanes; k++) {
        l[k] = q[k];
        l[k].c += n;
        if (skips)
            l[k].skip += n;
    }
}

/* n values of each of the lanes. -1 when the input ends too early. */
static int get_values(struct in_lane *l, int lanes, const struct sk_class_plane *p, size_t n,
                      const uint8_t *end, const slot_t *const by_context[CONTEXTS])
{
    size_t chunk = p->row > CHUNK ? CHUNK : p->row - 1;
    chunk = p->plane < chunk ? p->plane : chunk;
    int tiny = chunk < 8;
    chunk = tiny ? CHUNK : chunk;
    for (size_t at = 0; at < n; at += chunk) {
        size_t some = n - at < chunk ? n - at : chunk;
        for (int k = 0; k < lanes; k++)
            if ((size_t)(end - l[k].p) < 4 * some + 4)
                return -1;
        if (tiny && p->skip)
            get_short(l, lanes, p->row, p->plane, some, by_context, 1);
        else if (tiny && lanes == LANES)
            get_short(l, LANES, p->row, p->plane, some, by_context, 0);
        else if (tiny)
            get_short(l, lanes, p->row, p->plane, some, by_context, 0);
        else if (p->skip)
            get_chunk(l, lanes, p->row, p->plane, some, by_context, 1);
        else if (lanes == LANES)
            get_chunks(l, p->row, p->plane, some, by_context);
        else
            get_chunk(l, lanes, p->row, p->plane, some, by_context, 0);
    }
    return 0;
}

/* As sk_classes_decode. */
static int decode_lanes(struct class_work *w, const struct class_model *m, const uint8_t *data,
                        const uint32_t words[LANES], const uint8_t *end)
{
    slot_t(*slot)[PROB] = malloc((size_t)m->tables * sizeof *slot);
    const slot_t *by_context[CONTEXTS];
    struct in_lane l[LANES];
    size_t common = w->lane[LANES - 1].n;
    int rc = slot ? 0 : SAIKAI_ENOMEM;
    for (int t = 0; !rc && t < m->tables; t++)
        slots_of(m->freq[t], slot[t]);
    for (int c = 0; !rc && c < CONTEXTS; c++)
        by_context[c] = slot[m->map[c]];
    for (int k = 0; !rc && k < LANES; k++) {
        uint32_t high, low;
        memcpy(&high, data, 4);
        memcpy(&low, data + 4, 4);
        l[k] = (struct in_lane){.x = (uint64_t)high << 32 | low, .p = data + 8, .c = w->lane[k].c};
        l[k].west = l[k].west2 = w->first;
        l[k].skip = w->p.skip ? w->p.skip + w->lane[k].start : NULL;
        data += (size_t)words[k] * 4;
    }
    if (!rc)
        rc = get_values(l, LANES, &w->p, common, end, by_context);
    for (int k = 0; !rc && k < LANES - 1; k++)
        rc = get_values(&l[k], 1, &w->p, w->lane[k].n - common, end, by_context);
    data -= ((size_t)words[0] + words[1] + words[2] + words[3]) * 4;
    for (int k = 0; !rc && k < LANES; k++) {
        data += (size_t)words[k] * 4;
        rc = l[k].x == LOW && l[k].p == data ? 0 : -1;
    }
    free(slot);
    return rc;
}

static int decode_four(const struct sk_class_plane *p, struct sk_rd *in, uint8_t *classes)
{
    struct class_work w = {0};
    struct class_model *m = malloc(sizeof *m);
    uint32_t words[LANES];
    uint64_t all = 0;
    uint8_t *data = NULL;
    int rc = m ? -1 : SAIKAI_ENOMEM;
    uint8_t first = sk_rd_u8(in);
    if (!m || p->row < 3 || p->plane < 1 || p->row > p->n + 3 || p->plane > p->n + 5 ||
        first >= SK_CLASSES || sk_class_model_get(m, in))
        goto out;
    for (int k = 0; k < LANES; k++) {
        words[k] = sk_rd_u32(in);
        all += words[k];
        if (words[k] < 2)
            goto out;
    }
    const uint8_t *from = all <= sk_rd_left(in) / 4 ? sk_rd_bytes(in, (size_t)all * 4) : NULL;
    if (!from)
        goto out;
    rc = SAIKAI_ENOMEM;
    if (sk_class_work_init(&w, p, first))
        goto out;
    /* lanes may look a chunk ahead of their last word: a copy with room behind it */
    data = malloc((size_t)all * 4 + 4 * CHUNK + 16);
    if (!data)
        goto out;
    memcpy(data, from, (size_t)all * 4);
    memset(data + all * 4, 0, 4 * CHUNK + 16);
    rc = decode_lanes(&w, m, data, words, data + all * 4 + 4 * CHUNK + 16);
    for (int k = 0; !rc && k < LANES; k++)
        memcpy(classes + w.lane[k].start, w.lane[k].c, w.lane[k].n);
out:
    free(m);
    free(data);
    free(w.classes);
    return rc;
}

int sk_classes_decode(const struct sk_class_plane *p, struct sk_rd *in, uint8_t *classes)
{
    return p->wide ? sk_wide_decode(p, in, classes, sk_wide_steps()) : decode_four(p, in, classes);
}
