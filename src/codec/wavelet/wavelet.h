/* The error-bounded codec of floating-point arrays.
 *
 * Every value comes back within the bound, after rounding to its own type: the encoder reconstructs
 * as the decoder does and stores exactly what misses the bound. Values that are not finite, and
 * fill values that mark places without data, come back bit for bit. Any x86-64 decodes the same
 * bits.
 *
 * How: piece_writer.c chooses on a sample between interpolation from coarse to fine with the loop
 * closed (lift.h) and prediction from what lies before on a lattice (causal.h); the residuals are
 * coded by context-modelled rANS (entropy/plane.h); masks (special.h) are coded apart; a flattened
 * grid is seen as the grid it was (shape.h). Where each place keeps near a mean of its own, that
 * mean is coded first (centre.h).
 *
 * Options: `parameter` may hold "fold=AxBxC" (dimensions to see the array in), "active=BITS" (axes
 * to predict along), "plan=0" (interpolation) or "plan=1" (prediction from before), "alpha=R" and
 * "beta=R" (bounds of coarser levels are finer by alpha per level, at most by beta), "centre=0"
 * (never a mean), "spikes=0" (isolated values are never taken out), separated by commas. The default of each is chosen from the data. By default time counts for more than bytes: codes
 * are static but of small pieces, and boxes alone say which plan is made; from level 6 on adaptive codes are kept where they save a tenth,
 * and several plans are tried on the whole; from level 9 on bytes alone count. Without a bound
 * the codec is exact, and then not good: the lossless codecs are for that.
 */
#ifndef SK_CODEC_WAVELET_WAVELET_H
#define SK_CODEC_WAVELET_WAVELET_H

#include "codec/codec.h"

extern const struct sk_codec_ops sk_codec_wavelet;

#endif
