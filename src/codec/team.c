/* Starts the threads with the program's signals blocked, and works along in the calling one. */
#include "codec/team.h"

#include "base/host/guard.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#define MOST_THREADS 64

struct job {
    void (*f)(void *);
    void *arg;
};

static void *run(void *p)
{
    struct job *j = p;
    j->f(j->arg);
    return NULL;
}

int sk_team_size(int threads, uint64_t pieces)
{
    if (threads <= 0) {
        cpu_set_t set;
        threads = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    }
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    if ((uint64_t)threads > pieces)
        threads = (int)pieces;
    return threads > 0 ? threads : 1;
}

void sk_team_run(int n, void (*f)(void *arg), void *arg)
{
    pthread_t id[MOST_THREADS];
    struct job j = {f, arg};
    sigset_t all, old;
    int made = 0;
    sk_guard_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (made < n - 1 && made < MOST_THREADS && !pthread_create(&id[made], NULL, run, &j))
        made++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    f(arg);
    for (int i = 0; i < made; i++)
        pthread_join(id[i], NULL);
}
