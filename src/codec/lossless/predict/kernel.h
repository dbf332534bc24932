/* The inner loops of the predicting codec, one table of them for each instruction set and element
 * type.
 *
 * Every table gives the same bits: the loops are plain C with a fixed order of operations, compiled
 * without contraction into fused operations. Callers must run with the default rounding and without
 * flushing of denormals (fpu.h). */
#ifndef SK_CODEC_LOSSLESS_KERNEL_H
#define SK_CODEC_LOSSLESS_KERNEL_H

#include "codec/lossless/bits.h"
#include "codec/lossless/predict/shape.h"

/* How values and predictions become whole numbers. step 0: the order of the floating-point numbers
 * themselves, their low `shift` bits (zero in every value) dropped. Else values lie on a grid: ref
 * + k * step (inverse is 1 / step), or with decimal k / inverse (ref is 0).
 * loose: values may be up to two steps of their type off the grid, as k * step + ref is when others
 * rounded it; the number is then 4 k + 1 plus these steps. */
struct sk_scale {
    unsigned shift;
    int decimal, loose, power; /* power: step is a power of two */
    double ref, step, inverse;
};

#define SK_ALONG 16 /* most weights of a filter along the values */
#define SK_EDGE  3 /* most values at a row's start that have fewer than all values before them */

/* Rows below each other that are restored side by side: each of at least 16 values, with as many rows before it as terms ask for. */
struct sk_side {
    void *x;              /* the first value of the first row; all values before it are there */
    const uint8_t *class; /* of that value on */
    size_t nx, rows;
    const struct sk_terms *terms;
    const int *degree;     /* [SK_EDGE + 1], along the row: for its first values, and the others */
    const double (*c)[4];  /* [SK_EDGE + 1] */
    const struct sk_scale *scale;
    int tame; /* no prediction can be NaN */
};

/* The prediction of x[i] is v[i] + c[1] v[i-1] + … - c[1] x[i-1] - c[2] x[i-2] - …, where v[-3 …
 * n-1] is what the rows before say (sk_terms) and c[1 … degree] the operator along the row. */
struct sk_kernel {
    void (*sum_terms)(const void *x, size_t n, const struct sk_terms *t, double *v);
    /* Residuals of n values, in unsigned words of the element's size (signed differences, wrapped).
     */
    void (*residual)(const void *x, const double *v, size_t n, int degree, const double c[4],
                     const struct sk_scale *s, void *r);
    /* The inverse: n values from their classes and the plain bits below. skip may be NULL; where it
     * is 1, x takes the value before it and no bits are read. tame: no prediction can be NaN. */
    void (*restore)(void *x, const double *v, size_t n, int degree, const double c[4],
                    const struct sk_scale *s, struct sk_bits_in *bits, const uint8_t *class,
                    const uint8_t *skip, int tame);
    /* The same of whole rows, of which no value is skipped. NULL where vectors are too short to make it worth it. */
    void (*restore_rows)(const struct sk_side *s, struct sk_bits_in *bits);
    /* What a filter along the values says of n of them: v[i] = - c[1] x[i-1] - … - c[weights] x[i-weights]; weights is a multiple of 4, at most
     * SK_ALONG. */
    void (*guess_along)(const void *x, size_t n, int weights, const double *c, double *v);
    /* The inverse of residual after that, with a degree of 0. */
    void (*restore_along)(void *x, size_t n, int weights, const double *c, const struct sk_scale *s, struct sk_bits_in *bits,
                          const uint8_t *class);
    /* The same of SK_SEGMENTS segments of n values each, n a multiple of SK_SEGMENT_TURN, which follow each other and of which none sees another: the
     * first values of each are as the one before them. NULL as above. */
    void (*restore_segments)(void *x, size_t n, int weights, const double *c, const struct sk_scale *s, struct sk_bits_in *bits,
                             const uint8_t *class);
    /* Plain bits below n classes: none for 0, the sign for 1, else sign and what is below the leading two. */
    uint64_t (*extra)(const uint8_t *class, size_t n);
    /* Bitwise or of n words, and the largest of them without its sign bit. 1: some are zeros with a sign. */
    int (*survey)(const void *x, size_t n, uint64_t *bits, uint64_t *most);
    /* 1 when every one of n values is on the scale's grid. */
    int (*on_grid)(const void *x, size_t n, const struct sk_scale *s);
    /* classes of residuals: 0 for 0, 1 for ±1, else 2 * length - 2 + the bit below the leading one
     */
    void (*classes)(const void *r, size_t n, uint8_t *out);
};

/* The fastest table this processor can use; word is 4 or 8. SAIKAI_SIMD=base or avx2 in the
 * environment asks for less. */
const struct sk_kernel *sk_kernel_of(size_t word);
/* A given one: 0 base, 1 AVX2, 2 AVX-512, 3 AVX-512 with VBMI; NULL when this processor or build cannot. */
const struct sk_kernel *sk_kernel_at(size_t word, int level);

#endif
