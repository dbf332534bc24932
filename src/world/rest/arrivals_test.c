/* Connections of this process to itself, at whose other ends children send. */
#include "world/rest/arrivals.h"

#include "base/clock.h"
#include "base/host/fork_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void connect_two(int end[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s >= 0 && !bind(s, (struct sockaddr *)&a, sizeof a) && !listen(s, 1) && !getsockname(s, (struct sockaddr *)&a, &n));
    end[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(end[0] >= 0 && !connect(end[0], (struct sockaddr *)&a, sizeof a));
    end[1] = accept(s, NULL, NULL);
    assert_true(end[1] >= 0 && !close(s));
}

static void close_two(const int end[2])
{
    close(end[0]);
    close(end[1]);
}

/* What can be said of connections at once has been. */
static void become_quiet(void)
{
    for (double end = sk_now() + 60; sk_arrivals_sleep(0.02);)
        assert_true(sk_now() < end);
}

/* A new connection has been found, which the first sleep tells that knows it, as it can be written to; or another end has gone. How soon
 * depends on how long it took to look for them the last time: on a busy machine that may be a second. */
static void notices(void)
{
    for (double end = sk_now() + 60; !sk_arrivals_sleep(0.02);)
        assert_true(sk_now() < end);
    become_quiet();
}

static double sleeps_for(double s, int *woken)
{
    double begun = sk_now();
    *woken = sk_arrivals_sleep(s);
    return sk_now() - begun;
}

static pid_t send_later(int fd)
{
    pid_t child = sk_testing_fork();
    if (!child) {
        sk_sleep(0.03);
        _exit(write(fd, "x", 1) != 1);
    }
    assert_true(child > 0);
    return child;
}

static void await(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void what_comes_ends_the_sleep(void **state)
{
    int end[2], woken;
    for (int turn = 0; turn < 2; turn++) { /* the second connection is made when the first ones have been looked for */
        connect_two(end);
        notices();
        pid_t child = send_later(end[0]);
        assert_true(sleeps_for(20, &woken) < 10);
        assert_int_equal(woken, 1);
        await(child);
        close_two(end);
    }
}

static void what_stays_unread_does_not_end_the_next_one(void **state)
{
    int end[2], woken;
    connect_two(end);
    notices();
    await(send_later(end[0]));
    assert_true(sleeps_for(20, &woken) < 10); /* it came before */
    assert_int_equal(woken, 1);
    assert_true(sleeps_for(0.05, &woken) >= 0.049);
    assert_int_equal(woken, 0);
    close(end[0]);
    notices();
    assert_true(sleeps_for(0.05, &woken) >= 0.049);
    assert_int_equal(woken, 0);
    close(end[1]);
}

static int looked; /* for them all */

DIR *__real_opendir(const char *name);
DIR *__wrap_opendir(const char *name);
DIR *__wrap_opendir(const char *name)
{
    looked++;
    return __real_opendir(name);
}

/* A program may have a thousand files open. */
static void descriptors_are_gone_through_when_there_are_others(void **state)
{
    int end[2];
    struct stat s;
    if (stat("/proc/self/fd", &s) || !s.st_size)
        skip(); /* an older system does not say how many there are */
    become_quiet();
    looked = 0;
    double begun = sk_now();
    for (int i = 0; i < 20; i++) {
        sk_sleep(0.025);
        sk_arrivals_sleep(1e-4);
    }
    assert_true(looked <= 1 + (int)(sk_now() - begun)); /* once a second all the same */
    connect_two(end);
    looked = 0;
    notices();
    assert_true(looked >= 1);
    close_two(end);
}

static void nothing_comes(void **state)
{
    int woken;
    become_quiet();
    assert_true(sleeps_for(0.05, &woken) >= 0.049);
    assert_int_equal(woken, 0);
}

/* The descriptor goes with them, and its number becomes another's, which can always be read. */
static void a_program_may_close_all_that_it_does_not_know(void **state)
{
    int end[2], woken, more[2];
    become_quiet();
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    assert_true(sleeps_for(0.05, &woken) >= 0.049);
    assert_int_equal(woken, 0);
    become_quiet();
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    assert_true(!pipe(more) && write(more[1], "x", 1) == 1);
    for (int i = 0; i < 8; i++)
        assert_true(dup(more[0]) > 0);
    assert_true(sleeps_for(0.05, &woken) >= 0.049);
    connect_two(end);
    notices();
    pid_t child = send_later(end[0]);
    assert_true(sleeps_for(20, &woken) < 10);
    await(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_ends_the_sleep),
        cmocka_unit_test(what_stays_unread_does_not_end_the_next_one),
        cmocka_unit_test(descriptors_are_gone_through_when_there_are_others),
        cmocka_unit_test(nothing_comes),
        cmocka_unit_test(a_program_may_close_all_that_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
