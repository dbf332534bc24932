/* Whether some of an array tells what the lossless codec makes of all of it. */
#ifndef SK_CODEC_LOSSLESS_REACH_H
#define SK_CODEC_LOSSLESS_REACH_H

#include "codec/codec.h"

/* 1: many floating-point values stand twice, farther from each other than part bytes and no farther than most bytes, or they are records from a table that is long: part bytes do
 * not show it. Takes as long as a few thousand probes. */
int sk_repeats_beyond(const struct sk_array *a, const void *in, size_t part, size_t most);
/* What part of the words of a floating-point array is left when those that stood before are taken out: 1 where there are no such ones, or no memory to find them; 0: they are
 * few different ones, and records from a table that is long, whose size this does not tell. Takes as long as finding them. */
double sk_repeats_left(const struct sk_array *a, const void *in);

/* Bytes of a piece, part or at most `most`, that has many steps of the slowest dimension where most values of a step are those of the step before; else part. */
size_t sk_steps_reach(const struct sk_array *a, const void *in, size_t part, size_t most);

#endif
