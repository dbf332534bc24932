/* How far two arrays are apart. */
#ifndef SK_CODEC_DIFFERENCE_H
#define SK_CODEC_DIFFERENCE_H

#include "codec/codec.h"

/* Of the original x and what came back, y. Errors are over the elements that are finite in both;
 * complex values count as two. Relative ones are divided by max - min of x: equation (4) of N.
 * Sasaki, K. Sato, T. Endo, S. Matsuoka, lossy checkpoint compression based on the wavelet
 * transform (2015). */
struct sk_difference {
    size_t count;     /* real values compared */
    size_t unequal;   /* of them, how many differ in any bit */
    size_t nonfinite; /* NaN or infinite in x or y */
    size_t lost;      /* of those, how many are not the same bits in both: never within a bound */
    double min, max;  /* of x's finite values; both 0 when there are none */
    double max_abs, mean_abs, rmse;
    size_t worst;             /* index of the largest error */
    double max_rel, mean_rel; /* 0 without error; infinite when x is constant and y is not */
    double psnr;              /* 20 log10((max - min) / rmse), infinite without error */
};

/* Compare x and y, both arrays like a. Local, linear time. */
void sk_difference(const struct sk_array *a, const void *x, const void *y,
                   struct sk_difference *out);
/* 1 when every value of the difference is within the bound (exact: no bit differs). */
int sk_difference_within(const struct sk_difference *d, const struct sk_bound *b);

/* Real values [first, first + n) of an array's data as doubles; a complex element is two values. */
void sk_as_doubles(int type, const void *data, size_t first, size_t n, double *out);
/* Real values of an array: its elements, twice that for complex types. */
size_t sk_real_count(const struct sk_array *a);

#endif
