/* What MPI's TCP sees of a connection whose other end is gone, and that everybody else sees what there is. */
#include "world/broken/broken.h"
#include "world/broken/broken_testing.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

enum { MUCH = 1 << 16 };

static const struct broken_calls *mpi;
static int here, there; /* the two ends */
static char bytes[MUCH];

static int begin(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int door = socket(AF_INET, SOCK_STREAM, 0);
    (void)state;
    assert_int_equal(bind(door, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(door, 1), 0);
    assert_int_equal(getsockname(door, (struct sockaddr *)&a, &n), 0);
    here = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(here, (struct sockaddr *)&a, n), 0);
    there = accept4(door, NULL, NULL, SOCK_NONBLOCK);
    assert_true(there >= 0);
    close(door);
    assert_true(here >= 0);
    assert_int_equal(fcntl(here, F_SETFL, O_NONBLOCK), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    close(here);
    close(there);
    return 0;
}

static ssize_t write_all(ssize_t (*f)(int, const struct iovec *, int))
{
    struct iovec v[2] = {{bytes, 1000}, {bytes, MUCH - 1000}};
    return f(here, v, 2);
}

static ssize_t read_some(ssize_t (*f)(int, const struct iovec *, int))
{
    struct iovec v = {bytes, MUCH};
    return f(here, &v, 1);
}

/* The other end has not read what has come when it goes: the connection is reset, and not only ended. */
static void die_unread(void)
{
    assert_int_equal(send(here, "x", 1, MSG_NOSIGNAL), 1);
    struct pollfd p = {.fd = there, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 10000), 1);
    close(there);
    there = -1;
    struct pollfd q = {.fd = here, .events = POLLIN};
    assert_int_equal(poll(&q, 1, 10000), 1);
}

static void fill(void)
{
    while (write_all(mpi->writev) == MUCH)
        continue;
}

static void nothing_ever_comes(void)
{
    struct pollfd p = {.fd = here, .events = POLLIN | POLLOUT};
    errno = 0;
    assert_int_equal(read_some(mpi->readv), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(poll(&p, 1, 0), 1);
    assert_int_equal(p.revents, POLLOUT); /* MPI's look at it does not come back to it for ever */
    for (int i = 0; i < 1000; i++)
        assert_int_equal(write_all(mpi->writev), MUCH);
}

static void a_connection_that_lives(void **state)
{
    (void)state;
    assert_int_equal(mpi->send(here, "first", 5, 0), 5);
    assert_int_equal(read(there, bytes, MUCH), 5);
    errno = 0;
    assert_int_equal(read_some(mpi->readv), -1);
    assert_int_equal(errno, EAGAIN);
    fill();
    errno = 0;
    assert_int_equal(write_all(mpi->writev), -1); /* full */
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(write(there, "answer", 6), 6);
    struct pollfd p = {.fd = here, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 10000), 1);
    assert_int_equal(mpi->recv(here, bytes, 3, 0), 3);
    assert_int_equal(read_some(mpi->readv), 3);
}

static void what_is_sent_to_the_dead_is_taken_for_sent(void **state)
{
    (void)state;
    die_unread();
    assert_int_equal(write_all(mpi->writev), MUCH);
    nothing_ever_comes();
}

static void what_the_dead_had_sent_is_read(void **state)
{
    (void)state;
    assert_int_equal(write(there, "last words", 10), 10);
    die_unread();
    assert_int_equal(write_all(mpi->writev), MUCH);
    assert_int_equal(write_all(mpi->writev), MUCH);
    assert_int_equal(read_some(mpi->readv), 10);
    assert_memory_equal(bytes, "last words", 10);
    nothing_ever_comes();
}

/* The kernel tells of the reset once; then it is a closed pipe. */
static void also_when_the_reset_was_told_before(void **state)
{
    (void)state;
    die_unread();
    assert_int_equal(read(here, bytes, MUCH), -1);
    assert_int_equal(write_all(mpi->writev), MUCH);
    nothing_ever_comes();
}

/* MPI would take the end of a connection for fatal now. */
static void an_end_with_something_left_to_send(void **state)
{
    (void)state;
    fill();
    close(there);
    there = -1;
    struct pollfd q = {.fd = here, .events = POLLIN};
    assert_int_equal(poll(&q, 1, 10000), 1);
    nothing_ever_comes();
}

static void a_half_that_is_closed_with_something_left(void **state)
{
    (void)state;
    fill();
    assert_int_equal(shutdown(there, SHUT_WR), 0);
    struct pollfd q = {.fd = here, .events = POLLIN};
    assert_int_equal(poll(&q, 1, 10000), 1);
    errno = 0;
    assert_int_equal(read_some(mpi->readv), -1);
    assert_int_equal(errno, EAGAIN);
    nothing_ever_comes();
}

