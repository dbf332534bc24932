/* The two quantisers of the high band.
 *
 * Source: N. Sasaki, K. Sato, T. Endo, S. Matsuoka, lossy checkpoint compression based on the
 * wavelet transform (2015), sections 3.2.1 (simple) and 3.2.2 (spike, equation 2). */
#ifndef SK_CODEC_HAAR_QUANTISE_H
#define SK_CODEC_HAAR_QUANTISE_H

#include <stddef.h>
#include <stdint.h>

#define SK_HAAR_MAX_N 65536

enum sk_haar_quantiser {
    SK_HAAR_NONE = 0,   /* nothing is replaced */
    SK_HAAR_SIMPLE = 1, /* n equal bins from the smallest to the largest value, all replaced by
                           their bin's mean */
    SK_HAAR_SPIKE = 2,  /* the same over the range of the crowded ones of d equal bins; outside it
                           values stay exact */
};

/* What quantisation made of `count` values. The arrays belong to the caller. */
struct sk_haar_codes {
    uint8_t *coded; /* count: 1 where the value is replaced by table[code] */
    uint16_t *code; /* count: bin; 0 where not coded */
    double *table;  /* n: mean of each bin, 0 where it is empty */
    size_t n_coded;
};

/* Quantise count finite values into n bins (1 … SK_HAAR_MAX_N); d (>= 1) counts the bins the
 * crowded ones are sought in. Linear time; allocates d counters: 0, or -1 when there is no memory
 * for them. */
int sk_haar_quantise(enum sk_haar_quantiser q, const double *v, size_t count, size_t n, size_t d,
                     struct sk_haar_codes *out);

#endif
