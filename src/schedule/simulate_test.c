/* Both failure sources agree, and what is played
 * confirms the formulas. */
#include "schedule/random.h"
#include "schedule/simulate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/near_testing.h"

static void test_random_distributions(void **state)
{
    (void)state;
    struct sk_random r;
    sk_random_seed(&r, 7);
    enum { n = 400000 };
    double sum = 0, squares = 0;
    int64_t count[7] = {0};
    for (int i = 0; i < n; i++) {
        double x = sk_random_exponential(&r, 0.25);
        assert_true(x >= 0 && isfinite(x));
        sum += x;
        squares += x * x;
        count[sk_random_below(&r, 7)]++;
    }
    assert_near(sum / n, 4, 0.03);     /* mean 1/rate, 4.7 standard errors */
    assert_near(squares / n, 32, 0.7); /* second moment 2/rate² */
    for (int i = 0; i < 7; i++)
        assert_near((double)count[i], n / 7.0, 5 * sqrt(n / 7.0));
}

/* Every node fails in proportion to its rate, whichever the source, and both give the same rate in
 * all. */
static void test_sources_agree(void **state)
{
    (void)state;
    static const double rates[] = {1e-6, 5e-6, 0, 2e-6, 1.2e-5, 1e-8};
    struct sk_fleet fleet = {.nodes = 6, .rates = rates};
    enum { n = 300000 };
    for (int k = 0; sk_failures_at(k); k++) {
        const struct sk_failures_ops *ops = sk_failures_at(k);
        void *s = ops->open(&fleet, 11);
        double time = 0, count[6] = {0}, total = sk_fleet_rate(&fleet);
        for (int i = 0; i < n; i++) {
            uint64_t node = 99;
            double gap = ops->next(s, &node);
            assert_true(gap >= 0 && node < 6);
            time += gap;
            count[node]++;
        }
        assert_near(time * total / n, 1, 5 / sqrt(n));
        for (int i = 0; i < 6; i++)
            assert_near(count[i], n * rates[i] / total,
                               5 * sqrt(n * rates[i] / total) + 0.5);
        ops->close(s);
        ops->close(NULL);
        assert_ptr_equal(sk_failures_find(ops->name), ops);
    }
    struct sk_fleet safe = {.nodes = 3};
    for (int k = 0; sk_failures_at(k); k++) {
        void *s = sk_failures_at(k)->open(&safe, 1);
        assert_true(isinf(sk_failures_at(k)->next(s, NULL)));
        sk_failures_at(k)->close(s);
    }
}

/* A job of n nodes with a failure rate of 1/s in all would be λC = x; here C = 100 s. */
static struct sk_simulation job(uint64_t nodes, double x, double factor)
{
    struct sk_simulation s = {
        .costs = sk_costs_simple(x / 100, 100), .seed = 3, .runs = 400, .max_failures = 50000000};
    s.fleet = (struct sk_fleet){.nodes = nodes, .rate = s.costs.rate / (double)nodes};
    s.interval = factor * sk_model_optimum(sk_model_find("vaidya"), s.costs.rate, 100);
    s.work = ceil(150 / sk_model_failures(&s.costs, s.interval)) * s.interval;
    return s;
}

static void confirm(const struct sk_simulation *s)
{
    struct sk_simulation_result r;
    struct saikai_error err = {0};
    if (sk_simulate(s, &r, &err))
        fail_msg("%s", err.text);
    double formula = sk_model_overhead(&s->costs, s->interval);
    double expected = sk_simulate_expected(&s->costs, s->work, s->interval) / s->work - 1;
    assert_near(expected, formula, 1e-6 * formula + 1e-12);
    if (fabs(r.overhead - formula) > 4 * r.overhead_error)
        fail_msg("simulated %g ± %g, formula %g", r.overhead, r.overhead_error, formula);
    assert_true(r.overhead_error < 0.03 * formula);
    double loss = sk_model_loss(&s->costs, s->interval);
    assert_near(r.loss, loss, 0.03 * loss);
    assert_true(r.wall_05 <= r.wall_50 && r.wall_50 <= r.wall_95);
    assert_true(r.overhead_low < r.overhead && r.overhead < r.overhead_high);
}

static void test_confirms_the_formula(void **state)
{
    (void)state;
    for (double x = 1e-8; x < 1; x *= 30)
        for (double factor = 0.25; factor < 5; factor *= 4) {
            struct sk_simulation s = job(1000, x, factor);
            confirm(&s);
        }
}

static void test_million_nodes(void **state)
{
    (void)state;
    struct sk_simulation s = job(1000000, 1e-3, 1);
    confirm(&s);
    s.failures = &sk_failures_per_node; /* each node on its own */
    confirm(&s);
}

