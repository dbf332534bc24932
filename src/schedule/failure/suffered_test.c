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

static void half_of_this_start_is_lost_at_most(void **state)
{
    (void)state;
    struct sk_suffered none = {0};
    assert_int_equal(sk_suffered_most(&none, 1000, 1e-6, 1), 500);
    assert_int_equal(sk_suffered_most(&none, 1, 1e-6, 1), 1);
    /* a checkpoint that costs an iteration is made every hundred of them while the start is young */
    assert_int_equal(sk_suffered_most(&none, 1, 0.1, 0.1), 100);
    assert_int_equal(sk_suffered_most(&none, 199, 0.1, 0.1), 100);
    assert_int_equal(sk_suffered_most(&none, 300, 0.1, 0.1), 150);
    assert_int_equal(sk_suffered_most(&none, INT64_MAX, 1, 0), INT64_MAX / 8);
}

static void a_job_that_dies_early_is_saved_before_that(void **state)
{
    (void)state;
    struct sk_suffered s = {.faults = 1, .seconds = 5, .last_candidates = 20};
    assert_int_equal(sk_suffered_most(&s, 1, 0.1, 0.1), 10); /* although it costs more than one would like */
    assert_int_equal(sk_suffered_most(&s, 60, 0.1, 0.1), 30); /* it lives longer by now */
    assert_int_equal(sk_suffered_most(&s, 1, 0.001, 0.1), 1);
    s.last_candidates = 1;
    assert_int_equal(sk_suffered_most(&s, 1, 100, 1e-3), 1);
}

/* Whenever a start dies, at most half of it is lost, or a hundred times the cost of a checkpoint. */
static void checkpoints_come_at_growing_distances(void **state)
{
    (void)state;
    struct sk_suffered none = {0};
    int64_t last = 0, n = 0;
    for (int64_t i = 1; i < 1000000; i++) {
        if (i - last >= sk_suffered_most(&none, i, 0.01, 0.1)) {
            last = i;
            n++;
        }
        assert_true(i - last <= 10 || 2 * (i - last) <= i + 1);
    }
    assert_true(n < 30); /* which costs next to nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_begins_as_believed_and_learns),
        cmocka_unit_test(half_of_this_start_is_lost_at_most),
        cmocka_unit_test(a_job_that_dies_early_is_saved_before_that),
        cmocka_unit_test(checkpoints_come_at_growing_distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
