/* Lines to a pipe that nobody reads, that is non-blocking, or that has no reader any more: who logs goes on, and nothing is lost that has room. */
#include "base/aside/log_aside.h"

#include "base/clock.h"
#include "base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Standard error is a pipe that is full. */
static int out, kept;

static int begin(void **state)
{
    int p[2];
    char some[4096];
    (void)state;
    alarm(60);
    kept = dup(STDERR_FILENO);
    if (pipe(p))
        return -1;
    fcntl(p[1], F_SETFL, O_NONBLOCK);
    memset(some, '.', sizeof some);
    while (write(p[1], some, sizeof some) > 0)
        ;
    fcntl(p[1], F_SETFL, 0);
    dup2(p[1], STDERR_FILENO);
    close(p[1]);
    out = p[0];
    sk_log_set(sk_log_stderr, NULL, SK_LOG_NOTICE);
    sk_log_aside_begin();
    return 0;
}

static int end(void **state)
{
    (void)state;
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(out);
    return 0;
}

/* What comes until the other end is closed, without what was there before. */
static void *read_all(void *arg)
{
    size_t n = 0, cap = 1 << 22;
    char *text = malloc(cap + 1), *to = text;
    (void)arg;
    for (ssize_t got; text && n < cap && (got = read(out, text + n, cap - n)) > 0;)
        n += (size_t)got;
    if (text)
        text[n] = 0;
    to += text ? strspn(text, ".") : 0;
    char *copy = text ? strdup(to) : NULL;
    free(text);
    return copy;
}

static void say(int from, int to)
{
    for (int i = from; i < to; i++)
        sk_log(SK_LOG_NOTICE, "line %d %0800d", i, 0);
}

static int is_asked;
static int at_once(void *arg)
{
    (void)arg;
    return ++is_asked;
}

/* The end waits for the reader; its lines are there, whole and in order, and nothing in them is for a terminal. */
static void nobody_waits_for_a_reader(void **state)
{
    pthread_t reader;
    void *text;
    (void)state;
    say(0, 200);
    sk_log(SK_LOG_INFO, "not shown");
    fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK); /* as somebody else may do who shares it */
    say(200, 250);
    sk_log(SK_LOG_NOTICE, "host \033[31mn3\nforged");
    assert_false(pthread_create(&reader, NULL, read_all, NULL));
    sk_log_aside_end(NULL, NULL);
    sk_log(SK_LOG_NOTICE, "the \033[2Jlast");
    dup2(kept, STDERR_FILENO);
    assert_false(pthread_join(reader, &text));
    assert_non_null(text);
    char *p = text;
    for (int i = 0; i < 250; i++) {
        char want[900];
        int n = snprintf(want, sizeof want, "saikai: line %d %0800d\n", i, 0);
        assert_memory_equal(p, want, (size_t)n);
        p += n;
    }
    assert_string_equal(p, "saikai: host \\x1b[31mn3\\nforged\nsaikai: the \\x1b[2Jlast\n");
    free(text);
}

static void what_finds_no_room_is_counted(void **state)
{
    pthread_t reader;
    void *text;
    int lines = 0, left = 0;
    (void)state;
    say(0, 2000);
    assert_false(pthread_create(&reader, NULL, read_all, NULL));
    sk_log_aside_end(NULL, NULL);
    dup2(kept, STDERR_FILENO);
    assert_false(pthread_join(reader, &text));
    assert_non_null(text);
    for (char *p = text; (p = strstr(p, "saikai: line ")); p++)
        lines++;
    for (const char *word = text; (word = strstr(word, " more lines were left out")); word++) { /* once, or again where the thread began late */
        const char *number = word;
        while (number > (char *)text && number[-1] != ' ')
            number--;
        left += atoi(number);
    }
    assert_true(left > 0);
    assert_true(lines > 300 && lines < 1000);
    assert_int_equal(lines + left, 2000);
    free(text);
}

static void the_end_need_not_wait(void **state)
{
    (void)state;
    say(0, 10);
    is_asked = 0;
    sk_log_aside_end(at_once, NULL);
    assert_int_equal(is_asked, 1);
}

static void a_reader_that_is_gone_holds_nobody_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    say(0, 10);
    close(out);
    out = -1;
    say(10, 20);
    sk_log_aside_end(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_waits_for_a_reader, begin, end),
        cmocka_unit_test_setup_teardown(what_finds_no_room_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(the_end_need_not_wait, begin, end),
        cmocka_unit_test_setup_teardown(a_reader_that_is_gone_holds_nobody_up, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
