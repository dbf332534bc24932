/* Fields that stay near means of their own are seen as such whatever their scale; means that no number could hold are not made. */
#include "codec/wavelet/tests/within.h"

#include <float.h>

enum { STEPS = 24, PLACES = 2000, N = STEPS * PLACES };
static const struct sk_array a = {SAIKAI_F64, 2, {STEPS, PLACES}};

/* Each place has a mean of its own, and little noise around it. */
static void fill(double *x, double scale)
{
    uint32_t state = 3;
    for (size_t i = 0; i < N; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = scale * (sin(1.7 * (double)(i % PLACES) * (double)(i % PLACES)) + 0.002 * ((state >> 8) * 0x1p-24));
    }
}

static void at_any_scale(void **unused)
{
    (void)unused;
    double *x = malloc(N * sizeof *x);
    assert_non_null(x);
    fill(x, 1);
    size_t usual = bytes_within(&a, x, N, 1e-3, NULL);
    assert_true((double)usual < 0.7 * (double)bytes_within(&a, x, N, 1e-3, "centre=0"));
    for (int k = -300; k <= 300; k += 600) {
        double scale = pow(10, k);
        fill(x, scale);
        size_t scaled = bytes_within(&a, x, N, 1e-3 * scale, NULL);
        if ((double)scaled > 1.02 * (double)usual)
            fail_msg("times 1e%d: %zu bytes, %zu without", k, scaled, usual);
    }
    free(x);
}

/* The sum of a place's values is more than a double holds. */
static void at_the_largest_numbers(void **unused)
{
    (void)unused;
    double *x = malloc(N * sizeof *x);
    assert_non_null(x);
    fill(x, 0.9 * DBL_MAX);
    assert_true(bytes_within(&a, x, N, 1e-3 * DBL_MAX, NULL) > 0);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_any_scale), cmocka_unit_test(at_the_largest_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
