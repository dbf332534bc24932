/* Advice is the best whole number within all limits, changes only past its threshold, and lets
 * ranks that hear of it late meet again. */
#include "schedule/advice.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct sk_advice_policy policy(double rate)
{
    return (struct sk_advice_policy){
        .model = sk_model_find("vaidya"), .rate = rate, .threshold = 0.2, .max_interval = 0};
}

static void test_every_is_the_best_whole_number(void **state)
{
    (void)state;
    for (double x = 1e-10; x < 3; x *= 4)
        for (double step = 1e-4; step < 100; step *= 7) {
            struct sk_advice_policy p = policy(x);
            struct sk_costs c = sk_costs_simple(x, 1);
            int64_t m = sk_advice_every(&p, 1, step);
            double r = sk_model_overhead(&c, (double)m * step);
            assert_true(m >= 1);
            r *= 1 - 1e-14; /* neighbours of a large m differ by less than rounding */
            assert_true(r <= sk_model_overhead(&c, (double)(m + 1) * step));
            assert_true(m == 1 || r <= sk_model_overhead(&c, (double)(m - 1) * step));
        }
}

static void test_limits_and_overrides(void **state)
{
    (void)state;
    struct sk_advice_policy p = policy(1e-9);
    assert_true(sk_advice_every(&p, 10, 0.1) > 18000);
    p.max_interval = 1800;
    assert_int_equal(sk_advice_every(&p, 10, 0.1), 18000);
    assert_int_equal(sk_advice_every(&p, 10, 3600), 1); /* one iteration is longer than the limit */
    p.rate = 0;
    assert_int_equal(sk_advice_every(&p, 10, 0.1), 18000);
    p.max_interval = 0;
    assert_int_equal(sk_advice_every(&p, 10, 0.1), 0);
    p.max_interval = 1;
    p.interval = 10;
    assert_int_equal(sk_advice_every(&p, 10, 0.1), 100);
    assert_int_equal(sk_advice_every(&p, 10, 0.3), 33);
    assert_int_equal(sk_advice_every(&p, 10, 11), 1);
    p.every = 7;
    assert_int_equal(sk_advice_every(&p, 10, 0.1), 7);
    struct sk_advice_policy tiny = policy(1e-300);
    assert_int_equal(sk_advice_every(&tiny, 1, 0), 0); /* beyond any count: never */
}

/* What another model planned takes the place of the model's answer, within the same limits. */
static void test_planned_by_another_model(void **state)
{
    (void)state;
    struct sk_advice_policy p = policy(1e-5);
    struct sk_advice_state s;
    sk_advice_init(&s, &p);
    sk_advice_update(&s, 2, 1, 0, 12);
    int64_t alone = s.now.every;
    sk_advice_set_planned(&s, 100.6);
    assert_int_equal(sk_advice_update(&s, 2, 1, alone, alone + 5), 1);
    assert_int_equal(s.now.every, 101);
    sk_advice_set_planned(&s, 110); /* within the threshold */
    assert_int_equal(sk_advice_update(&s, 2, 1, alone, alone + 5), 0);
    s.policy.max_interval = 50;
    sk_advice_set_planned(&s, 200);
    assert_int_equal(sk_advice_update(&s, 2, 1, alone, alone + 5), 1);
    assert_int_equal(s.now.every, 50);
    s.policy.max_interval = 0;
    sk_advice_set_planned(&s, 0);
    assert_int_equal(sk_advice_update(&s, 2, 1, alone, alone + 5), 1);
    assert_int_equal(s.now.every, alone);
}

