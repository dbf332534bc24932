/* Arrays for the tests and fuzz corpora of this room: the kinds of data that simulations keep, made
 * from a seed. */
#ifndef SK_CODEC_SAMPLES_H
#define SK_CODEC_SAMPLES_H

#include "codec/codec.h"

/* Kinds 0 … sk_sample_kinds() - 1: smooth, smooth with noise, masked with a fill value, packed on a
 * decimal grid, particles, constant, repeats, special values (NaN payloads, infinities, -0,
 * denormals), random bits, zeros, whole numbers times a scale plus an offset. */
int sk_sample_kinds(void);
const char *sk_sample_name(int kind);
/* Fill the array's bytes. */
void sk_sample_fill(int kind, const struct sk_array *a, void *out, uint64_t seed);
/* Next number of a sequence; *state must not be 0. */
uint64_t sk_sample_next(uint64_t *state);

#endif
