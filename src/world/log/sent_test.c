/* What is kept of messages: counting, marks, and what a cut leaves. */
#include "world/log/sent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int all_ended(struct sk_kept_message *m)
{
    (void)m;
    return 1;
}

static int by_request(struct sk_kept_message *m)
{
    return !m->request;
}

static size_t length(const struct sk_kept_list *l)
{
    size_t n = 0;
    for (const struct sk_kept_message *m = l->first; m; m = m->next)
        n++;
    return n;
}

static void send(struct sk_kept *k, int peer, int tag, uint64_t index)
{
    struct sk_kept_message *m = sk_kept_add(k, peer, tag, 10);
    assert_non_null(m);
    memset(m->data, tag, m->bytes);
    assert_int_equal(m->index, index);
}

static void the_setup_stays(void **state)
{
    struct sk_kept *k = sk_kept_new(3);
    send(k, 1, 7, 0);
    send(k, 2, 7, 0);
    sk_kept_end_setup(k);
    assert_int_equal(sk_kept_set_mark(k, 0, 0), 0);
    send(k, 1, 7, 1);
    assert_int_equal(sk_kept_set_mark(k, 100, 5), 0);
    sk_kept_cut(k, 100, all_ended);
    assert_int_equal(length(&k->peer[1].setup), 1);
    assert_int_equal(length(&k->peer[1].run), 0);
    assert_int_equal(k->bytes, 2 * sk_kept_whole(10));
    assert_null(sk_kept_find(k, 0));
    assert_int_equal(sk_kept_find(k, 100)->position, 5);
    sk_kept_free(k);
}

static void a_cut_leaves_what_is_younger(void **state)
{
    struct sk_kept *k = sk_kept_new(2);
    sk_kept_end_setup(k);
    sk_kept_set_mark(k, 0, 0);
    for (uint64_t i = 0; i < 5; i++)
        send(k, 1, 1, i);
    sk_kept_set_mark(k, 10, 1);
    send(k, 1, 2, 0);
    send(k, 1, 1, 5);
    sk_kept_set_mark(k, 20, 2);
    send(k, 1, 1, 6);
    assert_int_equal(sk_kept_at(sk_kept_find(k, 10), 1, 0).sent, 5);
    assert_int_equal(sk_kept_at(sk_kept_find(k, 10), 1, 1).sent, 0); /* there was no such channel yet */
    k->peer[1].run.first->request = 1;                               /* under way */
    sk_kept_cut(k, 10, by_request);
    assert_int_equal(length(&k->peer[1].run), 4);
    sk_kept_cut(k, 15, all_ended); /* nobody knows it */
    assert_int_equal(length(&k->peer[1].run), 4);
    k->peer[1].run.first->request = 0;
    sk_kept_cut(k, 20, by_request);
    assert_int_equal(length(&k->peer[1].run), 1);
    assert_int_equal(k->bytes, sk_kept_whole(10));
    sk_kept_free(k);
}

static void marks_of_what_was_not_complete_go(void **state)
{
    struct sk_kept *k = sk_kept_new(1);
    sk_kept_end_setup(k);
    for (int64_t key = 1; key <= 4; key++)
        sk_kept_set_mark(k, key, (uint64_t)key);
    sk_kept_forget_after(k, 2);
    assert_non_null(sk_kept_find(k, 1));
    assert_null(sk_kept_find(k, 3));
    sk_kept_set_mark(k, 9, 9);
    sk_kept_cut(k, 9, all_ended);
    assert_null(sk_kept_find(k, 2));
    assert_int_equal(sk_kept_find(k, 9)->position, 9);
    sk_kept_free(k);
}

/* A new process sends again what the others have. */
static void what_the_peer_has(void **state)
{
    struct sk_kept *k = sk_kept_new(2);
    k->peer[1].has_all = 1;
    assert_true(sk_kept_is_had(k, 1, sk_kept_add(k, 1, 3, 0)));
    k->peer[1].has_all = 0;
    sk_kept_channel(k, 1, 3)->had = 3;
    assert_true(sk_kept_is_had(k, 1, sk_kept_add(k, 1, 3, 0)));
    assert_true(sk_kept_is_had(k, 1, sk_kept_add(k, 1, 3, 0)));
    assert_false(sk_kept_is_had(k, 1, sk_kept_add(k, 1, 3, 0)));
    assert_false(sk_kept_is_had(k, 1, sk_kept_add(k, 1, 4, 0)));
    sk_kept_free(k);
}

