/* The error-bounded codec of floating-point arrays.
 *
 * Every value comes back within the bound, after rounding to its own type: the encoder reconstructs
 * as the decoder does and stores exactly what misses the bound. Values that are not finite, and
 * fill values that mark places without data, come back bit for bit. Any x86-64 decodes the same
 * bits.
 *
 * Options: `parameter` may hold "active=BITS" (axes to predict along), "fold=AxBxC" (how to see the
 * array), "alpha=R" (bounds of coarser levels are finer by this factor). The default of each is
 * chosen from the data. Without a bound the codec is exact, and then not good: the lossless codecs
 * are for that. */
#ifndef SK_CODEC_WAVELET_WAVELET_H
#define SK_CODEC_WAVELET_WAVELET_H

#include "codec/codec.h"

extern const struct sk_codec_ops sk_codec_wavelet;

#endif
