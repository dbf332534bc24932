/* Tables from counts, and coding and decoding with four interleaved states. The decoder refills all
 * of them at once while the end is far. */
#include "codec/entropy/mix.h"

#include <stdlib.h>

#define LOW ((uint32_t)SK_MIX_LOW)

static void put_freq(struct sk_buf *out, unsigned v)
{
    if (v < 128) {
        sk_buf_put_u8(out, (uint8_t)v);
    } else {
        sk_buf_put_u8(out, (uint8_t)(128 | (v & 127)));
        sk_buf_put_u8(out, (uint8_t)(v >> 7));
    }
}

static unsigned get_freq(struct sk_rd *in)
{
    unsigned v = sk_rd_u8(in);
    return v < 128 ? v : (v & 127) | (unsigned)sk_rd_u8(in) << 7;
}

/* Scale counts to a sum of ONE, at least 1 for each symbol that occurs. */
static void scale(const uint32_t *counts, uint16_t *freq)
{
    uint64_t sum = 0;
    int left = SK_MIX_ONE, most = 0;
    for (int s = 0; s < SK_SYMBOLS; s++)
        sum += counts[s];
    for (int s = 0; s < SK_SYMBOLS; s++) {
        freq[s] = 0;
        if (!counts[s])
            continue;
        uint64_t f = ((uint64_t)counts[s] * SK_MIX_ONE + sum / 2) / sum;
        freq[s] = (uint16_t)(f ? f : 1);
        left -= freq[s];
        most = freq[s] > freq[most] ? s : most;
    }
    while (sum && left < 0) { /* rounding gave too much: take it where it costs least */
        for (int s = 0; s < SK_SYMBOLS; s++)
            most = freq[s] > freq[most] ? s : most;
        int take = freq[most] / 2 < -left ? freq[most] / 2 : -left;
        freq[most] = (uint16_t)(freq[most] - take);
        left += take;
    }
    if (sum)
        freq[most] = (uint16_t)(freq[most] + left);
}

static void set_starts(struct sk_mix_model *m)
{
    unsigned at = 0;
    for (int s = 0; s < SK_SYMBOLS; s++) {
        m->start[s] = (uint16_t)at;
        at += m->freq[s];
    }
}

void sk_mix_model_put(struct sk_mix_model *m, const uint32_t counts[SK_SYMBOLS], struct sk_buf *out)
{
    int low = 0, high = SK_SYMBOLS - 1;
    scale(counts, m->freq);
    set_starts(m);
    while (low < high && !m->freq[low])
        low++;
    while (high > low && !m->freq[high])
        high--;
    sk_buf_put_u8(out, (uint8_t)low);
    sk_buf_put_u8(out, (uint8_t)high);
    for (int s = low; s <= high; s++)
        put_freq(out, m->freq[s]);
}

int sk_mix_model_get(struct sk_rd *in, uint32_t table[SK_MIX_ONE])
{
    unsigned low = sk_rd_u8(in), high = sk_rd_u8(in), at = 0;
    if (low > high || high >= SK_SYMBOLS)
        return -1;
    for (unsigned s = low; s <= high; s++) {
        unsigned f = get_freq(in);
        if (f > SK_MIX_ONE - at)
            return -1;
        for (unsigned k = 0; k < f; k++)
            table[at++] = s | (f - 1) << 8 | k << 20;
    }
    /* a model without symbols is never asked: any table will do, but it must be one */
    if (at && at < SK_MIX_ONE)
        return -1;
    for (; at < SK_MIX_ONE; at++)
        table[at] = (uint32_t)(SK_MIX_ONE - 1) << 8 | (uint32_t)at << 20;
    return in->bad ? -1 : 0;
}

/* What encoding a symbol needs: division by its frequency as a multiplication (exact for states
 * below 2^31). */
struct step {
    uint32_t limit; /* renormalise at this state: frequency << 20 */
    uint32_t factor;
    uint16_t freq, start;
    uint8_t shift;
};

static struct step step_of(const struct sk_mix_model *m, int s)
{
    struct step e = {.freq = m->freq[s], .start = m->start[s]};
    unsigned bits = 0;
    while (((unsigned)1 << bits) < e.freq)
        bits++;
    e.limit = (uint32_t)e.freq << 20;
    e.shift = (uint8_t)(31 + bits);
    if (e.freq)
        e.factor = (uint32_t)((((uint64_t)1 << e.shift) + e.freq - 1) / e.freq);
    return e;
}