/* A limit in iterations bounds the models, whatever it was and will be, but not what the user says. */
static void test_most_iterations(void **state)
{
    (void)state;
    struct sk_advice_policy p = policy(1e-5);
    struct sk_advice_state s;
    sk_advice_init(&s, &p);
    sk_advice_set_most(&s, 10);
    assert_int_equal(sk_advice_update(&s, 2, 1, 0, 3), 1);
    assert_int_equal(s.now.every, 10);
    assert_int_equal(s.now.from, 10);
    sk_advice_set_most(&s, 11); /* within the threshold */
    assert_int_equal(sk_advice_update(&s, 2, 1, 0, 5), 0);
    sk_advice_set_most(&s, 100);
    assert_int_equal(sk_advice_update(&s, 2, 1, 10, 12), 1);
    assert_int_equal(s.now.from, 110);
    sk_advice_set_most(&s, 100000);
    assert_int_equal(sk_advice_update(&s, 2, 1, 110, 112), 1);
    int64_t best = s.now.every;
    assert_true(best > 100 && best < 100000);
    sk_advice_set_most(&s, 200000); /* bounds nothing: nothing is computed anew */
    assert_int_equal(sk_advice_update(&s, 2, 1, 110, 112), 0);
    sk_advice_set_most(&s, 50);
    assert_int_equal(sk_advice_update(&s, 2, 1, 110, 112), 1);
    assert_int_equal(s.now.every, 50);
    p.most = 5;
    p.interval = 10;
    assert_int_equal(sk_advice_every(&p, 2, 1), 10);
    p.interval = 0;
    p.rate = 0; /* no fault is expected: the limit remains */
    assert_int_equal(sk_advice_every(&p, 2, 1), 5);
}

static void test_update_only_past_the_threshold(void **state)
{
    (void)state;
    struct sk_advice_policy p = policy(1e-5);
    struct sk_advice_state s;
    sk_advice_init(&s, &p);
    assert_int_equal(sk_advice_next(s.now, 0), SK_ADVICE_NEVER);
    assert_int_equal(sk_advice_update(&s, 2, 1, 0, 12), 1);
    int64_t m = s.now.every;
    assert_true(m > 600 && m < 660); /* sqrt(2 · 2 / 1e-5) = 632 */
    assert_int_equal(s.now.from, m); /* goes on from the checkpoint of iteration 0 */
    struct sk_advice before = s.now;
    assert_int_equal(sk_advice_update(&s, 2.39, 0.81, m, m + 5), 0);
    assert_memory_equal(&before, &s.now, sizeof before);
    assert_int_equal(sk_advice_update(&s, 2.41, 1, m, m + 5), 1);
    assert_true(s.now.every > m);
    assert_int_equal(s.now.from, m + s.now.every);
    /* what was compared with is what the advice was made from, not the last measurement */
    assert_int_equal(sk_advice_update(&s, 2.41 * 1.15, 1, m, m + 5), 0);
    assert_int_equal(sk_advice_update(&s, 2.41 * 1.3, 1, m, m + 5), 1);
    /* a faster program that is overdue checkpoints at the first iteration all can meet */
    int64_t overdue = m + 3 * s.now.every;
    assert_int_equal(sk_advice_update(&s, 0.001, 1, m, overdue), 1);
    assert_int_equal(s.now.from, overdue);
}

/* Costs that have moved need not move the advice: where a limit binds, or rounding does, it stays what it was, also where it goes on from. */
static void test_what_binds_stays(void **state)
{
    (void)state;
    struct sk_advice_policy p = policy(1e-5);
    struct sk_advice_state s;
    p.max_interval = 100;
    sk_advice_init(&s, &p);
    assert_int_equal(sk_advice_update(&s, 2, 1, 0, 12), 1);
    assert_int_equal(s.now.every, 100);
    assert_int_equal(s.now.from, 100);
    assert_int_equal(sk_advice_update(&s, 50, 1, 300, 312), 0);
    assert_int_equal(s.now.every, 100);
    assert_int_equal(s.now.from, 100);
    assert_int_equal(sk_advice_update(&s, 50, 2, 300, 312), 1);
    assert_int_equal(s.now.every, 50);
    assert_int_equal(s.now.from, 350);
    sk_advice_set_most(&s, 80); /* of two limits the smaller one, whichever it is */
    assert_int_equal(sk_advice_update(&s, 50, 2, 300, 312), 0);
    sk_advice_set_most(&s, 40);
    assert_int_equal(sk_advice_update(&s, 50, 2, 300, 312), 1);
    assert_int_equal(s.now.every, 40);
    sk_advice_set_most(&s, -1);
    assert_int_equal(sk_advice_update(&s, 50, 2, 300, 312), 1);
    assert_int_equal(s.now.every, 50);
    assert_int_equal(sk_advice_update(&s, 50, 3, 300, 350), 1); /* 300 + 33 is over */
    assert_int_equal(s.now.from, 350);
}

