/* Lines that are added, and what a disk that is full for a while costs. */
#include "recovery/history/history.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[PATH_MAX], path[PATH_MAX + 16];

static int begin(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "%s/saikai-history-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/history", dir);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static int add(int64_t start)
{
    struct sk_event e = {.at_ms = 1, .start = start, .rank = 2};
    strcpy(e.what, "rank 2 was killed");
    strcpy(e.command, "./solver");
    return sk_history_add(dir, &e, NULL);
}

struct seen {
    int n;
    int64_t start[8];
};

static void note(void *arg, const struct sk_event *e)
{
    struct seen *s = arg;
    assert_true(s->n < 8);
    assert_string_equal(e->command, "./solver");
    s->start[s->n++] = e->start;
}

/* As on a full disk a write ends in its middle. */
static void what_was_cut_off_costs_itself_alone(void **state)
{
    struct seen s = {0};
    struct stat st;
    struct rlimit all, few;
    int bad = 0;
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(add(1), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    few = (struct rlimit){(rlim_t)st.st_size + 20, all.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    assert_int_equal(add(2), SAIKAI_ENOSPC);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_int_equal(add(3), 0);
    assert_int_equal(add(4), 0);
    assert_int_equal(sk_history_load(dir, note, &s, &bad, NULL), 0);
    assert_int_equal(s.n, 3);
    assert_true(s.start[0] == 1 && s.start[1] == 3 && s.start[2] == 4);
    assert_int_equal(bad, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_cut_off_costs_itself_alone, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
