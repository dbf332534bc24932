/* Symbols of several contexts in one stream of range asymmetric numeral systems, after J. Duda,
 * "Asymmetric numeral systems" (arXiv:1311.2540): static tables per group of contexts,
 * probabilities in units of 2^-11, four interleaved states below 2^31 that are renormalised by 16
 * bits. */
#ifndef SK_CODEC_ENTROPY_MIX_H
#define SK_CODEC_ENTROPY_MIX_H

#include "codec/residual/residual.h"
#include "base/buf.h"

#include <string.h>

enum { SK_MIX_BITS = 11, SK_MIX_ONE = 1 << SK_MIX_BITS, SK_MIX_GROUPS = 24, SK_MIX_STATES = 4, SK_MIX_LOW = 1 << 15 };

struct sk_mix_model {
    uint16_t freq[SK_SYMBOLS], start[SK_SYMBOLS];
};

/* Frequencies for these counts (all zero: no symbol), written to out. */
void sk_mix_model_put(struct sk_mix_model *m, const uint32_t counts[SK_SYMBOLS],
                      struct sk_buf *out);
/* Read a model and make its decoding table; -1 when it is none. table[slot]: symbol | frequency - 1
 * << 8 | slot - start
 * << 20. */
int sk_mix_model_get(struct sk_rd *in, uint32_t table[SK_MIX_ONE]);

/* Append the stream of n symbols, of which number i is coded by models[group_of[ctx[i]]]. Needs
 * memory: SAIKAI_ENOMEM. */
int sk_mix_put(const struct sk_mix_model *models, const uint8_t *symbols, const uint8_t *ctx,
               const uint8_t *group_of, size_t n, struct sk_buf *out);

struct sk_mix_in {
    const uint8_t *p, *end;
    uint32_t x[SK_MIX_STATES];
    size_t count; /* symbols so far */
};
/* Begin to read a stream (length and bytes) of in. -1: it is damaged. */
int sk_mix_start(struct sk_mix_in *m, struct sk_rd *in);
/* The next n symbols, number i by tables[group_of[ctx[i]]]. -1: the stream is too short. */
int sk_mix_get(struct sk_mix_in *m, const uint32_t (*tables)[SK_MIX_ONE], const uint8_t *group_of,
               const uint8_t *ctx, size_t n, uint8_t *symbols);
/* The next one, by a table. */
static inline __attribute__((always_inline)) int sk_mix_get_one(struct sk_mix_in *m, const uint32_t *table, uint8_t *symbol)
{
    uint32_t x = m->x[m->count % SK_MIX_STATES], e = table[x & (SK_MIX_ONE - 1)];
    uint16_t w;
    *symbol = (uint8_t)e;
    x = ((e >> 8 & (SK_MIX_ONE - 1)) + 1) * (x >> SK_MIX_BITS) + (e >> 20);
    if (x < SK_MIX_LOW) {
        if (m->end - m->p < 2)
            return -1;
        memcpy(&w, m->p, 2);
        m->p += 2;
        x = x << 16 | w;
    }
    m->x[m->count++ % SK_MIX_STATES] = x;
    return 0;
}
/* The next n where bits says which of them are zeros and take none (bit `at` and on). */
int sk_mix_get_masked(struct sk_mix_in *m, const uint32_t (*tables)[SK_MIX_ONE],
                      const uint8_t *group_of, const uint8_t *ctx, size_t n, const uint8_t *bits,
                      size_t at, uint8_t *symbols);
/* -1: the stream did not end as it was begun. */
int sk_mix_end(const struct sk_mix_in *m);

#endif