/* A change by just the threshold is none; a first value always is one. */
static void test_the_threshold_itself(void **state)
{
    (void)state;
    struct sk_advice_policy p = policy(1e-5);
    struct sk_advice_state s;
    p.threshold = 0.25;
    sk_advice_init(&s, &p);
    assert_int_equal(sk_advice_update(&s, 4, 4, 0, 1), 1);
    struct sk_advice first = s.now;
    assert_int_equal(sk_advice_update(&s, 5, 5, 0, 1), 0);
    assert_int_equal(sk_advice_update(&s, 3, 3, 0, 1), 0);
    assert_memory_equal(&first, &s.now, sizeof first);
    assert_int_equal(sk_advice_update(&s, 5.001, 4, 0, 1), 1);
    assert_true(s.now.every > first.every);
    assert_int_equal(sk_advice_update(&s, 5.001, 8, 0, 1), 1); /* of the iterations alone */
    assert_true(s.now.every < first.every);
    sk_advice_set_planned(&s, 400);
    assert_int_equal(sk_advice_update(&s, 5.001, 8, 0, 1), 1);
    assert_int_equal(s.now.every, 50);
    sk_advice_set_planned(&s, 500);
    assert_int_equal(sk_advice_update(&s, 5.001, 8, 0, 1), 0);
    sk_advice_set_planned(&s, NAN); /* no plan */
    assert_int_equal(sk_advice_update(&s, 5.001, 8, 0, 1), 1);
    assert_true(s.now.every < first.every && s.now.every != 50);
}

/* Whole numbers: 10 s hold ten iterations of a second also where their quotient is below ten by rounding, and no count is beyond what
 * can be added up. */
static void test_whole_iterations(void **state)
{
    (void)state;
    struct sk_advice_policy p = policy(1e-5);
    for (int m = 1; m < 1000; m++) {
        p.interval = m * 0.1;
        assert_int_equal(sk_advice_every(&p, 1, 0.1), m);
        p.interval = m * 0.1 * (1 - 1e-9);
        assert_int_equal(sk_advice_every(&p, 1, 0.1), m > 1 ? m - 1 : 1);
    }
    p.interval = 1e300;
    assert_int_equal(sk_advice_every(&p, 1, 1), (int64_t)1 << 60);
    p.interval = 3;
    assert_int_equal(sk_advice_every(&p, 1, 0), 3000000000); /* a clock tells no less than a nanosecond */
    p.interval = 0;
    p.planned = 2.4;
    assert_int_equal(sk_advice_every(&p, 1, 1), 2);
    p.planned = 2.5;
    assert_int_equal(sk_advice_every(&p, 1, 1), 2);
    p.planned = 2.6;
    assert_int_equal(sk_advice_every(&p, 1, 1), 3);
    p.planned = 0.2;
    assert_int_equal(sk_advice_every(&p, 1, 1), 1);
    p.planned = 1e30; /* never, but for the limits */
    assert_int_equal(sk_advice_every(&p, 1, 1), 0);
    p.most = 7;
    assert_int_equal(sk_advice_every(&p, 1, 1), 7);
    p.max_interval = 5;
    assert_int_equal(sk_advice_every(&p, 1, 1), 5);
    p.max_interval = 7.5;
    p.planned = 7;
    assert_int_equal(sk_advice_every(&p, 1, 1), 7);
    p.planned = 7.6;
    assert_int_equal(sk_advice_every(&p, 1, 1), 7);
    p.planned = INFINITY;
    p.most = 0;
    p.max_interval = 0;
    assert_int_equal(sk_advice_every(&p, 1, 1), 0);
}

