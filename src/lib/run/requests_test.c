/* Signals in processes of their own: which end the process at once, which ask for a checkpoint first, and which are others' affair. */
#include "lib/run/requests.h"

#include "base/clock.h"
#include "base/host/fork_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ALL = SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP | SK_REQUEST_END, FINE = 42 };

static int install(const char *settings, int watched)
{
    struct sk_config *c = sk_config_new();
    int rc = !c || sk_config_set_all(c, settings, SK_FROM_API, NULL) || sk_requests_install(c, watched, NULL);
    sk_config_free(c);
    return rc;
}

static unsigned gather(void)
{
    struct sk_group g = {.rank = 1, .size = 2};
    struct sk_session s = {.g = &g};
    return sk_requests_gather(&s);
}

static unsigned gather_for(uint8_t job)
{
    struct sk_group g = {.rank = 1, .size = 2};
    struct sk_session s = {.g = &g};
    memset(&s.who.job.store, job, sizeof s.who.job.store);
    return sk_requests_gather(&s);
}

/* How a child ends that does this: its exit code, or minus the signal. */
static int end_of(int (*child)(void))
{
    int status = 0;
    pid_t pid = sk_testing_fork();
    if (!pid) {
        alarm(120);
        _exit(child());
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int before_the_first_candidate(void)
{
    if (install("", 0))
        return 1;
    raise(SIGTERM);
    return 2;
}

static int after_a_candidate(void)
{
    if (install("", 0))
        return 1;
    sk_requests_worthy();
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    sigprocmask(SIG_BLOCK, &both, NULL); /* they are delivered at one moment, however busy the machine is */
    raise(SIGINT);
    raise(SIGTERM); /* the same wish, by another way */
    sigprocmask(SIG_UNBLOCK, &both, NULL);
    if (gather() != ALL || gather() || (sk_requests_reason() != SIGINT && sk_requests_reason() != SIGTERM)) /* the later one */
        return 2;
    return FINE;
}

static int a_second_time(void)
{
    int rc = after_a_candidate();
    if (rc != FINE)
        return rc;
    sk_sleep(0.4);
    raise(SIGINT);
    return 3;
}

static int nobody_listens(void)
{
    if (install("schedule.stop_grace=300ms", 0))
        return 1;
    sk_requests_worthy();
    raise(SIGHUP);
    double end = sk_now() + 60;
    while (sk_now() < end)
        sk_sleep(0.05);
    return 2;
}

static int nobody_listens_but_a_launcher_watches(void)
{
    if (install("schedule.stop_grace=100ms", 1))
        return 1;
    sk_requests_worthy();
    raise(SIGTERM);
    double end = sk_now() + 0.6;
    while (sk_now() < end)
        sk_sleep(0.05);
    return FINE;
}

static int came_after_the_last_candidate(void)
{
    if (install("", 0))
        return 1;
    sk_requests_worthy();
    raise(SIGTERM);
    sk_requests_remove();
    return 2;
}

static int was_answered(void)
{
    if (install("", 0))
        return 1;
    sk_requests_worthy();
    raise(SIGTERM);
    if (gather() != ALL)
        return 2;
    sk_requests_remove();
    return FINE;
}

static int is_ignored(void)
{
    signal(SIGHUP, SIG_IGN);
    if (install("", 0))
        return 1;
    raise(SIGHUP); /* not even before the first candidate */
    sk_requests_worthy();
    raise(SIGHUP);
    return gather() ? 2 : FINE;
}

static volatile sig_atomic_t times;
static void count(int n)
{
    times += n == SIGTERM;
}

static int has_its_own_handler(void)
{
    signal(SIGTERM, count);
    if (install("", 0))
        return 1;
    raise(SIGTERM);
    sk_requests_worthy();
    raise(SIGTERM);
    sk_sleep(0.4);
    raise(SIGTERM);
    if (times != 3 || gather() != (SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP) || !sk_requests_left_to_program(SIGTERM) ||
        sk_requests_left_to_program(SIGINT) || !sk_requests_handed_on())
        return 2;
    sk_requests_remove();
    raise(SIGTERM);
    return times == 4 && !sk_requests_handed_on() ? FINE : 3;
}

static int nothing_is_listed(void)
{
    if (install("schedule.stop_signals=", 0))
        return 1;
    sk_requests_worthy();
    raise(SIGTERM);
    return 2;
}

static int another_signal_only_asks(void)
{
    if (install("schedule.stop_signals=USR2", 0))
        return 1;
    sk_requests_worthy();
    for (int i = 0; i < 2; i++) {
        raise(SIGUSR2);
        sk_sleep(0.4);
    }
    return gather() == (SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP) ? FINE : 2;
}

/* Each job of a process hears of a signal, once; one that begins later does not hear of what was answered before. */
static int two_jobs(void)
{
    if (install("schedule.signals=USR2", 0))
        return 1;
    sk_requests_worthy();
    raise(SIGUSR2);
    if (gather_for(1) != SK_REQUEST_CHECKPOINT || gather_for(2) || gather_for(1))
        return 2;
    raise(SIGUSR2);
    if (gather_for(2) != SK_REQUEST_CHECKPOINT || gather_for(1) != SK_REQUEST_CHECKPOINT || gather_for(2) || gather_for(1))
        return 3;
    raise(SIGTERM);
    if (gather_for(1) != ALL || gather_for(2) != ALL || gather_for(3))
        return 4;
    struct sk_id second;
    memset(&second, 2, sizeof second);
    sk_requests_forget(second); /* and begins anew */
    return gather_for(2) ? 5 : FINE;
}

static volatile sig_atomic_t told_all;
static void count_with_all(int n, siginfo_t *info, void *context)
{
    told_all += n == SIGUSR1 && info && info->si_pid == getpid() && context;
}

/* Each name is a signal of its own, written in any way; whoever had one of them before still gets it, and has it back at the end. */
static int by_any_name(void)
{
    static const int numbers[] = {SIGUSR1, SIGUSR2, SIGCONT, SIGXCPU, SIGALRM};
    struct sigaction more = {.sa_sigaction = count_with_all, .sa_flags = SA_SIGINFO}, now;
    sigaction(SIGUSR1, &more, NULL);
    if (install("schedule.signals=sigusr1,USR2 cont, SigXCPU,ALRM", 0))
        return 1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        raise(numbers[i]);
        if (gather() != SK_REQUEST_CHECKPOINT || gather())
            return 2;
    }
    raise(SIGUSR1);
    if (told_all != 2 || sk_requests_handed_on() || !sk_requests_left_to_program(SIGUSR1) || sk_requests_left_to_program(SIGUSR2))
        return 3;
    sk_requests_remove();
    if (sigaction(SIGUSR1, NULL, &now) || now.sa_sigaction != count_with_all || sigaction(SIGUSR2, NULL, &now) || now.sa_handler != SIG_DFL)
        return 4;
    return gather() ? 5 : FINE;
}

/* More jobs than are told apart: what comes is heard all the same, by one of those that are not. */
static int very_many_jobs(void)
{
    enum { JOBS = 64, MORE = 10 };
    int late = 0;
    if (install("schedule.signals=USR2", 0))
        return 1;
    for (int i = 1; i <= JOBS + MORE; i++)
        if (gather_for((uint8_t)i))
            return 2;
    raise(SIGUSR2);
    for (int i = 1; i < JOBS; i++)
        if (gather_for((uint8_t)i) != SK_REQUEST_CHECKPOINT || gather_for((uint8_t)i))
            return 3;
    for (int i = JOBS; i <= JOBS + MORE; i++)
        late += gather_for((uint8_t)i) == SK_REQUEST_CHECKPOINT;
    return late == 1 ? FINE : 4;
}

static void test_ends(void **state)
{
    (void)state;
    static const struct {
        int (*child)(void);
        int end;
    } cases[] = {{before_the_first_candidate, -SIGTERM},
                 {after_a_candidate, FINE},
                 {a_second_time, -SIGINT},
                 {nobody_listens, -SIGTERM},
                 {nobody_listens_but_a_launcher_watches, FINE},
                 {came_after_the_last_candidate, -SIGTERM},
                 {was_answered, FINE},
                 {is_ignored, FINE},
                 {has_its_own_handler, FINE},
                 {nothing_is_listed, -SIGTERM},
                 {another_signal_only_asks, FINE},
                 {two_jobs, FINE},
                 {by_any_name, FINE},
                 {very_many_jobs, FINE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int end = end_of(cases[i].child);
        if (end != cases[i].end)
            fail_msg("case %zu ended with %d in place of %d", i, end, cases[i].end);
    }
}

/* Rank 0, whose time slot ends in so many seconds, with iterations that took so long: is the last checkpoint to be made now? */
static int is_last(int rank, double left, uint64_t candidates, double took)
{
    struct sk_group g = {.rank = rank, .size = 2};
    struct sk_session s = {.g = &g, .config = sk_config_new()};
    assert_int_equal(sk_config_set_all(s.config, "schedule.time_margin=60s; schedule.poll=1s", SK_FROM_API, NULL), 0);
    s.measured.deadline = sk_now() + left;
    s.clock.tick = 5 + candidates;
    s.measured.mark_tick = 5;
    s.measured.mark = sk_now() - took;
    unsigned first = sk_requests_gather(&s), again = sk_requests_gather(&s);
    assert_int_equal(again, 0); /* once */
    assert_int_equal(s.measured.deadline_done, first != 0);
    assert_true(!first || first == SK_REQUEST_CHECKPOINT);
    sk_config_free(s.config);
    return first != 0;
}

/* The margin, two polls until all know it, and two iterations as long as those before. Far from the limits: time goes on meanwhile. */
static void test_the_end_of_a_time_slot(void **state)
{
    (void)state;
    assert_true(is_last(0, 50, 0, 0));
    assert_false(is_last(1, 50, 0, 0)); /* rank 0 looks at the clock for all */
    assert_false(is_last(0, 1000, 0, 0));
    assert_false(is_last(0, 1000, 10, 2000)); /* 1000 - 2 - 400 */
    assert_true(is_last(0, 1000, 10, 5000)); /* 1000 - 2 - 1000 */
    assert_false(is_last(0, 1000, 0, 5000)); /* no iteration was measured */
    assert_false(is_last(0, 1000, 1000, 5000)); /* each is short */
    assert_true(is_last(0, -5, 0, 0));
}

int main(void)
{
    /* a background job of a shell ignores ^C: these children are to begin as others do */
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends), cmocka_unit_test(test_the_end_of_a_time_slot)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
