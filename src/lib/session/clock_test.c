/* The clock of a session: which candidates are idle, and when a checkpoint is due. */
#include "lib/session/clock.h"

#include "schedule/advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* What a session does at a candidate: 1 when a checkpoint was made there. */
static int candidate(struct sk_clock *c, int64_t iteration, uint64_t others)
{
    if (sk_clock_passes(c, iteration))
        return 0;
    c->tick++;
    int due = sk_clock_is_due(c);
    due |= sk_clock_reach(c, iteration);
    if (due)
        c->last_checkpoint_tick = c->tick;
    sk_clock_plan(c, others);
    return due;
}

static void test_every(void **state)
{
    (void)state;
    struct sk_clock c;
    int64_t made[8], n = 0;
    sk_clock_start(&c, 10);
    for (int64_t it = 0; it < 41; it++)
        if (candidate(&c, it, UINT64_MAX))
            made[n++] = it;
    assert_int_equal(n, 4);
    for (int64_t k = 0; k < n; k++)
        assert_int_equal(made[k], 10 * (k + 1));
    assert_int_equal(c.tick, 41);
    assert_int_equal(c.last_iteration, 40);
    assert_int_equal(c.last_checkpoint_tick, 41);
}

/* Only multiples that are met: a program that counts by threes has one at 30 and not "somewhere behind 10". The same iteration
 * again is not due again. */
static void test_every_is_met(void **state)
{
    (void)state;
    struct sk_clock c;
    sk_clock_start(&c, 10);
    int64_t made = 0, last = -1;
    for (int64_t it = 3; it <= 33; it += 3)
        if (candidate(&c, it, UINT64_MAX)) {
            made++;
            last = it;
        }
    assert_int_equal(made, 1);
    assert_int_equal(last, 30);
    assert_false(candidate(&c, 33, UINT64_MAX));
    assert_true(candidate(&c, 40, UINT64_MAX));
    assert_false(candidate(&c, 40, UINT64_MAX));
}

static void test_idle(void **state)
{
    (void)state;
    struct sk_clock c;
    sk_clock_start(&c, 0);
    assert_false(sk_clock_is_idle(&c, 0)); /* the first always looks */
    candidate(&c, 5, 4);
    assert_int_equal(c.next_tick, 4);
    assert_true(sk_clock_passes(&c, 6));
    assert_true(sk_clock_passes(&c, 6));
    assert_int_equal(c.tick, 3);
    assert_false(sk_clock_passes(&c, 7)); /* tick 4 */
    assert_int_equal(c.tick, 3);
    assert_int_equal(c.last_iteration, 6);
    candidate(&c, 7, UINT64_MAX);
    assert_false(sk_clock_is_idle(&c, 6)); /* a number that became less is looked at */
    assert_true(sk_clock_is_idle(&c, 7));
}

static void test_asked(void **state)
{
    (void)state;
    struct sk_clock c;
    sk_clock_start(&c, 0);
    assert_false(candidate(&c, 1, UINT64_MAX));
    c.tick++;
    assert_false(sk_clock_is_due(&c));
    sk_clock_ask(&c);
    assert_true(sk_clock_is_due(&c));
    c.tick++;
    assert_false(sk_clock_is_due(&c)); /* once */
}

static void test_advice(void **state)
{
    (void)state;
    struct sk_clock c;
    sk_clock_start(&c, 0);
    sk_clock_set_due(&c, 3);
    assert_false(candidate(&c, 1, UINT64_MAX));
    assert_int_equal(c.next_tick, 3);
    assert_false(candidate(&c, 2, UINT64_MAX));
    assert_true(candidate(&c, 3, UINT64_MAX));
    assert_true(candidate(&c, 4, UINT64_MAX)); /* until there is new advice */
    sk_clock_set_due(&c, SK_ADVICE_NEVER);
    assert_false(candidate(&c, 5, UINT64_MAX));
    assert_true(sk_clock_is_idle(&c, 6));
    sk_clock_set_due(&c, 9);
    sk_clock_plan(&c, 7); /* somebody else has something to do before */
    assert_int_equal(c.next_tick, 7);
}

/* A rank that is further than the others counts no ticks until they are where it is; its place in the program goes on. */
static void test_sleep(void **state)
{
    (void)state;
    struct sk_clock c;
    sk_clock_start(&c, 0);
    assert_true(sk_clock_position(&c) == 0 && !sk_clock_sleeps(&c));
    sk_clock_sleep(&c, 100, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sk_clock_position(&c), 100 + i);
        assert_int_equal(sk_clock_sleeps(&c), 1);
    }
    assert_int_equal(sk_clock_sleeps(&c), 0);
    assert_true(sk_clock_position(&c) == 103 && c.tick == 0 && c.asleep == 0);
    candidate(&c, 1, UINT64_MAX);
    assert_int_equal(sk_clock_position(&c), 104);
    sk_clock_sleep(&c, 7, 1); /* once more, from elsewhere */
    assert_int_equal(sk_clock_position(&c), 8);
    assert_true(sk_clock_sleeps(&c) && !sk_clock_sleeps(&c) && sk_clock_position(&c) == 9);
}

/* Where the slow path is taken next by `every`, wherever the last one was. */
static void test_the_next_multiple(void **state)
{
    (void)state;
    struct sk_clock c;
    static const int64_t rows[][2] = {{0, 10}, {3, 10}, {9, 10}, {10, 20}, {11, 20}, {25, 30}};
    sk_clock_start(&c, 10);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sk_clock_reach(&c, rows[i][0]);
        sk_clock_plan(&c, 77);
        assert_true(c.due_iteration == rows[i][1] && c.next_iteration == rows[i][1] && c.next_tick == 77 && c.last_iteration == rows[i][0]);
    }
    sk_clock_start(&c, 0);
    sk_clock_reach(&c, 5);
    sk_clock_plan(&c, 77);
    assert_true(c.next_iteration == INT64_MAX && c.last_iteration == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every), cmocka_unit_test(test_every_is_met), cmocka_unit_test(test_idle),
        cmocka_unit_test(test_asked), cmocka_unit_test(test_advice), cmocka_unit_test(test_sleep), cmocka_unit_test(test_the_next_multiple),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
