/* A limit of open files that is too low is raised, or it is said. */
#include "base/own/allowed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/fork_testing.h"

/* As a process with these limits: its verdict, and the limit that it has then. 1: both are as expected. */
static int has(rlim_t soft, rlim_t hard, unsigned need, int code, rlim_t then)
{
    int status = 0;
    pid_t pid = sk_testing_fork();
    if (!pid) {
        struct saikai_error err = {0};
        struct rlimit l = {soft, hard};
        if (setrlimit(RLIMIT_NOFILE, &l))
            _exit(2);
        int rc = sk_allowed_files(need, &err);
        _exit(rc == code && !getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur == then && l.rlim_max == hard && (!rc || (strstr(err.text, "ulimit -n"))) ? 0 : 1);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void enough_files(void **state)
{
    (void)state;
    assert_true(has(256, 256, 32, 0, 256));
    assert_true(has(256, 256, 256, 0, 256));
    assert_true(has(256, 256, 260, SAIKAI_ENOTSUP, 256));
    assert_true(has(8, 8, 32, SAIKAI_ENOTSUP, 8));
    assert_true(has(8, 31, 32, SAIKAI_ENOTSUP, 8));
    assert_true(has(8, 32, 32, 0, 32));
    assert_true(has(8, 256, 32, 0, 64));
    assert_true(has(20, 256, 48, 0, 96));
    assert_true(has(200, 256, 192, 0, 200));
    assert_true(has(200, 256, 256, 0, 256));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enough_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
