/* Doubles coded within a bound, for tests: what they take; each that comes back is within it. */
#ifndef SK_CODEC_WAVELET_TESTS_WITHIN_H
#define SK_CODEC_WAVELET_TESTS_WITHIN_H

#include "codec/wavelet/wavelet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* n: of all numbers; bound: the largest error; parameter: the codec's, or NULL. */
static inline size_t bytes_within(const struct sk_array *a, const double *in, size_t n, double bound, const char *parameter)
{
    struct sk_codec_options opt = {.bound = {SK_BOUND_ABS, bound}, .parameter = parameter};
    size_t cap = sk_codec_wavelet.max_encoded(a), size = 0;
    void *code = malloc(cap);
    double *back = malloc(n * sizeof *back);
    assert_true(code && back);
    assert_int_equal(sk_codec_wavelet.encode(a, in, &opt, code, cap, &size, NULL), 0);
    assert_int_equal(sk_codec_wavelet.decode(a, code, size, back, NULL), 0);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs(in[i] - back[i]) <= bound);
    free(code);
    free(back);
    return size;
}

#endif
