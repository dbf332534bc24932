/* Lambert's W and the models against the printed equations, a numeric minimum, published figures
 * and their limits. */
#include "schedule/lambert.h"
#include "schedule/model.h"

#include <math.h>
#include <saikai/component.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/near_testing.h"

#define assert_close(a, b, relative)                                                               \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (!(fabs(a_ - b_) <= (relative)*fabs(b_)))                                               \
            fail_msg("%s = %.17g, expected %.17g, relative error %g", #a, a_, b_,                  \
                     fabs(a_ - b_) / fabs(b_));                                                    \
    } while (0)

/* 1 + W(x) of known values of W, at d = 1 + e x. */
static void test_lambert(void **state)
{
    (void)state;
    const double e = 2.71828182845904523536;
    static const double known[][2] = {{-0.05, -0.05270598355154635}, {-0.1, -0.11183255915896297}, {-0.2, -0.25917110181907377}, {-0.25, -0.3574029561813889},
                                      {-0.3, -0.48940222718021487}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_close(sk_lambert_w0_from_branch(1 + e * known[i][0]), 1 + known[i][1], 2e-14);
    assert_true(sk_lambert_w0_from_branch(1) == 1);
    assert_true(isnan(sk_lambert_w0_from_branch(1.1)));
    assert_true(isnan(sk_lambert_w0_from_branch(NAN)));
}

/* With v = 1 + W and d = 1 + e x: (1 - v) e^v = 1 - d, that is v + log(1 - v) = log(1 - d). */
static void test_lambert_keeps_its_digits_at_the_branch_point(void **state)
{
    (void)state;
    for (double d = 1e-290; d < 0.99; d *= 1.7) {
        long double v = sk_lambert_w0_from_branch(d), left = v + log1pl(-v), right = log1pl(-d);
        if (v < 1e-4L) { /* v + log(1 - v) by its series: the sum has no digits left */
            left = 0;
            for (int k = 12; k >= 2; k--)
                left -= powl(v, k) / k;
        }
        if (fabsl(left - right) > 4e-15L * fabsl(right))
            fail_msg("d = %g: relative residual %Lg", d, (left - right) / right);
    }
    assert_true(sk_lambert_w0_from_branch(0) == 0);
    assert_true(isnan(sk_lambert_w0_from_branch(-1)));
}

/* The two ways meet: series and iteration. */
static void test_lambert_is_continuous(void **state)
{
    (void)state;
    double last = sk_lambert_w0_from_branch(0.02);
    for (double d = 0.02; d < 0.5; d += 1e-4) {
        double w = sk_lambert_w0_from_branch(d);
        assert_true(w >= last && w - last < 1e-3);
        last = w;
    }
}

/* Equations 4 and 8: mean time until the failure, given that it comes before `until`; by Simpson's
 * rule. */
static double mean_time_to_failure(double rate, double until)
{
    enum { steps = 20000 };
    double h = until / steps, sum = 0;
    for (int i = 0; i <= steps; i++) {
        double t = i * h, weight = i == 0 || i == steps ? 1 : i % 2 ? 4 : 2;
        sum += weight * rate * t * exp(-rate * t) / -expm1(-rate * until);
    }
    return sum * h / 3;
}

/* Γ from the transitions of the three states as they are printed, equations 1 to 10. */
static double interval_by_states(double rate, double cost, double work)
{
    double p01 = exp(-rate * (work + cost)), k01 = work + cost;
    double p02 = -expm1(-rate * (work + cost)), k02 = mean_time_to_failure(rate, work + cost);
    double p21 = exp(-rate * (work + 2 * cost)), k21 = work + 2 * cost;
    double p22 = -expm1(-rate * (work + 2 * cost)),
           k22 = mean_time_to_failure(rate, work + 2 * cost);
    assert_close(p21 + p22, 1, 1e-12);
    return p01 * k01 + p02 * (k02 + p22 / (1 - p22) * k22 + k21);
}

static void test_published_formulas(void **state)
{
    (void)state;
    for (double x = 1e-8; x < 5; x *= 10) /* λC over decades */
        for (double cost = 1e-2; cost < 1e5; cost *= 100) {
            double rate = x / cost, best = sk_model_optimum(sk_model_find("vaidya"), rate, cost);
            struct sk_costs c = sk_costs_simple(rate, cost);
            for (double f = 0.1; f < 4; f *= 3) {
                double work = best * f, states = interval_by_states(rate, cost, work);
                assert_close(sk_model_interval(&c, work), states, 1e-9);
                /* the closed form as it is printed, where it still has digits */
                if (rate * work > 1e-3)
                    assert_close(
                        sk_model_overhead(&c, work),
                        exp(rate * cost) * (exp(rate * (work + cost)) - 1) / rate / work - 1, 1e-8);
            }
        }
}

/* Golden-section search for the least r(T), in log T. */
static double numeric_minimum(const struct sk_costs *c, double low, double high)
{
    double g = (sqrt(5) - 1) / 2, a = log(low), b = log(high);
    while (b - a > 1e-9) {
        double m1 = b - g * (b - a), m2 = a + g * (b - a);
        if (sk_model_overhead(c, exp(m1)) < sk_model_overhead(c, exp(m2)))
            b = m2;
        else
            a = m1;
    }
    return exp((a + b) / 2);
}

static void test_optimum_is_the_minimum_of_r(void **state)
{
    (void)state;
    const struct sk_model_ops *vaidya = sk_model_find("vaidya");
    for (double x = 1e-14; x < 60; x *= 3)
        for (double cost = 1e-3; cost < 1e5; cost *= 1000) {
            struct sk_costs c = sk_costs_simple(x / cost, cost);
            double best = sk_model_optimum(vaidya, c.rate, cost);
            assert_close(numeric_minimum(&c, best / 50, best * 20), best, 2e-7);
            c.restart = 7 * cost; /* neither restart nor latency moves it */
            c.latency = 3 * cost;
            if (x < 10)
                assert_close(numeric_minimum(&c, best / 50, best * 20), best, 2e-7);
        }
}

/* Residual of equation 12, in the form v + x + log(1 - v) = 0 with v = λT and x = λC. */
static void test_optimum_solves_equation_12(void **state)
{
    (void)state;
    for (double x = 1e-4; x < 5; x *= 1.3) { /* beyond, 1 - λT has lost its digits */
        long double v = sk_model_optimum(sk_model_find("vaidya"), x, 1) * x;
        assert_close((double)(v + log1pl(-v)), -x, 1e-11);
    }
}

static void test_limits(void **state)
{
    (void)state;
    const struct sk_model_ops *vaidya = sk_model_find("vaidya"),
                                  *young = sk_model_find("young"), *daly = sk_model_find("daly");
    /* rare failures: all three agree; T = sqrt(2C/λ) (1 + O(sqrt(λC))) */
    for (double rate = 1e-300; rate < 1e-12; rate *= 1e6) {
        double t = sk_model_optimum(young, rate, 30);
        assert_close(sk_model_optimum(vaidya, rate, 30), t, 1e-5);
        assert_close(sk_model_optimum(daly, rate, 30), t, 1e-5);
    }
    /* failures all the time: T tends to the mean time between failures */
    assert_close(sk_model_optimum(vaidya, 1, 50), 1, 1e-15);
    assert_close(sk_model_optimum(daly, 1, 50), 1, 1e-15);
    assert_true(isinf(sk_model_optimum(vaidya, 0, 30)));
    assert_true(sk_model_optimum(vaidya, 1e-6, 0) == 0);
    struct sk_costs none = sk_costs_simple(0, 30);
    assert_true(sk_model_interval(&none, 60) == 90);
    assert_close(sk_model_overhead(&none, 60), 0.5, 1e-15);
    assert_close(sk_model_loss(&none, 60), 45 + 30, 1e-15);
    struct sk_costs hopeless = sk_costs_simple(1, 1000);
    assert_true(isinf(sk_model_overhead(&hopeless, 1)));
    assert_true(isinf(sk_model_overhead(&hopeless, 0)));
    assert_true(isfinite(sk_model_loss(&hopeless, 1)));
    assert_null(sk_model_find("fast"));
}

/* Figures 3 to 5 of Daly's paper: minutes. */
static void test_daly_as_published(void **state)
{
    (void)state;
    const struct sk_model_ops *daly = sk_model_find("daly");
    assert_near(sk_model_optimum(daly, 1.0 / (24 * 60), 5), 117, 0.5);
    assert_near(sk_model_optimum(daly, 1.0 / (6 * 60), 5), 57, 0.5);
    assert_near(sk_model_optimum(daly, 1.0 / 15, 5), 9.1, 0.05);
}

/* Daly's estimate is close to the exact optimum where he says it is, and Young's is never better
 * than Vaidya's. */
static void test_models_compare(void **state)
{
    (void)state;
    for (double x = 1e-9; x < 1; x *= 2) {
        struct sk_costs c = sk_costs_simple(x, 1);
        double v = sk_model_optimum(sk_model_find("vaidya"), x, 1);
        double d = sk_model_optimum(sk_model_find("daly"), x, 1);
        double y = sk_model_optimum(sk_model_find("young"), x, 1);
        assert_close(d, v, 0.02);
        assert_true(sk_model_overhead(&c, v) <= sk_model_overhead(&c, d) * (1 + 1e-14));
        assert_true(sk_model_overhead(&c, v) <= sk_model_overhead(&c, y) * (1 + 1e-14));
    }
}

/* Failures add exactly (failures) × (loss of one) to an interval. */
static void test_loss_times_failures_is_the_extra_time(void **state)
{
    (void)state;
    for (double x = 1e-10; x < 3; x *= 5) {
        struct sk_costs c = {x, 1, 4, 2};
        double t = sk_model_optimum(sk_model_find("vaidya"), x, 1);
        assert_close((t + 1) + sk_model_failures(&c, t) * sk_model_loss(&c, t),
                     sk_model_interval(&c, t), 1e-13);
        assert_close(sk_model_overhead(&c, t), 1 / t + sk_model_failure_overhead(&c, t), 1e-15);
    }
}

/* Γ = e^(λ(L + R - C)) (e^(λ(T + C)) - 1)/λ where latency and restart differ from the cost, and what it tends to when nothing fails. */
static void test_latency_and_restart(void **state)
{
    (void)state;
    for (double rate = 1e-3; rate < 0.1; rate *= 3)
        for (double work = 5; work < 200; work *= 6) {
            struct sk_costs c = {rate, 10, 30, 7};
            double whole = exp(rate * (30 + 7 - 10)) * expm1(rate * (work + 10)) / rate;
            assert_close(sk_model_interval(&c, work), whole, 1e-13);
            assert_close(sk_model_overhead(&c, work), whole / work - 1, 1e-12);
            assert_close(sk_model_failure_overhead(&c, work), (whole - work - 10) / work, 1e-11);
            assert_close(sk_model_failures(&c, work), rate * whole, 1e-13);
            assert_close(sk_model_loss(&c, work), (whole - work - 10) / (rate * whole), 1e-11);
        }
    struct sk_costs never = {0, 10, 30, 7}, hardly = {1e-300, 10, 30, 7};
    assert_close(sk_model_loss(&never, 60), 35 + 7 + 30 - 10, 1e-15); /* half an interval, the restart, and what the latency loses */
    assert_close(sk_model_loss(&hardly, 60), 35 + 7 + 30 - 10, 1e-15);
    assert_true(sk_model_failure_overhead(&never, 60) == 0 && sk_model_failures(&never, 60) == 0);
    assert_true(sk_model_failure_overhead(&never, 0) == 0 && isinf(sk_model_overhead(&never, 0)));
    struct sk_costs often = {1, 10, 30, 7};
    assert_true(isinf(sk_model_failure_overhead(&often, 0)));
    assert_true(isinf(sk_model_interval(&often, 1e9)));
    assert_true(sk_model_loss(&often, 1e9) == 1);
    struct sk_costs simple = sk_costs_simple(2, 3);
    assert_true(simple.rate == 2 && simple.cost == 3 && simple.latency == 3 && simple.restart == 3);
}

/* With L = C and R = 0 failures cost (e^b - 1 - b)/λT, which has all its digits whether b is small or not. */
static void test_small_numbers_keep_their_digits(void **state)
{
    (void)state;
    for (double b = 1e-9; b < 4; b *= 1.1) {
        struct sk_costs c = {b / 2, 1, 1, 0}; /* T = C = 1 */
        long double sum = 0, term = 1;
        for (int k = 1; k < 40; k++) {
            term *= (long double)b / k;
            sum += k > 1 ? term : 0;
        }
        assert_close(sk_model_failure_overhead(&c, 1), (double)(sum / (b / 2)), 2e-15);
    }
}

/* Daly's formula is for costs below twice the time between failures; from there on it is that time. */
static void test_where_daly_ends(void **state)
{
    (void)state;
    const struct sk_model_ops *daly = sk_model_find("daly"), *young = sk_model_find("young");
    assert_true(sk_model_optimum(daly, 0.5, 4) == 2 && sk_model_optimum(daly, 0.5, 4.1) == 2);
    assert_close(sk_model_optimum(daly, 0.5, 3.9999999), 4 * (1 + 1 / 3.0 + 1 / 9.0) - 4, 1e-6);
    assert_close(sk_model_optimum(daly, 1e-2, 2), 20 * (1 + 0.1 / 3 + 0.01 / 9) - 2, 1e-14);
    assert_close(sk_model_optimum(young, 1e-2, 2), 20, 1e-15);
}

/* A model of a component is one of the table, and where it gives no interval the first one answers. */
static double of_component(double rate, double cost)
{
    return cost > 50 ? NAN : cost > 20 ? -1 : rate * cost;
}

static void test_a_component_answers(void **state)
{
    (void)state;
    static const struct saikai_interval_model_ops ops = {of_component};
    static const struct saikai_component c = {SAIKAI_COMPONENT_ABI, sizeof c, SAIKAI_KIND_INTERVAL_MODEL, "mine", "of a test", &ops, sizeof ops};
    int n = 0;
    while (sk_model_at(n))
        n++;
    assert_null(sk_model_at(-1));
    assert_null(sk_model_find("mine"));
    sk_model_kind.add(&c, 0);
    const struct sk_model_ops *m = sk_model_find("mine"), *vaidya = sk_model_find("vaidya");
    assert_ptr_equal(m, sk_model_at(n));
    assert_null(sk_model_at(n + 1));
    assert_string_equal(m->source, "of a test");
    assert_close(sk_model_optimum(m, 3, 5), 15, 1e-15);
    assert_true(sk_model_optimum(m, 3, 0) == 0); /* what costs nothing is done always, and nobody is asked */
    assert_true(isinf(sk_model_optimum(m, 0, 5)));
    assert_true(sk_model_optimum(m, 1e-3, 30) == sk_model_optimum(vaidya, 1e-3, 30));
    assert_true(sk_model_optimum(m, 1e-3, 60) == sk_model_optimum(vaidya, 1e-3, 60));
    assert_true(sk_model_rate(m, 1e-3, 0.5, 10, 5) == 1e-3); /* whatever the hazard */
    struct saikai_component other = c;
    other.name = "other";
    other.description = NULL;
    sk_model_kind.add(&other, 1);
    assert_string_equal(sk_model_find("other")->source, "");
    assert_ptr_equal(sk_model_find("mine"), m);
    assert_null(sk_model_at(n + 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lambert),
        cmocka_unit_test(test_lambert_keeps_its_digits_at_the_branch_point),
        cmocka_unit_test(test_lambert_is_continuous),
        cmocka_unit_test(test_published_formulas),
        cmocka_unit_test(test_optimum_is_the_minimum_of_r),
        cmocka_unit_test(test_optimum_solves_equation_12),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_daly_as_published),
        cmocka_unit_test(test_models_compare),
        cmocka_unit_test(test_loss_times_failures_is_the_extra_time),
        cmocka_unit_test(test_latency_and_restart),
        cmocka_unit_test(test_small_numbers_keep_their_digits),
        cmocka_unit_test(test_where_daly_ends),
        cmocka_unit_test(test_a_component_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
