/* What a process waits for a processor that others have is counted; what it sleeps is not. */
#include "base/host/starved.h"

#include "base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void *work(void *arg)
{
    while (!atomic_load((atomic_int *)arg))
        ;
    return NULL;
}

/* All on one processor, where somebody else works, too. */
static void the_thread_that_waited_longest_counts(void **state)
{
    (void)state;
    struct sk_starved s = {0};
    cpu_set_t old, one;
    atomic_int stop = 0;
    pthread_t thread;
    double waited = 0, end = sk_now() + 60;
    if (access("/proc/self/task", R_OK) || sched_getaffinity(0, sizeof old, &old))
        skip();
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &old)) {
            CPU_SET(i, &one);
            break;
        }
    assert_true(sk_starved_since(&s) == 0); /* the first time */
    if (!s.n)
        skip(); /* this kernel does not count */
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    pid_t other = fork();
    if (!other) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            ;
    }
    assert_int_equal(pthread_create(&thread, NULL, work, &stop), 0);
    sk_sleep(0.05);
    sk_starved_since(&s); /* it knows the thread now */
    while (waited < 0.1 && sk_now() < end) {
        sk_sleep(0.02);
        waited += sk_starved_since(&s);
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    kill(other, SIGKILL);
    assert_int_equal(waitpid(other, NULL, 0), other);
    sched_setaffinity(0, sizeof old, &old);
    assert_true(waited >= 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_thread_that_waited_longest_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
