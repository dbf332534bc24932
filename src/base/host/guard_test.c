/* Mapped files that are cut: ours go on, all else is as it was. */
#include "base/host/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { BYTES = 64 << 10 };

struct mapped {
    int fd;
    volatile uint8_t *p;
};

static struct mapped map_file(void)
{
    char path[] = "/dev/shm/saikai-guard-XXXXXX";
    struct mapped m = {.fd = mkstemp(path)};
    assert_true(m.fd >= 0 && !unlink(path) && !ftruncate(m.fd, BYTES));
    void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
    assert_true(p != MAP_FAILED);
    memset(p, 7, BYTES);
    m.p = p;
    return m;
}

static void unmap(struct mapped m)
{
    sk_guard_remove((void *)m.p);
    munmap((void *)m.p, BYTES);
    close(m.fd);
}

static void test_a_cut_file_is_lost_and_nothing_else(void **state)
{
    (void)state;
    struct mapped a = map_file(), b = map_file();
    sk_guard_open();
    sk_guard_add((void *)a.p, BYTES);
    sk_guard_add((void *)b.p, BYTES);
    assert_int_equal(ftruncate(a.fd, 20000), 0);
    assert_int_equal(a.p[100], 7);
    assert_false(sk_guard_lost((void *)a.p));
    assert_int_equal(a.p[30000], 0);
    memset((void *)(a.p + 20480), 9, BYTES - 20480); /* all that was cut */
    assert_int_equal(a.p[BYTES - 1], 9);
    assert_int_equal(a.p[100], 7);
    assert_true(sk_guard_lost((void *)a.p));
    assert_false(sk_guard_lost((void *)b.p));
    sk_guard_change((void *)a.p, (void *)a.p, BYTES / 2);
    assert_true(sk_guard_lost((void *)a.p));
    sk_guard_remove((void *)a.p);
    sk_guard_add((void *)a.p, BYTES); /* a new one at the old place */
    assert_false(sk_guard_lost((void *)a.p));
    unmap(a);
    unmap(b);
    sk_guard_close();
}

/* ---- beside handlers of the program ---- */

static sigjmp_buf back;
static volatile int called;
static struct sigaction of_ours;

static void jump(int number)
{
    (void)number;
    called++;
    siglongjmp(back, 1);
}

/* A handler that does what was there before, too. */
static void build_on(int number, siginfo_t *info, void *context)
{
    if (called++ > 3)
        _exit(7); /* in circles */
    if (of_ours.sa_flags & SA_SIGINFO)
        of_ours.sa_sigaction(number, info, context);
}

static void touch_cut(struct mapped m)
{
    assert_int_equal(ftruncate(m.fd, 0), 0);
    if (!sigsetjmp(back, 1))
        m.p[5] = 1;
}

static void test_the_programs_handler_gets_what_is_its_own(void **state)
{
    (void)state;
    struct mapped own = map_file(), ours = map_file();
    struct sigaction act = {.sa_handler = jump}, was, now;
    sigaction(SIGBUS, &act, &was);
    called = 0;
    sk_guard_open();
    sk_guard_add((void *)ours.p, BYTES);
    for (int i = 1; i <= 3; i++) {
        touch_cut(own);
        assert_int_equal(called, i);
    }
    assert_int_equal(ftruncate(ours.fd, 0), 0);
    ours.p[5] = 1;
    assert_int_equal(called, 3);
    sigaction(SIGBUS, &act, NULL); /* the program takes it back */
    sk_guard_arm();
    ours.p[50000] = 1;
    touch_cut(own);
    assert_int_equal(called, 4);
    sk_guard_close();
    sigaction(SIGBUS, NULL, &now);
    assert_true(now.sa_handler == jump);
    sigaction(SIGBUS, &was, NULL);
    unmap(own);
    unmap(ours);
}

/* How a child ends that touches memory of its own that is not there. */
static int end_of_child(void (*before)(void))
{
    struct mapped own = map_file();
    assert_int_equal(ftruncate(own.fd, 0), 0);
    int status;
    pid_t pid = fork();
    if (!pid) {
        alarm(100);
        signal(SIGBUS, SIG_DFL); /* the test's own is to be none */
        sk_guard_open();
        if (before)
            before();
        own.p[5] = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    unmap(own);
    return status;
}

static void in_a_circle(void)
{
    struct sigaction act = {.sa_sigaction = build_on, .sa_flags = SA_SIGINFO};
    called = 0;
    sigaction(SIGBUS, &act, &of_ours);
    sk_guard_arm();
}

static void ignored(void)
{
    sk_guard_close();
    signal(SIGBUS, SIG_IGN);
    sk_guard_open();
}

static void test_a_program_dies_of_its_own_fault(void **state)
{
    (void)state;
    void (*const cases[])(void) = {NULL, in_a_circle, ignored};
    for (int i = 0; i < 3; i++) {
        int status = end_of_child(cases[i]);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGBUS);
    }
}

static void test_threads_can_have_it(void **state)
{
    (void)state;
    sigset_t s;
    sk_guard_signals(&s);
    assert_false(sigismember(&s, SIGBUS));
    assert_true(sigismember(&s, SIGTERM) && sigismember(&s, SIGUSR1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cut_file_is_lost_and_nothing_else),
        cmocka_unit_test(test_the_programs_handler_gets_what_is_its_own),
        cmocka_unit_test(test_a_program_dies_of_its_own_fault),
        cmocka_unit_test(test_threads_can_have_it),
    };
    alarm(100); /* a fault that nobody mends comes again and again */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
