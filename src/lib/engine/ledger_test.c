/* The ledger alone: what it answers is true, for old numbers, too. */
#include "lib/engine/ledger.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct sk_gen gen_of(int64_t i)
{
    return (struct sk_gen){1, 10 * i, 0};
}

static struct sk_ledger *make(size_t keep, int64_t count)
{
    struct sk_ledger *l = NULL;
    int64_t seq;
    assert_int_equal(sk_ledger_new(keep, &l, NULL), 0);
    for (int64_t i = 1; i <= count; i++) {
        assert_int_equal(sk_ledger_add(l, gen_of(i), (double)i, &seq, NULL), 0);
        assert_int_equal(seq, i);
    }
    return l;
}

/* The right one, or none. */
static int knows(struct sk_ledger *l, int64_t seq)
{
    struct sk_ledger_entry e;
    struct saikai_error err = {0};
    if (sk_ledger_find(l, seq, &e, &err)) {
        assert_int_equal(err.code, SAIKAI_ENOENT);
        return 0;
    }
    assert_int_equal(e.seq, seq);
    assert_int_equal(e.gen.iteration, 10 * seq);
    assert_true(e.captured_at == (double)seq);
    return 1;
}

static void test_nothing_is_known_of_nothing(void **state)
{
    (void)state;
    struct sk_ledger *l = make(1, 0);
    assert_false(knows(l, 0));
    assert_false(knows(l, 1));
    assert_false(knows(l, -1));
    assert_false(knows(l, INT64_MAX));
    for (int s = 0; s < SK_LEDGER_STATES; s++) {
        assert_int_equal(sk_ledger_newest(l, s), 0);
        assert_int_equal(sk_ledger_iteration(l, s), -1);
    }
    sk_ledger_mark(l, 1, SK_LEDGER_COMPLETE);
    assert_int_equal(sk_ledger_newest(l, SK_LEDGER_COMPLETE), 0);
    sk_ledger_free(l);
}

/* The first one is archived, none of the many that follow is. */
static void test_an_old_one_is_not_taken_for_a_newer_one(void **state)
{
    (void)state;
    struct sk_ledger *l = make(2, 1);
    int64_t seq;
    sk_ledger_mark(l, 1, SK_LEDGER_ARCHIVED);
    for (int64_t i = 2; i <= 5000; i++) {
        assert_int_equal(sk_ledger_add(l, gen_of(i), (double)i, &seq, NULL), 0);
        sk_ledger_mark(l, i, SK_LEDGER_COMMITTED);
        sk_ledger_mark(l, i, SK_LEDGER_TOLD);
        sk_ledger_mark(l, i, SK_LEDGER_COMPLETE);
        assert_int_equal(sk_ledger_iteration(l, SK_LEDGER_ARCHIVED), 10);
        assert_int_equal(sk_ledger_iteration(l, SK_LEDGER_COMPLETE), 10 * i);
        assert_true(knows(l, 1) && knows(l, i));
    }
    assert_int_equal(sk_ledger_count(l), 5000);
    assert_false(knows(l, 2)); /* it is as if it had never been, and not another one */
    assert_false(knows(l, 4900));
    sk_ledger_mark(l, 4900, SK_LEDGER_ARCHIVED);
    assert_int_equal(sk_ledger_newest(l, SK_LEDGER_ARCHIVED), 1);
    sk_ledger_free(l);
}

static void test_as_many_as_the_settings_keep(void **state)
{
    (void)state;
    struct sk_ledger *l = make(300, 0);
    int64_t seq;
    for (int64_t i = 1; i <= 1000; i++) {
        assert_int_equal(sk_ledger_add(l, gen_of(i), (double)i, &seq, NULL), 0);
        sk_ledger_mark(l, i, SK_LEDGER_TOLD);
    }
    for (int64_t i = 701; i <= 1000; i++)
        assert_true(knows(l, i));
    sk_ledger_free(l);
}