static void test_latency_and_restart(void **state)
{
    (void)state;
    for (double x = 1e-5; x < 0.1; x *= 10) {
        struct sk_simulation s = job(10, x, 1);
        s.costs.restart = 250;
        s.costs.latency = 130;
        s.work *= 40; /* the wait for the last checkpoint, which r leaves out, vanishes */
        s.runs = 100;
        struct sk_simulation_result r;
        assert_int_equal(sk_simulate(&s, &r, NULL), 0);
        double formula = sk_model_overhead(&s.costs, s.interval);
        if (fabs(r.overhead - formula) > 4 * r.overhead_error)
            fail_msg("simulated %g ± %g, formula %g", r.overhead, r.overhead_error, formula);
        struct sk_costs simple = sk_costs_simple(s.costs.rate, 100);
        assert_true(fabs(sk_model_overhead(&simple, s.interval) - formula) > 4 * r.overhead_error);
    }
}

static void test_minimum_is_where_the_model_says(void **state)
{
    (void)state;
    double at[5];
    for (int i = 0; i < 5; i++) {
        struct sk_simulation s = job(50000, 1e-3, pow(2, i - 2));
        struct sk_simulation_result r;
        s.runs = 1000;
        assert_int_equal(sk_simulate(&s, &r, NULL), 0);
        at[i] = r.overhead;
    }
    assert_true(at[0] > at[1] && at[1] > at[2] && at[2] < at[3] && at[3] < at[4]);
}

static void test_same_seed_same_numbers(void **state)
{
    (void)state;
    struct sk_simulation s = job(100, 1e-2, 1);
    struct sk_simulation_result a, b, c;
    assert_int_equal(sk_simulate(&s, &a, NULL), 0);
    assert_int_equal(sk_simulate(&s, &b, NULL), 0);
    s.seed++;
    assert_int_equal(sk_simulate(&s, &c, NULL), 0);
    assert_true(a.wall == b.wall && a.failures == b.failures);
    assert_true(a.wall != c.wall);
}

static void test_without_failures(void **state)
{
    (void)state;
    struct sk_simulation s = {.costs = sk_costs_simple(0, 5),
                              .fleet = {.nodes = 4},
                              .work = 95,
                              .interval = 20,
                              .runs = 2,
                              .max_failures = 10};
    struct sk_simulation_result r;
    assert_int_equal(sk_simulate(&s, &r, NULL), 0);
    assert_near(r.wall, 95 + 5 * 5, 1e-9); /* four intervals of 20, one of 15 */
    assert_int_equal(r.failures, 0);
    assert_int_equal(r.checkpoints, 10);
    assert_true(r.loss == 0);
}

/* What a job takes whose last interval is shorter, or is its only one. */
static void test_expected(void **state)
{
    (void)state;
    struct sk_costs c = {1e-3, 5, 8, 11};
    double whole = sk_model_interval(&c, 20);
    assert_near(sk_simulate_expected(&c, 95, 20), 4 * whole + sk_model_interval(&c, 15), 1e-9);
    assert_near(sk_simulate_expected(&c, 100, 20), 5 * whole, 1e-9);
    assert_near(sk_simulate_expected(&c, 7, 20), sk_model_interval(&c, 7), 1e-9);
    assert_near(sk_simulate_expected(&c, 0.3, 0.1), 3 * sk_model_interval(&c, 0.1), 1e-9); /* 0.3/0.1 is above 3 by rounding alone */
}

/* What is just possible is played: it costs nothing, it counts just when the next one is made, the work is shorter than an interval. */
static void test_what_is_just_possible(void **state)
{
    (void)state;
    struct sk_simulation s = {.costs = {0, 0, 0, 0}, .fleet = {.nodes = 1}, .work = 95, .interval = 20, .runs = 2};
    struct sk_simulation_result r;
    struct saikai_error err = {0};
    assert_int_equal(sk_simulate(&s, &r, &err), 0);
    assert_true(r.wall == 95 && r.overhead == 0 && r.overhead_low == 0 && r.overhead_high == 0 && r.wall_error == 0);
    assert_true(r.wall_05 == 95 && r.wall_50 == 95 && r.wall_95 == 95);
    s.costs = (struct sk_costs){0, 5, 25, 0};
    assert_int_equal(sk_simulate(&s, &r, &err), 0);
    assert_true(r.wall == 95 + 5 * 5 + 20);
    s.costs.latency = 25.001;
    assert_int_equal(sk_simulate(&s, &r, &err), SAIKAI_EINVAL);
    assert_string_equal(err.text, "a checkpoint takes 25.001 s until it counts, longer than the interval of 20 s");
    s.costs.latency = 5;
    s.work = 12;
    assert_int_equal(sk_simulate(&s, &r, &err), 0);
    assert_true(r.wall == 17 && r.checkpoints == 2);
    s.work = 20;
    assert_int_equal(sk_simulate(&s, &r, &err), 0);
    assert_true(r.wall == 25 && r.checkpoints == 2);
}

