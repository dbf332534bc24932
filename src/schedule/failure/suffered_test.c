/* The expected rate learns from faults, and a job that dies early again and again saves itself
 * before that. */
#include "schedule/failure/suffered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>

static void the_rate_begins_as_believed_and_learns(void **state)
{
    (void)state;
    struct sk_suffered s = {0};
    assert_true(sk_suffered_rate(0, &s) == 0);
    assert_true(fabs(sk_suffered_rate(1000, &s) * 1000 - 1) < 1e-12);
    s.seconds = 3000; /* all well for three times as long */
    assert_true(fabs(sk_suffered_rate(1000, &s) * 4000 - 1) < 1e-12);
    s.faults = 3;
    assert_true(fabs(sk_suffered_rate(1000, &s) * 1000 - 1) < 1e-12);
    assert_true(fabs(sk_suffered_rate(0, &s) * 1000 - 1) < 1e-12);
}

static int64_t most(const struct sk_suffered *s, int64_t candidates, double cost, double latency, double iteration_time)
{
    struct sk_suffered_costs c = {cost, latency, iteration_time};
    return sk_suffered_most(s, candidates, &c);
}

static void a_young_job_is_saved_often(void **state)
{
    (void)state;
    struct sk_suffered none = {0};
    /* sqrt(2 · 10 ms · 180 s) = 1.9 s */
    assert_int_equal(most(&none, 180000, 0.01, 0, 1e-3), 1897);
    assert_int_equal(most(&none, 1000, 1e-6, 0, 1), 1);
    assert_int_equal(most(&none, 1, 1e-6, 0, 1), 1);
    /* a checkpoint that costs an iteration is made every hundred of them while the start is young */
    assert_int_equal(most(&none, 1, 0.1, 0, 0.1), 100);
    assert_int_equal(most(&none, 199, 0.1, 0, 0.1), 100);
    assert_int_equal(most(&none, 20000, 0.1, 0, 0.1), 200); /* sqrt(2 · 20000) */
    /* and work beside the program is a tenth of the time */
    assert_int_equal(most(&none, 199, 0.1, 2, 0.1), 200);
    assert_int_equal(most(&none, INT64_MAX, 1, 0, 0), INT64_MAX / 8);
    /* it has been running well for longer than anybody remembers: only half of this start counts */
    struct sk_suffered old = {.seconds = 1e12};
    assert_int_equal(most(&old, 180000, 0.01, 0, 1e-3), 90000);
}

static void a_job_that_dies_early_is_saved_before_that(void **state)
{
    (void)state;
    struct sk_suffered s = {.faults = 1, .seconds = 5000, .last_candidates = 20};
    assert_int_equal(most(&s, 1, 0.1, 0, 0.1), 10); /* although it costs more than one would like */
    assert_int_equal(most(&s, 60, 0.1, 0, 0.1), 30); /* it lives longer by now */
    assert_int_equal(most(&s, 1, 0.001, 0, 0.1), 1);
    s.last_candidates = 1;
    assert_int_equal(most(&s, 1, 100, 0, 1e-3), 1);
    /* thirty faults in ten minutes: sqrt(2 · 1 s · 600 s / 31), although that is more than a modest share */
    struct sk_suffered often = {.faults = 30, .seconds = 600};
    assert_int_equal(most(&often, 1, 1, 0, 1e-3), 6221);
    assert_int_equal(most(&often, 1000000000, 1, 0, 1e-3), 254076); /* it has been well for eleven days since */
}

