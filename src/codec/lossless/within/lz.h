/* Words as zstd codes them, with their bytes in order or shuffled. Where zstd is not built in, that costs more than anything, and nothing can be read. */
#ifndef SK_CODEC_LOSSLESS_LZ_H
#define SK_CODEC_LOSSLESS_LZ_H

#include "codec/lossless/predict/words.h"

/* How often a word of a stretch was seen before, other than in the place before it. */
double sk_lz_repeated(const struct sk_words *l, const uint8_t *x);
/* Bits per value that zstd makes of a stretch of the values. */
double sk_lz_cost(const struct sk_words *l, const uint8_t *x, int shuffled);
/* Bytes of the frame in out; more than cap: it does not fit, or there is no memory. */
size_t sk_lz_encode(const struct sk_words *l, const void *x, int shuffled, int level, uint8_t *out, size_t cap);
/* 0, SAIKAI_ENOMEM, or -1: damaged. */
int sk_lz_decode(const struct sk_words *l, const void *in, size_t n, int shuffled, void *out);

#endif
