/* Fill values: a number far outside of all others that is there again and again, bit for bit, such
 * as 1e20 or -9999. It says that there is no value, and so belongs to no range. All local; nothing
 * blocks. */
#ifndef SK_CODEC_WAVELET_FILL_H
#define SK_CODEC_WAVELET_FILL_H

#include <stddef.h>

/* Of n values of 4 or 8 bytes whose finite ones lie in [*low, *high]: is the largest or the
 * smallest a fill value? Then *low and *high are those of the others, and *fill is it. */
int sk_fill_find(const void *in, size_t n, size_t size, double *low, double *high, double *fill);
/* max - min of the finite values, up to two fill values left out. */
double sk_fill_range(const void *in, size_t n, size_t size, double low, double high);

#endif
