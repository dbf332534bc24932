/* What keepers say, merged: who only lives shares an entry, what is new is told as it is, and the furthest rank tells how far the program
 * is. */
#include "daemon/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

enum { N = 6 };

static struct sk_message say(enum sk_message_kind kind, uint32_t rank, uint64_t progress)
{
    struct sk_message m = {.kind = kind, .incarnation = 3, .rank = rank, .serial = progress + 1};
    m.at = (struct sk_progress){.progress = progress, .iteration = (int64_t)progress, .complete_iteration = -1, .restored_iteration = -1};
    return m;
}

/* Frames as they are sent. */
struct sent {
    int frames, messages, entries, bytes;
    int of[SK_MSG_KINDS];
    uint32_t last_rank;
    uint64_t furthest;
};

static void count(void *arg, struct sk_frame *b)
{
    struct sent *t = arg;
    struct sk_frame_rd r;
    size_t n;
    const void *data = sk_frame_close(b, 1, &n);
    assert_non_null(data);
    assert_int_equal(sk_frame_open(data, n, &r, NULL), 0);
    t->frames++;
    t->bytes += (int)n;
    for (uint32_t left = 0; sk_frame_next(&r); left = r.left) {
        t->messages++;
        t->entries += left == 0;
        t->of[r.m.kind]++;
        t->last_rank = r.m.rank;
        if (r.m.at.progress > t->furthest)
            t->furthest = r.m.at.progress;
    }
    sk_frame_clear(b);
}

static struct sent merged(struct sk_clients *s)
{
    struct sk_frame b = {0};
    struct sent t = {0};
    sk_clients_merge(s, &b, count, &t);
    count(&t, &b);
    sk_frame_free(&b);
    return t;
}

/* Keepers of n ranks, which come in another order than that of their ranks. */
static struct sk_clients *begin(struct sk_client *m[], int n)
{
    struct sk_clients *s = sk_clients_new();
    assert_non_null(s);
    for (int i = n - 1; i >= 0; i--) {
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        struct sk_message hello = say(SK_MSG_HELLO, (uint32_t)i, 0);
        assert_non_null(m[i] = sk_clients_add(s, fd));
        assert_int_equal(sk_clients_count(s), n - i);
        assert_int_equal(sk_clients_find(s, 3, (uint32_t)i), -1); /* nobody knows yet who it is */
        assert_int_equal(sk_client_heard(s, m[i], &hello), SK_CLIENT_NEWS);
        assert_int_equal(sk_clients_find(s, 3, (uint32_t)i), sk_client_fd(m[i]));
    }
    return s;
}

static void beat(struct sk_clients *s, struct sk_client *m, uint32_t rank, uint64_t progress, enum sk_client_news news)
{
    struct sk_message b = say(SK_MSG_BEAT, rank, progress);
    assert_int_equal(sk_client_heard(s, m, &b), news);
}

static void who_only_lives_shares_an_entry(void **state)
{
    struct sk_client *m[N];
    struct sk_clients *s = begin(m, N);
    struct sent t = merged(s);
    assert_int_equal(t.of[SK_MSG_HELLO], N);
    assert_int_equal(merged(s).messages, 0); /* nothing was heard since */
    for (uint32_t i = 0; i < N; i++)
        beat(s, m[i], i, 1, SK_CLIENT_NEWS);
    assert_int_equal(merged(s).of[SK_MSG_BEAT], N); /* the first one of each is told */
    for (uint64_t at = 2; at < 20; at++) {
        for (uint32_t i = 0; i < N; i++)
            beat(s, m[i], i, i == 4 ? at + 1 : at, SK_CLIENT_NOTHING);
        t = merged(s);
        assert_int_equal(t.of[SK_MSG_BEAT], 1);
        assert_int_equal(t.of[SK_MSG_ALIVE], N - 1);
        assert_int_equal(t.entries, 3); /* 0 to 3, 4, 5 */
        assert_true(t.furthest == at + 1);
    }
    beat(s, m[1], 1, 18, SK_CLIENT_NOTHING);
    t = merged(s);
    assert_int_equal(t.messages, 1); /* of the others nothing was heard, so nothing is said */
    assert_int_equal(t.last_rank, 1);
    sk_clients_free(s);
}

