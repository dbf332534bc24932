/* What services say of ranks of other nodes, merged on its way up: what is new is passed on, who only lives shares an entry, and orders
 * find their way down. */
#include "daemon/kin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

enum { NODES = 8, EACH = 16, N = NODES * EACH };

static struct sk_message say(enum sk_message_kind kind, uint32_t rank, uint64_t serial)
{
    struct sk_message m = {.kind = kind, .incarnation = 3, .rank = rank, .serial = serial};
    m.at = (struct sk_progress){.progress = serial, .iteration = (int64_t)serial, .complete_iteration = -1, .restored_iteration = -1};
    return m;
}

/* Frames as they are sent. */
struct sent {
    int frames, entries, marks, of[SK_MSG_KINDS];
    uint64_t furthest;
};

static void count(void *arg, struct sk_frame *b)
{
    struct sent *s = arg;
    struct sk_frame_rd r;
    size_t n;
    const void *data = sk_frame_close(b, 1, &n);
    assert_true(n <= SK_FRAME_MAX);
    assert_int_equal(sk_frame_open(data, n, &r, NULL), 0);
    for (int first = 1; sk_frame_next(&r); first = 0) {
        if (first)
            assert_int_equal(r.m.kind, SK_MSG_KIN);
        s->of[r.m.kind] += 1 + (int)r.left;
        s->entries++;
        if (r.m.kind == SK_MSG_BEAT)
            s->furthest = r.m.at.progress > s->furthest ? r.m.at.progress : s->furthest;
        sk_frame_skip(&r);
    }
    s->frames++;
    sk_frame_clear(b);
}

static struct sent merge(struct sk_kin *k)
{
    struct sent s = {0};
    struct sk_frame b = {0};
    sk_kin_merge(k, &b, count, &s);
    if (!sk_frame_is_empty(&b))
        count(&s, &b);
    sk_frame_free(&b);
    return s;
}

/* All nodes say hello, and then one beat as a whole. */
static struct sk_kin *begin(void)
{
    struct sk_kin *k = sk_kin_new();
    int again = 0;
    for (uint32_t r = 0; r < N; r++) {
        struct sk_message hello = say(SK_MSG_HELLO, r, 1), beat = say(SK_MSG_BEAT, r, 2);
        snprintf(hello.host, sizeof hello.host, "n%u", r / EACH);
        assert_int_equal(sk_kin_heard(k, (int)(r / EACH), &hello, 0, 1, &again), SK_CLIENT_NEWS);
        assert_int_equal(sk_kin_heard(k, (int)(r / EACH), &beat, 0, 1, &again), SK_CLIENT_NEWS);
    }
    assert_false(again);
    assert_int_equal(sk_kin_count(k), N);
    return k;
}

static void what_is_new_is_passed_on_once(void **state)
{
    (void)state;
    struct sk_kin *k = begin();
    assert_true(sk_kin_has_news(k));
    struct sent s = merge(k);
    assert_int_equal(s.of[SK_MSG_HELLO], N);
    assert_int_equal(s.of[SK_MSG_BEAT], N);
    s = merge(k);
    assert_int_equal(s.frames, 0);
    assert_false(sk_kin_has_news(k));
    sk_kin_free(k);
}

/* In a heartbeat in which nothing is new each node says how far its furthest rank is, and that the others live. */
static void one_tells_how_far_they_are_and_the_others_are_one_entry(void **state)
{
    (void)state;
    struct sk_kin *k = begin();
    int again = 0;
    merge(k);
    for (uint32_t node = 0; node < NODES; node++) {
        struct sk_message beat = say(SK_MSG_BEAT, node * EACH, 10 + node), alive = say(SK_MSG_ALIVE, node * EACH + 1, 0);
        assert_int_equal(sk_kin_heard(k, (int)node, &beat, 0, 2, &again), SK_CLIENT_NOTHING);
        assert_int_equal(sk_kin_heard(k, (int)node, &alive, EACH - 2, 2, &again), SK_CLIENT_NOTHING);
    }
    assert_false(again);
    struct sent s = merge(k);
    assert_int_equal(s.of[SK_MSG_BEAT], 1);
    assert_int_equal(s.of[SK_MSG_ALIVE], N - 1);
    assert_int_equal(s.furthest, 10 + NODES - 1);
    assert_int_equal(s.entries, 4); /* the mark, those before the furthest, itself, those behind it */
    sk_kin_free(k);
}

