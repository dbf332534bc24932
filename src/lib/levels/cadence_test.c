/* What the cadence makes of measurements, against the model of several levels asked directly. */
#include "lib/levels/cadence.h"

#include "schedule/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static const struct sk_cadence_setup machine = {.rate = 3e-5,
                                                .local_share = 0.3,
                                                .beyond_share = 0.1,
                                                .threshold = 0.2,
                                                .has = {1, 1},
                                                .members = 8,
                                                .tolerated = 2,
                                                .groups = 500};

static void test_unmeasured_is_done_always(void **state)
{
    (void)state;
    struct sk_cadence c;
    sk_cadence_init(&c, &machine);
    assert_int_equal(sk_cadence_every(&c, SK_CADENCE_PROTECT), 1);
    sk_cadence_checkpoint(&c, 100, 2, 3);
    assert_int_equal(sk_cadence_every(&c, SK_CADENCE_ARCHIVE), 1);
    sk_cadence_done(&c, SK_CADENCE_PROTECT, 20, 17, 0);
    assert_int_equal(sk_cadence_every(&c, SK_CADENCE_PROTECT),
                     1); /* costs nothing, and soon safe */
    assert_int_equal(sk_cadence_every(&c, SK_CADENCE_ARCHIVE), 1);
}

/* The cost is what candidates take longer, where that is more than their scatter explains. */
static void test_costs_are_told_from_scatter(void **state)
{
    (void)state;
    static const int none[SK_CADENCES] = {0, 0}, codes[SK_CADENCES] = {1, 0},
                     copies[SK_CADENCES] = {0, 1}, both[SK_CADENCES] = {1, 1};
    int false_alarms = 0;
    for (int seed = 1; seed <= 200; seed++) {
        struct sk_random r;
        struct sk_cadence c;
        sk_random_seed(&r, (uint64_t)seed);
        sk_cadence_init(&c, &machine);
        for (int i = 0; i < 60; i++) {
            sk_cadence_ticks(&c, 0.1 + 0.02 * sk_random_unit(&r), none);
            sk_cadence_ticks(&c, 0.1 + 0.02 * sk_random_unit(&r), codes);
            sk_cadence_ticks(&c, 0.2 + 0.04 * sk_random_unit(&r), copies);
            sk_cadence_ticks(&c, 9, both);
            sk_cadence_ticks(&c, 0, none);
        }
        sk_cadence_done(&c, SK_CADENCE_PROTECT, 20, 17, 0.5);
        sk_cadence_done(&c, SK_CADENCE_ARCHIVE, 50, 40, 0);
        false_alarms += sk_cadence_cost(&c, SK_CADENCE_PROTECT) > 0.5;
        assert_float_equal(sk_cadence_cost(&c, SK_CADENCE_ARCHIVE), 20, 1.5); /* half the time */
    }
    assert_true(false_alarms < 10);
}

static void test_the_model_decides(void **state)
{
    (void)state;
    static const int none[SK_CADENCES] = {0, 0}, copies[SK_CADENCES] = {0, 1};
    struct sk_cadence c;
    sk_cadence_init(&c, &machine);
    for (int i = 0; i < 10; i++) {
        sk_cadence_checkpoint(&c, 100, 2, 3);
        sk_cadence_ticks(&c, 0.1, none);
        sk_cadence_ticks(&c, 0.125, copies);
        sk_cadence_done(&c, SK_CADENCE_PROTECT, 20, 17, 1);
        sk_cadence_done(&c, SK_CADENCE_ARCHIVE, 130, 120, 0);
    }
    double rate[3];
    sk_levels_rates(3e-5, 0.3, 0.1, 4000, 8, 2, 40, rate);
    struct sk_level l[3] = {{rate[0], 2, 3, 3}, {rate[1], 1, 20, 20}, {rate[2], 24, 130, 130}};
    struct sk_levels_plan p;
    assert_int_equal(sk_levels_plan_every(l, 3, 100, &p, NULL), 0);
    assert_int_equal(sk_cadence_every(&c, SK_CADENCE_PROTECT), p.every[1]);
    assert_int_equal(sk_cadence_every(&c, SK_CADENCE_ARCHIVE), p.every[2]);
    assert_true(p.every[2] >= 10 &&
                p.every[2] <= 40); /* √(2·24/3e-6)/100 = 40, but for λ of the rest */
    /* what moves by less than the threshold changes nothing; what moves by more does */
    int64_t before = p.every[2];
    sk_cadence_checkpoint(&c, 105, 2, 3);
    assert_int_equal(sk_cadence_every(&c, SK_CADENCE_ARCHIVE), before);
    for (int i = 0; i < 30; i++)
        sk_cadence_checkpoint(&c, 1000, 2, 3);
    assert_true(sk_cadence_every(&c, SK_CADENCE_ARCHIVE) < before);
}

