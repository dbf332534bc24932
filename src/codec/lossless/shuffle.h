/* The bytes of words sorted by their place. */
#ifndef SK_CODEC_LOSSLESS_SHUFFLE_H
#define SK_CODEC_LOSSLESS_SHUFFLE_H

#include "codec/lossless/lossless.h"

/* The bytes of n words of 1, 2, 4 or 8 bytes sorted by their place in the word, and back. */
void sk_shuffle(const void *in, void *out, size_t n, size_t word);
void sk_unshuffle(const void *in, void *out, size_t n, size_t word);

#endif