int sk_mix_put(const struct sk_mix_model *models, const uint8_t *symbols, const uint8_t *ctx,
               const uint8_t *group_of, size_t n, struct sk_buf *out)
{
    struct step(*steps)[SK_SYMBOLS] = malloc(SK_MIX_GROUPS * sizeof *steps);
    uint8_t made[SK_MIX_GROUPS] = {0};
    uint32_t x[SK_MIX_STATES];
    size_t cap = 2 * n + 4 * SK_MIX_STATES, at = out->len;
    sk_buf_put_u64(out, 0);
    uint8_t *room = steps ? sk_buf_extend(out, cap) : NULL;
    if (!room) {
        free(steps);
        return SAIKAI_ENOMEM;
    }
    uint8_t *p = room + cap; /* written from the end: the last symbol comes first */
    for (int k = 0; k < SK_MIX_STATES; k++)
        x[k] = LOW;
    for (size_t i = n; i-- > 0;) {
        unsigned g = group_of[ctx[i]];
        if (!made[g]) {
            for (int s = 0; s < SK_SYMBOLS; s++)
                steps[g][s] = step_of(&models[g], s);
            made[g] = 1;
        }
        const struct step *e = &steps[g][symbols[i]];
        uint32_t v = x[i % SK_MIX_STATES];
        if (v >= e->limit) {
            uint16_t w = (uint16_t)v;
            p -= 2;
            memcpy(p, &w, 2);
            v >>= 16;
        }
        uint32_t q = (uint32_t)((uint64_t)v * e->factor >> e->shift);
        x[i % SK_MIX_STATES] = (q << SK_MIX_BITS) + (v - q * e->freq) + e->start;
    }
    for (int k = SK_MIX_STATES; k-- > 0;) {
        p -= 4;
        memcpy(p, &x[k], 4);
    }
    size_t bytes = (size_t)(room + cap - p);
    memmove(room, p, bytes);
    out->len = at + 8 + bytes;
    for (int k = 0; k < 8; k++)
        out->data[at + (size_t)k] = (uint8_t)((uint64_t)bytes >> 8 * k);
    free(steps);
    return 0;
}

int sk_mix_start(struct sk_mix_in *m, struct sk_rd *in)
{
    uint64_t bytes = sk_rd_u64(in);
    const uint8_t *p = bytes <= sk_rd_left(in) ? sk_rd_bytes(in, bytes) : NULL;
    if (!p || bytes < 4 * SK_MIX_STATES)
        return -1;
    *m = (struct sk_mix_in){.p = p + 4 * SK_MIX_STATES, .end = p + bytes};
    for (int k = 0; k < SK_MIX_STATES; k++) {
        memcpy(&m->x[k], p + 4 * k, 4);
        if (m->x[k] < LOW || m->x[k] >> 31)
            return -1;
    }
    return 0;
}

static inline __attribute__((always_inline)) uint32_t take(uint32_t x, const uint32_t *table,
                                                           uint8_t *symbol)
{
    uint32_t e = table[x & (SK_MIX_ONE - 1)];
    *symbol = (uint8_t)e;
    return ((e >> 8 & (SK_MIX_ONE - 1)) + 1) * (x >> SK_MIX_BITS) + (e >> 20);
}

static inline __attribute__((always_inline)) uint32_t refill(uint32_t x, const uint8_t *p)
{
    uint16_t w;
    memcpy(&w, p, 2);
    uint32_t more = x << 16 | w;
    return x < LOW ? more : x;
}

/* Refill all states: each one's place in the stream is known from comparisons alone, so that none
 * waits for another's bytes. */
static inline __attribute__((always_inline)) const uint8_t *refill_all(uint32_t x[SK_MIX_STATES],
                                                                       const uint8_t *p)
{
    size_t low[SK_MIX_STATES], at = 0;
    for (size_t k = 0; k < SK_MIX_STATES; k++)
        low[k] = (size_t)(x[k] < LOW) * 2;
    for (size_t k = 0; k < SK_MIX_STATES; k++) {
        x[k] = refill(x[k], p + at);
        at += low[k];
    }
    return p + at;
}

int sk_mix_get(struct sk_mix_in *m, const uint32_t (*tables)[SK_MIX_ONE], const uint8_t *group_of,
               const uint8_t *ctx, size_t n, uint8_t *symbols)
{
    size_t i = 0;
    if ((size_t)(m->end - m->p) >= 2 * n + 2) { /* enough whatever comes: no checks */
        const uint8_t *p = m->p;
        uint32_t x[SK_MIX_STATES];
        for (size_t k = 0; k < SK_MIX_STATES; k++)
            x[k] = m->x[(m->count + k) % SK_MIX_STATES];
        for (; i + SK_MIX_STATES <= n; i += SK_MIX_STATES) {
            for (size_t k = 0; k < SK_MIX_STATES; k++)
                x[k] = take(x[k], tables[group_of[ctx[i + k]]], &symbols[i + k]);
            p = refill_all(x, p);
        }
        for (size_t k = 0; k < SK_MIX_STATES; k++)
            m->x[(m->count + k) % SK_MIX_STATES] = x[k];
        m->count += i;
        m->p = p;
    }
    for (; i < n; i++)
        if (sk_mix_get_one(m, tables[group_of[ctx[i]]], &symbols[i]))
            return -1;
    return 0;
}

int sk_mix_get_masked(struct sk_mix_in *m, const uint32_t (*tables)[SK_MIX_ONE],
                      const uint8_t *group_of, const uint8_t *ctx, size_t n, const uint8_t *bits,
                      size_t at, uint8_t *symbols)
{
    for (size_t i = 0; i < n; i++) {
        if (bits[(at + i) >> 3] >> ((at + i) & 7) & 1)
            symbols[i] = SK_SYMBOL_ZERO;
        else if (sk_mix_get_one(m, tables[group_of[ctx[i]]], &symbols[i]))
            return -1;
    }
    return 0;
}

int sk_mix_end(const struct sk_mix_in *m)
{
    for (int k = 0; k < SK_MIX_STATES; k++)
        if (m->x[k] != LOW)
            return -1;
    return m->p == m->end ? 0 : -1;
}
