/* Whether an array that was coded within a bound would be smaller if it were kept exactly. */
#ifndef SK_CODEC_EXACTLY_H
#define SK_CODEC_EXACTLY_H

#include "codec/codec.h"

/* May `predict`, the lossless codec, make an array of floats that lies at `in` smaller than `size`
 * bytes? 0: most likely not. Boxes all over the array are coded to tell, first small ones and, where
 * these leave it open, larger ones: up to a sixteenth of the array each time; values that are as the
 * one before count for nothing, and repeats beyond the boxes, which these do not show, for what
 * they leave. 1 without coding where `size` is more than two thirds of the array, where
 * the array is small, and where nothing changes. Local; blocks as long as coding the boxes takes. */
int sk_exactly_may_win(const struct sk_array *a, const void *in, size_t size);

#endif
