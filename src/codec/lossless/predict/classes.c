/* Computes contexts, builds a table for each group of them, and codes and decodes four runs side by
 * side. */
#include "codec/lossless/predict/classes.h"

#include <math.h>
#include <stdlib.h>

#define CONTEXTS   64
#define PROB_BITS  11
#define PROB       (1u << PROB_BITS)
#define LANES      4
#define LOW        ((uint64_t)1 << 31) /* states live in [LOW, LOW << 32) */
#define MAX_TABLES 32
#define CHUNK      64

void sk_class_lags(struct sk_class_plane *p, size_t row, size_t plane)
{
    size_t run = p->n / LANES;
    p->row = row < 3 || row > run / 2 ? 3 : row;
    p->plane = plane <= p->row || plane > run / 2 ? p->row : plane;
    if (p->row == 3)
        p->plane = 5;
}

/* One run of values, with room before it for the neighbours that do not exist. */
struct lane {
    size_t start, n;
    uint8_t *c; /* class of value start + i is c[i]; c[-pad … -1] hold the first class */
};

struct work {
    struct sk_class_plane p;
    struct lane lane[LANES];
    size_t run, pad;
    uint8_t *classes; /* storage of the lanes */
    uint8_t first;
};

static int work_init(struct work *w, const struct sk_class_plane *p, uint8_t first)
{
    *w = (struct work){.p = *p, .first = first};
    w->run = (p->n + LANES - 1) / LANES;
    w->pad = (p->row > p->plane ? p->row : p->plane) + 2;
    w->classes = malloc(LANES * (w->pad + w->run) + CHUNK);
    if (!w->classes)
        return -1;
    for (int k = 0; k < LANES; k++) {
        size_t start = k * w->run < p->n ? k * w->run : p->n;
        uint8_t *store = w->classes + (size_t)k * (w->pad + w->run);
        memset(store, first, w->pad);
        w->lane[k].start = start;
        w->lane[k].n = p->n - start < w->run ? p->n - start : w->run;
        w->lane[k].c = store + w->pad;
    }
    return 0;
}

/* What the row and plane before add to the contexts of values i … i + n - 1. */
static inline void sum_before(const uint8_t *c, size_t row, size_t plane, size_t n, uint16_t *sum)
{
    const uint8_t *up = c - row, *back = c - plane;
    for (size_t i = 0; i < n; i++)
        sum[i] = (uint16_t)(2 * up[i] + up[i + 1] + up[(ptrdiff_t)i - 1] + back[i] + 7);
}

static inline unsigned context_of(unsigned before, unsigned west, unsigned west2)
{
    return (before + 2 * west + west2) >> 4;
}

/* ---- tables ---- */

struct model {
    int tables;
    uint8_t map[CONTEXTS];
    uint16_t freq[MAX_TABLES][SK_CLASSES];
};

static void take(const uint32_t from[SK_CLASSES], uint32_t into[SK_CLASSES])
{
    for (int s = 0; s < SK_CLASSES; s++)
        into[s] += from[s];
}

static uint64_t total_of(const uint32_t h[SK_CLASSES])
{
    uint64_t t = 0;
    for (int s = 0; s < SK_CLASSES; s++)
        t += h[s];
    return t;
}

/* Frequencies that add up to PROB, at least 1 for each class that occurs. */
static void normalise(const uint32_t h[SK_CLASSES], uint64_t total, uint16_t freq[SK_CLASSES])
{
    int32_t left = PROB;
    int most = 0;
    for (int s = 0; s < SK_CLASSES; s++) {
        uint64_t f = h[s] ? (h[s] * (uint64_t)PROB + total / 2) / total : 0;
        freq[s] = (uint16_t)(h[s] && !f ? 1 : f);
        left -= freq[s];
        most = h[s] > h[most] ? s : most;
    }
    /* a surplus goes to the most frequent; a deficit is taken from the largest, one at a time */
    if (left >= 0)
        freq[most] = (uint16_t)(freq[most] + left);
    for (; left < 0; left++) {
        int big = 0;
        for (int s = 1; s < SK_CLASSES; s++)
            big = freq[s] > freq[big] ? s : big;
        freq[big]--;
    }
}

