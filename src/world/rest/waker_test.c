/* A process sleeps until another one wakes it; no wake is lost, and who cannot be woken looks by itself. */
#include "world/rest/waker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 2000 };
static const double ever_s = 1e6; /* the test's own limit is shorter */

/* A child that finds the waker: wakes so often, each time when it is told to by a byte, which tells it that the one before was seen. */
static pid_t start_waking(const struct sk_waker_place *at, int rounds, int *seen)
{
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    if (!child) {
        struct sk_waker *w = sk_waker_find(at);
        char byte;
        for (int i = 0; w && i < rounds && read(pipe_fds[0], &byte, 1) == 1; i++)
            sk_waker_wake(w);
        _exit(!w);
    }
    close(pipe_fds[0]);
    *seen = pipe_fds[1];
    return child;
}

static void ends_well(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Were one wake lost, whether it comes before the sleep, at its begin or during it, the sleep would never end. */
static void no_wake_is_lost(void **state)
{
    struct sk_waker_place at;
    struct sk_waker *w = sk_waker_make(&at);
    int seen;
    assert_non_null(w);
    pid_t child = start_waking(&at, ROUNDS, &seen);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t woken = sk_waker_woken(w);
        assert_int_equal(woken, i);
        assert_int_equal(write(seen, "", 1), 1);
        while (sk_waker_woken(w) == woken) /* a signal may end it, too */
            sk_waker_sleep(w, woken, ever_s);
    }
    ends_well(child);
    assert_int_equal(sk_waker_found(w), 1);
    close(seen);
    close((int)at.descriptor);
}

static void who_was_woken_before_does_not_sleep(void **state)
{
    struct sk_waker_place at;
    struct sk_waker *w = sk_waker_make(&at);
    uint32_t woken = sk_waker_woken(w);
    sk_waker_wake(w);
    sk_waker_sleep(w, woken, ever_s);
    assert_int_equal(sk_waker_woken(w), woken + 1);
    sk_waker_sleep(w, woken + 1, 0.001); /* ends by itself */
    close((int)at.descriptor);
}

static void nobody_is_woken_who_cannot_be(void **state)
{
    struct sk_waker_place none = {(uint64_t)getpid(), 0, 0};
    assert_null(sk_waker_find(&none));
    sk_waker_wake(NULL);
    assert_int_equal(sk_waker_woken(NULL), 0);
    assert_int_equal(sk_waker_found(NULL), 0);
    sk_waker_sleep(NULL, 0, 0.001);
}

/* In another container the number is another process's: its file has another size, is a pipe with nobody at its other end, or is a waker, but not this one. */
static void what_is_another_ones_is_left_alone(void **state)
{
    struct sk_waker_place at, other;
    int fds[2];
    struct sk_waker *w = sk_waker_make(&at);
    assert_non_null(w);
    assert_int_equal(pipe(fds), 0);
    int file = open("/proc/self/exe", O_RDONLY);
    other = at;
    other.nonce ^= 1;
    assert_null(sk_waker_find(&other));
    other = at;
    other.descriptor = (uint64_t)fds[0];
    assert_null(sk_waker_find(&other));
    other.descriptor = (uint64_t)file;
    assert_null(sk_waker_find(&other));
    close(file);
    other.descriptor = (uint64_t)file; /* closed */
    assert_null(sk_waker_find(&other));
    assert_int_equal(sk_waker_found(w), 0);
    close(fds[0]);
    close(fds[1]);
    close((int)at.descriptor);
}

static void rests_become_longer_without_a_sign(void **state)
{
    double waited = 0;
    int looks = 0, in_first_second = 0;
    for (; waited < 60; looks++) {
        double rest = sk_waker_rest(waited, 1);
        assert_true(rest >= 0.002 && rest <= 1);
        waited += rest;
        in_first_second += waited < 1;
    }
    assert_true(in_first_second > 50);  /* close together at first */
    assert_true(looks < 200);           /* where all the time would be 30 000 */
    assert_true(sk_waker_rest(1e9, 1) == 1);
    assert_true(sk_waker_rest(1e9, 0.05) == 0.05);
    assert_true(sk_waker_rest(0, 0.05) == 0.002);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wake_is_lost),
        cmocka_unit_test(who_was_woken_before_does_not_sleep),
        cmocka_unit_test(nobody_is_woken_who_cannot_be),
        cmocka_unit_test(what_is_another_ones_is_left_alone),
        cmocka_unit_test(rests_become_longer_without_a_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
