/* Beliefs against their closed forms: the posterior of a Gamma prior, shrinking towards what is true of all, and fading. */
#include "schedule/learn/belief.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static void the_mean_is_that_of_the_posterior(void **state)
{
    (void)state;
    struct sk_belief prior = sk_belief_prior(1000, 2);
    assert_true(near(sk_belief_mean(prior), 1e-3));
    struct sk_belief seen = {3, 500};
    assert_true(near(sk_belief_mean(sk_belief_with(prior, seen)), 5.0 / 2500));
    assert_true(sk_belief_mean(sk_belief_prior(0, 1)) == 0);
    assert_true(near(sk_belief_mean(sk_belief_with(sk_belief_prior(0, 1), seen)), 3.0 / 500));
}

/* One of many begins at their mean, and goes to its own as it is seen for longer. */
static void one_of_many_shrinks_towards_all(void **state)
{
    (void)state;
    struct sk_belief all = {100, 1e6}; /* once in 10⁴ s */
    struct sk_belief one = sk_belief_of_one(all, 1);
    assert_true(near(sk_belief_mean(one), 1e-4));
    for (double n = 1; n < 1e6; n *= 10) { /* a bad one: once in 10³ s */
        struct sk_belief own = {n, n * 1000};
        assert_true(near(sk_belief_mean(sk_belief_with(one, own)), (1 + n) / (1e4 + n * 1000)));
    }
    assert_true(sk_belief_mean(sk_belief_of_one((struct sk_belief){0, 0}, 1)) == 0);
}

/* Faults at a steady pace: the mean is their rate, and `memory` of them count in the end. */
static void old_faults_fade(void **state)
{
    (void)state;
    struct sk_belief b = {0, 0};
    for (int i = 0; i < 2000; i++) {
        sk_belief_time(&b, 50);
        sk_belief_fault(&b, 25);
    }
    assert_true(near(b.faults, 25));
    assert_true(fabs(b.seconds - 50 * 24) < 1e-9 * b.seconds); /* what ended before the newest fault has faded once */
    for (int i = 0; i < 100; i++) { /* the machine is worse now: known after a few times its memory */
        sk_belief_time(&b, 5);
        sk_belief_fault(&b, 25);
    }
    assert_true(fabs(sk_belief_mean(b) * 5 / (25.0 / 24) - 1) < 0.2);
    sk_belief_time(&b, 1e6); /* and when no more come, that is believed without any fault */
    assert_true(sk_belief_mean(b) < 26e-6);
}

static void nothing_fades_without_a_memory(void **state)
{
    (void)state;
    struct sk_belief b = {0, 0};
    for (int i = 0; i < 1000; i++) {
        sk_belief_time(&b, 2);
        sk_belief_fault(&b, 0);
    }
    assert_true(near(b.faults, 1000) && near(b.seconds, 2000));
}

/* A period is as its faults one by one, and one of a billion of them is as quick. */
static void periods_are_spread_evenly(void **state)
{
    (void)state;
    struct sk_belief one = {0, 0}, other = {0, 0};
    for (int k = 0; k < 3; k++) {
        sk_belief_period(&one, 70, 6, 25);
        for (int i = 0; i < 6; i++) {
            sk_belief_time(&other, 10);
            sk_belief_fault(&other, 25);
        }
        sk_belief_time(&other, 10);
    }
    assert_true(near(one.faults, other.faults) && near(one.seconds, other.seconds));
    sk_belief_period(&one, 1e9, 1e9, 25);
    assert_true(near(one.faults, 25) && fabs(sk_belief_mean(one) - 1) < 1e-8);
    one = (struct sk_belief){0, 0};
    sk_belief_period(&one, 30, 4, 0);
    assert_true(near(one.faults, 4) && near(one.seconds, 30));
    sk_belief_period(&one, 0.25, 0, 25);
    assert_true(near(one.faults, 4) && near(one.seconds, 30.25));
}

/* What is no time and no fault counts as none, and a memory of less than one fault is none. */
static void what_is_no_number_counts_nothing(void **state)
{
    (void)state;
    struct sk_belief b = {4, 100};
    sk_belief_time(&b, -5);
    assert_true(b.faults == 4 && b.seconds == 100);
    sk_belief_period(&b, -5, -2, 25);
    assert_true(b.faults == 4 && b.seconds == 100);
    sk_belief_period(&b, 7, -2, 0);
    assert_true(b.faults == 4 && b.seconds == 107);
    sk_belief_fault(&b, 0.5);
    assert_true(b.faults == 5 && b.seconds == 107);
    sk_belief_fault(&b, 2);
    assert_true(b.faults == 3.5 && b.seconds == 53.5);
    sk_belief_fault(&b, 1); /* the newest fault alone */
    assert_true(b.faults == 1 && b.seconds == 0);
    b = (struct sk_belief){4, 100};
    sk_belief_period(&b, 30, 2, 1);
    assert_true(b.faults == 1 && b.seconds == 10);
    b = (struct sk_belief){4, 100};
    sk_belief_period(&b, 30, 2, 0.99);
    assert_true(b.faults == 6 && b.seconds == 130);
    b = (struct sk_belief){4, 100};
    sk_belief_period(&b, 30, 1, 2);
    assert_true(b.faults == 3 && b.seconds == 115.0 / 2 + 15);
    /* as many faults as are played one by one, and one more, before which nothing is left */
    b = (struct sk_belief){1e30, 1e30};
    sk_belief_period(&b, 65, 64, 1);
    assert_true(b.faults == 1 && b.seconds == 1);
    b = (struct sk_belief){1e300, 1e300};
    sk_belief_period(&b, 129, 128, 2);
    assert_true(b.faults > 1e250); /* 2^-128 of it is still there */
    b = (struct sk_belief){1e300, 1e300};
    sk_belief_period(&b, 130, 129, 2);
    assert_true(near(b.faults, 2) && near(b.seconds, 2));
    struct sk_belief all = {6, 300};
    struct sk_belief one = sk_belief_of_one(all, 3);
    assert_true(one.faults == 3 && near(one.seconds, 150));
    one = sk_belief_of_one((struct sk_belief){0, 300}, 3);
    assert_true(one.faults == 0 && one.seconds == 0);
    one = sk_belief_prior(50, 3);
    assert_true(one.faults == 3 && one.seconds == 150);
    one = sk_belief_prior(-50, 3);
    assert_true(one.faults == 0 && one.seconds == 0);
    assert_true(sk_belief_mean((struct sk_belief){-1, 5}) == 0 && sk_belief_mean((struct sk_belief){5, 0}) == 0 && sk_belief_mean((struct sk_belief){5, -1}) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_is_that_of_the_posterior),
        cmocka_unit_test(one_of_many_shrinks_towards_all),
        cmocka_unit_test(old_faults_fade),
        cmocka_unit_test(nothing_fades_without_a_memory),
        cmocka_unit_test(periods_are_spread_evenly),
        cmocka_unit_test(what_is_no_number_counts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
