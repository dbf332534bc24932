/* Isolated values in a smooth field: few bytes more than the field takes, and all bounds hold. */
#include "codec/wavelet/wavelet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 200, COLUMNS = 300, N = ROWS * COLUMNS, SPIKES = 12 };
static const struct sk_array plane = {SAIKAI_F64, 2, {ROWS, COLUMNS}};

static void make(double *x, int spikes)
{
    for (size_t i = 0; i < N; i++)
        x[i] = sin(0.031 * (double)(i / COLUMNS) + 0.4 * sin(0.05 * (double)(i % COLUMNS))) * cos(0.043 * (double)(i % COLUMNS));
    for (size_t k = 0; spikes && k < SPIKES; k++)
        x[(k * 4999 + 777) % N] += k % 3 == 2 ? -900 : 5 + (double)k;
}

/* Decodes to back[]. */
static size_t bytes_of(const double *x, struct sk_bound bound, int level, const char *parameter, double *back, uint8_t *form)
{
    struct sk_codec_options opt = {.bound = bound, .level = level, .parameter = parameter};
    size_t cap = sk_codec_wavelet.max_encoded(&plane), size = 0;
    uint8_t *code = malloc(cap);
    assert_non_null(code);
    assert_int_equal(sk_codec_wavelet.encode(&plane, x, &opt, code, cap, &size, NULL), 0);
    assert_int_equal(sk_codec_wavelet.decode(&plane, code, size, back, NULL), 0);
    *form = code[0];
    free(code);
    return size;
}

static void check_bound(const double *x, const double *back, double bound)
{
    for (size_t i = 0; i < N; i++)
        if (isnan(x[i]) ? memcmp(&x[i], &back[i], sizeof *x) != 0 : !(fabs(x[i] - back[i]) <= bound))
            fail_msg("element %zu is %g, not %g", i, back[i], x[i]);
}

static void take_few_bytes(void **unused)
{
    (void)unused;
    enum { SPIKES_FORM = 8, EACH = 8 };
    const double fine = 5e-4; /* where they are taken out in any case */
    static double smooth[N], spiked[N], back[N];
    uint8_t form;
    make(smooth, 0);
    make(spiked, 1);
    for (int level = 0; level <= 9; level += 9)
        for (double bound = 1e-2; bound > 1e-6; bound /= 10) {
            const struct sk_bound b = {SK_BOUND_ABS, bound};
            size_t without = bytes_of(smooth, b, level, NULL, back, &form);
            assert_int_not_equal(form, SPIKES_FORM);
            size_t with = bytes_of(spiked, b, level, NULL, back, &form);
            if (bound < fine)
                assert_int_equal(form, SPIKES_FORM);
            check_bound(spiked, back, bound);
            size_t left = bytes_of(spiked, b, level, "spikes=0", back, &form);
            assert_int_not_equal(form, SPIKES_FORM);
            if (with > without + without / 8 + SPIKES * EACH || with > left)
                fail_msg("within %g: %zu bytes, %zu without them, %zu where they are left", bound, with, without, left);
        }
}

/* The mean error is of all values, those that were taken out among them. */
static void keep_a_mean_error(void **unused)
{
    (void)unused;
    static double x[N], back[N];
    double low = INFINITY, high = -INFINITY;
    uint8_t form;
    make(x, 1);
    for (size_t i = 0; i < N; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    for (int want = 70; want <= 130; want += 30) {
        double sum = 0;
        bytes_of(x, (struct sk_bound){SK_BOUND_PSNR, want}, 0, NULL, back, &form);
        for (size_t i = 0; i < N; i++)
            sum += (x[i] - back[i]) * (x[i] - back[i]);
        double got = 20 * log10(high - low) - 10 * log10(sum / N);
        if (got < want)
            fail_msg("%g dB, not %d", got, want);
    }
}

/* Bounds of the range mean that with the isolated values; what is no number stays what it was. */
static void stand_beside_what_is_no_number(void **unused)
{
    (void)unused;
    static double x[N], back[N];
    uint8_t form;
    make(x, 1);
    for (size_t i = 0; i < N; i++)
        x[i] = i % COLUMNS < 40 || i % 4999 == 778 ? NAN : x[i];
    bytes_of(x, (struct sk_bound){SK_BOUND_REL, 1e-6}, 0, NULL, back, &form);
    check_bound(x, back, 1e-6 * 1000);
    bytes_of(x, (struct sk_bound){SK_BOUND_ABS, 1e-4}, 0, NULL, back, &form);
    check_bound(x, back, 1e-4);
    for (size_t i = 0; i < N; i++)
        x[i] = isnan(x[i]) ? 1e30 : x[i];
    bytes_of(x, (struct sk_bound){SK_BOUND_ABS, 1e-4}, 0, NULL, back, &form);
    check_bound(x, back, 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take_few_bytes),
        cmocka_unit_test(keep_a_mean_error),
        cmocka_unit_test(stand_beside_what_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