static void test_levels_that_are_missing_or_useless(void **state)
{
    (void)state;
    struct sk_cadence c;
    struct sk_cadence_setup s = machine;
    s.has[SK_CADENCE_PROTECT] = 0; /* then the copies are for the loss of single nodes, too */
    sk_cadence_init(&c, &s);
    sk_cadence_checkpoint(&c, 100, 2, 3);
    sk_cadence_done(&c, SK_CADENCE_ARCHIVE, 50, 40, 30);
    int64_t alone = sk_cadence_every(&c, SK_CADENCE_ARCHIVE);
    struct sk_level l[2] = {{9e-6, 2, 3, 3}, {2.1e-5, 30, 50, 50}};
    struct sk_levels_plan p;
    assert_int_equal(sk_levels_plan_every(l, 2, 100, &p, NULL), 0);
    assert_int_equal(alone, p.every[1]);
    /* a level that no failure needs; and one that is not safe before several others are made */
    s = machine;
    s.local_share = 1;
    sk_cadence_init(&c, &s);
    sk_cadence_checkpoint(&c, 100, 2, 3);
    sk_cadence_done(&c, SK_CADENCE_PROTECT, 20, 17, 1);
    assert_int_equal(sk_cadence_every(&c, SK_CADENCE_PROTECT), 0);
    sk_cadence_init(&c, &machine);
    sk_cadence_checkpoint(&c, 100, 2, 3);
    sk_cadence_done(&c, SK_CADENCE_ARCHIVE, 620, 600, 0);
    assert_int_equal(sk_cadence_every(&c, SK_CADENCE_ARCHIVE), 7);
}

/* The interval between local checkpoints is the one of the best pattern, once all levels are known.
 */
static void test_the_interval_is_the_models(void **state)
{
    (void)state;
    struct sk_cadence c;
    sk_cadence_init(&c, &machine);
    sk_cadence_checkpoint(&c, 100, 2, 3);
    sk_cadence_done(&c, SK_CADENCE_PROTECT, 20, 17, 1);
    assert_true(sk_cadence_interval(&c) == 0); /* copies were not measured */
    sk_cadence_done(&c, SK_CADENCE_ARCHIVE, 50, 40, 30);
    double rate[3];
    sk_levels_rates(machine.rate, machine.local_share, machine.beyond_share, 4000, 8, 2, 40, rate);
    struct sk_level l[3] = {{rate[0], 2, 3, 3}, {rate[1], 1, 20, 20}, {rate[2], 30, 50, 50}};
    struct sk_levels_plan p;
    assert_int_equal(sk_levels_plan(l, 3, &p, NULL), 0);
    assert_float_equal(sk_cadence_interval(&c), p.interval_seconds, 1e-6 * p.interval_seconds);
    assert_true(p.interval_seconds > 50 && p.interval_seconds < 5000);
    struct sk_cadence_setup s = machine;
    s.rate = 0; /* nothing fails */
    sk_cadence_init(&c, &s);
    sk_cadence_checkpoint(&c, 100, 2, 3);
    sk_cadence_done(&c, SK_CADENCE_PROTECT, 20, 17, 1);
    sk_cadence_done(&c, SK_CADENCE_ARCHIVE, 50, 40, 30);
    assert_true(sk_cadence_interval(&c) == 0);
}

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b) + 1e-300;
}

