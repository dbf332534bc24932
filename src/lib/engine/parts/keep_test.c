/* What stays, alone: rules over records, without a file. */
#include "lib/engine/parts/keep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { THIS = 3,
       MOST = 8 };

static struct sk_held held[MOST];
static struct sk_slot slots[MOST];
static struct sk_stock stock;
static struct sk_keep keep;

/* Committed generations of this start at iterations 10, 20 …, numbered 1, 2 …, each with a slot and on nothing. */
static int set_up(void **state)
{
    (void)state;
    struct sk_engine_config c = {.keep_local = 1, .keep_prefix = 1, .incarnation = THIS, .prefix_root = "prefix"};
    memset(held, 0, sizeof held);
    memset(slots, 0, sizeof slots);
    stock = (struct sk_stock){0};
    sk_keep_set(&keep, &c);
    for (int i = 0; i < MOST; i++) {
        held[i] = (struct sk_held){.stage = COMMITTED, .slot = &slots[i], .seq = i + 1, .gen = {THIS, 10 * (i + 1), 0}};
        sk_stock_committed(&stock, &held[i]);
        sk_stock_add(&stock, &held[i]);
    }
    return 0;
}

/* Which go, in their order, as digits of their numbers. */
static const char *gone(int all_new)
{
    static char text[MOST + 1];
    struct sk_held *h, was[MOST];
    int n = 0;
    memcpy(was, held, sizeof held);
    while (n < MOST && (h = sk_keep_unneeded(&keep, &stock, all_new))) {
        text[n++] = (char)('1' + (h - held));
        h->stage = FREE; /* no generation any more */
        h->base = (struct sk_gen){0};
    }
    text[n] = 0;
    memcpy(held, was, sizeof held);
    return text;
}

static void test_counts(void **state)
{
    (void)state;
    stock.complete_seq = 5;
    assert_string_equal(gone(1), "1234"); /* the newest complete one stays, and what may become complete */
    assert_string_equal(gone(0), "123467");
    stock.told_seq = 7; /* the ranks are about to learn of it */
    assert_string_equal(gone(0), "12346");
    keep.keep_local = 3;
    assert_string_equal(gone(1), "12");
    stock.complete_seq = 0;
    assert_string_equal(gone(1), "");
}

static void test_users(void **state)
{
    (void)state;
    stock.complete_seq = MOST;
    assert_string_equal(gone(1), "1234567");
    assert_int_equal(sk_keep_held_back(&keep, &stock), 0);
    held[1].users.holds = 1;
    held[3].users.lent = 2;
    held[5].users.archiving = 1;
    assert_string_equal(gone(1), "1357");
    assert_int_equal(sk_keep_held_back(&keep, &stock), 2); /* what is archived needs its slot in any case */
}

/* What others build on stays with them, and goes after them. */
static void test_lineages(void **state)
{
    (void)state;
    stock.complete_seq = MOST;
    for (int i = 5; i < MOST; i++)
        held[i].base = held[i - 1].gen; /* 8 on 7 on 6 on 5 */
    assert_string_equal(gone(1), "1234");
    for (int i = 5; i < MOST; i++)
        held[i].base = (struct sk_gen){0};
    held[1].base = held[0].gen;
    held[2].base = held[1].gen;
    assert_string_equal(gone(1), "3214567");
}

/* The newest complete one that can be read stays, and not a newer one that cannot. */
static void test_damaged(void **state)
{
    (void)state;
    stock.complete_seq = MOST;
    held[7].health.damaged = 1;
    held[6].base = held[0].gen;
    held[0].health.damaged = 1;
    assert_non_null(sk_keep_unneeded(&keep, &stock, 1));
    for (int i = 0; i < MOST; i++)
        assert_int_equal(held[i].kept, i == 5);
}

static void test_earlier(void **state)
{
    (void)state;
    stock.complete_seq = MOST;
    held[0].gen.incarnation = held[1].gen.incarnation = 1;
    held[0].seq = held[1].seq = 0;
    assert_string_equal(gone(1), "1234567");
    keep.earlier = SK_EARLIER_STAY;
    assert_string_equal(gone(1), "34567");
    assert_false(sk_keep_earlier_may_go(&keep, &stock));
    keep.earlier = SK_EARLIER_RESUMED;
    assert_true(sk_keep_earlier_may_go(&keep, &stock));
    keep.spare_before = 2; /* could not be read: nothing takes its place yet */
    assert_string_equal(gone(1), "34567");
    keep.any_archived = 1;
    assert_string_equal(gone(1), "1234567");
    keep.earlier = SK_EARLIER_UNUSED;
    assert_true(sk_keep_earlier_may_go(&keep, &stock));
    keep.any_archived = 0;
    assert_false(sk_keep_earlier_may_go(&keep, &stock)); /* complete, and not archived */
    keep.has_prefix = 0;
    assert_true(sk_keep_earlier_may_go(&keep, &stock));
}

static void test_when(void **state)
{
    (void)state;
    assert_false(sk_keep_is_due(&keep, &stock));
    stock.complete_seq = 2;
    assert_true(sk_keep_is_due(&keep, &stock));
    keep.retired_seq = 2;
    assert_false(sk_keep_is_due(&keep, &stock));
    sk_keep_again(&keep);
    assert_true(sk_keep_is_due(&keep, &stock));
    assert_false(sk_keep_prunes(&keep));
    keep.pruned_request = 1;
    assert_true(sk_keep_prunes(&keep));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_counts, set_up),
        cmocka_unit_test_setup(test_users, set_up),
        cmocka_unit_test_setup(test_lineages, set_up),
        cmocka_unit_test_setup(test_damaged, set_up),
        cmocka_unit_test_setup(test_earlier, set_up),
        cmocka_unit_test_setup(test_when, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
