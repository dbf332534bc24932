/* Each start reads its standard input from the beginning, from a pipe as from a file, and none is
 * an empty one. */
#include "recovery/feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void turn(struct sk_feed *f)
{
    struct sk_wait w[SK_FEED_WAITS];
    sk_feed_waits(f, w);
    for (int i = 0; i < SK_FEED_WAITS; i++) {
        struct pollfd p = {.fd = w[i].fd, .events = w[i].out ? POLLOUT : POLLIN};
        w[i].ready = w[i].fd >= 0 && poll(&p, 1, 0) > 0 && p.revents;
    }
    sk_feed_pump(f, w);
}

/* Everything the start reads until its input ends, at most cap - 1 bytes; -1: it did not end. */
static int read_all(struct sk_feed *f, int fd, char *out, size_t cap)
{
    size_t n = 0;
    for (int i = 0; i < 1000 && n < cap - 1; i++) {
        turn(f);
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 0) <= 0)
            continue;
        ssize_t k = read(fd, out + n, cap - 1 - n);
        if (k <= 0) {
            out[n] = 0;
            return (int)n;
        }
        n += (size_t)k;
    }
    out[n] = 0;
    return -1;
}

static void each_start_reads_a_pipe_from_its_beginning(void **state)
{
    struct saikai_error err = {0};
    char text[64];
    int p[2], incomplete, fd;
    assert_int_equal(pipe(p), 0);
    struct sk_feed *f = sk_feed_new(p[0]);
    fd = sk_feed_start(f, &incomplete, &err);
    assert_true(fd >= 0);
    assert_int_equal(write(p[1], "hello ", 6), 6);
    assert_int_equal(read_all(f, fd, text, sizeof text), -1); /* more may come */
    assert_string_equal(text, "hello ");
    close(fd); /* the start died */
    fd = sk_feed_start(f, &incomplete, &err);
    assert_int_equal(write(p[1], "world", 5), 5);
    close(p[1]);
    assert_int_equal(read_all(f, fd, text, sizeof text), 11);
    assert_string_equal(text, "hello world");
    close(fd);
    fd = sk_feed_start(f, &incomplete, &err); /* after the end, too */
    assert_int_equal(read_all(f, fd, text, sizeof text), 11);
    assert_false(incomplete);
    close(fd);
    close(p[0]);
    sk_feed_free(f);
}

static void a_file_is_opened_again_where_it_was(void **state)
{
    struct saikai_error err = {0};
    char path[] = "/tmp/saikai-feed-test-XXXXXX", text[64];
    int fd = mkstemp(path), incomplete;
    unlink(path);
    assert_int_equal(write(fd, "skipped:data", 12), 12);
    lseek(fd, 8, SEEK_SET);
    struct sk_feed *f = sk_feed_new(fd);
    for (int i = 0; i < 2; i++) {
        int in = sk_feed_start(f, &incomplete, &err);
        assert_true(in >= 0);
        assert_int_equal(read_all(f, in, text, sizeof text), 4);
        assert_string_equal(text, "data");
        close(in);
    }
    sk_feed_free(f);
    close(fd);
}

static void no_standard_input_is_an_empty_one(void **state)
{
    struct saikai_error err = {0};
    char text[8];
    int incomplete;
    struct sk_feed *f = sk_feed_new(9999);
    int in = sk_feed_start(f, &incomplete, &err);
    assert_true(in >= 0);
    assert_int_equal(read_all(f, in, text, sizeof text), 0);
    close(in);
    sk_feed_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_start_reads_a_pipe_from_its_beginning),
        cmocka_unit_test(a_file_is_opened_again_where_it_was),
        cmocka_unit_test(no_standard_input_is_an_empty_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
