/* Ranges and errors of arrays, for bounds. Complex values count as pairs. */
#ifndef SK_CODEC_MEASURE_H
#define SK_CODEC_MEASURE_H

#include "codec/codec.h"

/* max - min of the finite values of n_bytes of a floating-point type, found by `threads` threads
 * (as of sk_team_size) when there are many; 0 when there are none. The largest number where the difference
 * overflows: what is a share of it is then at most half as much as was asked. */
double sk_measure_range(int type, const void *data, size_t n_bytes, int threads);
/* Widen [*low, *high] to these values, those not finite left out. */
void sk_measure_extremes(int type, const void *data, size_t n_bytes, double *low, double *high);

/* Largest |x - x'| over n_bytes of two arrays of a floating-point type: 0 where the bits are equal,
 * +Inf where one of a pair is not finite and the bits differ. */
double sk_measure_error(int type, const void *x, const void *y, size_t n_bytes);

#endif