/* A new value counts three tenths; what is no time is no value. */
static void test_means_move_by_three_tenths(void **state)
{
    (void)state;
    struct sk_cadence c;
    sk_cadence_init(&c, &(struct sk_cadence_setup){.rate = 1e-4});
    assert_true(c.every[SK_CADENCE_PROTECT] == 1 && c.every[SK_CADENCE_ARCHIVE] == 1 && c.setup.rate == 1e-4);
    sk_cadence_checkpoint(&c, 0, -1, NAN);
    assert_true(c.interval == 0 && c.cost == 0 && c.latency == 0);
    sk_cadence_checkpoint(&c, 10, 1, 2);
    assert_true(c.interval == 10 && c.cost == 1 && c.latency == 2);
    sk_cadence_checkpoint(&c, 20, 2, 4);
    assert_true(near(c.interval, 13) && near(c.cost, 1.3) && near(c.latency, 2.6));
    sk_cadence_checkpoint(&c, 0, 2.3, 0);
    assert_true(near(c.interval, 13) && near(c.cost, 1.6) && near(c.latency, 2.6));
    const struct sk_cadence_at *a = &c.at[SK_CADENCE_ARCHIVE];
    sk_cadence_done(&c, SK_CADENCE_ARCHIVE, 10, 20, 0);
    assert_true(a->latency == 10 && a->duration == 20 && a->held == 0 && a->done == 1 && !c.at[SK_CADENCE_PROTECT].done);
    sk_cadence_done(&c, SK_CADENCE_ARCHIVE, 20, 10, 4);
    assert_true(near(a->latency, 13) && near(a->duration, 17) && near(a->held, 1.2) && a->done == 2);
}

/* Each new tick makes those before count a twentieth less. */
static void test_ticks_fade(void **state)
{
    (void)state;
    static const double x[] = {1, 4, 2, 2, 9, 3, 3, 1};
    enum { n = sizeof x / sizeof *x };
    static const int busy[4][SK_CADENCES] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    for (int b = 0; b < 4; b++) {
        struct sk_cadence c;
        double sum = 0, weight = 0, squares = 0, spread = 0;
        sk_cadence_init(&c, &(struct sk_cadence_setup){.rate = 1e-4});
        int told[SK_CADENCES] = {[SK_CADENCE_PROTECT] = busy[b][0], [SK_CADENCE_ARCHIVE] = busy[b][1]};
        const struct sk_cadence_ticks *t[3] = {&c.quiet, &c.at[SK_CADENCE_PROTECT].ticks, &c.at[SK_CADENCE_ARCHIVE].ticks};
        sk_cadence_ticks(&c, 0, told);
        sk_cadence_ticks(&c, -1, told);
        sk_cadence_ticks(&c, NAN, told);
        for (int i = 0; i < n; i++)
            sk_cadence_ticks(&c, x[i], told);
        for (int i = 0; i < n; i++) {
            double w = pow(0.95, n - 1 - i);
            sum += w * x[i], weight += w, squares += w * w;
        }
        for (int i = 0; i < n; i++)
            spread += pow(0.95, n - 1 - i) * (x[i] - sum / weight) * (x[i] - sum / weight);
        for (int k = 0; k < 3; k++)
            if (k == b)
                assert_true(near(t[k]->mean, sum / weight) && near(t[k]->weight, weight) && fabs(t[k]->square / spread - 1) < 1e-9 &&
                            near(t[k]->weights_squared, squares));
            else
                assert_true(t[k]->weight == 0 && t[k]->mean == 0);
    }
}

/* What a level costs beside what it holds the program up: so much of its time as ticks are longer, when enough of them were seen and their scatter
 * leaves no doubt. */
static void test_cost_of_slower_ticks(void **state)
{
    (void)state;
    static const int quiet[SK_CADENCES] = {0}, coding[SK_CADENCES] = {[SK_CADENCE_PROTECT] = 1};
    for (int first = 3; first <= 6; first++)
        for (int second = 3; second <= 6; second++) {
            struct sk_cadence c;
            sk_cadence_init(&c, &(struct sk_cadence_setup){.rate = 1e-4});
            sk_cadence_done(&c, SK_CADENCE_PROTECT, 30, 12, 0.25);
            for (int i = 0; i < first; i++)
                sk_cadence_ticks(&c, 3, quiet);
            for (int i = 0; i < second; i++)
                sk_cadence_ticks(&c, 4, coding);
            double wanted = first >= 5 && second >= 5 ? 0.25 + 12 * (4.0 - 3) / 4 : 0.25;
            assert_true(near(sk_cadence_cost(&c, SK_CADENCE_PROTECT), wanted));
            assert_true(sk_cadence_cost(&c, SK_CADENCE_ARCHIVE) == 0);
        }
    /* ticks that scatter by one: of a mean of n of them the error is about 1/sqrt(n) */
    for (int more = 0; more < 40; more++) {
        struct sk_cadence c;
        double weight = 0, squares = 0, sum = 0, spread = 0, d = more * 0.05;
        sk_cadence_init(&c, &(struct sk_cadence_setup){.rate = 1e-4});
        sk_cadence_done(&c, SK_CADENCE_PROTECT, 30, 12, 0);
        for (int i = 0; i < 20; i++) {
            sk_cadence_ticks(&c, i % 2 ? 11 : 9, quiet);
            sk_cadence_ticks(&c, (i % 2 ? 11 : 9) + d, coding);
        }
        for (int i = 0; i < 20; i++) {
            double w = pow(0.95, 19 - i);
            weight += w, squares += w * w, sum += w * (i % 2 ? 11 : 9);
        }
        for (int i = 0; i < 20; i++)
            spread += pow(0.95, 19 - i) * pow((i % 2 ? 11 : 9) - sum / weight, 2);
        double error = sqrt(2 * spread / weight * squares / (weight * weight));
        double wanted = d > 2.5 * error ? 12 * d / (sum / weight + d) : 0;
        assert_true(fabs(sk_cadence_cost(&c, SK_CADENCE_PROTECT) - wanted) < 1e-9);
    }
}

