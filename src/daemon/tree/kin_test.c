/* What services say of ranks of other nodes, merged on its way up: what is new is passed on, who only lives shares an entry, and orders
 * find their way down. */
#include "daemon/tree/kin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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
    int frames, entries, of[SK_MSG_KINDS];
    uint32_t age_ms;
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
        if (first)
            s->age_ms = r.m.number;
        s->of[r.m.kind] += 1 + (int)r.left;
        s->entries++;
        if (r.m.kind == SK_MSG_BEAT)
            s->furthest = r.m.at.progress > s->furthest ? r.m.at.progress : s->furthest;
        sk_frame_skip(&r);
    }
    s->frames++;
    sk_frame_clear(b);
}

static struct sent merge_at(struct sk_kin *k, double at)
{
    struct sent s = {0};
    struct sk_frame b = {0};
    sk_kin_merge(k, &b, at, count, &s);
    if (!sk_frame_is_empty(&b))
        count(&s, &b);
    sk_frame_free(&b);
    return s;
}

static struct sent merge(struct sk_kin *k)
{
    return merge_at(k, 3);
}

/* All nodes say hello, and then one beat as a whole. */
static struct sk_kin *begin(void)
{
    struct sk_kin *k = sk_kin_new();
    int again = 0;
    for (uint32_t r = 0; r < N; r++) {
        struct sk_message hello = say(SK_MSG_HELLO, r, 1), beat = say(SK_MSG_BEAT, r, 2);
        snprintf(hello.host, sizeof hello.host, "n%u", r / EACH);
        assert_int_equal(sk_kin_heard(k, &(struct sk_kin_way){(int)(r / EACH), 0, 1}, &hello, 0, &again), SK_CLIENT_NEWS);
        assert_int_equal(sk_kin_heard(k, &(struct sk_kin_way){(int)(r / EACH), 0, 1}, &beat, 0, &again), SK_CLIENT_NEWS);
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
        assert_int_equal(sk_kin_heard(k, &(struct sk_kin_way){(int)node, 0, 2}, &beat, 0, &again), SK_CLIENT_NOTHING);
        assert_int_equal(sk_kin_heard(k, &(struct sk_kin_way){(int)node, 0, 2}, &alive, EACH - 2, &again), SK_CLIENT_NOTHING);
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
    sk_kin_heard(k, &(struct sk_kin_way){0, 0, 2}, &alive, EACH - 1, &again);
    assert_true(again);
    assert_int_equal(merge(k).frames, 0);
    again = 0;
    alive.rank = N - 1;
    sk_kin_heard(k, &(struct sk_kin_way){NODES - 1, 0, 2}, &alive, UINT32_MAX - N, &again); /* of these only the first is here */
    assert_true(again);
    assert_int_equal(merge(k).of[SK_MSG_ALIVE], 1);
    again = 0;
    alive.incarnation = 4;
    sk_kin_heard(k, &(struct sk_kin_way){NODES - 1, 0, 2}, &alive, 0, &again);
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
    assert_int_equal(sk_kin_heard(k, &(struct sk_kin_way){77, 0, 2}, &beat, 0, &again), SK_CLIENT_NEWS);
    assert_int_equal(sk_kin_heard(k, &(struct sk_kin_way){0, 0, 2}, &old, 0, &again), SK_CLIENT_NOTHING);
    sk_kin_heard(k, &(struct sk_kin_way){0, 0, 2}, &hello, 0, &again);
    assert_int_equal(sk_kin_find(k, 3, 5), 77);
    assert_int_equal(sk_kin_find(k, 3, 6), 0);
    assert_int_equal(sk_kin_find(k, 2, 6), -1);
    struct sent s = merge(k);
    assert_int_equal(s.of[SK_MSG_BEAT], 1);
    sk_kin_repeat(k);
    beat.serial++;
    sk_kin_heard(k, &(struct sk_kin_way){77, 0, 3}, &beat, 0, &again);
    beat = say(SK_MSG_BEAT, 6, 9);
    sk_kin_heard(k, &(struct sk_kin_way){0, 0, 3}, &beat, 0, &again);
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
    assert_int_equal(sk_kin_heard(k, &(struct sk_kin_way){0, 0, 2}, &end, 0, &again), SK_CLIENT_URGENT);
    assert_int_equal(sk_kin_heard(k, &(struct sk_kin_way){0, 0, 2}, &end, 0, &again), SK_CLIENT_URGENT); /* it waits for an answer, which may be lost */
    assert_int_equal(sk_kin_heard(k, &(struct sk_kin_way){0, 0, 2}, &tell, 0, &again), SK_CLIENT_NEWS);
    assert_int_equal(sk_kin_heard(k, &(struct sk_kin_way){0, 0, 2}, &kin, 0, &again), SK_CLIENT_NOTHING);
    struct sent s = merge(k);
    assert_int_equal(s.of[SK_MSG_EXIT], 2);
    assert_int_equal(s.of[SK_MSG_TELL], 1);
    sk_kin_forget(k, 1.5); /* of the others nothing was heard since then */
    assert_int_equal(sk_kin_count(k), 1);
    sk_kin_free(k);
    sk_kin_free(NULL);
}

/* What waits on its way does not count as said when it is passed on: the age of the oldest goes along, that of each way added to it; and
 * nothing that waited makes younger what was heard since then. */
static void how_old_it_is_goes_along(void **state)
{
    (void)state;
    struct sk_kin *k = begin();
    struct sk_message young = say(SK_MSG_BEAT, 3, 7), old = say(SK_MSG_ALIVE, EACH, 0);
    int again = 0;
    merge(k);
    sk_kin_heard(k, &(struct sk_kin_way){0, 0, 9.75}, &young, 0, &again);
    assert_int_equal(merge_at(k, 10).age_ms, 250);
    sk_kin_heard(k, &(struct sk_kin_way){0, 0, 10.75}, &young, 0, &again); /* it came twice, and says nothing more */
    assert_int_equal(merge_at(k, 11).frames, 0);
    young.serial++;
    sk_kin_heard(k, &(struct sk_kin_way){0, 0, 19.75}, &young, 0, &again);
    sk_kin_heard(k, &(struct sk_kin_way){1, 1, 18}, &old, EACH - 1, &again);
    assert_int_equal(merge_at(k, 20).age_ms, 2000);
    sk_kin_heard(k, &(struct sk_kin_way){1, 1, 17}, &old, EACH - 1, &again); /* a late word */
    assert_int_equal(merge_at(k, 21).age_ms, 3000);
    sk_kin_heard(k, &(struct sk_kin_way){1, 1, 21}, &old, EACH - 1, &again);
    assert_int_equal(merge_at(k, 1e9).age_ms, SK_MSG_AGE_MAX);
    sk_kin_free(k);
}

/* A service is silent that passed on what others say: these live as of now, its own ranks do not. */
static void who_speaks_through_a_silent_one_gets_time(void **state)
{
    (void)state;
    struct sk_kin *k = begin();
    struct sk_message alive = say(SK_MSG_ALIVE, 0, 0);
    int again = 0;
    for (uint32_t r = EACH; r < 3 * EACH; r++) { /* nodes 1 and 2 come through 1 now */
        struct sk_message beat = say(SK_MSG_BEAT, r, 3);
        sk_kin_heard(k, &(struct sk_kin_way){1, r >= 2 * EACH, 2}, &beat, 0, &again);
    }
    merge(k);
    sk_kin_excuse(k, 0, 50); /* nobody speaks through it */
    assert_int_equal(merge_at(k, 50).frames, 0);
    sk_kin_excuse(k, 1, 50);
    struct sent s = merge_at(k, 50);
    assert_int_equal(s.of[SK_MSG_ALIVE], EACH);
    assert_int_equal(s.age_ms, 0);
    alive.rank = 2 * EACH;
    sk_kin_heard(k, &(struct sk_kin_way){1, 1, 51}, &alive, EACH - 1, &again);
    assert_false(again);
    sk_kin_forget(k, 40);
    assert_int_equal(sk_kin_count(k), EACH);
    sk_kin_free(k);
}

/* A seed for kin_fuzz: a node says hello and beats, of itself and of another one; then that all of these live. */
static void write_corpus(const char *folder)
{
    struct sk_message said[2][4] = {
        {say(SK_MSG_HELLO, 4, 1), say(SK_MSG_BEAT, 4, 2), {.kind = SK_MSG_KIN, .number = 250}, say(SK_MSG_BEAT, 5, 2)},
        {say(SK_MSG_ALIVE, 4, 0), {.kind = SK_MSG_KIN, .number = 100}, say(SK_MSG_ALIVE, 5, 0), say(SK_MSG_EXIT, 5, 9)}};
    char path[512];
    snprintf(path, sizeof path, "%s/kin", folder);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (int i = 0; i < 2; i++) {
        struct sk_frame b = {0};
        size_t n;
        for (int j = 0; j < 4; j++)
            sk_frame_add(&b, &said[i][j]);
        const void *data = sk_frame_close(&b, (uint64_t)i + 1, &n);
        fputc(1 | 8, f);
        fputc((int)(n & 255), f);
        fputc((int)(n >> 8), f);
        fwrite(data, 1, n, f);
        sk_frame_free(&b);
    }
    fclose(f);
}

int main(void)
{
    if (getenv("SAIKAI_WRITE_CORPUS"))
        write_corpus(getenv("SAIKAI_WRITE_CORPUS"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_new_is_passed_on_once),
        cmocka_unit_test(one_tells_how_far_they_are_and_the_others_are_one_entry),
        cmocka_unit_test(who_is_not_of_the_service_is_asked_for),
        cmocka_unit_test(another_way_is_told),
        cmocka_unit_test(ends_and_sentences_are_passed_on),
        cmocka_unit_test(how_old_it_is_goes_along),
        cmocka_unit_test(who_speaks_through_a_silent_one_gets_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