static int stop_at_3(void *arg, int done)
{
    *(int *)arg = done;
    return done == 3;
}

static void test_refusals(void **state)
{
    (void)state;
    struct sk_simulation_result r = {.wall = 42};
    struct sk_simulation s = job(10, 1e-2, 1), bad;
    int done = 0;
    bad = s;
    bad.interval = 0;
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_EINVAL);
    bad = s;
    bad.costs.latency = bad.costs.cost + bad.interval * 2;
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_EINVAL);
    bad = s;
    bad.runs = 1;
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_EINVAL);
    bad = s;
    bad.fleet.nodes = 0;
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_EINVAL);
    static const double no_work[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof no_work / sizeof *no_work; i++) {
        bad = s;
        bad.work = no_work[i];
        assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_EINVAL);
    }
    bad = s;
    bad.costs.cost = -1;
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_EINVAL);
    bad = s;
    bad.costs.latency = bad.costs.cost / 2; /* it counts before it is made */
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_EINVAL);
    bad = s;
    bad.costs.restart = -1;
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_EINVAL);
    bad.costs.restart = INFINITY;
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_EINVAL);
    bad = s;
    bad.interval = 1e-20;
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_EINVAL);
    bad = s;
    bad.fleet.rate = 10; /* ten failures a second against a checkpoint of 100 s */
    bad.max_failures = 10000;
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_ELOST);
    bad = s;
    bad.progress = stop_at_3;
    bad.arg = &done;
    assert_int_equal(sk_simulate(&bad, &r, NULL), SAIKAI_ESTATE);
    assert_int_equal(done, 3);
    assert_true(r.wall == 42);
}

/* ---- failures that come when the test says, and what was played by hand ---- */

enum { MOST = 6 };
struct script {
    double gap[MOST]; /* from one failure to the next; 0: none comes any more */
    int at;
};
static struct script script;

static void *open_script(const struct sk_fleet *fleet, uint64_t seed)
{
    (void)fleet;
    (void)seed;
    script.at = 0;
    return &script;
}

static double next_of_script(void *source, uint64_t *node)
{
    struct script *f = source;
    (void)node;
    return f->at < MOST && f->gap[f->at] > 0 ? f->gap[f->at++] : INFINITY;
}

static void close_script(void *source)
{
    (void)source;
}

