/* One level of the Haar wavelet transform in one to three dimensions.
 *
 * Source: N. Sasaki, K. Sato, T. Endo, S. Matsuoka, lossy checkpoint compression based on the
 * wavelet transform (2015), section 3.1 and Figs. 2-4: two neighbours become their average (low)
 * and half their difference (high), in every dimension in turn, and the results of each band are
 * kept in consecutive memory. */
#ifndef SK_CODEC_HAAR_TRANSFORM_H
#define SK_CODEC_HAAR_TRANSFORM_H

#include <stddef.h>

/* An array as the transform sees it: exactly three dimensions, the slowest first; unused ones
 * are 1. */
struct sk_haar_shape {
    size_t n[3];
};

/* Elements of the low band: the product of the halved dimensions, rounded up (the last value of an
 * odd line has no partner and is its own average). */
size_t sk_haar_low_count(const struct sk_haar_shape *s);

/* Transform x (n[0] * n[1] * n[2] finite values) into bands: the low band, then the up to seven
 * high bands, each consecutive. x is used as work space. Time and memory traffic are linear.
 * Results are finite. */
void sk_haar_forward(const struct sk_haar_shape *s, double *x, double *bands);

/* The reverse: bands into x. bands is used as work space. A sum beyond the largest finite double
 * becomes that. */
void sk_haar_inverse(const struct sk_haar_shape *s, double *bands, double *x);

#endif