/* The last candidate before the end: limits are met just so. */
static void test_the_last_moment(void **state)
{
    (void)state;
    assert_false(sk_deadline_due(70, 60, 5, 10)); /* 60 s are left then: enough */
    assert_true(sk_deadline_due(69.9, 60, 5, 10));
    assert_false(sk_deadline_due(110, 60, 50, 10));
    assert_true(sk_deadline_due(109.9, 60, 50, 10));
    assert_int_equal(sk_deadline_iteration(7, 70, 60, 5, 10), 8);
    assert_int_equal(sk_deadline_iteration(7, 69.9, 60, 5, 10), 7);
    assert_int_equal(sk_deadline_iteration(7, 110, 60, 50, 10), 8);
    assert_int_equal(sk_deadline_iteration(7, 61, 60, 5, 0), 7 + 1000000000);
    assert_int_equal(sk_deadline_iteration(7, NAN, 60, 5, 10), 7);
    assert_int_equal(sk_deadline_iteration(7, -INFINITY, 60, 5, 10), 7);
    assert_true(sk_deadline_iteration(INT64_MAX - 3, 100, 60, 5, 10) == SK_ADVICE_NEVER);
    assert_true(sk_deadline_iteration(INT64_MAX - 4, 100, 60, 5, 10) == INT64_MAX);
    assert_true(sk_deadline_iteration(INT64_MAX - 5, 100, 60, 5, 10) == INT64_MAX - 1);
}

/* The next turn near the end of what can be counted, and before the first one. */
static void test_next_at_the_end(void **state)
{
    (void)state;
    struct sk_advice a = {INT64_MAX - 10, 5};
    assert_true(sk_advice_next(a, 0) == INT64_MAX - 10);
    assert_true(sk_advice_next(a, INT64_MAX - 9) == INT64_MAX - 5);
    assert_true(sk_advice_next(a, INT64_MAX - 5) == INT64_MAX - 5);
    assert_true(sk_advice_next(a, INT64_MAX - 4) == INT64_MAX); /* which is also never */
    assert_true(sk_advice_next((struct sk_advice){INT64_MAX - 9, 5}, INT64_MAX - 3) == SK_ADVICE_NEVER);
    assert_true(sk_advice_next((struct sk_advice){3, -1}, 7) == SK_ADVICE_NEVER);
    assert_false(sk_advice_due((struct sk_advice){3, -1}, 3) || sk_advice_due((struct sk_advice){3, 0}, 3) || sk_advice_due((struct sk_advice){3, 2}, 1));
    assert_true(sk_advice_due((struct sk_advice){3, 2}, 3) && sk_advice_due((struct sk_advice){3, 2}, 5) && !sk_advice_due((struct sk_advice){3, 2}, 4));
}

static void test_update_refuses_nonsense(void **state)
{
    (void)state;
    struct sk_advice_policy p = policy(1e-5);
    struct sk_advice_state s;
    sk_advice_init(&s, &p);
    assert_int_equal(sk_advice_update(&s, NAN, 1, 0, 1), 0);
    assert_int_equal(sk_advice_update(&s, 1, INFINITY, 0, 1), 0);
    assert_int_equal(sk_advice_update(&s, -1, 1, 0, 1), 0);
    assert_int_equal(sk_advice_update(&s, 1, -1, 0, 1), 0);
    assert_int_equal(sk_advice_update(&s, INFINITY, 1, 0, 1), 0);
    assert_int_equal(sk_advice_update(&s, 1, NAN, 0, 1), 0);
    assert_true(s.cost == 0 && s.iteration_time == 0);
    assert_int_equal(s.now.every, 0);
    assert_int_equal(sk_advice_update(&s, 0, 0, -1, 1), 1); /* faster than the clock */
    assert_true(s.now.every >= 1);
    assert_int_equal(s.now.from, 1);
}

static void test_fixed_every_holds_for_good(void **state)
{
    (void)state;
    struct sk_advice_policy p = policy(1e-5);
    p.every = 10;
    struct sk_advice_state s;
    sk_advice_init(&s, &p);
    assert_int_equal(sk_advice_update(&s, 5, 1, 3, 4), 0);
    for (int64_t i = 0; i < 100; i++)
        assert_int_equal(sk_advice_due(s.now, i), i > 0 && i % 10 == 0);
}

