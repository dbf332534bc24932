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

/* The interval in closed form: ((t^q + q sqrt(2C/ks))^(1/q) - t) s with t = age/s, q = (k+1)/2; its rate is 2C over its square. */
static void the_rate_at_an_age(void **state)
{
    (void)state;
    static const double shapes[] = {0.3, 0.5, 0.99, 1.3, 2, 3}, ages[] = {0, 1e-3, 1, 50, 1e4, 1e6};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t i = 0; i < sizeof ages / sizeof *ages; i++) {
            const double k = shapes[s], rate = 2e-4, cost = 20, scale = 1 / (rate * tgamma(1 + 1 / k)), q = (k + 1) / 2;
            long double t = ages[i] / scale, step = q * sqrtl(2 * cost / (k * scale));
            long double interval = (powl(powl(t, q) + step, 1 / q) - t) * scale;
            double wanted = (double)(2 * cost / (interval * interval)), got = sk_weibull_rate(rate, k, ages[i], cost);
            if (!(fabs(got / wanted - 1) < 1e-10))
                fail_msg("shape %g, age %g: %.15g, expected %.15g", k, ages[i], got, wanted);
        }
    assert_true(sk_weibull_rate(1e-4, 7, 100, 20) == sk_weibull_rate(1e-4, 3, 100, 20)); /* what is beyond is taken for the nearest */
    assert_true(sk_weibull_rate(1e-4, -1, 100, 20) == sk_weibull_rate(1e-4, 0.3, 100, 20));
    assert_true(sk_weibull_rate(1e-4, 0.5, -1, 20) == 1e-4 && sk_weibull_rate(1e-4, 0.5, 1, -1) == 1e-4 && sk_weibull_rate(1e-4, 0.5, 1, NAN) == 1e-4);
    assert_true(sk_weibull_rate(-1, 0.5, 1, 20) == -1 && isnan(sk_weibull_rate(NAN, 0.5, 1, 20)));
    assert_true(sk_weibull_rate(1e-4, 0.5, INFINITY, 20) == 1e-4);
}

/* Few times say little: n of them weigh n against 7; and no shape is believed that is out of bounds. */
static void a_shape_from_few_times(void **state)
{
    (void)state;
    const double same[] = {5, 5, 5}, wide[] = {1e-200, 1}, odd[] = {-3, 8, 0, 2, 2, NAN};
    assert_true(fabs(sk_weibull_shape(same, 3) / pow(3, 3 / 10.0) - 1) < 1e-9);
    assert_true(fabs(sk_weibull_shape(same, 2) / pow(3, 2 / 9.0) - 1) < 1e-9);
    assert_true(fabs(sk_weibull_shape(wide, 2) / pow(0.3, 2 / 9.0) - 1) < 1e-9);
    assert_true(sk_weibull_shape(same, 1) == 1);
    /* of 2, 2 and 8: the zero of 1/k + (log 2 + log 2 + log 8)/3 - (2 2^k log 2 + 8^k log 8)/(2 2^k + 8^k) */
    double low = 0.3, high = 3;
    for (int i = 0; i < 60; i++) {
        double k = (low + high) / 2, a = pow(2, k), b = pow(8, k);
        if (1 / k + 5 * log(2) / 3 - log(2) * (2 * a + 3 * b) / (2 * a + b) > 0)
            low = k;
        else
            high = k;
    }
    assert_true(fabs(sk_weibull_shape(odd, 6) / pow(low, 3 / 10.0) - 1) < 1e-9);
    const double large[] = {2e-300, 2e-300, 8e-300}, small[] = {2e300, 2e300, 8e300}; /* and not of how long they are */
    assert_true(fabs(sk_weibull_shape(large, 3) / pow(low, 3 / 10.0) - 1) < 1e-9);
    assert_true(fabs(sk_weibull_shape(small, 3) / pow(low, 3 / 10.0) - 1) < 1e-9);
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
        cmocka_unit_test(the_rate_at_an_age),
        cmocka_unit_test(a_shape_from_few_times),
        cmocka_unit_test(the_model_asks_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