static void a_rank_that_moves_behind_the_furthest_is_told(void **state)
{
    struct sk_client *m[2];
    struct sk_clients *s = begin(m, 2);
    for (uint64_t at = 5; at < 8; at++) {
        beat(s, m[0], 0, 9, at == 5 ? SK_CLIENT_NEWS : SK_CLIENT_NOTHING);
        beat(s, m[1], 1, at, at == 5 ? SK_CLIENT_NEWS : SK_CLIENT_NOTHING);
        assert_int_equal(merged(s).of[SK_MSG_BEAT], 2);
    }
    beat(s, m[0], 0, 9, SK_CLIENT_NOTHING);
    beat(s, m[1], 1, 7, SK_CLIENT_NOTHING);
    assert_int_equal(merged(s).of[SK_MSG_BEAT], 1);
    sk_clients_free(s);
}

static void what_is_new_is_told_as_it_is(void **state)
{
    struct sk_client *m[N];
    struct sk_clients *s = begin(m, N);
    struct sk_message v = say(SK_MSG_BEAT, 2, 1), end = say(SK_MSG_EXIT, 2, 1);
    for (uint32_t i = 0; i < N; i++)
        beat(s, m[i], i, 1, SK_CLIENT_NEWS);
    merged(s);
    for (uint32_t i = 0; i < N; i++)
        beat(s, m[i], i, 1, SK_CLIENT_NOTHING);
    v.at.complete_count = 1;
    assert_int_equal(sk_client_heard(s, m[2], &v), SK_CLIENT_NEWS);
    v.at.world = 7;
    assert_int_equal(sk_client_heard(s, m[2], &v), SK_CLIENT_URGENT);
    assert_true(sk_client_has_news(m[2]));
    assert_int_equal(merged(s).of[SK_MSG_BEAT], 2); /* this one, and the furthest */
    assert_false(sk_client_has_news(m[2]));
    v.at.world = 8;
    assert_int_equal(sk_client_heard(s, m[2], &v), SK_CLIENT_URGENT);
    assert_int_equal(sk_client_heard(s, m[2], &end), SK_CLIENT_URGENT);
    struct sent t = merged(s);
    assert_int_equal(t.of[SK_MSG_EXIT], 1);
    assert_int_equal(t.of[SK_MSG_BEAT], 1);
    sk_clients_repeat(s); /* what may be lost is told again, as soon as they are heard again */
    beat(s, m[3], 3, 1, SK_CLIENT_NOTHING);
    t = merged(s);
    assert_int_equal(t.of[SK_MSG_HELLO], N);
    assert_int_equal(t.of[SK_MSG_BEAT], 1);
    sk_clients_free(s);
}

static void nobody_speaks_for_another(void **state)
{
    struct sk_client *m[2];
    struct sk_clients *s = begin(m, 2);
    struct sk_message other = say(SK_MSG_EXIT, 1, 1), order = say(SK_MSG_KILL, 0, 1), past = say(SK_MSG_EXIT, 0, 1);
    past.incarnation = 2;
    merged(s);
    assert_int_equal(sk_client_heard(s, m[0], &other), SK_CLIENT_NOTHING);
    assert_int_equal(sk_client_heard(s, m[0], &order), SK_CLIENT_NOTHING);
    assert_int_equal(sk_client_heard(s, m[0], &past), SK_CLIENT_NOTHING);
    assert_int_equal(merged(s).messages, 0);
    int fd = sk_client_fd(m[0]);
    sk_clients_remove(s, m[0]);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(sk_clients_find(s, 3, 0), -1);
    assert_int_equal(sk_clients_find(s, 3, 1), sk_client_fd(m[1]));
    assert_int_equal(sk_clients_count(s), 1);
    sk_clients_free(s);
}

static void many_ranks_go_in_several_frames(void **state)
{
    enum { MANY = 400 };
    static struct sk_client *m[MANY];
    struct sk_clients *s = begin(m, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        beat(s, m[i], i, i, SK_CLIENT_NEWS);
    struct sent t = merged(s);
    assert_in_range(t.frames, 2, 20);
    assert_int_equal(t.of[SK_MSG_HELLO] + t.of[SK_MSG_BEAT], 2 * MANY);
    for (uint32_t i = 0; i < MANY; i++)
        beat(s, m[i], i, i, SK_CLIENT_NOTHING);
    t = merged(s);
    assert_int_equal(t.frames, 1);
    assert_in_range(t.bytes, 1, 250);
    sk_clients_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_only_lives_shares_an_entry),
        cmocka_unit_test(a_rank_that_moves_behind_the_furthest_is_told),
        cmocka_unit_test(what_is_new_is_told_as_it_is),
        cmocka_unit_test(nobody_speaks_for_another),
        cmocka_unit_test(many_ranks_go_in_several_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
