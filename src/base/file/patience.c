/* Calls that may hang, each in a thread of its own. */
#include "base/file/patience.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct sk_patience {
    double seconds;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int users;   /* the owner, and calls that hang */
    int hanging; /* calls that were given up and have not returned */
};

/* One call; whoever comes last frees it. */
struct call {
    struct sk_patience *p;
    int (*fn)(void *arg, struct saikai_error *err);
    void (*drop)(void *arg);
    void *arg;
    int rc, done, given_up;
    struct saikai_error err;
};

int sk_patience_new(double seconds, struct sk_patience **out, struct saikai_error *err)
{
    struct sk_patience *p = calloc(1, sizeof *p);
    if (!p)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to wait for a file system");
    p->seconds = seconds;
    p->users = 1;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &a);
    pthread_condattr_destroy(&a);
    *out = p;
    return 0;
}

/* Gives the lock back. */
static void leave(struct sk_patience *p)
{
    int last = !--p->users;
    pthread_mutex_unlock(&p->lock);
    if (!last)
        return;
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void sk_patience_free(struct sk_patience *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    leave(p);
}

static void *make_call(void *arg)
{
    struct call *c = arg;
    struct sk_patience *p = c->p;
    int rc = c->fn(c->arg, &c->err);
    pthread_mutex_lock(&p->lock);
    c->rc = rc;
    c->done = 1;
    pthread_cond_broadcast(&p->changed);
    if (!c->given_up) {
        pthread_mutex_unlock(&p->lock);
        return NULL;
    }
    p->hanging--;
    c->drop(c->arg);
    free(c);
    leave(p);
    return NULL;
}

/* Signals of the program stay with its own threads. */
static int start(struct call *c)
{
    pthread_t t;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&t, NULL, make_call, c);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!rc)
        pthread_detach(t);
    return rc;
}

/* With the lock: 1 when the call ended in time. */
static int wait_for(struct sk_patience *p, const struct call *c)
{
    const struct timespec until = sk_clock_after(p->seconds);
    while (!c->done && pthread_cond_timedwait(&p->changed, &p->lock, &until) != ETIMEDOUT)
        ;
    return c->done;
}

int sk_patience_call(struct sk_patience *p, const char *what, int (*fn)(void *arg, struct saikai_error *err),
                     void (*drop)(void *arg), void *arg, struct saikai_error *err)
{
    if (p->seconds <= 0)
        return fn(arg, err);
    if (sk_patience_hangs(p)) {
        drop(arg);
        return sk_fail(err, SAIKAI_ETIMEDOUT, "%s still does not answer", what);
    }
    struct call *c = calloc(1, sizeof *c);
    if (!c)
        return fn(arg, err);
    *c = (struct call){.p = p, .fn = fn, .drop = drop, .arg = arg};
    if (start(c)) { /* without a thread, as without memory, it is waited for, however long it takes */
        free(c);
        return fn(arg, err);
    }
    pthread_mutex_lock(&p->lock);
    if (!wait_for(p, c)) {
        c->given_up = 1;
        p->hanging++;
        p->users++;
        pthread_mutex_unlock(&p->lock);
        return sk_fail(err, SAIKAI_ETIMEDOUT, "%s does not answer for %.3g s", what, p->seconds);
    }
    pthread_mutex_unlock(&p->lock);
    int rc = c->rc;
    if (rc && err)
        *err = c->err;
    free(c);
    return rc;
}

int sk_patience_hangs(struct sk_patience *p)
{
    pthread_mutex_lock(&p->lock);
    int hangs = p->hanging > 0;
    pthread_mutex_unlock(&p->lock);
    return hangs;
}

void sk_patience_wait(struct sk_patience *p, double seconds)
{
    const struct timespec until = sk_clock_after(seconds > 0 ? seconds : 1e9);
    pthread_mutex_lock(&p->lock);
    while (p->hanging && pthread_cond_timedwait(&p->changed, &p->lock, &until) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&p->lock);
}
