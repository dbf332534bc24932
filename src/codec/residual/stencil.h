/* Prediction of floating-point arrays, exactly undone: from neighbours, and from other variables of
 * the same place.
 *
 * A value x is predicted as P * q, where P comes from a relation with other variables (relation.h;
 * P = 1 without one) and q from the ratios x/P of neighbours that are already known, by one of the
 * stencils below. Encoder and decoder evaluate the same additions, multiplications and divisions in
 * the same order in double precision, never fused, so that both predict the same bits. */
#ifndef SK_CODEC_RESIDUAL_STENCIL_H
#define SK_CODEC_RESIDUAL_STENCIL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum sk_stencil {
    SK_STENCIL_NONE = 0, /* q = 1: the relation alone (0 without one) */
    SK_STENCIL_X,        /* the value before */
    SK_STENCIL_XY,       /* Lorenzo over the two fastest dimensions */
    SK_STENCIL_XYZ,      /* Lorenzo over three dimensions (Ibarria et al. 2003) */
    SK_STENCIL_ZYX,  /* the value one plane before, if zero one row before, if zero the value before
                      */
    SK_STENCIL_YZX,  /* the same with rows before planes; these two serve masked fields */
    SK_STENCIL_MEAN, /* the mean of plane and row before where both are not zero, else as ZYX */
    SK_STENCIL_MASKED, /* Lorenzo where none of its neighbours is zero (in the first plane over two
                          dimensions), else as MEAN */
    SK_STENCIL_FITTED, /* as MASKED, with weights in place of Lorenzo's ones */
    SK_STENCILS
};

/* Neighbours of a fitted stencil, in this order: plane before, row before, value before, then those
 * of two steps (plane and row, plane and value, row and value), then that of three. Lorenzo's
 * weights are 1 1 1 -1 -1 -1 1. */
enum { SK_NEIGHBOURS = 7 };

/* A block of values as nz planes of ny rows of nx; size: elements. */
struct sk_stencil_box {
    size_t nz, ny, nx;
};

/* The box of an array: trailing dimensions of length 1 are dropped, leading ones beyond three are
 * merged. */
struct sk_stencil_box sk_box_of(int ndims, const size_t dims[]);
static inline size_t sk_box_count(struct sk_stencil_box b)
{
    return b.nz * b.ny * b.nx;
}

/* Most bytes that the open bits of n values of `width` bits take, slack included. */
size_t sk_predict_max_bits(size_t n, int width);
/* Bytes of scratch memory for one call on this box. */
size_t sk_predict_scratch(struct sk_stencil_box b);

/* Encode the box at x (native doubles, or floats for width 32): one symbol per value, and the open
 * bits at *bits, which is advanced (whole bytes; sk_predict_max_bits of room). P: predictions by a
 * relation, or NULL. Local, no allocation. */
void sk_predict_encode(const void *x, int width, struct sk_stencil_box b, const double *P, int stencil,
                       const double *weights, uint8_t *symbols, uint8_t **bits, double *scratch);
/* Undo. The symbols have been checked (sk_residual_open_bits) against the length of the bits, and
 * SK_BITS_SLACK bytes behind the bits are readable. *bits is advanced. */
void sk_predict_decode(void *x, int width, struct sk_stencil_box b, const double *P, int stencil,
                       const double *weights, const uint8_t *symbols, const uint8_t **bits,
                       double *scratch);

#endif