/* The plan is that of levels.h for what was measured: twice the latency of coding is the time in which more nodes may go, each level is safe after its
 * latency, but not before what it costs, and takes as long to restart from. */
static void test_the_plan_is_that_of_the_levels(void **state)
{
    (void)state;
    for (int with = 1; with < 4; with++) {
        const int protects = with & 1, archives = with >> 1;
        struct sk_cadence_setup setup = {.rate = 1e-5, .local_share = 0.25, .beyond_share = 0.125, .threshold = 0.1, .members = 4, .tolerated = 1, .groups = 3,
                                         .has = {[SK_CADENCE_PROTECT] = protects, [SK_CADENCE_ARCHIVE] = archives}};
        struct sk_cadence c;
        sk_cadence_init(&c, &setup);
        sk_cadence_checkpoint(&c, 50, 2, 3);
        assert_true(sk_cadence_interval(&c) == 0); /* nothing is known of the others yet */
        if (protects)
            sk_cadence_done(&c, SK_CADENCE_PROTECT, 20, 10, 1);
        if (archives)
            sk_cadence_done(&c, SK_CADENCE_ARCHIVE, 1, 10, 5); /* sooner safe than it can be */
        double rate[3];
        sk_levels_rates(1e-5, 0.25, 0.125, 12, 4, protects, 40, rate);
        struct sk_level l[3] = {{rate[0], 2, 3, 3}};
        int n = 1;
        if (protects)
            l[n++] = (struct sk_level){rate[1], 1, 20, 20};
        if (archives)
            l[n++] = (struct sk_level){rate[2], 5, protects ? 8 : 7, protects ? 8 : 7};
        struct sk_levels_plan fixed, free_one;
        assert_int_equal(sk_levels_plan_every(l, n, 50, &fixed, NULL), 0);
        assert_int_equal(sk_levels_plan(l, n, &free_one, NULL), 0);
        assert_int_equal(sk_cadence_every(&c, SK_CADENCE_PROTECT), protects ? fixed.every[1] : 1);
        assert_int_equal(sk_cadence_every(&c, SK_CADENCE_ARCHIVE), archives ? fixed.every[n - 1] : 1);
        assert_true(sk_cadence_interval(&c) == free_one.interval_seconds);
        assert_true(fixed.every[n - 1] > 1);
        /* what moves by a tenth moves nothing */
        c.interval = 55;
        sk_cadence_interval(&c);
        assert_true(c.planned_from[0] == 50);
        c.interval = 55.1;
        sk_cadence_interval(&c);
        assert_true(c.planned_from[0] == 55.1 && c.planned_from[1] == 2 && c.planned_from[2] == 3);
        c.setup.rate = 0; /* nothing fails: none is best */
        c.interval = 70;
        assert_true(sk_cadence_interval(&c) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unmeasured_is_done_always),
        cmocka_unit_test(test_costs_are_told_from_scatter),
        cmocka_unit_test(test_the_model_decides),
        cmocka_unit_test(test_levels_that_are_missing_or_useless),
        cmocka_unit_test(test_the_interval_is_the_models),
        cmocka_unit_test(test_means_move_by_three_tenths),
        cmocka_unit_test(test_ticks_fade),
        cmocka_unit_test(test_cost_of_slower_ticks),
        cmocka_unit_test(test_the_plan_is_that_of_the_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
