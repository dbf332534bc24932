/* Requests from outside: signals of the program, the keeper's page, the clock.
 *
 * Signals of schedule.signals ask for a checkpoint, those of schedule.stop_signals for one and for the program's end. SIGTERM, SIGINT and SIGHUP
 * among the latter mean an end also where the program does not care (stop.c). As without Saikai, they end the process at once
 * as long as there is nothing to save, and when they come again; and under plain mpirun, where nobody else watches the clock, when
 * schedule.stop_grace is over.
 *
 * Handlers and the keeper's page are the process's, jobs in it may be several: what came is counted, and each job compares that with
 * what it has heard. */
#include "lib/run/requests.h"

#include "base/clock.h"
#include "base/log.h"
#include "lib/run/events.h"
#include "lib/run/pace.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static const struct {
    const char *name;
    int number, ends;
} names[] = {{"USR1", SIGUSR1, 0}, {"USR2", SIGUSR2, 0}, {"TERM", SIGTERM, 1}, {"INT", SIGINT, 1},  {"HUP", SIGHUP, 1},
             {"CONT", SIGCONT, 0}, {"XCPU", SIGXCPU, 0}, {"ALRM", SIGALRM, 0}};
enum { n_names = sizeof names / sizeof *names };

/* The same signal may come twice by two ways, such as from a terminal and from a launcher. */
static const int64_t echo_ns = 250000000;

/* Counted up by the handler in whichever thread the signal came; behind the signals the bits of the keeper's page. */
enum { PAGE_BITS = 3, SOURCES = n_names + PAGE_BITS, MOST_JOBS = 64 };
static atomic_uint raised[SOURCES];
static atomic_int means[n_names]; /* SK_REQUEST_… that the signal stands for, 0: it is not ours */
/* The counts of which a job, told by its store's id, has heard, and those that any has. Under the lock. */
static struct heard {
    struct sk_id store;
    unsigned of[SOURCES];
} heard[MOST_JOBS];
static int jobs;
static unsigned answered[SOURCES];
static atomic_int handles = 1; /* open in this process */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler may not wait for a lock");
static atomic_int reason;    /* the newest signal that is to end the program; 0: none came */
static atomic_int handed_on; /* a signal that is to end the program came, and its own handler has it */
static atomic_int worthy;    /* a candidate was reached: there is something to save */
static _Atomic int64_t since; /* when `reason` first came, nanoseconds of the monotonic clock; 0: it did not */
static struct sigaction old[n_names]; /* what was there before */
static int installed[n_names];
/* Without a launcher nobody else ends a program that does not end by itself. */
static timer_t timer;
static atomic_int has_timer;
static struct itimerspec patience;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* In a handler, where the signal is blocked: it is delivered when the handler returns. */
static void die_by(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

/* A signal that is to end the program: 1 when it does so at once. */
static int ends_at_once(int number, const siginfo_t *info)
{
    int64_t now = monotonic_ns(), before = 0;
    int first = atomic_compare_exchange_strong(&since, &before, now);
    if (!atomic_load(&worthy) || info->si_code == SI_TIMER || (!first && now - before > echo_ns)) {
        die_by(number);
        return 1;
    }
    atomic_store(&reason, number);
    if (first && atomic_load(&has_timer))
        timer_settime(timer, 0, &patience, NULL);
    return 0;
}

/* Whoever handled the signal before still gets it: MPICH, for one, uses SIGUSR1 itself. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    for (int i = 0; i < n_names; i++) {
        if (names[i].number != number)
            continue;
        if (atomic_load(&means[i]) & SK_REQUEST_END && ends_at_once(number, info))
            return;
        if (names[i].ends && !(atomic_load(&means[i]) & SK_REQUEST_END))
            atomic_store(&handed_on, 1);
        atomic_fetch_add(&raised[i], 1);
        if (old[i].sa_flags & SA_SIGINFO)
            old[i].sa_sigaction(number, info, context);
        else if (old[i].sa_handler != SIG_DFL && old[i].sa_handler != SIG_IGN)
            old[i].sa_handler(number);
    }
}

static void install_one(int i, int request)
{
    struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigemptyset(&act.sa_mask);
    /* the old one must be known before ours can run */
    if (!installed[i] && sigaction(names[i].number, NULL, &old[i]))
        return;
    int is_default = !(old[i].sa_flags & SA_SIGINFO) && old[i].sa_handler == SIG_DFL;
    if (names[i].ends && !(old[i].sa_flags & SA_SIGINFO) && old[i].sa_handler == SIG_IGN)
        return; /* nohup, and jobs in the background */
    if (names[i].ends && is_default && request & SK_REQUEST_STOP)
        request |= SK_REQUEST_END;
    atomic_fetch_or(&means[i], request);
    if (!installed[i])
        installed[i] = !sigaction(names[i].number, &act, NULL);
}

static int install(const char *list, int request, const char *key, struct saikai_error *err)
{
    char copy[128], *save = NULL;
    if (strlen(list) >= sizeof copy)
        return sk_fail(err, SAIKAI_ECONFIG, "%s: the list is too long", key);
    strcpy(copy, list);
    for (char *p = strtok_r(copy, ", ", &save); p; p = strtok_r(NULL, ", ", &save)) {
        int i = 0;
        if (!strncasecmp(p, "SIG", 3))
            p += 3;
        while (i < n_names && strcasecmp(names[i].name, p))
            i++;
        if (i == n_names)
            return sk_fail(err, SAIKAI_ECONFIG,
                           "%s: '%.20s' is no signal that can be used: USR1 USR2 TERM INT HUP CONT XCPU ALRM", key, p);
        install_one(i, request);
    }
    return 0;
}

