#include "lib/session.h"

#include "base/clock.h"
#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    int number;
} names[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP},
             {"CONT", SIGCONT}, {"XCPU", SIGXCPU}, {"ALRM", SIGALRM}};
enum { n_names = sizeof names / sizeof *names };

/* set by the handler in whichever thread the signal came, and taken by the threads of the ranks */
static atomic_int raised[n_names], means[n_names];
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler may not wait for a lock");
static struct sigaction old[n_names]; /* what was there before */
static int installed[n_names];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whoever handled the signal before still gets it: MPICH, for one, uses SIGUSR1 itself. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    for (int i = 0; i < n_names; i++) {
        if (names[i].number != number)
            continue;
        atomic_store(&raised[i], 1);
        if (old[i].sa_flags & SA_SIGINFO)
            old[i].sa_sigaction(number, info, context);
        else if (old[i].sa_handler != SIG_DFL && old[i].sa_handler != SIG_IGN)
            old[i].sa_handler(number);
    }
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
        atomic_fetch_or(&means[i], request);
        struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
        sigemptyset(&act.sa_mask);
        /* the old one must be known before ours can run */
        if (installed[i] || sigaction(names[i].number, NULL, &old[i]))
            continue;
        installed[i] = !sigaction(names[i].number, &act, NULL);
    }
    return 0;
}

int sk_requests_install(const struct sk_config *c, struct saikai_error *err)
{
    pthread_mutex_lock(&lock); /* several sessions of one process may begin at once */
    int rc = install(sk_config_text(c, "schedule.signals"), SK_REQUEST_CHECKPOINT, "schedule.signals", err);
    if (!rc)
        rc = install(sk_config_text(c, "schedule.stop_signals"), SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP,
                     "schedule.stop_signals", err);
    pthread_mutex_unlock(&lock);
    return rc;
}

void sk_requests_remove(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_names; i++) {
        if (installed[i])
            sigaction(names[i].number, &old[i], NULL);
        installed[i] = 0;
        atomic_store(&raised[i], 0);
        atomic_store(&means[i], 0);
    }
    pthread_mutex_unlock(&lock);
}

static unsigned from_clock(struct sk_session *s)
{
    if (s->g->rank || s->deadline_done || s->deadline <= 0)
        return 0;
    double poll = sk_config_time(s->config, "schedule.poll"), left = s->deadline - sk_now();
    double tick = s->tick > s->tick_mark_count
                      ? (sk_now() - s->tick_mark) / (double)(s->tick - s->tick_mark_count) : 0;
    /* the answer is taken up one poll, or one long iteration, later */
    if (!sk_deadline_due(left - 2 * poll, sk_config_time(s->config, "schedule.time_margin"), sk_pace_cost(s),
                         2 * tick))
        return 0;
    s->deadline_done = 1;
    sk_log(SK_LOG_INFO, "the time slot ends in %.0f s: last checkpoint", left);
    return SK_REQUEST_CHECKPOINT;
}

unsigned sk_requests_gather(struct sk_session *s)
{
    unsigned r = from_clock(s);
    for (int i = 0; i < n_names; i++)
        if (atomic_exchange(&raised[i], 0))
            r |= (unsigned)atomic_load(&means[i]);
    if (s->page)
        r |= sk_keeper_page_take(s->page);
    return r & SK_REQUEST_STOP ? r | SK_REQUEST_CHECKPOINT : r;
}
