/* A wait costs no more than a 32nd part of it, and a long one hardly any processor time. */
#include "world/rest/rest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_few_looks_do_not_ask_the_clock(void **state)
{
    struct sk_rest r = {0};
    for (int i = 1; i < SK_REST_LOOKS; i++)
        assert_int_equal(sk_rest_is_due(&r), 0);
    assert_int_equal(sk_rest_is_due(&r), 1);
    assert_int_equal(sk_rest_is_due(&r), 1); /* until it begins again */
    r = (struct sk_rest){0};
    assert_int_equal(sk_rest_is_due(&r), 0);
}

static void short_waits_do_not_sleep(void **state)
{
    struct sk_rest r = {0};
    for (double t = 0; t < 0.0019; t += 1e-5)
        assert_true(sk_rest_for(&r, 100 + t) == 0);
    assert_true(sk_rest_for(&r, 100.0021) > 0);
}

/* What it waits for comes at some moment: how much later the look is that finds it, and how many looks there are. */
static void long_waits_sleep_most_of_the_time_and_end_soon(void **state)
{
    struct sk_rest r = {0};
    double now = 100, slept = 0;
    long looks = 0;
    while (now < 110) {
        double waited = now - 100, s = sk_rest_for(&r, now);
        assert_true(s <= waited / 32 && s <= 0.001);
        slept += s;
        now += s + 2e-6;
        looks++;
    }
    assert_true(slept > 9.9);
    assert_true(looks < 14000); /* 1000 from its beginning on, and one for each millisecond */
}

static void the_next_wait_begins_anew(void **state)
{
    struct sk_rest r = {0};
    sk_rest_for(&r, 100);
    assert_true(sk_rest_for(&r, 105) > 0);
    r = (struct sk_rest){0};
    assert_true(sk_rest_for(&r, 105.1) == 0);
}

static void whoever_is_roused_looks_a_few_times_and_sleeps_as_long_as_before(void **state)
{
    struct sk_rest r = {.vain = SK_REST_LOOKS + 1000};
    sk_rest_for(&r, 100);
    double s = sk_rest_for(&r, 100.01);
    sk_rest_is_roused(&r);
    for (int i = 1; i < SK_REST_FEW; i++)
        assert_int_equal(sk_rest_is_due(&r), 0);
    assert_int_equal(sk_rest_is_due(&r), 1);
    assert_true(sk_rest_for(&r, 100.01) == s && s > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_looks_do_not_ask_the_clock),
        cmocka_unit_test(short_waits_do_not_sleep),
        cmocka_unit_test(long_waits_sleep_most_of_the_time_and_end_soon),
        cmocka_unit_test(the_next_wait_begins_anew),
        cmocka_unit_test(whoever_is_roused_looks_a_few_times_and_sleeps_as_long_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
