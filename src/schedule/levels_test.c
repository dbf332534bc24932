/* The model of several levels against the one of a single level, against equations of its own, and against all small patterns. */
#include "schedule/levels.h"
#include "schedule/model.h"
#include "schedule/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/near_testing.h"

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
        assert_near(sk_levels_overhead(l, 3, p.interval_seconds, p.every), p.overhead,
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

/* ---- the same job as a chain of states, solved as linear equations: no block is composed here ---- */

enum { POSITIONS = 24 };

/* A time as a sum: of itself and of the times from these positions of the pattern to its end. */
struct linear {
    double alone, of[POSITIONS];
};

static void add(struct linear *to, double times, const struct linear *what)
{
    to->alone += times * what->alone;
    for (int i = 0; i < POSITIONS; i++)
        to->of[i] += times * what->of[i];
}

/* So long nothing may fail; what happens when it does is told for each level, and what happens when it does not. */
static struct linear attempted(const struct sk_level *l, int n, double seconds, const struct linear *done, const struct linear *failed)
{
    double rate = 0;
    for (int k = 0; k < n; k++)
        rate += l[k].rate;
    double lost = -expm1(-rate * seconds);
    struct linear x = {.alone = lost / rate};
    add(&x, exp(-rate * seconds), done);
    for (int k = 0; k < n; k++)
        add(&x, lost * l[k].rate / rate, &failed[k]);
    return x;
}

static double by_equations(const struct sk_level *l, int n, double interval, const int64_t *every)
{
    int end = (int)every[n - 1];
    double m[POSITIONS][POSITIONS + 1] = {{0}}, x[POSITIONS] = {0}, held[4], all = 0;
    assert_true(end <= POSITIONS);
    for (int k = 0; k < n; k++)
        held[k] = all += l[k].cost_seconds;
    for (int at = 0; at < end; at++) {
        struct linear restart[4] = {{0}}, next = {0};
        for (int level = n - 1; level >= 0; level--) { /* it begins again, or the worse one begins */
            struct linear back = {0}, failed[4] = {{0}};
            double rate = 0, same = 0, seconds = l[level].restart_seconds + l[level].latency_seconds - held[level];
            back.of[at / every[level] * every[level]] = 1;
            for (int k = 0; k < n; k++) {
                rate += l[k].rate;
                same += k <= level ? l[k].rate : 0;
                if (k > level)
                    failed[k] = restart[k];
            }
            struct linear once = attempted(l, n, seconds, &back, failed);
            add(&restart[level], 1 / (1 + expm1(-rate * seconds) * same / rate), &once);
        }
        double seconds = interval;
        for (int k = 0; k < n; k++)
            seconds += (at + 1) % every[k] ? 0 : l[k].cost_seconds;
        if (at + 1 < end)
            next.of[at + 1] = 1;
        struct linear e = attempted(l, n, seconds, &next, restart);
        for (int i = 0; i < end; i++)
            m[at][i] = (i == at) - e.of[i];
        m[at][end] = e.alone;
    }
    for (int i = 0; i < end; i++) { /* Gauss: the matrix is diagonally dominant */
        for (int j = i + 1; j < end; j++)
            for (int c = end; c >= i; c--)
                m[j][c] -= m[j][i] / m[i][i] * m[i][c];
    }
    for (int i = end - 1; i >= 0; i--) {
        x[i] = m[i][end];
        for (int j = i + 1; j < end; j++)
            x[i] -= m[i][j] * x[j];
        x[i] /= m[i][i];
    }
    return x[0] / (interval * end) - 1;
}

static void test_equations_agree(void **state)
{
    (void)state;
    struct sk_random r;
    sk_random_seed(&r, 41);
    for (int i = 0; i < 400; i++) {
        struct sk_level l[4];
        int n = 1 + i % 4;
        draw_levels(&r, l, n);
        double t = power_of(&r, 10, 3000), often = power_of(&r, 1, 300);
        for (int k = 0; k < n; k++)
            l[k].rate *= often;
        if (i % 7 == 0 && n > 1)
            l[i % n].rate = 0;
        int64_t every[4] = {1, 1 + (int64_t)sk_random_below(&r, 4)};
        every[2] = every[1] * (1 + (int64_t)sk_random_below(&r, 3));
        every[3] = every[2] * (1 + (int64_t)sk_random_below(&r, 2));
        double x = sk_levels_overhead(l, n, t, every), y = by_equations(l, n, t, every);
        if (!(fabs(x - y) < 1e-7 * (1 + x)) && x < 1e3) /* beyond, the equations lose their digits */
            fail_msg("job %d, %d levels: %.12g, by equations %.12g", i, n, x, y);
    }
}

/* The least overhead of these whole numbers where no latency is too long for them. */
static double best_of(const struct sk_level *l, int n, double near, const int64_t *every)
{
    double g = (sqrt(5) - 1) / 2, low = log(near) - 2, high = log(near) + 2;
    for (int k = 0; k < n; k++)
        low = fmax(low, log(l[k].latency_seconds / (double)every[k]));
    if (low >= high)
        return INFINITY;
    while (high - low > 1e-7) {
        double x = high - g * (high - low), y = low + g * (high - low);
        if (sk_levels_overhead(l, n, exp(x), every) < sk_levels_overhead(l, n, exp(y), every))
            high = y;
        else
            low = x;
    }
    return sk_levels_overhead(l, n, exp(high), every);
}

/* Neither another interval nor steps that differ by one are better than the plan, or by a billionth. */
static void test_the_plan_is_a_minimum(void **state)
{
    (void)state;
    struct sk_random r;
    sk_random_seed(&r, 43);
    for (int i = 0; i < 80; i++) {
        struct sk_level l[4];
        struct sk_levels_plan p, fixed;
        int n = 2 + i % 3;
        draw_levels(&r, l, n);
        assert_int_equal(sk_levels_plan(l, n, &p, NULL), 0);
        double given = p.interval_seconds * power_of(&r, 0.3, 2);
        assert_int_equal(sk_levels_plan_every(l, n, given, &fixed, NULL), 0);
        assert_true(fixed.interval_seconds == given && fixed.every[0] == 1 && p.every[0] == 1);
        assert_true(fabs(sk_levels_overhead(l, n, given, fixed.every) / fixed.overhead - 1) < 1e-12);
        assert_true(fabs(best_of(l, n, p.interval_seconds, p.every) / p.overhead - 1) < 1e-9);
        for (int k = 0; k < n; k++) {
            assert_true((double)p.every[k] * p.interval_seconds >= l[k].latency_seconds * (1 - 1e-9));
            assert_true(!k || (double)fixed.every[k] * given >= l[k].latency_seconds * (1 - 1e-9));
        }
        for (int k = 1; k < n; k++)
            for (int up = -1; up <= 1; up += 2)
                for (int other = -1; other <= 1; other++) {
                    int64_t step[4], near[4] = {1}, beside[4] = {1};
                    int fits = 1;
                    for (int which = 0; which < 2; which++) {
                        const int64_t *every = which ? fixed.every : p.every;
                        int64_t *to = which ? beside : near;
                        for (int j = 1; j < n; j++)
                            step[j] = every[j] / every[j - 1] + (j == k ? up : j == k + 1 ? other : 0);
                        for (int j = 1; j < n; j++) {
                            to[j] = to[j - 1] * step[j];
                            fits &= step[j] > 0;
                            fits &= !which || (double)to[j] * given >= l[j].latency_seconds;
                        }
                        if (fits && !which)
                            assert_true(best_of(l, n, p.interval_seconds, near) > p.overhead * (1 - 1e-8));
                    }
                    if (fits)
                        assert_true(sk_levels_overhead(l, n, given, beside) > fixed.overhead * (1 - 1e-8));
                }
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

/* What no level can be is told with its number, and what it just can be is taken. */
static void test_what_no_level_can_be(void **state)
{
    (void)state;
    static const struct sk_level good[2] = {{1e-5, 2, 2, 5}, {1e-6, 3, 5, 10}};
    static const struct {
        struct sk_level l[2];
        const char *says;
    } bad[] = {
        {{{-1e-5, 2, 2, 5}, {1e-6, 3, 5, 10}}, "level 0: rates and times are 0 or more"},
        {{{1e-5, 2, 2, 5}, {NAN, 3, 5, 10}}, "level 1: rates and times are 0 or more"},
        {{{1e-5, 2, 2, 5}, {INFINITY, 3, 5, 10}}, "level 1: rates and times are 0 or more"},
        {{{1e-5, -2, 2, 5}, {1e-6, 3, 5, 10}}, "level 0: rates and times are 0 or more"},
        {{{1e-5, 2, 2, 5}, {1e-6, -1, 5, 10}}, "level 1: rates and times are 0 or more"},
        {{{1e-5, 2, 2, 5}, {1e-6, INFINITY, INFINITY, 10}}, "level 1: rates and times are 0 or more"},
        {{{1e-5, 2, 2, -5}, {1e-6, 3, 5, 10}}, "level 0: rates and times are 0 or more"},
        {{{1e-5, 2, 2, 5}, {1e-6, 3, 5, INFINITY}}, "level 1: rates and times are 0 or more"},
        {{{1e-5, 2, INFINITY, 5}, {1e-6, 3, 5, 10}}, "level 0: rates and times are 0 or more"},
        {{{1e-5, 2, NAN, 5}, {1e-6, 3, 5, 10}}, "level 0: rates and times are 0 or more"},
        {{{1e-5, 2, 1.9, 5}, {1e-6, 3, 5, 10}}, "level 0: it cannot be safe after 1.9 s when it holds the program up for 2 s"},
        {{{1e-5, 2, 2, 5}, {1e-6, 3, 4.9, 10}}, "level 1: it cannot be safe after 4.9 s when it holds the program up for 5 s"},
        {{{1e-5, 0, 2, 5}, {1e-6, 3, 5, 10}}, "a checkpoint that costs nothing needs no plan: take one always"},
    };
    struct sk_level eight[SK_LEVELS_MOST + 1];
    struct sk_levels_plan p = {.overhead = 42};
    struct saikai_error err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(sk_levels_plan(bad[i].l, 2, &p, &err), SAIKAI_EINVAL);
        assert_string_equal(err.text, bad[i].says);
        assert_int_equal(sk_levels_plan_every(bad[i].l, 2, 100, &p, &err), SAIKAI_EINVAL);
        assert_string_equal(err.text, bad[i].says);
    }
    for (int k = 0; k <= SK_LEVELS_MOST; k++)
        eight[k] = (struct sk_level){1e-6, k ? 0 : 1, 1, 0}; /* the least that is allowed */
    assert_int_equal(sk_levels_plan(eight, SK_LEVELS_MOST + 1, &p, &err), SAIKAI_EINVAL);
    assert_string_equal(err.text, "9 levels of checkpoints: 1 to 8 are possible");
    assert_int_equal(sk_levels_plan(eight, -1, &p, &err), SAIKAI_EINVAL);
    static const double no_interval[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof no_interval / sizeof *no_interval; i++)
        assert_int_equal(sk_levels_plan_every(good, 2, no_interval[i], &p, &err), SAIKAI_EINVAL);
    assert_true(p.overhead == 42);
    assert_int_equal(sk_levels_plan(eight, SK_LEVELS_MOST, &p, &err), 0);
    for (int k = 0; k < SK_LEVELS_MOST; k++)
        assert_int_equal(p.every[k], 1);
    assert_near(p.overhead, sqrt(2 * 8e-6), 3e-5);
    struct sk_level hopeless = {10, 1000, 1000, 1000};
    assert_int_equal(sk_levels_plan_every(&hopeless, 1, 50, &p, &err), SAIKAI_ELOST);
    assert_string_equal(err.text, "with 36000 failures an hour and these costs the job gets nowhere");
    struct sk_level close = {1e-5, 2, 2 * (1 - 1e-13), 5}; /* a latency that is too short by rounding alone */
    assert_int_equal(sk_levels_plan(&close, 1, &p, &err), 0);
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
    assert_near(sk_levels_beyond(1e-6, 6, 2, 100) / (1e-6 * 5 / 6 * 1e-4 * 4 / 6 * 1e-4), 1,
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
    /* of one group more than half of the failures are of nodes; without groups they all leave the prefix alone */
    sk_levels_rates(1e-4, 0.25, 0.25, 4, 4, 1, 1e3, r);
    assert_near(r[2], 2.5e-5 + 5e-5 * 3 / 4 * 5e-5 * 1e3, 1e-15);
    assert_near(r[1], 5e-5 - 5e-5 * 3 / 4 * 5e-5 * 1e3, 1e-15);
    sk_levels_rates(1e-4, 0.25, 0.25, 3, 4, 1, 1e3, r); /* never less than one group */
    assert_near(r[2], 2.5e-5 + 5e-5 * 3 / 4 * 5e-5 * 1e3, 1e-15);
    sk_levels_rates(1e-4, 0.25, 0.25, 8, 4, 1, 1e3, r);
    assert_near(r[2], 2.5e-5 + 2 * (2.5e-5 * 3 / 4 * 2.5e-5 * 1e3), 1e-15);
    for (int i = 0; i < 3; i++) {
        sk_levels_rates(1e-4, 0.25, 0.25, i == 0 ? 0 : 4, i == 1 ? 0 : 4, i == 2 ? 0 : 1, 1e3, r);
        assert_near(r[0], 2.5e-5, 1e-18);
        assert_true(r[1] == 0 && fabs(r[2] - 7.5e-5) < 1e-18);
    }
    sk_levels_rates(1e-4, 2, 1, 64, 8, 2, 60, r);
    assert_true(r[0] == 1e-4 && r[1] == 0 && r[2] == 0);
    sk_levels_rates(1e-4, 0, -1, 64, 8, 2, 0, r); /* made whole again at once */
    assert_true(r[0] == 0 && r[1] == 1e-4 && r[2] == 0);
    sk_levels_rates(1e-4, 0.3, 0.1, 64, 8, 0, 60, r); /* no redundancy */
    assert_near(r[0], 3e-5, 1e-18);
    assert_true(r[1] == 0);
    assert_near(r[2], 7e-5, 1e-18);
    sk_levels_rates(1e-4, 0.3, 0.1, 64, 8, 2, 60, r);
    assert_near(r[0] + r[1] + r[2], 1e-4, 1e-18);
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

/* Nothing ever fails: what is left are the costs, of each pattern. */
static void test_patterns_without_failures(void **state)
{
    (void)state;
    struct sk_level l[3] = {{0, 2, 2, 5}, {0, 3, 5, 10}, {0, 30, 40, 10}};
    const int64_t every[3] = {1, 4, 12}, one[3] = {1, 0, 0};
    assert_near(sk_levels_overhead(l, 1, 100, one), 2.0 / 100, 1e-12);
    assert_near(sk_levels_overhead(l, 3, 100, one), 2.0 / 100, 1e-12);
    assert_near(sk_levels_overhead(l, 2, 100, every), (4 * 2 + 3) / 400.0, 1e-12);
    assert_near(sk_levels_overhead(l, 3, 100, every), (12 * 2 + 3 * 3 + 30) / 1200.0, 1e-12);
}

/* When all failures are of the second level the first one is nothing but a cost, and the whole is one level again: also where hardly any interval
 * is finished. */
static void test_a_level_that_never_fails(void **state)
{
    (void)state;
    for (double rate = 1e-5; rate < 1.5; rate *= 10)
        for (int64_t m = 1; m < 5; m++) {
            const struct sk_level l[2] = {{0, 2, 2, 5}, {rate, 3, 9, 10}};
            const int64_t every[2] = {1, m};
            struct sk_costs c = {rate, 2 * (double)m + 3, 9 + 2 * ((double)m - 1), 10};
            double x = sk_levels_overhead(l, 2, 50, every), y = sk_model_overhead(&c, 50 * (double)m);
            if (!(fabs(x / y - 1) < 1e-9))
                fail_msg("rate %g, every %d: %.12g, of one level %.12g", rate, (int)m, x, y);
        }
}

/* A short interval is given, and the steps are far from where the search begins: a step more or less anywhere is worse long before the best is reached. */
static void test_steps_far_from_the_first_guess(void **state)
{
    (void)state;
    static const struct sk_level l[4] = {{8.07417964e-08, 0.371416061, 0.583267411, 0.432213307}, {8.43327927e-08, 0.00138694549, 0.932203928, 0.00832474281},
                                         {8.72816202e-08, 0.875754265, 3.0768436, 0.959247251}, {8.42676541e-08, 0.0216490914, 23.3809457, 1.36607001}};
    struct sk_levels_plan p;
    assert_int_equal(sk_levels_plan_every(l, 4, 0.25670749210685684, &p, NULL), 0);
    assert_near(p.overhead, 1.44824685186, 1e-6);
    assert_true(p.every[2] / p.every[1] > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_level_is_vaidya),
        cmocka_unit_test(test_no_pattern_is_better),
        cmocka_unit_test(test_equations_agree),
        cmocka_unit_test(test_the_plan_is_a_minimum),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_what_no_level_can_be),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_losing_more_than_tolerated),
        cmocka_unit_test(test_rates_of_three_levels),
        cmocka_unit_test(test_patterns_that_leave_a_level_out),
        cmocka_unit_test(test_patterns_without_failures),
        cmocka_unit_test(test_steps_far_from_the_first_guess),
        cmocka_unit_test(test_a_level_that_never_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
