/* What a killed mpirun has left goes, and nothing else: not what others have, nor what links lead to. */
#include "recovery/launch/remains.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], host[256], cut[256]; /* this host's name, and up to its first dot */

static int set_up(void **state)
{
    strcpy(dir, "/tmp/saikai-remains-XXXXXX");
    if (gethostname(host, sizeof host - 1))
        return -1;
    snprintf(cut, sizeof cut, "%.*s", (int)strcspn(host, "."), host);
    return mkdtemp(dir) && !chdir(dir) && !setenv("TMPDIR", dir, 1) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return chdir("/") || unsetenv("TMPDIR") || system(command) ? -1 : 0;
}

static void make(const char *fmt, ...)
{
    char path[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    for (char *p = path; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(path, 0700);
        *p = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static int is_there(const char *fmt, ...)
{
    char path[512];
    struct stat st;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    return !lstat(path, &st);
}

/* The number of a process that is no more. */
static pid_t gone(void)
{
    pid_t pid = fork();
    if (!pid)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

static void test_all_of_it_goes(void **state)
{
    struct sk_remains r = {{0}, 0};
    unsigned uid = geteuid();
    pid_t pid = gone();
    make("ompi.%s.%u/pid.%d/contact.txt", host, uid, pid);
    make("ompi.%s.%u/pid.%d/pmix_dstor_ds21_7/smseg-205455361-0", host, uid, pid); /* 0xc3f0001 */
    make("ompi.%s.%u/pid.%d/1/0/x", host, uid, pid);
    make("shm/vader_segment.%s.%u.c3f0001.0", host, uid);
    make("shm/vader_segment.%s.%u.c3f0002.11", host, uid); /* what the first one spawned */
    sk_remains_take_away(&r, pid, "shm");
    assert_false(is_there("ompi.%s.%u", host, uid));
    assert_false(is_there("shm/vader_segment.%s.%u.c3f0001.0", host, uid));
    assert_false(is_there("shm/vader_segment.%s.%u.c3f0002.11", host, uid));
    make("shm/vader_segment.%s.%u.c3f0001.1", host, uid); /* of a rank that was still beginning */
    sk_remains_take_away(&r, pid, "shm");
    assert_false(is_there("shm/vader_segment.%s.%u.c3f0001.1", host, uid));
}

static void test_nothing_else_goes(void **state)
{
    struct sk_remains r = {{0}, 0};
    unsigned uid = geteuid();
    pid_t pid = gone();
    char target[384];
    make("elsewhere/smseg-1-0");
    make("ompi.%s.%u/pid.%d/smseg-205455361-0", cut, uid, pid);
    make("ompi.%s.%u/pid.1/smseg-65537-0", cut, uid); /* of another run */
    make("ompi.%s.%u1/pid.%d/contact.txt", cut, uid, pid); /* another user's, by its name */
    make("ompi.other.%u/pid.%d/smseg-205455361-0", uid, pid); /* another host's: a container that has this directory, too */
    make("shm/vader_segment.other.%u.c3f0001.0", uid);
    make("shm/vader_segment.%s.%u.c3e0001.0", cut, uid);
    make("shm/vader_segment.%s.%u1.c3f0001.0", cut, uid);
    make("shm/vader_segment");
    make("shm/other.%s.%u.c3f0001.0", cut, uid);
    snprintf(target, sizeof target, "ompi.%s.%u/pid.%d/link", cut, uid, pid);
    assert_false(symlink("../../elsewhere", target));
    sk_remains_take_away(&r, pid, "shm");
    assert_false(is_there("ompi.%s.%u/pid.%d", cut, uid, pid));
    assert_true(is_there("elsewhere/smseg-1-0"));
    assert_true(is_there("ompi.%s.%u/pid.1/smseg-65537-0", cut, uid));
    assert_true(is_there("ompi.%s.%u1/pid.%d/contact.txt", cut, uid, pid));
    assert_true(is_there("ompi.other.%u/pid.%d/smseg-205455361-0", uid, pid));
    assert_true(is_there("shm/vader_segment.other.%u.c3f0001.0", uid));
    assert_true(is_there("shm/vader_segment.%s.%u.c3e0001.0", cut, uid));
    assert_true(is_there("shm/vader_segment.%s.%u1.c3f0001.0", cut, uid));
    assert_true(is_there("shm/vader_segment"));
    assert_true(is_there("shm/other.%s.%u.c3f0001.0", cut, uid));
}

static void test_a_living_one_keeps_what_it_has(void **state)
{
    struct sk_remains r = {{0}, 0};
    make("ompi.%s.%u/pid.%d/smseg-205455361-0", cut, geteuid(), getpid());
    make("shm/vader_segment.%s.%u.c3f0001.0", cut, geteuid());
    sk_remains_take_away(&r, getpid(), "shm");
    assert_true(is_there("ompi.%s.%u/pid.%d/smseg-205455361-0", cut, geteuid(), getpid()));
    assert_true(is_there("shm/vader_segment.%s.%u.c3f0001.0", cut, geteuid()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_of_it_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_else_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_living_one_keeps_what_it_has, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
