/* Series come back as they were, what a rule or a repeat makes takes little, and damaged ones are refused or give numbers of the range. */
#include "codec/wavelet/series/series.h"
#include "codec/wavelet/wavelet.h"

#include "base/types.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 6000 };

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* x -> 3.9 x (1 - x), as numbers below `most`. */
static void logistic(int32_t *k, size_t n, double most)
{
    double x = 0.3;
    for (size_t i = 0; i < n; i++) {
        x = 3.9 * x * (1 - x);
        k[i] = (int32_t)(x * most);
    }
}

static void noise(int32_t *k, size_t n, double most)
{
    uint32_t state = 7;
    for (size_t i = 0; i < n; i++)
        k[i] = (int32_t)(next(&state) * 0x1p-24 * most);
}

/* 300 numbers in any order, again and again. */
static void period(int32_t *k, size_t n, double most)
{
    noise(k, n < 300 ? n : 300, most);
    for (size_t i = 300; i < n; i++)
        k[i] = k[i - 300];
}

/* One of two states, each for a while. */
static void states(int32_t *k, size_t n, double most)
{
    uint32_t state = 3;
    int32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        at = next(&state) % 40 == 0 ? (int32_t)(most - 1) - at : at;
        k[i] = at;
    }
}

static void constant(int32_t *k, size_t n, double most)
{
    for (size_t i = 0; i < n; i++)
        k[i] = (int32_t)(most - 1);
}

static const struct {
    void (*make)(int32_t *k, size_t n, double most);
    double bits; /* of a number, at most, of N numbers below 2000 and below 2^20; noise takes 11 and 20 */
} kinds[] = {{logistic, 1.7}, {noise, 21}, {period, 1.6}, {states, 0.5}, {constant, 0.1}};

static size_t there_and_back(const int32_t *k, size_t n)
{
    struct sk_buf out = {0};
    int32_t *back = malloc((n + 1) * sizeof *back);
    assert_non_null(back);
    assert_int_equal(sk_series_put(k, n, SIZE_MAX, &out, NULL), 0);
    assert_int_equal(sk_series_get(out.data, out.len, back, n, NULL), 0);
    assert_memory_equal(k, back, n * sizeof *k);
    size_t bytes = out.len;
    free(back);
    sk_buf_free(&out);
    return bytes;
}

static void test_sizes(void **unused)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 21, 64, 700};
    static const double most[] = {1, 2, 3, 257, 70000, SERIES_LIMIT};
    int32_t k[700];
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
                kinds[kind].make(k, sizes[s], most[m]);
                there_and_back(k, sizes[s]);
            }
}

static void test_little(void **unused)
{
    static int32_t k[N];
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (int wide = 0; wide < 2; wide++) {
            kinds[kind].make(k, N, wide ? 1 << 20 : 2000);
            double bits = 8.0 * (double)there_and_back(k, N) / N;
            if (bits > kinds[kind].bits)
                fail_msg("kind %zu of numbers below %d takes %g bits", kind, wide ? 1 << 20 : 2000, bits);
        }
}

static void test_no_more_than(void **unused)
{
    static int32_t k[N];
    struct sk_buf out = {0};
    struct saikai_error err;
    noise(k, N, 1 << 20);
    assert_int_equal(sk_series_put(k, N, 2 * N, &out, &err), SAIKAI_ENOSPC);
    assert_true(out.len < 2 * N + 1000); /* it is given up on the way */
    sk_buf_free(&out);
}

/* Numbers of the range, or "damaged": what is wrong all the same is for checksums to see. */
static void look_at(const uint8_t *data, size_t n, int32_t *back, size_t count)
{
    uint8_t *exactly = malloc(n + 1); /* so that a sanitizer sees what is read behind it */
    assert_non_null(exactly);
    memcpy(exactly + 1, data, n);
    int rc = sk_series_get(exactly + 1, n, back, count, NULL);
    free(exactly);
    assert_true(rc == 0 || rc == SAIKAI_EDAMAGED);
    for (size_t i = 0; !rc && i < count; i++)
        assert_true(back[i] >= 0 && back[i] < SERIES_LIMIT);
}

static void test_damage(void **unused)
{
    enum { FEW = 300 };
    static int32_t k[FEW], back[FEW];
    struct sk_buf out = {0};
    uint32_t state = 11;
    logistic(k, FEW, 5000);
    assert_int_equal(sk_series_put(k, FEW, SIZE_MAX, &out, NULL), 0);
    for (size_t n = 0; n < out.len; n++)
        look_at(out.data, n, back, FEW);
    for (int turn = 0; turn < 400; turn++) {
        size_t at = next(&state) % out.len;
        uint8_t was = out.data[at];
        out.data[at] ^= (uint8_t)(1 + next(&state) % 255);
        look_at(out.data, out.len, back, FEW);
        out.data[at] = was;
    }
    sk_buf_free(&out);
}

static size_t piece_of(int type, const void *in, size_t n, double bound, const char *parameter, void *back)
{
    struct sk_array a = {.type = type, .ndims = 1, .dims = {n}};
    struct sk_codec_options opt = {.bound = {SK_BOUND_REL, bound}, .parameter = parameter};
    size_t cap = sk_codec_wavelet.max_encoded(&a), size = 0;
    void *code = malloc(cap);
    assert_non_null(code);
    assert_int_equal(sk_codec_wavelet.encode(&a, in, &opt, code, cap, &size, NULL), 0);
    assert_int_equal(sk_codec_wavelet.decode(&a, code, size, back, NULL), 0);
    free(code);
    return size;
}

/* By default: a series where it takes less, within its bound, at any scale. */
static void test_pieces(void **unused)
{
    static double d[N], back[N];
    static float f[N], near[N];
    static const double scales[] = {1, 1e-34, 1e34};
    size_t of_one[2] = {0};
    for (int s = 0; s < 3; s++)
        for (int b = 0; b < 2; b++) {
            double bound = b ? 1e-5 : 1e-2, x = 0.3, low = 1, high = 0;
            for (int i = 0; i < N; i++) {
                x = 3.9 * x * (1 - x);
                d[i] = x * scales[s];
                f[i] = (float)d[i];
                low = i == 0 || d[i] < low ? d[i] : low;
                high = i == 0 || d[i] > high ? d[i] : high;
            }
            double most = bound * (high - low) * (1 + 1e-6);
            size_t size = piece_of(SAIKAI_F64, d, N, bound, NULL, back), small = piece_of(SAIKAI_F32, f, N, bound, NULL, near);
            for (int i = 0; i < N; i++)
                assert_true(fabs(d[i] - back[i]) <= most && fabs((double)f[i] - (double)near[i]) <= most);
            assert_true(8 * size < 2 * N && 8 * small < 2 * N);
            of_one[b] = s ? of_one[b] : small;
            assert_true(small <= of_one[b] + of_one[b] / 20 && of_one[b] <= small + small / 20);
            assert_true(2 * size < piece_of(SAIKAI_F64, d, N, bound, "series=0", back));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_little), cmocka_unit_test(test_no_more_than),
                                       cmocka_unit_test(test_damage), cmocka_unit_test(test_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
