/* The pace of a job before and behind a repair, with a clock of the test's own. */
#include "recovery/renewal/slower.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A job whose ranks are all at the same candidate. */
struct way {
    struct sk_slower w;
    double now, done; /* candidates, also parts of one */
    int64_t iteration;
};

static struct way begin(void)
{
    struct way y = {.now = 1000};
    sk_slower_init(&y.w, 2);
    sk_slower_begin(&y.w, 0, y.now);
    return y;
}

static void go(struct way *y, double seconds, double pace)
{
    for (double end = y->now + seconds; y->now < end; y->now += 0.5) {
        struct sk_gait g = {(uint64_t)y->done, (int64_t)y->done, (int64_t)y->done};
        sk_slower_look(&y->w, &g, y->now);
        y->done += 0.5 * pace;
    }
}

static void repair(struct way *y)
{
    struct sk_gait g = {(uint64_t)y->done, (int64_t)y->done, (int64_t)y->done};
    sk_slower_repair(&y->w, &g);
}

static void start_again(struct way *y)
{
    y->now += 1;
    sk_slower_begin(&y->w, 1, y->now);
    y->done = 0;
}

static int pays(const struct way *y, double left_s)
{
    struct sk_slowness s;
    return sk_slower_pays(&y->w, left_s, &s);
}

/* The first candidate is reached after 1.5 s, so a start costs 2.5 s: at half of the pace ten seconds tell, and then it pays. */
static void half_as_fast(void **state)
{
    struct way y = begin();
    struct sk_slowness s;
    go(&y, 20, 1);
    assert_false(pays(&y, INFINITY));
    repair(&y);
    for (int i = 0; i < 40 && !pays(&y, INFINITY); i++)
        go(&y, 1, 0.5);
    assert_true(sk_slower_pays(&y.w, INFINITY, &s));
    assert_true(s.part > 0.4 && s.part < 0.6);
    assert_true(s.start_s > 1.5 && s.start_s < 3);
    assert_true(s.lost_s >= s.start_s && s.lost_s < s.start_s + 3.5);
}

static void as_fast_as_before(void **state)
{
    struct way y = begin();
    go(&y, 20, 1);
    repair(&y);
    go(&y, 4000, 0.9);
    assert_false(pays(&y, INFINITY)); /* a tenth may be anything */
    repair(&y);
    go(&y, 4000, 0.7);
    assert_false(pays(&y, INFINITY)); /* and so may three */
}

/* With logging the new process goes where the others wait for it: that is no pace. */
static void who_catches_up_is_not_slow(void **state)
{
    struct way y = begin();
    go(&y, 20, 1);
    repair(&y);
    for (double end = y.now + 60; y.now < end; y.now += 0.5) {
        struct sk_gait g = {20, 1, 20};
        sk_slower_look(&y.w, &g, y.now);
    }
    assert_false(pays(&y, INFINITY));
    go(&y, 30, 1);
    assert_false(pays(&y, INFINITY));
    go(&y, 100, 0.4);
    assert_true(pays(&y, INFINITY));
}

static void nothing_is_known_before(void **state)
{
    struct way y = begin();
    go(&y, 3, 4);
    repair(&y);
    go(&y, 100, 0.1);
    assert_false(pays(&y, INFINITY));
}

/* What is lost adds up over several repairs, each of which is over before it would have paid. */
static void short_stretches(void **state)
{
    struct way y = begin();
    y.now += 30; /* a long way to the first candidate */
    go(&y, 20, 1);
    int n = 0;
    for (; n < 20 && !pays(&y, INFINITY); n++) {
        repair(&y);
        go(&y, 12, 0.5);
    }
    assert_in_range(n, 5, 7);
}

static void near_its_end(void **state)
{
    struct way y = begin();
    go(&y, 20, 1);
    repair(&y);
    go(&y, 20, 0.5);
    assert_true(pays(&y, INFINITY));
    assert_false(pays(&y, 3)); /* half of three seconds is less than a start */
}

/* A job that is stopped for a minute, or a launcher that is. */
static void a_pause_is_not_slow(void **state)
{
    struct way y = begin();
    go(&y, 20, 1);
    repair(&y);
    go(&y, 10, 1);
    y.now += 60;
    go(&y, 10, 1);
    assert_false(pays(&y, INFINITY));
}

static void the_start_helps(void **state)
{
    struct way y = begin();
    go(&y, 20, 1);
    repair(&y);
    go(&y, 20, 0.5);
    start_again(&y);
    assert_int_equal(y.w.belief, SK_SLOWER_UNKNOWN);
    go(&y, 20, 0.95);
    assert_int_equal(y.w.belief, SK_SLOWER_BY_REPAIR);
    assert_false(pays(&y, INFINITY));
    repair(&y);
    go(&y, 20, 0.5);
    assert_true(pays(&y, INFINITY)); /* as a fault may be repaired all the same */
}

static void the_start_does_not_help(void **state)
{
    struct way y = begin();
    go(&y, 20, 1);
    repair(&y);
    go(&y, 20, 0.5);
    start_again(&y);
    go(&y, 20, 0.55);
    assert_int_equal(y.w.belief, SK_SLOWER_BY_ITSELF);
    repair(&y);
    go(&y, 100, 0.1);
    assert_false(pays(&y, INFINITY));
}

/* A start that ends for another reason before it has told anything does not decide it; the pace of the one before is kept. */
static void a_short_start_between(void **state)
{
    struct way y = begin();
    go(&y, 20, 1);
    repair(&y);
    go(&y, 20, 0.5);
    start_again(&y);
    go(&y, 2, 1);
    sk_slower_begin(&y.w, 0, y.now);
    y.done = 0;
    assert_int_equal(y.w.belief, SK_SLOWER_UNKNOWN);
    go(&y, 20, 1);
    assert_int_equal(y.w.belief, SK_SLOWER_BY_REPAIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_as_fast),
        cmocka_unit_test(as_fast_as_before),
        cmocka_unit_test(who_catches_up_is_not_slow),
        cmocka_unit_test(nothing_is_known_before),
        cmocka_unit_test(short_stretches),
        cmocka_unit_test(near_its_end),
        cmocka_unit_test(a_pause_is_not_slow),
        cmocka_unit_test(the_start_helps),
        cmocka_unit_test(the_start_does_not_help),
        cmocka_unit_test(a_short_start_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