/* Contexts with few values share a table with their neighbours: a table costs bytes too. */
static void model_build(struct model *m, uint32_t hist[CONTEXTS][SK_CLASSES])
{
    uint32_t sum[SK_CLASSES] = {0};
    uint64_t all = 0, have = 0;
    for (int c = 0; c < CONTEXTS; c++)
        all += total_of(hist[c]);
    uint64_t least = all / 64 > 512 ? all / 64 : 512;
    m->tables = 0;
    for (int c = 0; c < CONTEXTS; c++) {
        take(hist[c], sum);
        have += total_of(hist[c]);
        all -= total_of(hist[c]);
        m->map[c] = (uint8_t)m->tables;
        if (have >= least && all >= least && m->tables < MAX_TABLES - 1) {
            normalise(sum, have, m->freq[m->tables++]);
            memset(sum, 0, sizeof sum);
            have = 0;
        }
    }
    if (!have)
        sum[0] = 1, have = 1;
    normalise(sum, have, m->freq[m->tables++]);
}

static void model_put(const struct model *m, struct sk_buf *out)
{
    sk_buf_put_u8(out, (uint8_t)m->tables);
    sk_buf_put(out, m->map, sizeof m->map);
    for (int t = 0; t < m->tables; t++) {
        int first = 0, last = SK_CLASSES - 1;
        while (!m->freq[t][first])
            first++;
        while (!m->freq[t][last])
            last--;
        sk_buf_put_u8(out, (uint8_t)first);
        sk_buf_put_u8(out, (uint8_t)last);
        for (int s = first; s <= last; s++) {
            unsigned f = m->freq[t][s];
            if (f >= 128)
                sk_buf_put_u8(out, (uint8_t)(128 | f >> 8));
            sk_buf_put_u8(out, (uint8_t)f);
        }
    }
}

static int model_get(struct model *m, struct sk_rd *in)
{
    m->tables = sk_rd_u8(in);
    const uint8_t *map = sk_rd_bytes(in, sizeof m->map);
    if (in->bad || m->tables < 1 || m->tables > MAX_TABLES)
        return -1;
    memcpy(m->map, map, sizeof m->map);
    for (int c = 0; c < CONTEXTS; c++)
        if (m->map[c] >= m->tables)
            return -1;
    memset(m->freq, 0, sizeof m->freq);
    for (int t = 0; t < m->tables; t++) {
        unsigned first = sk_rd_u8(in), last = sk_rd_u8(in), sum = 0;
        if (in->bad || last >= SK_CLASSES || first > last)
            return -1;
        for (unsigned s = first; s <= last; s++) {
            unsigned f = sk_rd_u8(in);
            if (f >= 128)
                f = (f & 127u) << 8 | sk_rd_u8(in);
            if (f > PROB)
                return -1;
            m->freq[t][s] = (uint16_t)f;
            sum += f;
        }
        if (in->bad || sum != PROB)
            return -1;
    }
    return 0;
}

/* ---- encoding ---- */

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

static void contexts_of(const struct work *w, const struct lane *l, uint8_t *context)
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

static void count_kept(const struct lane *l, const uint8_t *context, const uint8_t *skip,
                       uint32_t hist[CONTEXTS][SK_CLASSES])
{
    for (size_t i = 0; i < l->n; i++)
        if (!skip[i])
            hist[context[i]][l->c[i]]++;
}

