/* The model of several levels against a simulation that plays the job. */
#include "schedule/levels.h"
#include "schedule/random.h"
#include "schedule/simulate_levels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static double power_of(struct sk_random *r, double low, double high)
{
    return low * pow(high / low, sk_random_unit(r));
}

/* Three levels of a machine: a process fails every few hours, a node less often, more than the
 * group bears hardly ever. */
static void draw_levels(struct sk_random *r, struct sk_level *l, int n)
{
    double rate = power_of(r, 1e-6, 1e-4), cost = power_of(r, 0.5, 20), held = 0;
    for (int k = 0; k < n; k++) {
        held += cost;
        l[k] = (struct sk_level){rate, cost, held + cost * 2 * sk_random_unit(r),
                                 held * (0.5 + sk_random_unit(r))};
        rate *= power_of(r, 0.1, 1.5);
        cost *= power_of(r, 0.5, 12);
    }
}

static double simulated(const struct sk_level *l, int n, double interval, const int64_t *every,
                        double *error)
{
    double rate = 0;
    for (int k = 0; k < n; k++)
        rate += l[k].rate;
    /* some hundred failures of the rarest kind in all */
    double work = fmax(40 / rate, 3 * interval * (double)every[n - 1]);
    int runs = (int)fmin(4000, fmax(40, 150 / (l[n - 1].rate * work)));
    struct sk_levels_simulation s = {.levels = l,
                                     .n = n,
                                     .interval = interval,
                                     .every = every,
                                     .work = interval * (double)every[n - 1] *
                                             ceil(work / interval / (double)every[n - 1]),
                                     .seed = 17,
                                     .runs = runs,
                                     .max_failures = 100000000};
    struct sk_levels_simulation_result out;
    struct saikai_error err = {0};
    if (sk_levels_simulate(&s, &out, &err))
        fail_msg("%s", err.text);
    *error = out.overhead_error;
    return out.overhead;
}

/* Where nothing is done behind the program's back the model is exact: the simulation gives the same
 * up to its own noise. */
static void test_simulation_agrees(void **state)
{
    (void)state;
    struct sk_random r;
    sk_random_seed(&r, 23);
    double worst = 0, squares = 0;
    enum { jobs = 60 };
    for (int i = 0; i < jobs; i++) {
        struct sk_level l[4];
        int n = 1 + i % 4;
        draw_levels(&r, l, n);
        double held = 0;
        for (int k = 0; k < n; k++)
            l[k].latency_seconds = held += l[k].cost_seconds;
        double error, t = power_of(&r, 2 * held, 20 * held);
        int64_t every[4] = {1, 1 + (int64_t)sk_random_below(&r, 5)};
        every[2] = every[1] * (1 + (int64_t)sk_random_below(&r, 4));
        every[3] = every[2] * (1 + (int64_t)sk_random_below(&r, 4));
        double x = sk_levels_overhead(l, n, t, every), y = simulated(l, n, t, every, &error);
        double z = (x - y) / error;
        squares += z * z;
        worst = fmax(worst, fabs(z));
    }
    assert_true(worst < 4);
    assert_true(squares / jobs < 2);
}

/* The plan's overhead, played, is within 3 % of the least of the patterns around it, played, over a
 * wide range; latencies included, for which the model is approximate. */
static void test_optimum_is_the_simulated_one(void **state)
{
    (void)state;
    struct sk_random r;
    sk_random_seed(&r, 29);
    for (int i = 0; i < 25; i++) {
        struct sk_level l[3];
        struct sk_levels_plan p;
        double error, least = INFINITY, at_plan;
        draw_levels(&r, l, 3);
        assert_int_equal(sk_levels_plan(l, 3, &p, NULL), 0);
        at_plan = simulated(l, 3, p.interval_seconds, p.every, &error);
        assert_true(fabs(at_plan - p.overhead) < 0.03 * p.overhead + 4 * error);
        for (int a = -1; a <= 1; a++)
            for (int b = -1; b <= 1; b++)
                for (int f = -1; f <= 1; f++) {
                    int64_t every[3] = {1, (int64_t)fmax(1, (double)p.every[1] * pow(2, a))};
                    int64_t step = p.every[2] / p.every[1];
                    every[2] = every[1] * (int64_t)fmax(1, (double)step * pow(2, b));
                    double t = p.interval_seconds * pow(1.5, f);
                    least = fmin(least, simulated(l, 3, t, every, &error));
                }
        assert_true(at_plan < least * 1.03 + 3 * error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simulation_agrees),
        cmocka_unit_test(test_optimum_is_the_simulated_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
