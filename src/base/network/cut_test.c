/* Connections to hosts that are addresses of this one. */
#include "base/network/cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void connect_to(const char *to, int end[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t n = sizeof a;
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, to, &a.sin_addr), 1);
    assert_true(s >= 0 && !bind(s, (struct sockaddr *)&a, sizeof a) && !listen(s, 1) && !getsockname(s, (struct sockaddr *)&a, &n));
    end[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(end[0] >= 0 && (!connect(end[0], (struct sockaddr *)&a, sizeof a) || errno == EINPROGRESS));
    end[1] = accept4(s, NULL, NULL, SOCK_CLOEXEC);
    assert_true(end[1] >= 0);
    close(s);
}

static struct sk_cut_host host(const char *first, const char *second)
{
    struct sk_cut_host h = {{{0}}};
    const char *text[2] = {first, second};
    for (int i = 0; i < 2; i++) {
        memcpy(h.address[i], (unsigned char[12]){[10] = 0xff, [11] = 0xff}, 12);
        assert_int_equal(inet_pton(AF_INET, text[i], h.address[i] + 12), 1);
    }
    return h;
}

static void nothing_comes_from_a_host_that_is_lost(void **state)
{
    struct sk_cut_host lost = host("10.1.1.1", "127.0.0.3");
    struct epoll_event wanted = {.events = EPOLLIN}, found;
    int gone[2], other[2], p = epoll_create1(EPOLL_CLOEXEC);
    char text[8];
    connect_to("127.0.0.3", gone);
    connect_to("127.0.0.4", other);
    assert_true(p >= 0 && !epoll_ctl(p, EPOLL_CTL_ADD, gone[0], &wanted));
    assert_int_equal(send(gone[1], "late", 4, 0), 4);
    assert_int_equal(epoll_wait(p, &found, 1, 10000), 1);
    assert_int_equal(sk_cut_off(&lost), 1);
    assert_int_equal(epoll_wait(p, &found, 1, 0), 0);
    send(gone[1], "later", 5, MSG_NOSIGNAL);
    assert_int_equal(read(gone[0], text, sizeof text), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(send(gone[0], "x", 1, MSG_NOSIGNAL), 1); /* it goes nowhere, and is no error */
    assert_int_equal(fcntl(gone[0], F_GETFD), FD_CLOEXEC);
    assert_int_equal(send(other[1], "here", 4, 0), 4);
    fcntl(other[0], F_SETFL, 0);
    assert_int_equal(read(other[0], text, sizeof text), 4);
    assert_int_equal(sk_cut_off(&lost), 0);
    for (int i = 0; i < 2; i++) {
        close(gone[i]);
        close(other[i]);
    }
    close(p);
}

static void no_address_is_no_host(void **state)
{
    struct sk_cut_host nobody = {{{0}}}, own;
    int end[2];
    connect_to("127.0.0.3", end);
    assert_int_equal(sk_cut_off(&nobody), 0);
    sk_cut_own(&own);
    assert_int_equal(sk_cut_off(&own), 0); /* what leads to 127.0.0.3 does not leave this host */
    close(end[0]);
    close(end[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_comes_from_a_host_that_is_lost),
        cmocka_unit_test(no_address_is_no_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
