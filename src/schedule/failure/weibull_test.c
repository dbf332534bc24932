/* Weibull's hazard: what it comes to at shape 1, that it adds up to Ling's density, and shapes that are found again. */
#include "schedule/failure/weibull.h"

#include "schedule/model.h"
#include "schedule/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static void shape_one_is_a_constant_rate(void **state)
{
    (void)state;
    for (double age = 0; age < 1e6; age = 10 * age + 1)
        assert_true(sk_weibull_rate(1e-5, 1, age, 30) == 1e-5);
    for (double age = 1; age < 1e6; age *= 10) { /* and close to it the formula agrees */
        double r = sk_weibull_rate(1e-5, 1 + 1e-9, age, 30);
        assert_true(fabs(r / 1e-5 - 1) < 1e-6);
    }
    assert_true(sk_weibull_rate(0, 0.7, 5, 30) == 0);
    assert_true(sk_weibull_rate(1e-5, 0.7, 5, 0) == 1e-5);
    assert_true(sk_weibull_rate(1e-5, 0.7, NAN, 30) == 1e-5);
    assert_true(sk_weibull_rate(1e-5, 0.01, 5, 30) == sk_weibull_rate(1e-5, SK_SHAPE_LEAST, 5, 30));
}

/* Intervals one behind the other: the integral of sqrt(h/2C) over each is one. */
static void intervals_have_one_checkpoint_of_the_density_each(void **state)
{
    const double rate = 1e-5, cost = 60, shapes[] = {0.5, 0.7, 1.5};
    (void)state;
    for (int s = 0; s < 3; s++) {
        double k = shapes[s], scale = 1 / (rate * tgamma(1 + 1 / k)), age = 0, before = 0;
        for (int i = 0; i < 200; i++) {
            double r = sk_weibull_rate(rate, k, age, cost), length = sqrt(2 * cost / r), sum = 0;
            enum { STEPS = 4000 };
            for (int j = 0; j < STEPS && i; j++) {
                double t = age + (j + 0.5) * length / STEPS;
                sum += sqrt(k / scale * pow(t / scale, k - 1) / (2 * cost)) * length / STEPS;
            }
            assert_true(!i || fabs(sum - 1) < 1e-3);
            assert_true(!i || (k < 1 ? length > before : length < before));
            before = length;
            age += length;
        }
    }
    double soon = sk_weibull_rate(rate, 0.6, 0, cost), late = sk_weibull_rate(rate, 0.6, 1e6, cost);
    assert_true(soon > 2 * rate && late < 0.7 * rate);
    assert_true(sk_weibull_rate(1e-300, 0.7, 1e300, 1) >= 0);
}

static void shapes_are_found_again(void **state)
{
    enum { N = 20000 };
    static double times[N];
    const double shapes[] = {0.5, 0.7, 1, 2};
    struct sk_random r;
    (void)state;
    sk_random_seed(&r, 1);
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < N; i++)
            times[i] = 1e4 * pow(sk_random_exponential(&r, 1), 1 / shapes[s]);
        assert_true(fabs(sk_weibull_shape(times, N) / shapes[s] - 1) < 0.03);
        double few = sk_weibull_shape(times, 3); /* three times move it little */
        assert_true(few > 0.6 && few < 1.7);
    }
    assert_true(sk_weibull_shape(NULL, 0) == 1);
    assert_true(sk_weibull_shape(times, 1) == 1);
    const double odd[] = {0, -5, NAN, 3, 3}, endless[] = {1, INFINITY, 2};
    assert_true(isfinite(sk_weibull_shape(odd, 5)));
    assert_true(sk_weibull_shape(endless, 3) == 1);
}

static void the_model_asks_for_it(void **state)
{
    const struct sk_model_ops *m = sk_model_find("weibull"), *first = sk_model_at(0);
    (void)state;
    assert_non_null(m);
    assert_true(sk_model_rate(first, 1e-5, 0.7, 100, 30) == 1e-5);
    assert_true(sk_model_rate(m, 1e-5, 0.7, 100, 30) == sk_weibull_rate(1e-5, 0.7, 100, 30));
    assert_true(sk_model_optimum(m, 1e-5, 30) == sk_model_optimum(first, 1e-5, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_one_is_a_constant_rate),
        cmocka_unit_test(intervals_have_one_checkpoint_of_the_density_each),
        cmocka_unit_test(shapes_are_found_again),
        cmocka_unit_test(the_model_asks_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
