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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unmeasured_is_done_always),
        cmocka_unit_test(test_costs_are_told_from_scatter),
        cmocka_unit_test(test_the_model_decides),
        cmocka_unit_test(test_levels_that_are_missing_or_useless),
        cmocka_unit_test(test_the_interval_is_the_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