/* grace 0: somebody else sees to it, or nobody is to. */
static void install_timer(double grace)
{
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
    patience.it_value = (struct timespec){(time_t)grace, (long)((grace - (double)(time_t)grace) * 1e9)};
    if (grace > 0 && !atomic_load(&has_timer) && !timer_create(CLOCK_MONOTONIC, &e, &timer))
        atomic_store(&has_timer, 1);
}

int sk_requests_install(const struct sk_config *c, int watched, struct saikai_error *err)
{
    pthread_mutex_lock(&lock); /* several sessions of one process may begin at once */
    int rc = install(sk_config_text(c, "schedule.signals"), SK_REQUEST_CHECKPOINT, "schedule.signals", err);
    if (!rc)
        rc = install(sk_config_text(c, "schedule.stop_signals"), SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP,
                     "schedule.stop_signals", err);
    if (!rc)
        install_timer(watched ? 0 : sk_config_time(c, "schedule.stop_grace"));
    pthread_mutex_unlock(&lock);
    return rc;
}

int sk_requests_hush(const struct sk_config *c, struct saikai_error *err)
{
    pthread_mutex_lock(&lock);
    int rc = install(sk_config_text(c, "schedule.signals"), SK_REQUEST_CHECKPOINT, "schedule.signals", err);
    pthread_mutex_unlock(&lock);
    return rc;
}

void sk_requests_remove(void)
{
    int late = 0;
    pthread_mutex_lock(&lock);
    if (atomic_exchange(&has_timer, 0))
        timer_delete(timer);
    for (int i = 0; i < n_names; i++) {
        if (installed[i])
            sigaction(names[i].number, &old[i], NULL);
        installed[i] = 0;
        if (atomic_load(&raised[i]) != answered[i] && atomic_load(&means[i]) & SK_REQUEST_END)
            late = names[i].number; /* came after the last candidate: nobody has answered it */
        atomic_store(&means[i], 0);
    }
    for (int i = 0; i < SOURCES; i++) {
        atomic_store(&raised[i], 0);
        answered[i] = 0;
    }
    jobs = 0;
    atomic_store(&reason, 0);
    atomic_store(&handed_on, 0);
    atomic_store(&since, 0);
    atomic_store(&worthy, 0);
    pthread_mutex_unlock(&lock);
    if (late)
        raise(late);
}

void sk_requests_share(int number)
{
    atomic_store(&handles, number);
}

int sk_requests_shared(void)
{
    return atomic_load(&handles) > 1;
}

void sk_requests_worthy(void)
{
    atomic_store(&worthy, 1);
}

int sk_requests_reason(void)
{
    int number = atomic_load(&reason);
    return number ? number : SIGTERM;
}

int sk_requests_left_to_program(int number)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now))
        return 0;
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal)
        for (int i = 0; i < n_names; i++)
            if (names[i].number == number)
                now = old[i];
    return now.sa_flags & SA_SIGINFO || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
}

int sk_requests_handed_on(void)
{
    return atomic_load(&handed_on);
}

void sk_requests_die(int number)
{
    sigset_t set;
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
}

static unsigned from_clock(struct sk_session *s)
{
    if (s->g->rank || s->measured.deadline_done || s->measured.deadline <= 0)
        return 0;
    double left = s->measured.deadline - sk_now();
    if (!sk_pace_is_near(s, s->measured.deadline))
        return 0;
    s->measured.deadline_done = s->measured.asks_last = 1;
    sk_log(SK_LOG_NOTICE, "job %s: its time slot ends in %.0f s: the last checkpoint is made now (schedule.time_margin)",
           s->who.job.name, left);
    return SK_REQUEST_CHECKPOINT;
}

/* What a job has heard. One that is new has heard what another one has answered. Under the lock. */
static struct heard *heard_by(struct sk_id store)
{
    int i = 0;
    while (i < jobs && !sk_id_same(heard[i].store, store))
        i++;
    if (i == jobs && jobs < MOST_JOBS) {
        heard[i].store = store;
        memcpy(heard[i].of, answered, sizeof answered);
        jobs++;
    }
    return &heard[i < MOST_JOBS ? i : MOST_JOBS - 1];
}

void sk_requests_forget(struct sk_id store)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < jobs; i++)
        if (sk_id_same(heard[i].store, store))
            heard[i--] = heard[--jobs];
    pthread_mutex_unlock(&lock);
}

/* What the keeper asks for is for all jobs of the process. */
static void look_at_page(struct sk_keeper_page *page)
{
    unsigned asked = page ? sk_keeper_page_take(page) : 0;
    if (asked >> SK_REQUEST_SIGNAL)
        atomic_store(&reason, (int)(asked >> SK_REQUEST_SIGNAL & 0x3f));
    for (int k = 0; k < PAGE_BITS; k++)
        if (asked & 1u << k)
            atomic_fetch_add(&raised[n_names + k], 1);
}

unsigned sk_requests_gather(struct sk_session *s)
{
    unsigned r = from_clock(s) | sk_session_heed_notice(s);
    look_at_page(s->page);
    pthread_mutex_lock(&lock);
    struct heard *h = heard_by(s->who.job.store);
    for (int i = 0; i < SOURCES; i++) {
        unsigned now = atomic_load(&raised[i]);
        if (now != h->of[i])
            r |= i < n_names ? (unsigned)atomic_load(&means[i]) : 1u << (i - n_names);
        h->of[i] = answered[i] = now;
    }
    pthread_mutex_unlock(&lock);
    if (r & SK_REQUEST_END)
        r |= SK_REQUEST_STOP;
    return r & SK_REQUEST_STOP ? r | SK_REQUEST_CHECKPOINT : r;
}
