/* Room for the runs, and the tables of frequencies: from counts, into bytes, and back. */
#include "codec/lossless/predict/classes/classes_runs.h"

#include <stdlib.h>

int sk_class_work_init(struct class_work *w, const struct sk_class_plane *p, uint8_t first)
{
    *w = (struct class_work){.p = *p, .first = first};
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

/* Zeros among zeros come in droves, and counting one by one in one place is slow. */
void sk_class_count(const uint8_t *c, const uint8_t *context, size_t n, uint32_t hist[CONTEXTS][SK_CLASSES])
{
    for (size_t i = 0; i < n; i++) {
        if (!c[i] && n - i >= 8) {
            uint64_t a, b;
            memcpy(&a, c + i, 8);
            memcpy(&b, context + i, 8);
            if (!(a | b)) {
                hist[0][0] += 8;
                i += 7;
                continue;
            }
        }
        hist[context[i]][c[i]]++;
    }
}

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
void sk_class_model_build(struct class_model *m, uint32_t hist[CONTEXTS][SK_CLASSES])
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

void sk_class_model_put(const struct class_model *m, struct sk_buf *out)
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

int sk_class_model_get(struct class_model *m, struct sk_rd *in)
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