static void test_rate_of_other_hosts(void **state)
{
    (void)state;
    struct sk_advice_policy p = policy(1e-5);
    struct sk_advice_state s;
    sk_advice_init(&s, &p);
    assert_int_equal(sk_advice_update(&s, 2, 1, 0, 1), 1);
    int64_t m = s.now.every;
    sk_advice_set_rate(&s, 1.1e-5);
    assert_int_equal(sk_advice_update(&s, 2, 1, 0, 1), 0);
    for (double rate = 1.05e-5; rate < 1.5e-5; rate *= 1.02) /* a little each time */
        sk_advice_set_rate(&s, rate);
    assert_int_equal(sk_advice_update(&s, 2, 1, 0, 1), 1);
    assert_true(s.now.every < m);
    m = s.now.every;
    sk_advice_set_rate(&s, 4e-5);
    assert_int_equal(sk_advice_update(&s, 2, 1, 0, 1), 1);
    assert_true(s.now.every < m);
}

static void test_next_agrees_with_due(void **state)
{
    (void)state;
    static const struct sk_advice cases[] = {{0, 1}, {5, 3}, {7, 100}, {12, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int64_t i = 0; i < 300; i++) {
            int64_t n = sk_advice_next(cases[k], i);
            assert_true(n >= i && sk_advice_due(cases[k], n));
            for (int64_t j = i; j < n; j++)
                assert_false(sk_advice_due(cases[k], j));
        }
    assert_int_equal(sk_advice_next((struct sk_advice){5, 0}, 1), SK_ADVICE_NEVER);
    assert_int_equal(sk_advice_next((struct sk_advice){5, INT64_MAX / 2}, INT64_MAX - 3),
                     SK_ADVICE_NEVER);
}

/* Ranks that hear of new advice at different iterations disagree for a while, and meet for good at
 * its first turn. */
static void test_ranks_converge(void **state)
{
    (void)state;
    struct sk_advice old = {100, 50}, new = {230, 80};
    int64_t heard[] = {205, 207, 219};
    for (int64_t i = 200; i < 1000; i++) {
        int due = 0;
        for (int r = 0; r < 3; r++)
            due += sk_advice_due(i < heard[r] ? old : new, i);
        if (i >= 220)
            assert_true(due == 0 || due == 3);
        if (i == 230 || i == 310)
            assert_int_equal(due, 3);
    }
}

static void test_deadline(void **state)
{
    (void)state;
    assert_false(sk_deadline_due(100, 60, 5, 10));
    assert_true(sk_deadline_due(69, 60, 5, 10)); /* at the next candidate only 59 s would be left */
    assert_true(sk_deadline_due(100, 60, 50, 10)); /* twice the cost is longer than the margin */
    assert_true(sk_deadline_due(-5, 60, 5, 10));
    assert_false(sk_deadline_due(INFINITY, 60, 5, 10));
    assert_int_equal(sk_deadline_iteration(7, 100, 60, 5, 10), 11);
    assert_int_equal(sk_deadline_iteration(7, 65, 60, 5, 10), 7);
    assert_int_equal(sk_deadline_iteration(7, -1, 60, 5, 10), 7);
    assert_int_equal(sk_deadline_iteration(7, INFINITY, 60, 5, 10), SK_ADVICE_NEVER);
    /* walking through the iterations, both say the same */
    for (double limit = 61; limit < 200; limit += 0.37)
        for (int64_t i = 0; i < 40; i++) {
            double left = limit - 3.0 * (double)i;
            if (sk_deadline_due(left, 60, 5, 3)) {
                assert_int_equal(sk_deadline_iteration(0, limit, 60, 5, 3), i);
                break;
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_is_the_best_whole_number),
        cmocka_unit_test(test_limits_and_overrides),
        cmocka_unit_test(test_planned_by_another_model),
        cmocka_unit_test(test_most_iterations),
        cmocka_unit_test(test_update_only_past_the_threshold),
        cmocka_unit_test(test_what_binds_stays),
        cmocka_unit_test(test_the_threshold_itself),
        cmocka_unit_test(test_whole_iterations),
        cmocka_unit_test(test_the_last_moment),
        cmocka_unit_test(test_next_at_the_end),
        cmocka_unit_test(test_update_refuses_nonsense),
        cmocka_unit_test(test_fixed_every_holds_for_good),
        cmocka_unit_test(test_rate_of_other_hosts),
        cmocka_unit_test(test_next_agrees_with_due),
        cmocka_unit_test(test_ranks_converge),
        cmocka_unit_test(test_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