static void too_many_tags(void **state)
{
    struct sk_kept *k = sk_kept_new(1);
    for (int tag = 0; tag < SK_KEPT_CHANNELS; tag++)
        assert_non_null(sk_kept_add(k, 0, tag, 1));
    assert_null(sk_kept_add(k, 0, SK_KEPT_CHANNELS, 1));
    assert_int_equal(sk_kept_add(k, 0, 5, 1)->index, 1);
    sk_kept_free(k);
}

/* Each tag has its own count, whatever place the table gives it, and a mark has those that there were. */
static void tags_are_told_apart(void **state)
{
    struct sk_kept *k = sk_kept_new(2);
    sk_kept_end_setup(k);
    for (uint64_t i = 0; i < 3; i++)
        for (int c = 0; c < 100; c++)
            send(k, c % 2, c << 21 | (c & 1), i);
    sk_kept_channel(k, 1, 1 << 21 | 1)->posted = 7;
    assert_int_equal(sk_kept_set_mark(k, 5, 0), 0);
    send(k, 0, 12345, 0);
    send(k, 0, 2 << 21, 3);
    assert_int_equal(sk_kept_channel(k, 0, 2 << 21)->sent, 4);
    assert_int_equal(sk_kept_at(sk_kept_find(k, 5), 0, 1).sent, 3);
    assert_int_equal(sk_kept_at(sk_kept_find(k, 5), 0, 50).sent, 0); /* behind it stand those of the next peer */
    assert_int_equal(sk_kept_at(sk_kept_find(k, 5), 1, 0).posted, 7);
    assert_int_equal(sk_kept_at(sk_kept_find(k, 5), 1, 50).sent, 0);
    sk_kept_cut(k, 5, all_ended);
    assert_int_equal(length(&k->peer[0].run), 2);
    assert_int_equal(length(&k->peer[1].run), 0);
    assert_int_equal(k->bytes, 2 * sk_kept_whole(10));
    sk_kept_free(k);
}

static void what_is_late_is_bounded_and_outlives_a_cut(void **state)
{
    (void)state;
    struct sk_kept *k = sk_kept_new(2);
    struct sk_kept_message *m[SK_KEPT_LATE + 1];
    sk_kept_end_setup(k);
    for (int i = 0; i <= SK_KEPT_LATE; i++) {
        m[i] = sk_kept_add(k, 1, 5, 100);
        m[i]->request = 1;
        assert_int_equal(sk_kept_is_late(k, 1, m[i]), i < SK_KEPT_LATE);
    }
    struct sk_kept_message *large = sk_kept_add(k, 0, 5, SK_KEPT_LATE_BYTES), *more = sk_kept_add(k, 0, 5, 1);
    assert_true(sk_kept_is_late(k, 0, large));
    assert_false(sk_kept_is_late(k, 0, more));
    m[0]->request = m[2]->request = 0;
    sk_kept_arrived(k, 1, by_request); /* the second has not, so the third is late still */
    assert_true(!m[0]->late && m[1]->late && m[2]->late);
    assert_true(sk_kept_is_late(k, 1, m[SK_KEPT_LATE]));
    assert_int_equal(sk_kept_set_mark(k, 1, 1), 0);
    sk_kept_cut(k, 1, by_request);
    assert_int_equal(length(&k->peer[1].run), SK_KEPT_LATE); /* the first has gone, the third is late and stays */
    assert_ptr_equal(k->peer[1].run.first, m[1]);
    assert_int_equal(length(&k->peer[0].run), 0);
    assert_int_equal(k->peer[0].late_bytes, 0);
    sk_kept_none_late(k);
    assert_false(m[1]->late);
    assert_int_equal(k->peer[1].n_late, 0);
    assert_int_equal(k->peer[1].late_bytes, 0);
    for (int i = 1; i <= SK_KEPT_LATE; i++)
        m[i]->request = 0;
    sk_kept_cut(k, 1, all_ended);
    assert_int_equal(length(&k->peer[1].run), 0);
    sk_kept_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_setup_stays),
        cmocka_unit_test(a_cut_leaves_what_is_younger),
        cmocka_unit_test(marks_of_what_was_not_complete_go),
        cmocka_unit_test(what_the_peer_has),
        cmocka_unit_test(too_many_tags),
        cmocka_unit_test(tags_are_told_apart),
        cmocka_unit_test(what_is_late_is_bounded_and_outlives_a_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