/* Each of the bounds by itself, at its limit: half of this start, the best interval of a young job, a modest share, half of the last start. */
static void each_bound(void **state)
{
    (void)state;
    struct sk_suffered none = {0};
    assert_int_equal(most(&none, 201, 1e-9, 0, 0), 100); /* nothing is known of times */
    assert_int_equal(most(&none, 3, 1, 0, 0), 1);
    assert_int_equal(most(&none, 200, 50, 0, 1), 5000);  /* 50 s are a hundredth of 5000 s */
    assert_int_equal(most(&none, 200, 50.001, 0, 1), 5001);
    assert_int_equal(most(&none, 200, 50, 600, 1), 6000); /* 600 s a tenth of 6000 s */
    assert_int_equal(most(&none, 200, -50, -600, 1), 1);
    assert_int_equal(most(&none, 200, -50, 30, 2), 150);
    assert_int_equal(most(&none, 400, 0.02, 0, 1), 4); /* sqrt(2 · 0.02 · 400) */
    struct sk_suffered long_ago = {.seconds = 500};
    assert_int_equal(most(&long_ago, 400, 0.02, 0, 1), 6); /* sqrt(2 · 0.02 · 900) */
    struct sk_suffered thrice = {.seconds = 500, .faults = 3};
    assert_int_equal(most(&thrice, 400, 0.02, 0, 1), 3);   /* sqrt(2 · 0.02 · 900/4) */
    assert_int_equal(most(&thrice, 400, 0.02, 90, 1), 3);  /* whatever is beside it */
    assert_int_equal(most(&thrice, 400, 0.02, 0, 0), 200);
    struct sk_suffered odd = {.seconds = -500, .faults = -3};
    assert_int_equal(most(&odd, 400, 0.02, 0, 1), 4);
    struct sk_suffered last = {.last_candidates = 90};
    assert_int_equal(most(&last, 50, 1, 0, 1), 45);   /* a hundred would be modest */
    assert_int_equal(most(&last, 50, 0.3, 0, 1), 30); /* and thirty are */
    last.last_candidates = -1;
    assert_int_equal(most(&last, 50, 1, 0, 1), 100);
    /* a rate from nothing but what was suffered, and nonsense of it */
    assert_true(sk_suffered_rate(100, &odd) == 0.01 && sk_suffered_rate(0, &thrice) == 3.0 / 500 && sk_suffered_rate(100, &thrice) == 4.0 / 600);
    assert_true(sk_suffered_rate(-1, &thrice) == 3.0 / 500);
}

/* A start that dies at any time after the third minute has lost little, for any checkpoint of up to 0.3 s; and what is spent on
 * them before is a modest share. */
static void a_newcomer_loses_little(void **state)
{
    (void)state;
    const double tick = 0.01;
    for (double cost = 1e-4; cost < 0.31; cost *= 1.7) {
        struct sk_suffered none = {0};
        int64_t last = 0, n = 0;
        for (int64_t i = 1; i <= 18000; i++) {
            if (i - last >= most(&none, i, cost, 0.15, tick)) {
                last = i;
                n++;
            }
            assert_true((double)(i - last) * tick <= 30.01);
        }
        assert_true((double)n * cost <= 1.01 * SK_MODEST_SHARE * 180);
    }
}

/* All checkpoints together cost about the interval that they have come to. */
static void checkpoints_come_at_growing_distances(void **state)
{
    (void)state;
    struct sk_suffered none = {0};
    int64_t last = 0, n = 0;
    for (int64_t i = 1; i < 10000000; i++) {
        int64_t m = most(&none, i, 0.01, 0, 0.1);
        if (i - last >= m) {
            last = i;
            n++;
        }
        assert_true(i - last <= 10 || 2 * (i - last) <= i + 1);
    }
    assert_true((double)n * 0.01 < 1.1 * sqrt(2 * 0.01 * 1e6));
    assert_true(n > 10000); /* 141 s apart at the end */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_begins_as_believed_and_learns),
        cmocka_unit_test(a_young_job_is_saved_often),
        cmocka_unit_test(a_job_that_dies_early_is_saved_before_that),
        cmocka_unit_test(each_bound),
        cmocka_unit_test(a_newcomer_loses_little),
        cmocka_unit_test(checkpoints_come_at_growing_distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