/* Others may still say that they have what was not told of yet; what was lost here nobody will. */
static void test_what_may_still_be_asked_for_stays(void **state)
{
    (void)state;
    struct sk_ledger *l = make(1, 400);
    for (int64_t i = 1; i <= 400; i++)
        assert_true(knows(l, i));
    sk_ledger_free(l);
    int64_t seq;
    l = make(1, 0);
    for (int64_t i = 1; i <= 1000; i++) {
        assert_int_equal(sk_ledger_add(l, gen_of(i), (double)i, &seq, NULL), 0);
        sk_ledger_mark(l, seq, SK_LEDGER_LOST);
    }
    assert_false(knows(l, 500));
    assert_true(knows(l, 1000));
    sk_ledger_free(l);
}

static void test_the_restored_one_has_number_0(void **state)
{
    (void)state;
    struct sk_ledger *l = make(1, 0);
    sk_ledger_restored(l, gen_of(0));
    assert_true(knows(l, 0));
    assert_int_equal(sk_ledger_iteration(l, SK_LEDGER_PROTECTED), -1);
    sk_ledger_mark(l, 0, SK_LEDGER_PROTECTED);
    assert_int_equal(sk_ledger_iteration(l, SK_LEDGER_PROTECTED), 0);
    assert_int_equal(sk_ledger_newest(l, SK_LEDGER_PROTECTED), 0);
    int64_t seq;
    assert_int_equal(sk_ledger_add(l, gen_of(1), 1, &seq, NULL), 0);
    sk_ledger_mark(l, 1, SK_LEDGER_PROTECTED);
    assert_int_equal(sk_ledger_iteration(l, SK_LEDGER_PROTECTED), 10);
    sk_ledger_free(l);
}

static void test_what_stays_in_the_prefix(void **state)
{
    (void)state;
    struct sk_ledger *l = make(1, 0);
    struct sk_gen earlier[40];
    for (int i = 0; i < 40; i++)
        earlier[i] = gen_of(i + 1);
    assert_int_equal(sk_ledger_adopt(l, earlier, 40, NULL), 0);
    for (int i = 1; i <= 40; i++)
        assert_true(sk_ledger_stays(l, sk_gen_key(gen_of(i))));
    for (int i = 41; i <= 100; i++) {
        assert_int_equal(sk_ledger_arrived(l, gen_of(i), 30, NULL), 0);
        assert_int_equal(sk_ledger_arrived(l, gen_of(i), 30, NULL), 0); /* once more at the same iteration */
        assert_false(sk_ledger_stays(l, sk_gen_key(gen_of(i - 30))));
        for (int k = i - 29; k <= i; k++)
            assert_true(sk_ledger_stays(l, sk_gen_key(gen_of(k))));
    }
    assert_int_equal(sk_ledger_adopt(l, NULL, 0, NULL), 0);
    assert_false(sk_ledger_stays(l, sk_gen_key(gen_of(100))));
    sk_ledger_free(l);
}

static void *mark_them(void *arg)
{
    for (int64_t i = 1; i <= 20000; i++)
        sk_ledger_mark(arg, i, SK_LEDGER_COMMITTED);
    return NULL;
}

/* A thread marks what another adds. */
static void test_threads(void **state)
{
    (void)state;
    struct sk_ledger *l = make(3, 0);
    pthread_t t;
    int64_t seq, newest = 0;
    assert_int_equal(pthread_create(&t, NULL, mark_them, l), 0);
    for (int64_t i = 1; i <= 20000; i++) {
        assert_int_equal(sk_ledger_add(l, gen_of(i), (double)i, &seq, NULL), 0);
        int64_t now = sk_ledger_newest(l, SK_LEDGER_COMMITTED);
        assert_true(now >= newest && now <= i);
        assert_true(!now || knows(l, now) || sk_ledger_newest(l, SK_LEDGER_COMMITTED) > now);
        newest = now;
        sk_ledger_mark(l, i, SK_LEDGER_TOLD);
    }
    assert_int_equal(pthread_join(t, NULL), 0);
    sk_ledger_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_known_of_nothing),
        cmocka_unit_test(test_an_old_one_is_not_taken_for_a_newer_one),
        cmocka_unit_test(test_as_many_as_the_settings_keep),
        cmocka_unit_test(test_what_may_still_be_asked_for_stays),
        cmocka_unit_test(test_the_restored_one_has_number_0),
        cmocka_unit_test(test_what_stays_in_the_prefix),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