/* Zeros among zeros come in droves, and counting one by one in one place is slow. */
static void count_all(const struct lane *l, const uint8_t *context,
                      uint32_t hist[CONTEXTS][SK_CLASSES])
{
    for (size_t i = 0; i < l->n; i++) {
        if (!l->c[i] && l->n - i >= 8) {
            uint64_t a, b;
            memcpy(&a, l->c + i, 8);
            memcpy(&b, context + i, 8);
            if (!(a | b)) {
                hist[0][0] += 8;
                i += 7;
                continue;
            }
        }
        hist[context[i]][l->c[i]]++;
    }
}

/* Classes into the lanes, their contexts, and how often each class follows each context. */
static int measure(struct work *w, const struct sk_class_plane *p, const uint8_t *classes,
                   uint8_t **context, uint32_t hist[CONTEXTS][SK_CLASSES])
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->n; i++)
        sum += classes[i];
    if (work_init(w, p, (uint8_t)(p->n ? sum / p->n : 0)))
        return -1;
    *context = malloc(LANES * w->run + 1);
    if (!*context)
        return -1;
    for (int k = 0; k < LANES; k++) {
        struct lane *l = &w->lane[k];
        const uint8_t *skip = p->skip ? p->skip + l->start : NULL;
        uint8_t *x = *context + (size_t)k * w->run;
        memcpy(l->c, classes + l->start, l->n);
        for (size_t i = 0; skip && i < l->n; i++)
            l->c[i] = skip[i] ? l->c[(ptrdiff_t)i - 1] : l->c[i];
        contexts_of(w, l, x);
        if (skip)
            count_kept(l, x, skip, hist);
        else
            count_all(l, x, hist);
    }
    return 0;
}

static inline __attribute__((always_inline)) void
put_value(const struct work *w, int k, size_t i, struct out_lane *o,
          const struct code *const by_context[CONTEXTS], const uint8_t *context)
{
    const struct lane *l = &w->lane[k];
    if (!w->p.skip || !w->p.skip[l->start + i])
        put(o, by_context[context[(size_t)k * w->run + i]] + l->c[i]);
}

static void encode_lanes(const struct work *w, const struct model *m, const uint8_t *context,
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

void sk_classes_encode(const struct sk_class_plane *p, const uint8_t *classes, struct sk_buf *out)
{
    struct work w = {0};
    struct model *m = malloc(sizeof *m);
    uint32_t(*hist)[SK_CLASSES] = calloc(CONTEXTS, sizeof *hist), *words = NULL;
    uint8_t *context = NULL;
    struct out_lane o[LANES];
    int ok = 0;
    if (!m || !hist || measure(&w, p, classes, &context, hist))
        goto out;
    model_build(m, hist);
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
    model_put(m, out);
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

/* ---- decoding ---- */

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

static int decode_lanes(struct work *w, const struct model *m, const uint8_t *data,
                        const uint32_t words[LANES], const uint8_t *end)
{
    slot_t(*slot)[PROB] = malloc((size_t)m->tables * sizeof *slot);
    const slot_t *by_context[CONTEXTS];
    struct in_lane l[LANES];
    size_t common = w->lane[LANES - 1].n;
    int rc = slot ? 0 : -1;
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

int sk_classes_decode(const struct sk_class_plane *p, struct sk_rd *in, uint8_t *classes)
{
    struct work w = {0};
    struct model *m = malloc(sizeof *m);
    uint32_t words[LANES];
    uint64_t all = 0;
    uint8_t *data = NULL;
    int rc = -1;
    uint8_t first = sk_rd_u8(in);
    if (!m || p->row < 3 || p->plane < 1 || p->row > p->n + 3 || p->plane > p->n + 5 ||
        first >= SK_CLASSES || model_get(m, in))
        goto out;
    for (int k = 0; k < LANES; k++) {
        words[k] = sk_rd_u32(in);
        all += words[k];
        if (words[k] < 2)
            goto out;
    }
    const uint8_t *from = all <= sk_rd_left(in) / 4 ? sk_rd_bytes(in, (size_t)all * 4) : NULL;
    if (!from || work_init(&w, p, first))
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
