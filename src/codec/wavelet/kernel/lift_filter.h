/* The bits that tell the reader how a class of points is predicted: by the standard weights, as the
 * same class of the next coarser level, or by weights of their own in units of 2^-12, 2^-10, 2^-8
 * or 2^-6, fine ones of 2^-24, 2^-21 … 2^-3, in the code of R. Rice and J. Plaunt, "Adaptive variable-length coding for efficient
 * compression of spacecraft television data" (IEEE Trans. Commun. Technol. 19, 1971). All local;
 * nothing blocks. */
#ifndef SK_CODEC_WAVELET_KERNEL_LIFT_FILTER_H
#define SK_CODEC_WAVELET_KERNEL_LIFT_FILTER_H

#include "codec/entropy/rans.h"
#include "codec/wavelet/kernel/lift.h"

/* How many units there are to store weights in, and the i-th in units of the finest. fine: as in struct lift. */
int sk_lift_filter_units(int fine);
int sk_lift_filter_unit(int fine, int i);
/* Bits that put would write. */
unsigned sk_lift_filter_bits(const struct lift_filter *f, int fine);
void sk_lift_filter_put(const struct lift_filter *f, int fine, struct sk_rans_bits_out *out);
/* before: the same class of the next coarser level, NULL: it has none of this kind. -1: damaged. */
int sk_lift_filter_get(struct lift_filter *f, const struct lift_filter *before, int fine,
                       struct sk_rans_bits_in *in);
/* Take the weights of the coarser level's class. */
void sk_lift_filter_as_before(struct lift_filter *f, const struct lift_filter *before);

#endif
