/* Pieces whose values are numbers of a lattice that are coded as a series (series.h). */
#ifndef SK_CODEC_WAVELET_PIECE_SERIES_H
#define SK_CODEC_WAVELET_PIECE_SERIES_H

#include "codec/wavelet/piece.h"

/* Encoder: of a single dimension without a mask, where parts of it say that it is worth it: put the form SERIES in place of what stands in out from `from` on,
 * if it is shorter; where time counts, only if it is clearly shorter. Without memory all stays as it is. */
void sk_piece_series_try(struct piece *j, struct sk_buf *out, size_t from);

#endif
