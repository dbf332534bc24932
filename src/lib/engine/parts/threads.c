/* Starting, stopping and waking the engine's threads. */
#include "lib/engine/parts/threads.h"

#include "base/host/guard.h"

#include <signal.h>
#include <time.h>

void sk_threads_set(struct sk_threads *t)
{
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
}

/* Signals of the program stay with its own threads. */
static int start_thread(pthread_t *t, void *(*fn)(void *), void *arg)
{
    sigset_t all, old;
    sk_guard_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(t, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

int sk_threads_start(struct sk_threads *t, void *(*committer)(void *), void *(*archiver)(void *), void *arg)
{
    if (start_thread(&t->committer, committer, arg))
        return -1;
    if (!start_thread(&t->archiver, archiver, arg))
        return 0;
    sk_threads_stop(t);
    pthread_join(t->committer, NULL);
    return -1;
}

void sk_threads_stop(struct sk_threads *t)
{
    pthread_mutex_lock(&t->lock);
    t->stopping = 1;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void sk_threads_free(struct sk_threads *t)
{
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
}

void sk_threads_lock(struct sk_threads *t)
{
    pthread_mutex_lock(&t->lock);
}

void sk_threads_unlock(struct sk_threads *t)
{
    pthread_mutex_unlock(&t->lock);
}

void sk_threads_tell(struct sk_threads *t)
{
    pthread_cond_broadcast(&t->changed);
}

void sk_threads_tell_and_unlock(struct sk_threads *t)
{
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void sk_threads_wait(struct sk_threads *t)
{
    pthread_cond_wait(&t->changed, &t->lock);
}

void sk_threads_wait_for(struct sk_threads *t, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(seconds * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&t->changed, &t->lock, &until);
}
