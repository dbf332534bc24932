/* How an array is seen by the transform: which of its dimensions (or factors of one) are the axes,
 * and which of those are smooth enough to predict along. All local; nothing blocks. */
#ifndef SK_CODEC_WAVELET_SHAPE_H
#define SK_CODEC_WAVELET_SHAPE_H

#include "base/buf.h"
#include "codec/codec.h"
#include "codec/wavelet/kernel/lift.h"
#include "codec/wavelet/special.h"

enum { SHAPE_DIMS = 12 };

/* What is stored of a shape. */
struct shape {
    int n_dims;
    size_t dims[SHAPE_DIMS]; /* after folding, none of them 1 unless the array is one value; product
                                as the array's */
    int axis[LIFT_AXES];     /* dimension that is axis a, -1: none (one point) */
    unsigned active;
    unsigned doubtful; /* not stored: an axis that may be better left out of `active`; 0: none */
    double bits;       /* not stored: of a value beyond the first, predicted along the best dimension; -1: not known */
};

/* Choose for this array and absolute bound, by looking at a sample of the values (masked ones left
 * out). text: the codec's parameter or NULL. */
void sk_shape_choose(struct shape *s, const struct sk_array *a, const void *in,
                  const struct special *special, double bound, const char *text);
void sk_shape_put(const struct shape *s, struct sk_buf *out);
/* -1 when it does not describe an array of n elements. */
int sk_shape_get(struct shape *s, size_t n, struct sk_rd *in);
/* Make the geometry; b_offset is allocated and owned by the caller. SAIKAI_ENOMEM. */
int sk_shape_make(const struct shape *s, struct lift_shape *out, size_t **b_offset,
               struct saikai_error *err);

/* A few boxes of at most about `most` points each, out of the whole. b_offset[boxes] is the
 * caller's. */
void sk_shape_sample(const struct lift_shape *whole, size_t most, int boxes, struct lift_shape *out,
                  size_t *b_offset);

/* The values that a sample is taken of. */
struct shape_values {
    const void *x;
    size_t size;         /* 4: float, 8: double */
    const uint8_t *mask; /* places that are free, NULL: none */
    double bound;
};
enum { SHAPE_BUSY_BOXES = 8 };
/* The same boxes where values are hard to predict, in proportion to how hard: at most SHAPE_BUSY_BOXES. Returns how many times as hard these boxes are as those at
 * b_offset, which sk_shape_sample left; 1 and nothing changed: there is no choice. */
double sk_shape_sample_busy(const struct lift_shape *whole, const struct shape_values *v, struct lift_shape *out, size_t *b_offset);

#endif
