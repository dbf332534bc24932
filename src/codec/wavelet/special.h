/* Values that are not numbers of the field: fill values, NaN, infinities. They are taken out as a
 * mask. All local; nothing blocks. */
#ifndef SK_CODEC_WAVELET_SPECIAL_H
#define SK_CODEC_WAVELET_SPECIAL_H

#include "base/buf.h"
#include "base/error.h"
#include "codec/wavelet/fill.h"
#include "codec/wavelet/kernel/lift.h"

#include <stddef.h>
#include <stdint.h>

struct special {
    uint64_t fill;          /* bits of the fill value */
    int has_fill;           /* some values are it, and are masked */
    int far_fill;           /* it lies far outside of all others, and of their range */
    int n_stretches;        /* where alone it is masked; 0: everywhere */
    struct sk_fill_stretch stretch[SK_FILL_STRETCHES];
    size_t n_masked;        /* fill values and all values that are not finite */
    size_t n_filled;        /* fill values that are masked */
    double min, max;        /* of all finite values, the fill value included */
    double low, high, mean; /* of the values not masked; the mean is that of a sample */
};

/* Look through n values of size 4 or 8, of which so many are a plane, 0: there are no planes. bound_of: called with (arg, max - min) for the absolute
 * bound, which decides whether a fill value is worth a mask. */
void sk_special_find(struct special *s, const void *in, size_t n, size_t size, size_t plane,
                  double (*bound_of)(const void *arg, double range), const void *arg);
/* mask[i] = 1 where the value is masked. */
void sk_special_mask(const struct special *s, const void *in, size_t n, size_t size, uint8_t *mask);

/* Exact values at sorted elements: distances and bits. Reading checks that they are inside and
 * ascend. */
void sk_special_put_exact(struct sk_buf *out, const size_t *element, size_t count, const void *in,
                       size_t size);
int sk_special_get_exact(struct sk_rd *in, void *out, size_t n, size_t size, struct saikai_error *err);

void sk_special_put_number(struct sk_buf *out, uint64_t v);
uint64_t sk_special_get_number(struct sk_rd *in);

#endif