/* Nobody lives by the word of a service that it does not speak through, and of whom nothing is known is asked for. */
static void who_is_not_of_the_service_is_asked_for(void **state)
{
    (void)state;
    struct sk_kin *k = begin();
    int again = 0;
    merge(k);
    struct sk_message alive = say(SK_MSG_ALIVE, EACH, 0);
    sk_kin_heard(k, 0, &alive, EACH - 1, 2, &again);
    assert_true(again);
    assert_int_equal(merge(k).frames, 0);
    again = 0;
    alive.rank = N - 1;
    sk_kin_heard(k, NODES - 1, &alive, UINT32_MAX - N, 2, &again); /* of these only the first is here */
    assert_true(again);
    assert_int_equal(merge(k).of[SK_MSG_ALIVE], 1);
    again = 0;
    alive.incarnation = 4;
    sk_kin_heard(k, NODES - 1, &alive, 0, 2, &again);
    assert_true(again);
    sk_kin_free(k);
}

/* A rank whose node has another service now is said as a whole once more, so that the launcher learns the way; an old word of the service
 * before changes nothing. */
static void another_way_is_told(void **state)
{
    (void)state;
    struct sk_kin *k = begin();
    int again = 0;
    merge(k);
    struct sk_message beat = say(SK_MSG_BEAT, 5, 4), old = say(SK_MSG_BEAT, 5, 3), hello = say(SK_MSG_HELLO, 5, 1);
    assert_int_equal(sk_kin_heard(k, 77, &beat, 0, 2, &again), SK_CLIENT_NEWS);
    assert_int_equal(sk_kin_heard(k, 0, &old, 0, 2, &again), SK_CLIENT_NOTHING);
    sk_kin_heard(k, 0, &hello, 0, 2, &again);
    assert_int_equal(sk_kin_find(k, 3, 5), 77);
    assert_int_equal(sk_kin_find(k, 3, 6), 0);
    assert_int_equal(sk_kin_find(k, 2, 6), -1);
    struct sent s = merge(k);
    assert_int_equal(s.of[SK_MSG_BEAT], 1);
    sk_kin_repeat(k);
    beat.serial++;
    sk_kin_heard(k, 77, &beat, 0, 3, &again);
    beat = say(SK_MSG_BEAT, 6, 9);
    sk_kin_heard(k, 0, &beat, 0, 3, &again);
    assert_int_equal(merge(k).of[SK_MSG_BEAT], 2); /* not only the furthest: what was said may be lost */
    sk_kin_free(k);
}

static void ends_and_sentences_are_passed_on(void **state)
{
    (void)state;
    struct sk_kin *k = begin();
    int again = 0;
    merge(k);
    struct sk_message end = say(SK_MSG_EXIT, 9, 5), tell = {.kind = SK_MSG_TELL, .host = "a stranger"}, kin = {.kind = SK_MSG_KIN};
    assert_int_equal(sk_kin_heard(k, 0, &end, 0, 2, &again), SK_CLIENT_URGENT);
    assert_int_equal(sk_kin_heard(k, 0, &end, 0, 2, &again), SK_CLIENT_URGENT); /* it waits for an answer, which may be lost */
    assert_int_equal(sk_kin_heard(k, 0, &tell, 0, 2, &again), SK_CLIENT_NEWS);
    assert_int_equal(sk_kin_heard(k, 0, &kin, 0, 2, &again), SK_CLIENT_NOTHING);
    struct sent s = merge(k);
    assert_int_equal(s.of[SK_MSG_EXIT], 2);
    assert_int_equal(s.of[SK_MSG_TELL], 1);
    sk_kin_forget(k, 1.5); /* of the others nothing was heard since then */
    assert_int_equal(sk_kin_count(k), 1);
    sk_kin_free(k);
    sk_kin_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_new_is_passed_on_once),
        cmocka_unit_test(one_tells_how_far_they_are_and_the_others_are_one_entry),
        cmocka_unit_test(who_is_not_of_the_service_is_asked_for),
        cmocka_unit_test(another_way_is_told),
        cmocka_unit_test(ends_and_sentences_are_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
