/* The inner loops of the predicting codec, one table of them for each instruction set and element
 * type.
 *
 * Every table gives the same bits: the loops are plain C with a fixed order of operations, compiled
 * without contraction into fused operations. Callers must run with the default rounding and without
 * flushing of denormals (fpu.h). */
#ifndef SK_CODEC_LOSSLESS_KERNEL_H
#define SK_CODEC_LOSSLESS_KERNEL_H

#include "codec/lossless/shape.h"

/* How values and predictions become whole numbers. step 0: the order of the floating-point numbers
 * themselves, their low `shift` bits (zero in every value) dropped. Else values are ref + k * step
 * exactly (in the element's type), and k is the number; with decimal they are k / step. */
struct sk_scale {
    unsigned shift;
    int decimal;
    double ref, step;
};

/* Residuals of n values. v[-3 … n-1] is what the rows before add (sk_terms); c[1 … degree] the
 * operator along the row; x[-degree … n-1] the values. r takes unsigned words of the element's size
 * (a signed difference, wrapped). */
struct sk_kernel {
    void (*sum_terms)(const void *x, size_t n, const struct sk_terms *t, double *v);
    void (*residual)(const void *x, const double *v, size_t n, int degree, const double c[4],
                     const struct sk_scale *s, void *r);
    /* The inverse: x[0 … n-1] from residuals. skip may be NULL; where it is 1, x takes the value
     * before it. */
    void (*restore)(void *x, const double *v, size_t n, int degree, const double c[4],
                    const struct sk_scale *s, const void *r, const uint8_t *skip);
    /* Bitwise or of n words. */
    uint64_t (*bits)(const void *x, size_t n);
    /* 1 when every one of n values is on the scale's grid. */
    int (*on_grid)(const void *x, size_t n, const struct sk_scale *s);
    /* classes of residuals: 0 for 0, 1 for ±1, else 2 * length - 2 + the bit below the leading one
     */
    void (*classes)(const void *r, size_t n, uint8_t *out);
};

/* The fastest table this processor can use; word is 4 or 8. SAIKAI_SIMD=base or avx2 in the
 * environment asks for less. */
const struct sk_kernel *sk_kernel_of(size_t word);
/* A given one: 0 base, 1 AVX2, 2 AVX-512; NULL when this processor or build cannot. */
const struct sk_kernel *sk_kernel_at(size_t word, int level);

#endif
