/* The inner loops of the codec "quick", for one instruction set or another; all give the same. */
#ifndef SK_CODEC_QUICK_KERNEL_H
#define SK_CODEC_QUICK_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum { QUICK_BLOCK = 128, QUICK_LANES = 4, QUICK_WIDTHS = 33 };

/* A value x is about centre + step q. */
struct quick_scale {
    double step, inverse, centre, bound;
};

/* Where predictions come from: distances to earlier numbers, 0: not used. */
struct quick_lags {
    int before; /* 1: the number before is a neighbour */
    size_t row, plane;
};

struct quick_kernel {
    /* Nearest whole numbers of a block, modulo 2^32 where they do not fit. Returns 0 when all values come back within the bound. */
    int (*quantise_f32)(const float *x, const struct quick_scale *s, int32_t *q);
    int (*quantise_f64)(const double *x, const struct quick_scale *s, int32_t *q);
    /* 1 for each value of the block that does not come back within the bound, else 0. */
    void (*misses_f32)(const float *x, const int32_t *q, const struct quick_scale *s, uint8_t *miss);
    void (*misses_f64)(const double *x, const int32_t *q, const struct quick_scale *s, uint8_t *miss);
    void (*restore_f32)(const int32_t *q, const struct quick_scale *s, float *x);
    void (*restore_f64)(const int32_t *q, const struct quick_scale *s, double *x);
    /* Folded residuals of the block at q, before which there are as many numbers as the lags say; returns their bitwise or. */
    uint32_t (*differ)(const int32_t *q, const struct quick_lags *lags, uint32_t *folded);
    /* The inverse. */
    void (*sum)(const uint32_t *folded, const struct quick_lags *lags, int32_t *q);
    /* Numbers of w bits, w from 0 to 32: 16 w bytes. */
    void (*pack)(const uint32_t *folded, unsigned w, uint8_t *out);
    void (*unpack)(const uint8_t *in, unsigned w, uint32_t *folded);
};

const struct quick_kernel *sk_quick_kernel(void);
/* 0: for any processor, 1: AVX2; NULL where this build or processor has none. */
const struct quick_kernel *sk_quick_kernel_at(int level);

#endif
