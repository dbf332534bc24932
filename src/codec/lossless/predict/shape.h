/* The shape that prediction sees, and difference operators on it.
 *
 * The prediction of a value x is x - D x, where D is a product of one difference operator per axis:
 * D = prod (1 - z_k)^a_k (1 - z_k / 2)^b_k with z_k one step back along axis k. Orders of 1 on
 * every axis are the Lorenzo predictor (L. Ibarria, P. Lindstrom, J. Rossignac, A. Szymczak,
 * "Out-of-core compression and decompression of large n-dimensional scalar fields", 2003, section
 * 3); higher ones fit smooth fields, half ones noisy ones. At an array's edges the order of an axis
 * is lowered to the steps there are. */
#ifndef SK_CODEC_LOSSLESS_SHAPE_H
#define SK_CODEC_LOSSLESS_SHAPE_H

#include "codec/codec.h"

#define SK_AXES       4
#define SK_MAX_HALVES 6 /* highest order, in halves */
#define SK_MAX_TERMS  64
#define SK_SEGMENTS   16
#define SK_SEGMENT_TURN 64 /* and a multiple of so many */
#define SK_SEGMENT    2048 /* a segment has at least so many values */

/* n[0] varies fastest; every n is at least 1. */
struct sk_shape {
    int axes;
    size_t n[SK_AXES], stride[SK_AXES], total;
    int segments; /* rows are segments of one long row, which know nothing of each other */
    size_t tail;  /* values behind the last of them, which go on along it */
};

/* Order of each axis in halves: 2 is a plain difference. */
struct sk_orders {
    uint8_t half[SK_AXES];
};

/* What the rows before predict: v = sum weight[k] * x[-lag[k]]. */
struct sk_terms {
    int n;
    size_t lag[SK_MAX_TERMS];
    double weight[SK_MAX_TERMS];
};

/* Shape of an array of floating-point words: dimensions of 1 dropped, slowest ones merged until
 * SK_AXES are left. */
void sk_shape_init(struct sk_shape *s, const struct sk_array *a);
/* Split the fastest axis into rows of this length, which divides it. 0, or -1 when there are too
 * many axes. */
int sk_shape_split(struct sk_shape *s, size_t row);
/* Take a single long row apart into SK_SEGMENTS that are restored side by side. 0, or -1 when it is none, or too short. */
int sk_shape_segments(struct sk_shape *s);
/* Rows (runs along axis 0) of the shape. */
static inline size_t sk_shape_rows(const struct sk_shape *s)
{
    return s->n[0] ? s->total / s->n[0] : 0;
}

/* Coefficients c[0 … degree] of one axis's operator, c[0] = 1; returns the degree. */
int sk_operator(unsigned halves, double c[4]);

/* The terms of rows whose index on the outer axes is at[1 …] (only how near they are to 0 matters).
 */
void sk_terms_init(struct sk_terms *t, const struct sk_shape *s, const struct sk_orders *o,
                   const size_t at[SK_AXES]);

#endif
