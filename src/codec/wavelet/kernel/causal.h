/* Prediction from what lies before: the values are rounded to a lattice of step twice the bound,
 * then each lattice number is predicted from numbers before it in its row, in the rows above and in
 * the plane behind. The encoder has no loop to close and the decoder reads rows in order.
 *
 * A prediction is a sum of whole numbers times weights in units of 2^-12, rounded to the nearest
 * whole number, halves up: exact whether it is computed in 32 bits, where they suffice, or in
 * double.
 *
 * Where the lattice is finer than twice the bound, several numbers serve a value, and one may serve all of a stretch: along one
 * dimension, what wanders or is noisy within twice the bound then costs nothing (PMC-MR of I. Lazaridis and S. Mehrotra,
 * "Capturing sensor-generated time series with quality guarantees", ICDE 2003).
 *
 * The weights are those of L. Ibarria et al., "Out-of-core compression and decompression of large
 * n-dimensional scalar fields" (Comput. Graph. Forum 22, 2003), the Lorenzo predictor of one to
 * three dimensions, or are fitted by least squares and stored. All local; nothing blocks. */
#ifndef SK_CODEC_WAVELET_CAUSAL_H
#define SK_CODEC_WAVELET_CAUSAL_H

#include "codec/wavelet/kernel/lift.h"

enum {
    CAUSAL_TAPS = 13,
    CAUSAL_LIMIT = 1 << 25,
    CAUSAL_PAD = 8,
    CAUSAL_PAD_ROWS = 2,
    CAUSAL_PAD_PLANES = 1,
};

enum causal_kind {
    CAUSAL_FITTED = 0,
    CAUSAL_LORENZO1,
    CAUSAL_LORENZO2,
    CAUSAL_LORENZO3,
    CAUSAL_KINDS
};

struct causal {
    struct lift_shape shape;
    size_t element_size, sy, sz, sb, origin, count;
    double base, step, bound;
    int32_t *n, *q; /* lattice numbers, residuals */
    uint8_t *level, *mask;
    int masked;
    int trial;    /* encoder: 1 codes only what is away from the edges, to see what it takes */
    int box;      /* encoder: 1 gets the first point of each plane for nothing, of which a part of an array has too many */
    int hold;     /* encoder: 1 keeps a number for as many values as it serves, in place of the nearest of each */
    size_t coded; /* values that were coded */
    int kind;
    int bytes; /* decoder: 1 where weights are words of four bytes, as older versions wrote them */
    int thorough;                /* encoder: 1 looks at more of the data when it fits */
    int bits;                    /* |lattice number| < 2^bits */
    int32_t stored[CAUSAL_TAPS]; /* weights in 2^-12 of all taps but the first, which has what is
                                    left of one */
    size_t *exception;
    size_t n_exceptions, cap_exceptions;
    int failed;
};

/* SAIKAI_ENOMEM. */
int sk_causal_init(struct causal *c, const struct lift_shape *shape, size_t element_size, int masked,
                struct saikai_error *err);
void sk_causal_free(struct causal *c);
/* Set base, step and bound before. Weights go to head, codes to codes; exceptions are left in c.
 * Values must be within CAUSAL_LIMIT steps of the base, those masked excepted. */
int sk_causal_encode(struct causal *c, const void *in, const uint8_t *mask, struct sk_buf *head,
                  struct sk_plane_writer *codes, struct saikai_error *err);
int sk_causal_decode(struct causal *c, void *out, const uint8_t *mask, struct sk_rd *head,
                  struct sk_plane_reader *codes, struct saikai_error *err);

/* The same for one instruction set; all give the same bits. */
#define CAUSAL_VARIANT(SUFFIX)                                                                     \
    int sk_causal_encode_##SUFFIX(struct causal *c, const void *in, const uint8_t *mask,              \
                               struct sk_buf *head, struct sk_plane_writer *codes,                 \
                               struct saikai_error *err);                                          \
    int sk_causal_decode_##SUFFIX(struct causal *c, void *out, const uint8_t *mask,                   \
                               struct sk_rd *head, struct sk_plane_reader *codes,                  \
                               struct saikai_error *err);
CAUSAL_VARIANT(plain)
CAUSAL_VARIANT(avx2)

#endif
