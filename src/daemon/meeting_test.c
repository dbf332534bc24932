/* Where keepers and services meet: one listens, others are told so, messages pass both ways, another user is sent away by both sides,
 * and nothing is left. */
#include "daemon/meeting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY_UID = 65534, LONG_MS = 60000 };

/* A name of this test's own, so that several may run at a time. */
static const uint8_t *job(uint8_t n)
{
    static uint8_t key[SK_KEY_BYTES];
    pid_t pid = getpid();
    memset(key, n, sizeof key);
    memcpy(key, &pid, sizeof pid);
    return key;
}

static int ready(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, LONG_MS) == 1;
}

static void one_listens_and_the_others_find_it(void **state)
{
    struct sk_message m = {.kind = SK_MSG_HELLO, .rank = 7, .host = "n1"}, r;
    uid_t uid;
    assert_int_equal(sk_meeting_join(job(1)), SK_MEETING_NOBODY);
    int listener = sk_meeting_found(job(1));
    assert_true(listener >= 0);
    assert_int_equal(sk_meeting_found(job(1)), SK_MEETING_BUSY);
    int other = sk_meeting_found(job(2)); /* another job on the same node */
    assert_true(other >= 0);
    int a = sk_meeting_join(job(1)); /* before anybody accepts */
    assert_true(a >= 0);
    assert_int_equal(sk_meeting_accept(other, &uid), SK_MEETING_NOBODY);
    int b = sk_meeting_accept(listener, &uid);
    assert_true(b >= 0);
    assert_int_equal(sk_meeting_accept(listener, &uid), SK_MEETING_NOBODY);
    assert_int_equal(sk_meeting_receive(b, &r), 0);
    assert_int_equal(sk_meeting_send(a, &m), 0);
    m.kind = SK_MSG_KILL;
    assert_int_equal(sk_meeting_send(b, &m), 0);
    assert_true(ready(b) && ready(a));
    assert_int_equal(sk_meeting_receive(b, &r), 1);
    assert_int_equal(r.kind, SK_MSG_HELLO);
    assert_string_equal(r.host, "n1");
    assert_int_equal(sk_meeting_receive(a, &r), 1);
    assert_int_equal(r.kind, SK_MSG_KILL);
    close(listener);
    close(other);
    assert_int_equal(sk_meeting_join(job(1)), SK_MEETING_NOBODY); /* the name is gone with it */
    close(b);
    assert_true(ready(a));
    assert_int_equal(sk_meeting_receive(a, &r), -1);
    assert_int_equal(sk_meeting_send(a, &m), -1);
    close(a);
}

static void what_is_no_message_ends_the_talk(void **state)
{
    struct sk_message r;
    uid_t uid;
    int listener = sk_meeting_found(job(3)), a = sk_meeting_join(job(3)), b = sk_meeting_accept(listener, &uid);
    char large[4000] = {0};
    assert_true(a >= 0 && b >= 0);
    assert_int_equal(send(a, "nonsense", 8, 0), 8);
    assert_true(ready(b));
    assert_int_equal(sk_meeting_receive(b, &r), -1);
    assert_int_equal(send(a, large, sizeof large, 0), sizeof large);
    assert_int_equal(sk_meeting_receive(b, &r), -1);
    close(a);
    close(b);
    close(listener);
}

static void a_side_that_does_not_read_holds_nobody_up(void **state)
{
    struct sk_message m = {.kind = SK_MSG_BEAT};
    int listener = sk_meeting_found(job(4)), a = sk_meeting_join(job(4));
    for (int i = 0; i < 100000; i++)
        assert_int_equal(sk_meeting_send(a, &m), 0);
    close(a);
    close(listener);
}

/* What another user's process, started here, found: its exit code. */
static int as_nobody(int (*act)(void))
{
    pid_t pid = fork();
    int status;
    assert_true(pid >= 0);
    if (!pid)
        _exit(setgid(NOBODY_UID) || setuid(NOBODY_UID) ? 99 : act());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static const uint8_t *shared;

static int knock(void)
{
    return -sk_meeting_join(shared);
}

static void another_user_is_sent_away_by_both_sides(void **state)
{
    uid_t uid = 0;
    if (geteuid())
        skip();
    shared = job(5);
    int listener = sk_meeting_found(shared);
    assert_int_equal(as_nobody(knock), -SK_MEETING_STRANGER); /* who listens is not that user */
    assert_int_equal(sk_meeting_accept(listener, &uid), SK_MEETING_STRANGER);
    assert_int_equal(uid, NOBODY_UID);
    assert_int_equal(sk_meeting_accept(listener, &uid), SK_MEETING_NOBODY);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_listens_and_the_others_find_it),
        cmocka_unit_test(what_is_no_message_ends_the_talk),
        cmocka_unit_test(a_side_that_does_not_read_holds_nobody_up),
        cmocka_unit_test(another_user_is_sent_away_by_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
