/* What is kept for the other copy of a receiver, and what that is sent again after a death. */
#include "world/replica/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static int asked;

static int over(struct sk_copied *m)
{
    asked++;
    return !m->request[0] && !m->request[1];
}

static struct sk_copied *send(struct sk_channels *c, int tag, int backup)
{
    struct sk_copied *m = sk_channel_add(c, sk_channel_find(c, 0, tag), 8);
    assert_non_null(m);
    m->backup = backup;
    return m;
}

static size_t count(const struct sk_channels *c)
{
    size_t n = 0;
    for (const struct sk_copied *m = c->first; m; m = m->next)
        n++;
    return n;
}

static void messages_stay_until_they_are_acknowledged(void **state)
{
    struct sk_channels c = {0};
    for (int i = 0; i < 5; i++)
        send(&c, 7, 1);
    struct sk_channel *seven = sk_channel_find(&c, 0, 7);
    assert_int_equal(seven->sent, 5);
    assert_int_equal(sk_channel_sweep_all(&c, NULL, over), 0);
    sk_channel_ack(seven, 3);
    assert_int_equal(sk_channel_sweep(&c, NULL, NULL, over), 24);
    assert_int_equal(count(&c), 2);
    assert_int_equal(c.first->index, 3);
    sk_channel_ack(seven, 2); /* an old one changes nothing */
    assert_int_equal(seven->acked, 3);
    sk_channel_ack(seven, 9); /* that copy is ahead of this process */
    sk_channel_sweep_all(&c, NULL, over);
    assert_null(c.first);
    assert_null(c.newest);
    sk_channels_free(&c);
}

static void tags_are_apart_and_the_order_is_one(void **state)
{
    struct sk_channels c = {0};
    for (int i = 0; i < 300; i++)
        send(&c, i, 1);
    struct sk_channel *other = sk_channel_find(&c, 1, 7);
    assert_int_equal(other->sent, 0);
    assert_ptr_equal(sk_channel_find(&c, 1, 7), other);
    sk_channel_ack(sk_channel_find(&c, 0, 7), 1);
    assert_int_equal(sk_channel_sweep(&c, NULL, NULL, over), 0); /* not the oldest */
    assert_int_equal(sk_channel_sweep_all(&c, NULL, over), 8);
    int tag = 0;
    for (const struct sk_copied *m = c.first; m; m = m->next, tag++) {
        tag += tag == 7;
        assert_int_equal(m->channel->tag, tag);
    }
    sk_channels_free(&c);
}

static void what_is_under_way_or_held_stays(void **state)
{
    struct sk_channels c = {0};
    struct sk_copied *a = send(&c, 1, 0), *b = send(&c, 2, 0), *behind = send(&c, 2, 0);
    send(&c, 3, 0);
    b->request[1] = 5;
    assert_int_equal(sk_channel_sweep_all(&c, a, over), 8); /* the last */
    assert_int_equal(count(&c), 3); /* what is behind one that stays does, too */
    assert_ptr_equal(c.newest, behind);
    assert_ptr_equal(sk_channel_find(&c, 0, 2)->first, b);
    b->request[1] = 0;
    b->waited = 1; /* a request of the program's stands for it */
    assert_int_equal(sk_channel_sweep_all(&c, a, over), 0);
    b->waited = 0;
    b->lent = 1; /* taken from the list, not freed */
    assert_int_equal(sk_channel_sweep_all(&c, a, over), 16);
    assert_ptr_equal(c.newest, a);
    send(&c, 2, 0);
    assert_int_equal(sk_channel_sweep(&c, NULL, NULL, over), 16);
    assert_null(c.first);
    assert_null(c.newest);
    free(b);
    sk_channels_free(&c);
}