/* 95 s of work, a checkpoint of 5 s each 20 s: at 25, 50, 75, 100 and, with the last 15 s, at 120; a restart takes 10 s. */
static void test_played_by_hand(void **state)
{
    (void)state;
    static const struct sk_failures_ops scripted = {"script", "", open_script, next_of_script, close_script};
    static const struct {
        double late, gap[MOST], wall; /* late: so long after it was made a checkpoint counts */
        int failures;
    } cases[] = {
        {0, {0}, 120, 0},                       /* nothing disturbs it, nor the second run of the others */
        {0, {30}, 30 + 10 + 95, 1},
        {0, {24.5}, 24.5 + 10 + 120, 1},       /* in the middle of the first checkpoint */
        {0, {25}, 25 + 10 + 95, 1},            /* which is just made */
        {0, {74}, 74 + 10 + 70, 1},
        {0, {99.5}, 99.5 + 10 + 45, 1},
        {0, {119}, 119 + 10 + 20, 1},
        {0, {120}, 130, 1},                     /* at the end: it is the next run's first */
        {0, {30, 4}, 34 + 10 + 95, 2},         /* while it restarts */
        {0, {30, 10}, 40 + 10 + 95, 2},        /* just after that */
        {0, {30, 4, 9, 3}, 46 + 10 + 95, 4},
        {0, {30, 40}, 70 + 10 + 70, 2},        /* a checkpoint further */
        {0, {10, 40, 30}, 80 + 10 + 95, 3},
        {3, {0}, 123, 0},
        {3, {27}, 27 + 10 + 123, 1},           /* the first one does not count yet */
        {3, {28}, 28 + 10 + 98, 1},
        {3, {52}, 52 + 10 + 98, 1},            /* nor the second one, but the first */
        {3, {122}, 122 + 10 + 23, 1},
        {3, {123}, 133, 1},
        {20, {44}, 44 + 10 + 140, 1},
        {20, {45}, 45 + 10 + 115, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_simulation s = {.costs = {0, 5, 5 + cases[i].late, 10}, .fleet = {.nodes = 1}, .failures = &scripted,
                                  .work = 95, .interval = 20, .runs = 2, .max_failures = 100};
        struct sk_simulation_result r;
        double calm = 120 + cases[i].late;
        memcpy(script.gap, cases[i].gap, sizeof script.gap);
        assert_int_equal(sk_simulate(&s, &r, NULL), 0);
        if (fabs(2 * r.wall - calm - cases[i].wall) > 1e-9 || (int)r.failures != cases[i].failures)
            fail_msg("case %zu: %g s, %d failures", i, 2 * r.wall - calm, (int)r.failures);
        if (cases[i].failures)
            assert_near(r.loss, (cases[i].wall - calm) / cases[i].failures, 1e-9);
    }
    /* failures up to the most are played */
    struct sk_simulation s = {.costs = {0, 5, 5, 10}, .fleet = {.nodes = 1}, .failures = &scripted, .work = 95, .interval = 20, .runs = 2, .max_failures = 2};
    struct sk_simulation_result r;
    script = (struct script){.gap = {30, 40}};
    assert_int_equal(sk_simulate(&s, &r, NULL), 0);
    s.max_failures = 1;
    assert_int_equal(sk_simulate(&s, &r, NULL), SAIKAI_ELOST);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Each run's time is what one run more adds to the sum; what is told of all of them is made from these. */
static void test_runs_are_summed_up(void **state)
{
    (void)state;
    enum { RUNS = 41 };
    struct sk_simulation s = job(10, 1e-2, 1);
    struct sk_simulation_result r;
    double wall[RUNS], before = 0, mean = 0, squares = 0;
    s.work = 20 * s.interval;
    for (s.runs = 2; s.runs <= RUNS; s.runs++) {
        assert_int_equal(sk_simulate(&s, &r, NULL), 0);
        if (s.runs == 2) {
            wall[0] = r.wall_05;
            wall[1] = r.wall_95;
            assert_true(wall[0] < wall[1] && fabs(wall[0] + wall[1] - 2 * r.wall) < 1e-9 * r.wall);
        } else {
            wall[s.runs - 1] = r.wall * s.runs - before;
        }
        before = r.wall * s.runs;
    }
    for (int i = 0; i < RUNS; i++)
        mean += wall[i] / RUNS;
    for (int i = 0; i < RUNS; i++)
        squares += (wall[i] - mean) * (wall[i] - mean);
    double error = sqrt(squares / (RUNS - 1) / RUNS);
    qsort(wall, RUNS, sizeof *wall, by_size);
    assert_near(r.wall_05, wall[2], 1e-6 * mean);
    assert_near(r.wall_50, wall[20], 1e-6 * mean);
    assert_near(r.wall_95, wall[38], 1e-6 * mean);
    assert_true(wall[1] < wall[2] && wall[2] < wall[3] && wall[19] < wall[21] && wall[37] < wall[39]);
    assert_near(r.wall_error / error, 1, 1e-6);
    assert_near(r.overhead, mean / s.work - 1, 1e-9);
    assert_near(r.overhead_error, error / s.work, 1e-6 * error / s.work);
    assert_near((r.overhead_high - r.overhead) / r.overhead_error, 2.0211, 1e-4); /* forty degrees of freedom */
    assert_near((r.overhead - r.overhead_low) / r.overhead_error, 2.0211, 1e-4);
    assert_int_equal(r.checkpoints, RUNS * 20);
}

static void test_student(void **state)
{
    (void)state;
    assert_near(sk_student_95(1), 11.30011756347977, 1e-9); /* as the expansion has it, which is off by a tenth there */
    assert_near(sk_student_95(2), 4.270551341899817, 1e-9);
    assert_near(sk_student_95(3), 3.1824, 0.005);
    assert_near(sk_student_95(5), 2.5706, 0.0005);
    assert_near(sk_student_95(10), 2.228, 0.001);
    assert_near(sk_student_95(30), 2.042, 0.001);
    assert_near(sk_student_95(1000000), 1.960, 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_distributions),
        cmocka_unit_test(test_sources_agree),
        cmocka_unit_test(test_confirms_the_formula),
        cmocka_unit_test(test_million_nodes),
        cmocka_unit_test(test_latency_and_restart),
        cmocka_unit_test(test_minimum_is_where_the_model_says),
        cmocka_unit_test(test_same_seed_same_numbers),
        cmocka_unit_test(test_without_failures),
        cmocka_unit_test(test_expected),
        cmocka_unit_test(test_what_is_just_possible),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_played_by_hand),
        cmocka_unit_test(test_runs_are_summed_up),
        cmocka_unit_test(test_student),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
