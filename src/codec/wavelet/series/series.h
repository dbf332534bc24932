/* Numbers of a lattice along one dimension, coded by what followed what: contexts of the numbers before, the longest stretch before that
 * agrees with the last numbers, and a prediction that depends on where the number before lies. For series that a rule makes (maps, signals
 * that repeat, few states), which prediction by a fixed sum of neighbours does not see.
 *
 * The prediction is the threshold autoregression of H. Tong ("Threshold models in non-linear time series analysis", 1983): the range is cut into cells,
 * and each has its own sum of the last three numbers and the square of the last one, fitted by least squares. It follows not the numbers
 * themselves, but what they and the rule together leave possible of the values between. Bits are coded as by adaptive.h; repeats as by M. Mahoney,
 * "Adaptive weighing of context models for lossless data compression" (Florida Tech CS-2005-16). Sums and products of double alone, in one
 * order: any machine decodes the same. All local; nothing blocks. */
#ifndef SK_CODEC_WAVELET_SERIES_H
#define SK_CODEC_WAVELET_SERIES_H

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SERIES_LIMIT = 1 << 25 };

/* Append n numbers, at least 0 and below SERIES_LIMIT, to out. SAIKAI_ENOMEM; SAIKAI_ENOSPC: it would be more than `most` bytes; out is to be cut back in
 * either case. */
int sk_series_put(const int32_t *k, size_t n, size_t most, struct sk_buf *out, struct saikai_error *err);
/* Read n numbers of in[0, size), all of it. Hostile input gives any numbers of the same range. SAIKAI_EDAMAGED, SAIKAI_ENOMEM. */
int sk_series_get(const void *in, size_t size, int32_t *k, size_t n, struct saikai_error *err);

#endif
