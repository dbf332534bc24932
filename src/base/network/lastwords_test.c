/* Processes of this test die with data on its way, in a network of their own where that can be made, else in this one. */
#include "base/network/lastwords.h"

#include "base/clock.h"
#include "base/host/fork_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 4096, LARGE = 1 << 22 };

/* What others of this machine leave behind is not counted, then. */
static void have_own_network(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
        return;
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(s >= 0 && !ioctl(s, SIOCSIFFLAGS, &lo));
    close(s);
}

static struct sockaddr_in address(const char *text, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    assert_int_equal(inet_pton(AF_INET, text, &a.sin_addr), 1);
    return a;
}

/* Two ends with these addresses, both of this host; little room at the second one. */
static void connect_two(const char *from, const char *to, int end[2])
{
    struct sockaddr_in a = address(to, 0), b = address(from, 0);
    socklen_t n = sizeof a;
    int room = ROOM, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s >= 0 && !setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room));
    assert_true(!bind(s, (struct sockaddr *)&a, sizeof a) && !listen(s, 1) && !getsockname(s, (struct sockaddr *)&a, &n));
    end[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(end[0] >= 0 && !bind(end[0], (struct sockaddr *)&b, sizeof b) && !connect(end[0], (struct sockaddr *)&a, sizeof a));
    end[1] = accept(s, NULL, NULL);
    assert_true(end[1] >= 0);
    close(s);
}

/* A process sends as much as goes, and is killed. */
static void dies_while_it_sends(int end[2])
{
    static char data[LARGE];
    int status;
    pid_t p = sk_testing_fork();
    if (!p) {
        close(end[1]);
        if (send(end[0], data, sizeof data, MSG_DONTWAIT) <= ROOM)
            _exit(1);
        raise(SIGKILL);
    }
    close(end[0]);
    assert_int_equal(waitpid(p, &status, 0), p);
    assert_true(WIFSIGNALED(status));
}

static struct sk_lastwords_others others;

/* 1: it is so within some seconds. */
static int comes_to(int unsent)
{
    double until = sk_now() + 20;
    while (sk_lastwords_unsent(&others) != unsent && sk_now() < until)
        sk_sleep(0.001);
    return sk_lastwords_unsent(&others) == unsent;
}

/* Nothing is on its way but what this machine's others have, where there is no network of its own. */
static int begin(void **state)
{
    others = (struct sk_lastwords_others){0};
    sk_lastwords_look(&others, 1);
    return 0;
}

static void read_all(int fd)
{
    static char data[LARGE];
    while (read(fd, data, sizeof data) > 0)
        ;
    close(fd);
}

static void what_the_dead_sent_is_on_its_way_until_it_is_confirmed(void **state)
{
    int end[2];
    connect_two("127.0.0.2", "127.0.0.3", end);
    assert_int_equal(sk_lastwords_unsent(&others), 0);
    dies_while_it_sends(end);
    assert_int_equal(sk_lastwords_unsent(&others), 1);
    read_all(end[1]);
    assert_true(comes_to(0));
}

static void what_goes_to_the_own_host_does_not_count(void **state)
{
    int end[2];
    connect_two("127.0.0.2", "127.0.0.2", end);
    dies_while_it_sends(end);
    assert_int_equal(sk_lastwords_unsent(&others), 0);
    close(end[1]);
}

/* Nobody reads what somebody's process had sent before it died: whoever lived on then is not waited for because of that when it dies, too. */
static void what_had_no_process_before_is_of_others(void **state)
{
    int theirs[2], own[2];
    connect_two("127.0.0.2", "127.0.0.3", theirs);
    dies_while_it_sends(theirs);
    assert_int_equal(sk_lastwords_unsent(&others), 1);
    sk_lastwords_look(&others, 2); /* too soon */
    sk_lastwords_look(&others, 1000);
    assert_int_equal(sk_lastwords_unsent(&others), 1); /* it may be a part of an end that is not known yet */
    sk_lastwords_look(&others, 2000);
    assert_int_equal(sk_lastwords_unsent(&others), 0);
    connect_two("127.0.0.2", "127.0.0.3", own);
    dies_while_it_sends(own);
    assert_int_equal(sk_lastwords_unsent(&others), 1);
    assert_true(sk_lastwords_unsent(NULL) >= 2);
    close(own[1]); /* unread: the other end is told so, and forgets it */
    assert_true(comes_to(0));
    close(theirs[1]);
}

