/* What a checkpoint is taken to cost after the first ones, and when one of them was held up by something else. */
#include "lib/session/measured.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_was_held_up_does_not_count),
        cmocka_unit_test(what_costs_more_from_now_on_does),
        cmocka_unit_test(the_first_is_believed_only_so_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
