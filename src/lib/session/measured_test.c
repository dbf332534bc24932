/* What a checkpoint is taken to cost after the first ones, and when one of them was held up by something else. */
#include "lib/session/measured.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static double after(struct sk_measured *m, double seconds)
{
    sk_measured_checkpoint(m, seconds);
    return sk_measured_cost(m, 0.001);
}

static void one_that_was_held_up_does_not_count(void **state)
{
    (void)state;
    struct sk_measured m = {0};
    assert_true(sk_measured_cost(&m, 0.001) == 0.001);
    assert_true(after(&m, 0.002) == 0.002);
    assert_true(after(&m, 0.003) == 0.002);
    assert_true(after(&m, 5) == 0.003);
    assert_true(m.cost_seconds == 5); /* what is told */
    assert_true(after(&m, 0.004) == 0.004);
    assert_true(after(&m, 0.002) == 0.004);
    assert_true(after(&m, 0.002) == 0.002);
}

static void what_costs_more_from_now_on_does(void **state)
{
    (void)state;
    struct sk_measured m = {0};
    after(&m, 0.002);
    after(&m, 0.002);
    after(&m, 0.002);
    after(&m, 0.5);
    assert_true(after(&m, 0.5) == 0.5);
}

static void the_first_is_believed_only_so_far(void **state)
{
    (void)state;
    struct sk_measured m = {0};
    assert_true(after(&m, 2) == 0.01); /* ten times what was supposed */
    assert_true(after(&m, 2) == 2);    /* it is so */
    struct sk_measured quick = {0};
    assert_true(after(&quick, 2) == 0.01);
    assert_true(after(&quick, 0.005) == 0.005);
}

static int is_about(double x, double want)
{
    return x >= want && x < want + 0.5;
}

/* Of a tick of which so long ago, without what the program was held up. */
static void ticks_are_measured_from_mark_to_mark(void **state)
{
    (void)state;
    struct sk_measured m;
    memset(&m, 1, sizeof m);
    double before = sk_now();
    sk_measured_start(&m);
    assert_true(m.started_at >= before && m.started_at <= sk_now() && m.mark == m.started_at && m.last_checkpoint_at == m.started_at);
    assert_true(m.pace.begun[SK_CADENCE_ARCHIVE] == m.started_at && m.pace.begun[SK_CADENCE_PROTECT] == 0 && m.cost_seconds == 0 && !m.mark_tick);
    m.mark -= 100;
    assert_true(sk_measured_tick(&m, 10) == 0); /* before the first mark lies the set-up */
    sk_measured_pause(&m, 7);
    sk_measured_mark(&m, 5);
    assert_true(m.mark >= before && m.mark_tick == 5 && m.paused == 0);
    m.mark -= 100;
    assert_true(sk_measured_tick(&m, 5) == 0);
    assert_true(is_about(sk_measured_tick(&m, 15), 10) && is_about(sk_measured_tick(&m, 6), 100));
    sk_measured_pause(&m, 30);
    sk_measured_pause(&m, 20);
    assert_true(m.paused == 50 && is_about(sk_measured_tick(&m, 15), 5));
    sk_measured_pause(&m, 90);
    assert_true(sk_measured_tick(&m, 15) == 0); /* of an error of the clock nothing is made */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_was_held_up_does_not_count),
        cmocka_unit_test(what_costs_more_from_now_on_does),
        cmocka_unit_test(the_first_is_believed_only_so_far),
        cmocka_unit_test(ticks_are_measured_from_mark_to_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
