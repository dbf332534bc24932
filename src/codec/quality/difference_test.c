/* Errors are those of their formulas, also for extremes and for every type. A lost NaN is within no
 * bound, and bounds include their limit. */
#include "codec/quality/difference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct sk_difference differ(int type, size_t n, const void *x, const void *y)
{
    struct sk_array a = {type, 1, {n}};
    struct sk_difference d;
    sk_difference(&a, x, y, &d);
    return d;
}

static void errors_are_those_of_the_equation(void **state)
{
    double x[4] = {0, 1, 2, 4}, y[4] = {0, 1.5, 2, 3};
    struct sk_difference d = differ(SAIKAI_F64, 4, x, y);
    assert_int_equal(d.count, 4);
    assert_int_equal(d.unequal, 2);
    assert_int_equal(d.worst, 3);
    assert_true(d.min == 0 && d.max == 4);
    assert_true(d.max_abs == 1 && d.max_rel == 0.25);
    assert_true(d.mean_abs == 0.375 && d.mean_rel == 0.09375);
    assert_float_equal(d.rmse, sqrt(1.25 / 4), 1e-15);
    assert_float_equal(d.psnr, 20 * log10(4 / sqrt(1.25 / 4)), 1e-12);
}

static void equal_arrays_have_no_error(void **state)
{
    float x[3] = {1, NAN, -INFINITY};
    struct sk_difference d = differ(SAIKAI_F32, 3, x, x);
    assert_int_equal(d.unequal, 0);
    assert_int_equal(d.nonfinite, 2);
    assert_int_equal(d.lost, 0);
    assert_true(d.max_abs == 0 && d.max_rel == 0 && isinf(d.psnr));
    assert_true(sk_difference_within(&d, &(struct sk_bound){SK_BOUND_NONE, 0}));
}

static void a_lost_nan_is_within_no_bound(void **state)
{
    double x[3] = {1, NAN, 3}, y[3] = {1, 2, 3};
    struct sk_difference d = differ(SAIKAI_F64, 3, x, y);
    assert_int_equal(d.lost, 1);
    assert_false(sk_difference_within(&d, &(struct sk_bound){SK_BOUND_ABS, 1e9}));
    assert_false(sk_difference_within(&d, &(struct sk_bound){SK_BOUND_PSNR, 1}));
}

static void bounds_are_inclusive(void **state)
{
    double x[2] = {0, 8}, y[2] = {0, 7};
    struct sk_difference d = differ(SAIKAI_F64, 2, x, y);
    assert_true(sk_difference_within(&d, &(struct sk_bound){SK_BOUND_ABS, 1}));
    assert_false(sk_difference_within(&d, &(struct sk_bound){SK_BOUND_ABS, 0.999}));
    assert_true(sk_difference_within(&d, &(struct sk_bound){SK_BOUND_REL, 0.125}));
    assert_false(sk_difference_within(&d, &(struct sk_bound){SK_BOUND_REL, 0.124}));
    assert_false(sk_difference_within(&d, &(struct sk_bound){SK_BOUND_NONE, 0}));
}

static void all_types_and_extremes(void **state)
{
    int16_t s[2] = {-5, 7}, t[2] = {-5, 3};
    assert_true(differ(SAIKAI_I16, 2, s, t).max_abs == 4);
    uint64_t u[2] = {0, 1000}, v[2] = {10, 1000};
    assert_true(differ(SAIKAI_U64, 2, u, v).max_rel == 0.01);
    float c[4] = {1, 2, 3, 4}, e[4] = {1, 2, 3, 5};
    struct sk_difference d = differ(SAIKAI_C64, 2, c, e);
    assert_int_equal(d.count, 4);
    assert_int_equal(d.worst, 3);
    double big[2] = {1e300, -1e300}, off[2] = {1e300, -0.9e300};
    d = differ(SAIKAI_F64, 2, big, off);
    assert_true(isfinite(d.rmse) && d.rmse > 0 && fabs(d.max_rel - 0.05) < 1e-12);
    double same[2] = {5, 5}, other[2] = {5, 6};
    assert_true(isinf(differ(SAIKAI_F64, 2, same, other).max_rel));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_those_of_the_equation),
        cmocka_unit_test(equal_arrays_have_no_error),
        cmocka_unit_test(a_lost_nan_is_within_no_bound),
        cmocka_unit_test(bounds_are_inclusive),
        cmocka_unit_test(all_types_and_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
