/* Fields that stay near a mean of their own at each place, such as climate over the years: the mean
 * along the slowest dimension is coded first, finely, and the rest as a field around zero. A
 * prediction from neighbours in time adds their noise; the mean does not. All local; nothing
 * blocks.
 */
#ifndef SK_CODEC_WAVELET_CENTRE_H
#define SK_CODEC_WAVELET_CENTRE_H

#include "codec/codec.h"
#include "codec/wavelet/special.h"

/* Bound of the mean, in those of the field. */
#define CENTRE_MEAN_BOUND 0.1

/* Is the mean likely to pay? Looks at a sample. The bound that is left for the rest, 0: it is not.
 */
double sk_centre_bound(const struct sk_array *a, const void *in, const struct special *special,
                    double bound);
/* The array of the means. */
struct sk_array sk_centre_array(const struct sk_array *a);
/* mean[]: as many values as one step of the slowest dimension has. */
void sk_centre_mean(const struct sk_array *a, const void *in, void *mean);
/* out[i] = in[i] - its mean. */
void sk_centre_subtract(const struct sk_array *a, const void *in, const void *mean, void *out);
/* x[i] += its mean. */
void sk_centre_add(const struct sk_array *a, const void *mean, void *x);

#endif
