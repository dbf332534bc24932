/* Whether an array that was coded within a bound would be smaller if it were kept exactly. */
#ifndef SK_CODEC_EXACTLY_H
#define SK_CODEC_EXACTLY_H

#include "codec/codec.h"

/* May `predict`, the lossless codec, make an array of floats that lies at `in` smaller than `size`
 * bytes? 0: most likely not. Boxes all over the array are coded to tell, first small ones and, where
 * these leave it open, larger ones: up to a sixteenth of the array each time. 1 without coding where
 * so few bytes are to be beaten that prediction counts for little, where the array is small, and
 * where it repeats itself beyond the boxes, which they do not show. Local. */
int sk_exactly_may_win(const struct sk_array *a, const void *in, size_t size);

#endif
