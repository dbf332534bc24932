/* The model of several levels against the one of a single level, against all small patterns, and
 * against a simulation that plays the job. */
#include "schedule/levels.h"
#include "schedule/model.h"
#include "schedule/random.h"
#include "schedule/simulate_levels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static double power_of(struct sk_random *r, double low, double high)
{
    return low * pow(high / low, sk_random_unit(r));
}

/* With one level all is as in model.h. */
static void test_one_level_is_vaidya(void **state)
{
    (void)state;
    struct sk_random r;
    sk_random_seed(&r, 3);
    for (int i = 0; i < 300; i++) {
        double cost = power_of(&r, 0.01, 1000), rate = power_of(&r, 1e-9, 0.3 / cost);
        struct sk_costs c = {rate, cost, cost * (1 + 0.3 * sk_random_unit(&r)),
                             cost * 2 * sk_random_unit(&r)};
        struct sk_level l = {c.rate, c.cost, c.latency, c.restart};
        struct sk_levels_plan p;
        int64_t one = 1;
        assert_int_equal(sk_levels_plan(&l, 1, &p, NULL), 0);
        double best = sk_model_optimum(sk_model_find("vaidya"), rate, cost);
        best = fmax(best, c.latency);
        assert_int_equal(p.every[0], 1);
        assert_true(fabs(p.interval_seconds / best - 1) < 1e-3); /* the curve is flat there */
        assert_true(fabs(p.overhead / sk_model_overhead(&c, best) - 1) < 1e-6);
        double x = sk_levels_overhead(&l, 1, 3 * best, &one), y = sk_model_overhead(&c, 3 * best);
        assert_true(fabs(x / y - 1) < 1e-6);
        assert_true(fabs(p.efficiency * (1 + p.overhead) - 1) < 1e-12);
    }
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

/* No pattern of small whole numbers, each with its own best interval, is better than the plan. */
static void test_no_pattern_is_better(void **state)
{
    (void)state;
    struct sk_random r;
    sk_random_seed(&r, 5);
    for (int i = 0; i < 60; i++) {
        struct sk_level l[3];
        struct sk_levels_plan p;
        draw_levels(&r, l, 3);
        assert_int_equal(sk_levels_plan(l, 3, &p, NULL), 0);
        assert_float_equal(sk_levels_overhead(l, 3, p.interval_seconds, p.every), p.overhead,
                           1e-12);
        for (int64_t a = 1; a <= 12; a++)
            for (int64_t b = 1; b <= 12; b++)
                for (double f = 0.25; f < 4.1; f *= 1.1) {
                    int64_t every[3] = {1, a, a * b};
                    double t = p.interval_seconds * f;
                    if (t * (double)a < l[1].latency_seconds || t < l[0].latency_seconds ||
                        t * (double)(a * b) < l[2].latency_seconds)
                        continue;
                    if (sk_levels_overhead(l, 3, t, every) < p.overhead * (1 - 2e-5))
                        fail_msg("job %d: %g s, every %d and %d: %.9g < %.9g (%g s, %d, %d)", i, t,
                                 (int)a, (int)(a * b), sk_levels_overhead(l, 3, t, every),
                                 p.overhead, p.interval_seconds, (int)p.every[1], (int)p.every[2]);
                }
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

static void test_edges(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_levels_plan p;
    /* a level whose failures never occur is not used, and costs nothing */
    struct sk_level l[4] = {{1e-5, 2, 2, 5}, {1e-6, 3, 20, 10}, {0, 500, 600, 5}};
    assert_int_equal(sk_levels_plan(l, 3, &p, NULL), 0);
    struct sk_levels_plan two;
    assert_int_equal(sk_levels_plan(l, 2, &two, NULL), 0);
    assert_memory_equal(&p, &two, sizeof p);
    assert_int_equal(p.every[2], 0);
    assert_true(p.every[1] >= 2 && p.every[1] <= 8); /* √(10·3/2) = 3.9 */
    /* nor is there a reason for one in the middle */
    l[2] = (struct sk_level){1e-7, 30, 100, 60};
    l[1].rate = 0;
    assert_int_equal(sk_levels_plan(l, 3, &p, NULL), 0);
    assert_int_equal(p.every[1], p.every[2]);
    /* what comes for nothing is done always */
    l[1] = (struct sk_level){1e-6, 0, 2, 10};
    assert_int_equal(sk_levels_plan(l, 2, &p, NULL), 0);
    assert_int_equal(p.every[1], 1);
    /* not more often than it can be done */
    l[1].latency_seconds = 10000;
    assert_int_equal(sk_levels_plan(l, 2, &p, NULL), 0);
    assert_true((double)p.every[1] * p.interval_seconds >= 10000 * (1 - 1e-9));
    assert_int_equal(sk_levels_plan_every(l, 2, 100, &p, NULL), 0);
    assert_int_equal(p.every[1], 100);
    assert_true(p.interval_seconds == 100);
    /* only the cadence of the higher level is asked */
    l[1] = (struct sk_level){1e-6, 20, 30, 10};
    assert_int_equal(sk_levels_plan_every(l, 2, 100, &p, NULL), 0);
    double here = p.overhead;
    for (int64_t k = 1; k < 1000; k++) {
        int64_t every[2] = {1, k};
        assert_true(sk_levels_overhead(l, 2, 100, every) >= here * (1 - 1e-9));
    }
    /* nothing ever fails */
    for (int k = 0; k < 3; k++)
        l[k].rate = 0;
    assert_int_equal(sk_levels_plan(l, 3, &p, NULL), 0);
    assert_true(isinf(p.interval_seconds) && p.overhead == 0 && p.efficiency == 1);
    assert_int_equal(p.every[0], 0);
    assert_int_equal(sk_levels_plan_every(l, 3, 50, &p, NULL), 0);
    assert_true(p.every[0] == 1 && p.every[1] == 0 && p.overhead == l[0].cost_seconds / 50);
    /* it gets nowhere; and nonsense */
    l[0] = (struct sk_level){10, 1000, 1000, 1000};
    assert_int_equal(sk_levels_plan(l, 1, &p, &err), SAIKAI_ELOST);
    assert_int_equal(sk_levels_plan(l, 0, &p, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_levels_plan(l, SK_LEVELS_MOST + 1, &p, &err), SAIKAI_EINVAL);
    l[0] = (struct sk_level){1e-5, 0, 0, 1};
    assert_int_equal(sk_levels_plan(l, 1, &p, &err), SAIKAI_EINVAL);
    l[0] = (struct sk_level){NAN, 1, 1, 1};
    assert_int_equal(sk_levels_plan(l, 1, &p, &err), SAIKAI_EINVAL);
    l[0] = (struct sk_level){1e-5, 2, 1, 1};
    assert_int_equal(sk_levels_plan(l, 1, &p, &err), SAIKAI_EINVAL);
    l[0] = (struct sk_level){1e-5, 2, 2, 1};
    assert_int_equal(sk_levels_plan_every(l, 1, 0, &p, &err), SAIKAI_EINVAL);
}

/* Numbers far apart: the plan is finite, its cadences multiples, its overhead near the first order.
 */
static void test_extremes(void **state)
{
    (void)state;
    struct sk_random r;
    sk_random_seed(&r, 31);
    for (int i = 0; i < 200; i++) {
        struct sk_level l[4];
        struct sk_levels_plan p;
        double held = 0, first = 0;
        for (int k = 0; k < 4; k++) {
            double cost = power_of(&r, 1e-4, 100);
            held += cost;
            l[k] = (struct sk_level){power_of(&r, 1e-13, 1e-7), cost, held, held};
        }
        struct saikai_error err = {0};
        if (sk_levels_plan(l, 4, &p, &err))
            fail_msg("%s", err.text);
        for (int k = 1; k < 4; k++)
            assert_true(p.every[k] >= p.every[k - 1] && p.every[k] % p.every[k - 1] == 0);
        /* levels whose own best intervals come in the wrong order share one */
        double cost[4], rate[4];
        int groups = 0;
        for (int k = 0; k < 4; k++) {
            cost[groups] = l[k].cost_seconds;
            rate[groups++] = l[k].rate;
            for (; groups > 1 &&
                   cost[groups - 1] / rate[groups - 1] < cost[groups - 2] / rate[groups - 2];
                 groups--) {
                cost[groups - 2] += cost[groups - 1];
                rate[groups - 2] += rate[groups - 1];
            }
        }
        for (int k = 0; k < groups; k++)
            first += sqrt(2 * rate[k] * cost[k]);
        assert_true(p.overhead > 0.98 * first);
        assert_true(p.overhead < 1.1 * first); /* whole numbers cost a little */
    }
}

static void test_losing_more_than_tolerated(void **state)
{
    (void)state;
    assert_true(sk_levels_beyond(1e-6, 6, 0, 100) == 1e-6);
    assert_float_equal(sk_levels_beyond(1e-6, 6, 2, 100) / (1e-6 * 5 / 6 * 1e-4 * 4 / 6 * 1e-4), 1,
                       1e-12);
    assert_true(sk_levels_beyond(1e-6, 2, 2, 100) == 0); /* there are no three */
    /* played: losses at random, each made good after the window */
    struct sk_random r;
    sk_random_seed(&r, 37);
    double rate = 1e-3, window = 20, now = 0, until[6] = {0}, count = 0, most = 3e8;
    while (now < most) {
        now += sk_random_exponential(&r, rate);
        int lost = 0, node = (int)sk_random_below(&r, 6);
        if (until[node] > now)
            continue; /* not there */
        until[node] = now + window;
        for (int i = 0; i < 6; i++)
            lost += until[i] > now;
        if (lost > 1) {
            count++;
            memset(until, 0, sizeof until);
        }
    }
    assert_true(fabs(count / most / sk_levels_beyond(rate, 6, 1, window) - 1) < 0.05);
}

static void test_rates_of_three_levels(void **state)
{
    (void)state;
    double r[3];
    sk_levels_rates(1e-4, 0.3, 0.1, 64, 8, 0, 60, r); /* no redundancy */
    assert_float_equal(r[0], 3e-5, 1e-18);
    assert_true(r[1] == 0);
    assert_float_equal(r[2], 7e-5, 1e-18);
    sk_levels_rates(1e-4, 0.3, 0.1, 64, 8, 2, 60, r);
    assert_float_equal(r[0] + r[1] + r[2], 1e-4, 1e-18);
    double x = 8 * sk_levels_beyond(6e-5 / 8, 8, 2, 60);
    assert_true(x > 0 && fabs((r[2] - 1e-5) / x - 1) < 1e-3);
    sk_levels_rates(1e-4, 0.8, 0.5, 64, 8, 2, 60, r); /* more than there are */
    assert_true(r[1] == 0 && fabs(r[2] / 2e-5 - 1) < 1e-9);
    sk_levels_rates(1e-4, -1, 0, 64, 8, 1, 1e12, r); /* never made whole again */
    assert_true(r[0] == 0 && r[1] == 0 && r[2] == 1e-4);
}

/* A pattern says which levels it uses: what it leaves out must not be needed. */
static void test_patterns_that_leave_a_level_out(void **state)
{
    (void)state;
    struct sk_level l[3] = {{1e-5, 2, 2, 5}, {1e-6, 3, 5, 10}, {0, 500, 505, 5}};
    const int64_t two[3] = {1, 4, 0}, one[3] = {1, 0, 0}, three[3] = {1, 4, 8}, odd[3] = {1, 4, 6}, none[3] = {0, 0, 0};
    double x = sk_levels_overhead(l, 2, 300, two);
    assert_true(x > 2.0 / 300 && x < 0.1);
    assert_true(sk_levels_overhead(l, 3, 300, two) == x); /* the third one's failures never occur */
    assert_true(sk_levels_overhead(l, 3, 300, three) > x);
    assert_true(isinf(sk_levels_overhead(l, 3, 300, one)));
    assert_true(isinf(sk_levels_overhead(l, 2, 300, one)));
    assert_true(isinf(sk_levels_overhead(l, 3, 300, odd))); /* no multiple */
    assert_true(isinf(sk_levels_overhead(l, 1, 300, none)));
    assert_true(isinf(sk_levels_overhead(l, 2, 0, two)));
    assert_true(isinf(sk_levels_overhead(l, 2, -1, two)));
}

/* What no job can be is told before anything is played; one that never ends is given up. */
static void test_what_cannot_be_simulated(void **state)
{
    (void)state;
    struct sk_level l[3] = {{1e-5, 2, 2, 5}, {1e-6, 3, 5, 10}, {1e-7, 10, 15, 20}};
    int64_t every[3] = {1, 2, 4};
    const struct sk_levels_simulation good = {.levels = l, .n = 3, .interval = 100, .every = every, .work = 4000, .seed = 1, .runs = 2, .max_failures = 1000};
    struct sk_levels_simulation s = good;
    struct sk_levels_simulation_result out = {.overhead = 42};
    struct saikai_error err = {0};
    for (int i = 0; i < 7; i++) {
        s = good;
        s.n = i == 0 ? 0 : i == 1 ? SK_LEVELS_MOST + 1 : s.n;
        s.interval = i == 2 ? 0 : i == 3 ? NAN : s.interval;
        s.work = i == 4 ? 0 : i == 5 ? -1 : s.work;
        s.runs = i == 6 ? 1 : s.runs;
        assert_int_equal(sk_levels_simulate(&s, &out, &err), SAIKAI_EINVAL);
        assert_non_null(strstr(err.text, "a simulation needs levels"));
    }
    static const int64_t wrong[][3] = {{0, 2, 4}, {1, 0, 4}, {1, 2, 3}, {2, 3, 6}, {1, 2, -4}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        s = good;
        s.every = wrong[i];
        assert_int_equal(sk_levels_simulate(&s, &out, &err), SAIKAI_EINVAL);
        assert_non_null(strstr(err.text, "each a multiple"));
    }
    s = good;
    l[1].latency_seconds = 401; /* two of its intervals are 400 s */
    assert_int_equal(sk_levels_simulate(&s, &out, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "level 1: it is not safe before the next is made"));
    l[1].latency_seconds = 400;
    assert_true(out.overhead == 42);
    assert_int_equal(sk_levels_simulate(&s, &out, &err), 0);
    assert_true(out.overhead >= (2 + 1.5 + 2.5) / 100 * (1 - 1e-9));
    l[0].rate = 1; /* every second, and 102 s are needed */
    assert_int_equal(sk_levels_simulate(&s, &out, &err), SAIKAI_ELOST);
    assert_non_null(strstr(err.text, "the job gets nowhere: 1001 failures in 1 runs"));
}

/* Nothing fails: the time is that of the work and of the checkpoints, to the last one. */
static void test_played_without_failures(void **state)
{
    (void)state;
    struct sk_level l[2] = {{0, 2, 2, 5}, {0, 3, 5, 10}};
    const int64_t every[2] = {1, 2};
    struct sk_levels_simulation s = {.levels = l, .n = 2, .interval = 100, .every = every, .work = 650, .runs = 3, .max_failures = 10};
    struct sk_levels_simulation_result out = {.overhead = 42};
    assert_int_equal(sk_levels_simulate(&s, &out, NULL), 0);
    assert_float_equal(out.overhead, (7 * 2 + 3 * 3) / 700.0, 1e-12); /* seven whole intervals */
    assert_true(out.overhead_error < 1e-9 && out.failures[0] == 0 && out.failures[1] == 0);
}

/* Failures of each level come at its rate, and what is on its way to a higher level when a lower one fails still comes there: latencies
 * of almost two intervals make little difference then. */
static void test_what_is_under_way_comes_there(void **state)
{
    (void)state;
    struct sk_level l[2] = {{1e-3, 1, 1, 5}, {1e-5, 4, 5, 20}};
    const int64_t every[2] = {1, 3};
    struct sk_levels_simulation s = {.levels = l, .n = 2, .interval = 60, .every = every, .work = 60 * 30000, .seed = 5, .runs = 20, .max_failures = 100000000};
    struct sk_levels_simulation_result near, far;
    assert_int_equal(sk_levels_simulate(&s, &near, NULL), 0);
    double seconds = s.work * s.runs * (1 + near.overhead);
    assert_float_equal((double)near.failures[0] / seconds * 1e3, 1, 0.05);
    assert_float_equal((double)near.failures[1] / seconds * 1e5, 1, 0.25);
    l[1].latency_seconds = 300;
    assert_int_equal(sk_levels_simulate(&s, &far, NULL), 0);
    /* each failure of the node loses 300 s more on the average: 3 ‰ of the time */
    assert_float_equal(far.overhead - near.overhead, 3e-3, 2e-3 + 3 * (near.overhead_error + far.overhead_error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_level_is_vaidya),
        cmocka_unit_test(test_no_pattern_is_better),
        cmocka_unit_test(test_simulation_agrees),
        cmocka_unit_test(test_optimum_is_the_simulated_one),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_losing_more_than_tolerated),
        cmocka_unit_test(test_rates_of_three_levels),
        cmocka_unit_test(test_patterns_that_leave_a_level_out),
        cmocka_unit_test(test_what_cannot_be_simulated),
        cmocka_unit_test(test_played_without_failures),
        cmocka_unit_test(test_what_is_under_way_comes_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