/* The other copy may be far behind. */
static void what_is_kept_behind_the_oldest_costs_nothing(void **state)
{
    enum { MANY = 1000 };
    struct sk_channels c = {0};
    for (int i = 0; i < MANY; i++)
        send(&c, 1, 0)->request[0] = 1;
    send(&c, 2, 1);
    struct sk_channel *two = sk_channel_find(&c, 0, 2);
    asked = 0;
    sk_channel_ack(two, 1);
    assert_int_equal(sk_channel_sweep(&c, two, NULL, over), 8);
    assert_int_equal(sk_channel_sweep(&c, two, NULL, over), 0);
    assert_int_equal(sk_channel_sweep(&c, NULL, NULL, over), 0);
    assert_int_equal(sk_channel_sweep_all(&c, NULL, over), 0);
    assert_in_range(asked, 1, 4);
    assert_int_equal(count(&c), MANY);
    sk_channels_free(&c);
}

/* What the program went on without stays until it has arrived, and there are not many of these. */
static void few_may_be_late(void **state)
{
    struct sk_channels c = {0};
    struct sk_copied *first = send(&c, 1, 0);
    assert_int_equal(sk_channel_is_late(&c, first), 1);
    for (int i = 1; i < SK_LATE_MOST; i++)
        assert_int_equal(sk_channel_is_late(&c, send(&c, i, 0)), 1);
    struct sk_copied *more = send(&c, 1, 0);
    assert_int_equal(sk_channel_is_late(&c, more), 0);
    assert_int_equal(sk_channel_sweep_all(&c, NULL, over), 0);
    assert_ptr_equal(c.late[0], first);
    sk_channel_arrived(&c);
    assert_int_equal(sk_channel_sweep(&c, NULL, NULL, over), 8);
    assert_int_equal(sk_channel_is_late(&c, more), 1);
    for (int i = 0; i < SK_LATE_MOST; i++)
        sk_channel_arrived(&c);
    assert_int_equal(c.n_late, 0);
    assert_int_equal(sk_channel_sweep_all(&c, NULL, over), 8 * SK_LATE_MOST);
    assert_null(c.first);
    sk_channels_free(&c);
}

static void few_bytes_may_be_late(void **state)
{
    struct sk_channels c = {0};
    struct sk_channel *one = sk_channel_find(&c, 0, 1);
    struct sk_copied *most = sk_channel_add(&c, one, SK_LATE_BYTES), *little = sk_channel_add(&c, one, 1), *too_much = sk_channel_add(&c, one, SK_LATE_BYTES + 1);
    assert_int_equal(sk_channel_is_late(&c, too_much), 0);
    assert_int_equal(sk_channel_is_late(&c, most), 1);
    assert_int_equal(sk_channel_is_late(&c, little), 0);
    sk_channel_arrived(&c);
    assert_int_equal(sk_channel_is_late(&c, little), 1);
    assert_int_equal(sk_channel_is_late(&c, too_much), 0);
    sk_channels_free(&c);
}

static void after_a_cut_what_was_had_is_not_sent(void **state)
{
    struct sk_channels c = {0};
    struct sk_channel *one = sk_channel_find(&c, 0, 1);
    assert_int_equal(sk_channel_had(one, 0), 0);
    one->cut = 5;
    assert_int_equal(sk_channel_lacks(one, 2), 0);
    assert_int_equal(sk_channel_lacks(one, 4), 0);
    const int had[] = {1, 1, 0, 1, 0, 0, 0};
    for (uint64_t i = 0; i < sizeof had / sizeof *had; i++)
        assert_int_equal(sk_channel_had(one, i), had[i]);
    sk_channels_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_stay_until_they_are_acknowledged),
        cmocka_unit_test(tags_are_apart_and_the_order_is_one),
        cmocka_unit_test(what_is_under_way_or_held_stays),
        cmocka_unit_test(what_is_kept_behind_the_oldest_costs_nothing),
        cmocka_unit_test(few_may_be_late),
        cmocka_unit_test(few_bytes_may_be_late),
        cmocka_unit_test(after_a_cut_what_was_had_is_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