/* What was there at the beginning is of others at once. */
static void what_had_no_process_at_the_beginning_is_of_others(void **state)
{
    int theirs[2];
    connect_two("127.0.0.2", "127.0.0.3", theirs);
    dies_while_it_sends(theirs);
    assert_true(sk_lastwords_unsent(NULL) >= 1);
    begin(NULL);
    assert_int_equal(sk_lastwords_unsent(&others), 0);
    close(theirs[1]);
}

static void more_than_there_is_room_for_is_waited_for(void **state)
{
    enum { MANY = sizeof others.seen / sizeof *others.seen + 3 };
    int theirs[MANY][2];
    for (int i = 0; i < MANY; i++) {
        connect_two("127.0.0.2", "127.0.0.3", theirs[i]);
        dies_while_it_sends(theirs[i]);
    }
    begin(NULL);
    assert_true(sk_lastwords_unsent(&others) >= 3);
    for (int i = 0; i < MANY; i++)
        close(theirs[i][1]);
}

/* From 6.17 on Linux tells whose a connection without a process was. */
static int kernel_tells_users(void)
{
    struct utsname name;
    int major = 0, minor = 0;
    assert_int_equal(uname(&name), 0);
    sscanf(name.release, "%d.%d", &major, &minor);
    return major > 6 || (major == 6 && minor >= 17);
}

/* As this user: the connections of others, by a process that is not root's. */
static int counted_by(unsigned user)
{
    int status;
    pid_t p = sk_testing_fork();
    if (!p)
        _exit(setuid(user) ? 99 : sk_lastwords_unsent(&others));
    assert_int_equal(waitpid(p, &status, 0), p);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 99);
    return WEXITSTATUS(status);
}

static void what_another_user_had_sent_does_not_count(void **state)
{
    enum { ONE = 65534, ANOTHER = 65533 };
    int end[2];
    if (geteuid() || !kernel_tells_users())
        skip();
    assert_int_equal(seteuid(ONE), 0);
    connect_two("127.0.0.2", "127.0.0.3", end);
    assert_int_equal(seteuid(0), 0);
    dies_while_it_sends(end);
    assert_int_equal(counted_by(ONE), 1);
    assert_int_equal(counted_by(ANOTHER), 0);
    assert_int_equal(sk_lastwords_unsent(&others), 1); /* root's may have become the user's */
    close(end[1]);
}

/* Few bytes are confirmed at once, and are there until they are read. */
static void what_has_come_waits_to_be_read(void **state)
{
    int end[2];
    char byte;
    struct sk_lastwords l = {0};
    connect_two("127.0.0.2", "127.0.0.3", end);
    assert_int_equal(send(end[0], "ab", 2, 0), 2);
    assert_int_equal(sk_lastwords_unread(&l), 0); /* its other end lives */
    close(end[0]);
    double until = sk_now() + 20;
    while (!sk_lastwords_unread(&(struct sk_lastwords){0}) && sk_now() < until)
        sk_sleep(0.001);
    l = (struct sk_lastwords){0};
    for (int i = 0; i < 40; i++)
        assert_int_equal(sk_lastwords_unread(&l), 1);
    assert_int_equal(read(end[1], &byte, 1), 1);
    for (int i = 0; i < 50; i++) /* it got less: that counts from here */
        assert_int_equal(sk_lastwords_unread(&l), 1);
    assert_int_equal(sk_lastwords_unread(&l), 0); /* nobody reads it */
    l = (struct sk_lastwords){0};
    assert_int_equal(sk_lastwords_unread(&l), 1);
    assert_int_equal(read(end[1], &byte, 1), 1);
    assert_int_equal(sk_lastwords_unread(&l), 0);
    close(end[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_the_dead_sent_is_on_its_way_until_it_is_confirmed, begin),
        cmocka_unit_test_setup(what_goes_to_the_own_host_does_not_count, begin),
        cmocka_unit_test_setup(what_had_no_process_before_is_of_others, begin),
        cmocka_unit_test(what_had_no_process_at_the_beginning_is_of_others),
        cmocka_unit_test(more_than_there_is_room_for_is_waited_for),
        cmocka_unit_test_setup(what_another_user_had_sent_does_not_count, begin),
        cmocka_unit_test(what_has_come_waits_to_be_read),
    };
    have_own_network();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