/* As at the end of each job. */
static void an_end_with_nothing_left_is_an_end(void **state)
{
    (void)state;
    assert_int_equal(write_all(mpi->writev), MUCH);
    for (ssize_t all = 0, n; all < MUCH; all += n)
        assert_true((n = read(there, bytes, MUCH)) > 0);
    close(there);
    there = -1;
    struct pollfd q = {.fd = here, .events = POLLIN};
    assert_int_equal(poll(&q, 1, 10000), 1);
    assert_int_equal(read_some(mpi->readv), 0);
}

/* A number of a descriptor that was left in the middle of a message, and is another connection now. */
static void a_new_connection_has_nothing_left(void **state)
{
    (void)state;
    int old = here;
    fill();
    end(state);
    begin(state);
    assert_int_equal(here, old);
    assert_int_equal(mpi->send(here, "first", 5, 0), 5);
    assert_int_equal(read(there, bytes, MUCH), 5);
    close(there);
    there = -1;
    struct pollfd q = {.fd = here, .events = POLLIN};
    assert_int_equal(poll(&q, 1, 10000), 1);
    assert_int_equal(read_some(mpi->readv), 0);
}

static void wait_for_end(void)
{
    struct pollfd p = {.fd = here, .events = POLLIN};
    close(there);
    there = -1;
    assert_int_equal(poll(&p, 1, 10000), 1);
}

static void death_before_the_answer(void **state)
{
    (void)state;
    assert_int_equal(mpi->send(here, "first", 5, 0), 5);
    assert_int_equal(read(there, bytes, MUCH), 5);
    wait_for_end();
    errno = 0;
    assert_int_equal(mpi->recv(here, bytes, 10, 0), -1);
    assert_int_equal(errno, ECONNRESET);
}

static void death_before_the_first_words(void **state)
{
    (void)state;
    die_unread();
    assert_int_equal(read(here, bytes, MUCH), -1); /* the reset; then it is a closed pipe */
    assert_int_equal(mpi->send(here, "first", 5, 0), 5);
    errno = 0;
    assert_int_equal(mpi->recv(here, bytes, 10, 0), -1);
    assert_int_equal(errno, ECONNRESET);
}

/* Of two processes that connect to each other at once, one takes its connection back. */
static void one_who_goes_without_a_word(void **state)
{
    (void)state;
    wait_for_end();
    assert_int_equal(mpi->recv(here, bytes, 10, 0), 0);
}

/* This end was called, has answered, and has sent since: the number is that of another one's call then. */
static void what_was_said_on_a_number_before(void **state)
{
    int old = here;
    assert_int_equal(write(there, "first", 5), 5);
    struct pollfd p = {.fd = here, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 10000), 1);
    assert_int_equal(mpi->recv(here, bytes, 5, 0), 5);
    assert_int_equal(mpi->send(here, "answer", 6, 0), 6);
    assert_int_equal(write_all(mpi->writev), MUCH);
    end(state);
    begin(state);
    assert_int_equal(here, old);
    one_who_goes_without_a_word(state);
}

static volatile sig_atomic_t pipes;

static void count(int signal)
{
    (void)signal;
    pipes++;
}

static void others_see_what_there_is(void **state)
{
    struct sigaction old, own = {.sa_handler = count};
    (void)state;
    assert_int_equal(sigaction(SIGPIPE, &own, &old), 0);
    die_unread();
    errno = 0;
    assert_int_equal(read_some(readv), -1);
    assert_int_equal(errno, ECONNRESET);
    errno = 0;
    assert_int_equal(write_all(writev), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(pipes, 1);
    assert_int_equal(send(here, "x", 1, 0), -1);
    assert_int_equal(pipes, 2);
    assert_int_equal(recv(here, bytes, 1, 0), 0);
    assert_int_equal(sigaction(SIGPIPE, &old, NULL), 0);
}

static void what_cannot_be_replaced(void **state)
{
    (void)state;
    struct iovec v = {bytes, 1};
    errno = 0;
    assert_int_equal(mpi->writev(-1, &v, 1), -1);
    assert_int_equal(errno, EBADF);
    errno = 0;
    assert_int_equal(mpi->readv(-1, &v, 1), -1);
    assert_int_equal(errno, EBADF);
}

int main(void)
{
    void *object = dlopen(BROKEN_TESTING, RTLD_NOW | RTLD_LOCAL);
    if (!object || !(mpi = dlsym(object, "broken_calls")))
        return 1;
    sk_broken_begin();
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(a_connection_that_lives),
        TEST(what_is_sent_to_the_dead_is_taken_for_sent),
        TEST(what_the_dead_had_sent_is_read),
        TEST(also_when_the_reset_was_told_before),
        TEST(an_end_with_something_left_to_send),
        TEST(a_half_that_is_closed_with_something_left),
        TEST(an_end_with_nothing_left_is_an_end),
        TEST(a_new_connection_has_nothing_left),
        TEST(death_before_the_answer),
        TEST(death_before_the_first_words),
        TEST(one_who_goes_without_a_word),
        TEST(what_was_said_on_a_number_before),
        TEST(others_see_what_there_is),
        TEST(what_cannot_be_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
