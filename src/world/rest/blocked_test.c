/* MPI, its clock and what comes are this test's own. */
#include "world/rest/blocked.h"

#include "base/clock.h"
#include "world/next/next.h"
#include "world/rest/arrivals.h"
#include "world/rest/rest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static int (*called)(void); /* in each look of MPI's */
static int registered, sleeps, comes, stays;
static double now = 100, slept, longest;

static int add(int (*f)(void))
{
    registered++;
    called = f;
    return 0;
}

static int take_out(int (*f)(void))
{
    assert_ptr_equal(f, called);
    called = NULL;
    return 0;
}

void *sk_next_find(const char *name)
{
    int adds = !strcmp(name, "opal_progress_register");
    if (!adds)
        assert_string_equal(name, "opal_progress_unregister");
    return adds ? (void *)add : stays ? NULL : (void *)take_out;
}

static int look(void)
{
    return called ? called() : 0;
}

double sk_now(void)
{
    return now;
}

int sk_arrivals_sleep(double seconds)
{
    int woken = comes;
    sleeps++;
    slept += seconds;
    now += seconds;
    longest = seconds > longest ? seconds : longest;
    comes = 0;
    return woken;
}

/* MPI looks every microsecond. */
static void waits(double seconds)
{
    double until = now + seconds;
    sleeps = 0;
    slept = longest = 0;
    for (; now < until; now += 1e-6)
        assert_int_equal(look(), 0);
}

static void mpi_sleeps_between_beginning_and_end_alone(void **state)
{
    int before = registered;
    sk_blocked_begin();
    sk_blocked_begin();
    assert_int_equal(registered, before + 1);
    waits(0.0199);
    assert_int_equal(sleeps, 0); /* short calls do not */
    waits(1);
    assert_true(slept > 0.9 && longest <= 0.00013); /* what comes otherwise than by TCP is found soon */
    sk_blocked_end();
    waits(0.1);
    assert_true(sleeps > 0);
    sk_blocked_end();
    waits(0.1);
    assert_int_equal(sleeps, 0);
    assert_int_equal(registered, before + 1);
}

/* What there is no repair for costs MPI nothing: not before the first one, and not after it. */
static void nothing_is_called_where_nothing_is_repaired(void **state)
{
    assert_null(called);
    sk_blocked_begin();
    assert_non_null(called);
    sk_blocked_begin();
    sk_blocked_end();
    assert_non_null(called);
    sk_blocked_end();
    assert_null(called);
    sk_blocked_begin();
    sk_blocked_begin();
    sk_blocked_end_all();
    assert_null(called);
    sk_blocked_end_all(); /* again: there is nothing to end */
    sk_blocked_begin();
    assert_non_null(called);
    sk_blocked_end();
    assert_null(called);
}

static void what_cannot_be_taken_out_is_added_once(void **state)
{
    int before = registered;
    stays = 1;
    for (int i = 0; i < 3; i++) {
        sk_blocked_begin();
        sk_blocked_end();
        assert_non_null(called);
        waits(0.1);
        assert_int_equal(sleeps, 0);
    }
    assert_int_equal(registered, before + 1);
    sk_blocked_begin();
    waits(0.1);
    assert_true(sleeps > 0);
    stays = 0;
    sk_blocked_end();
    assert_null(called);
}

static void calls_that_were_left_sleep_no_more(void **state)
{
    sk_blocked_begin();
    sk_blocked_begin();
    sk_blocked_end_all();
    waits(0.1);
    assert_int_equal(sleeps, 0);
    sk_blocked_begin();
    sk_blocked_end();
    waits(0.1);
    assert_int_equal(sleeps, 0);
}

static void what_comes_is_looked_at_for_a_while(void **state)
{
    sk_blocked_begin();
    waits(0.1);
    comes = 1;
    while (comes)
        look();
    waits(0.0019);
    assert_int_equal(sleeps, 0);
    waits(0.1);
    assert_true(sleeps > 0);
    sk_blocked_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_called_where_nothing_is_repaired),
        cmocka_unit_test(mpi_sleeps_between_beginning_and_end_alone),
        cmocka_unit_test(calls_that_were_left_sleep_no_more),
        cmocka_unit_test(what_comes_is_looked_at_for_a_while),
        cmocka_unit_test(what_cannot_be_taken_out_is_added_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
