/* What stands in the way of a path is named with its owner and what to do. */
#include "base/file/denied.h"

#include "base/file/io.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/fork_testing.h"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-denied-XXXXXX");
    return !mkdtemp(dir) || chmod(dir, 0755) || chdir(dir) ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    return chdir("/") || sk_io_rmtree(dir, NULL);
}

/* 1: the sentence about `path` names `at` and has `more` in it; both NULL: nothing is added. */
static int says(const char *path, const char *at, const char *more)
{
    char expected[200];
    struct saikai_error err = {0};
    sk_fail_errno(&err, EACCES, "cannot do it");
    size_t n = strlen(err.text);
    sk_fail_at(&err, EACCES, path, "cannot do %s", "it");
    snprintf(expected, sizeof expected, ": %s ", at ? at : "");
    int right = sk_denied(&err) && (at ? !strncmp(err.text + n, expected, strlen(expected)) && strstr(err.text, more) : !err.text[n]);
    if (!right)
        fprintf(stderr, "%s: '%s' in place of '%s' and '%s'\n", path, err.text, at ? at : "nothing", more ? more : "");
    return right;
}

/* As whoever may not do everything: nobody, where root runs the test. */
static int as_a_user(void)
{
    return geteuid() || (!setgid(65534) && !setuid(65534)) ? 0 : -1;
}

static int looks(void)
{
    int good = !mkdir("mine", 0700) && !mkdir("mine/closed", 0600) && !mkdir("mine/open", 0700);
    good = good && says("mine/closed/below/it", "mine/closed", "is yours, but has mode 0600 (chmod u+rwX opens it)");
    good = good && says("mine/closed/", "mine/closed", "is yours");
    good = good && says("mine/open", NULL, NULL) && says("mine/open/new", NULL, NULL) && says("", NULL, NULL) && says("/", geteuid() ? "/" : NULL, "belongs to root");
    good = good && !chmod("mine/open", 0500) && says("mine/open/new/x", "mine/open", "mode 0500") && says("mine//open/new", "mine//open", "mode 0500");
    return good;
}

static void what_stands_in_the_way(void **state)
{
    (void)state;
    int status = 0;
    assert_int_equal(chmod(dir, 0777), 0);
    pid_t pid = sk_testing_fork();
    if (!pid)
        _exit(as_a_user() ? 77 : looks() ? 0 : 1);
    assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* a container without other users */
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Somebody else's: root's, where nobody looks. */
static void of_whom_it_is(void **state)
{
    (void)state;
    int status = 0;
    char closed[128], file[160];
    if (geteuid())
        skip();
    snprintf(closed, sizeof closed, "%s/closed", dir);
    snprintf(file, sizeof file, "%s/file", dir);
    assert_int_equal(mkdir(closed, 0700), 0);
    assert_int_equal(sk_io_replace(file, "", 0, NULL), 0);
    assert_int_equal(chmod(file, 0600), 0);
    pid_t pid = sk_testing_fork();
    if (!pid) {
        char below[160];
        snprintf(below, sizeof below, "%s/a/b", closed);
        _exit(as_a_user() ? 77
              : says(below, closed, "belongs to root and has mode 0700 (go there as root, or ask root for the right)") && says(closed, closed, "root") && says(file, file, "0600")
                  ? 0
                  : 1);
    }
    assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void other_errors_are_told_as_ever(void **state)
{
    (void)state;
    struct saikai_error err = {0}, same = {0};
    assert_int_equal(sk_fail_at(&err, ENOSPC, "/proc/1/mem", "%s", "full"), SAIKAI_ENOSPC);
    assert_int_equal(sk_fail_errno(&same, ENOSPC, "%s", "full"), SAIKAI_ENOSPC);
    assert_string_equal(err.text, same.text);
    assert_true(err.sys_errno == ENOSPC && !sk_denied(&err));
    assert_int_equal(sk_fail_at(NULL, EACCES, "/proc/1/mem", "x"), SAIKAI_EIO);
    assert_int_equal(sk_fail_at(&err, EPERM, "/nowhere", "x"), SAIKAI_EIO);
    assert_true(sk_denied(&err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_stands_in_the_way, setup, teardown),
        cmocka_unit_test_setup_teardown(of_whom_it_is, setup, teardown),
        cmocka_unit_test(other_errors_are_told_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
