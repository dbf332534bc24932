/* The queue of works, the thread that does them, and the same in slices where there is no such
 * thread. */
#include "lib/levels/offpath.h"

#include "base/clock.h"
#include "base/host/guard.h"
#include "base/log.h"
#include "group/patient.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct item {
    const struct sk_offwork_ops *ops;
    void *work;
    int64_t number;
    int rc; /* so far */
    struct saikai_error err;
};

struct sk_offpath {
    struct sk_group *g;
    atomic_int stop;
    int threaded;
    int given_up; /* the thread may hang */
    int left;     /* it does, and goes on alone */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct item item[SK_OFFPATH_MOST]; /* by number */
    struct item *now;                  /* begun, in slices */
    int64_t submitted, begun, ready, ended;
};

static void begin(struct item *w)
{
    w->rc = w->ops->begin ? w->ops->begin(w->work, &w->err) : 0;
}

static void finish(struct item *w)
{
    if (!w->rc)
        w->rc = w->ops->finish(w->work, &w->err);
}

static void end(struct item *w)
{
    w->ops->end(w->work, w->rc, &w->err);
}

/* The next work, NULL: none. With the lock, where a thread works. */
static struct item *take(struct sk_offpath *o)
{
    return o->begun < o->submitted ? &o->item[++o->begun % SK_OFFPATH_MOST] : NULL;
}

/* Without the lock. */
static void mark(struct sk_offpath *o, int64_t *what, int64_t number)
{
    pthread_mutex_lock(&o->lock);
    *what = number;
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
}

static void *run(void *arg)
{
    struct sk_offpath *o = arg;
    pthread_mutex_lock(&o->lock);
    while (!atomic_load(&o->stop)) {
        struct item *w = take(o);
        if (!w) {
            pthread_cond_wait(&o->changed, &o->lock);
            continue;
        }
        pthread_mutex_unlock(&o->lock);
        begin(w);
        finish(w);
        end(w);
        pthread_mutex_lock(&o->lock);
        o->ready = o->ended = w->number;
        pthread_cond_broadcast(&o->changed);
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

static int start_thread(struct sk_offpath *o, struct saikai_error *err)
{
    sigset_t all, old;
    sk_guard_signals(&all); /* signals of the program stay with its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&o->thread, NULL, run, o);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    o->threaded = !rc;
    return rc ? sk_fail(err, SAIKAI_ENOMEM, "no thread for the work beside the program") : 0;
}

int sk_offpath_new(struct sk_group *g, int slices, struct sk_offpath **out,
                   struct saikai_error *err)
{
    struct sk_offpath *o = calloc(1, sizeof *o);
    struct sk_group *own = NULL;
    *out = NULL;
    int rc = o ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the work beside the program");
    /* one rank without threads, and all work in slices: who finishes when must be the same
     * everywhere */
    int64_t threads = g->threads && !slices && !rc;
    if ((rc = sk_group_verdict(g, rc, err)))
        goto out;
    if ((rc = sk_group_allreduce(g, &threads, 1, SK_OP_MIN)) || (rc = sk_group_dup(g, &own))) {
        sk_fail(err, rc, "the ranks lost contact before the work beside the program could begin");
        goto out;
    }
    if (threads)
        rc = sk_group_patient(own, &o->stop, &own, err);
    if (!rc) {
        o->g = own;
        pthread_mutex_init(&o->lock, NULL);
        pthread_cond_init(&o->changed, NULL);
    }
    if (!rc && threads)
        rc = start_thread(o, err);
    rc = sk_group_verdict(g, rc, err);
out:
    if (rc && o && o->g)
        sk_offpath_free(o);
    else if (rc)
        free(o);
    else
        *out = o;
    return rc;
}

/* 1: it does not end. What waits for other ranks does at once. */
static int leave_thread(struct sk_offpath *o)
{
    enum { SECONDS = 2 };
    struct timespec until;
    if (!o->given_up)
        return pthread_join(o->thread, NULL) != 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SECONDS;
    if (!pthread_timedjoin_np(o->thread, NULL, &until))
        return 0;
    pthread_detach(o->thread);
    return 1;
}

void sk_offpath_stop(struct sk_offpath *o)
{
    if (!o || atomic_load(&o->stop))
        return;
    pthread_mutex_lock(&o->lock);
    atomic_store(&o->stop, 1);
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
    if (o->threaded && leave_thread(o)) {
        o->left = 1;
        return;
    }
    for (struct item *w = o->now ? o->now : take(o); w; w = take(o)) {
        w->rc = sk_fail(&w->err, SAIKAI_EPEER, "%s was given up", w->ops->name);
        end(w);
    }
    o->now = NULL;
}

void sk_offpath_free(struct sk_offpath *o)
{
    if (!o)
        return;
    sk_offpath_stop(o);
    sk_group_free(o->g);
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

/* What a thread that hangs may still use stays as long as the process does. */
static struct left {
    struct left *next;
    struct sk_offpath *o;
    void *user;
} *all_left;

static void keep(struct sk_offpath *o, void *user)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct left *l = calloc(1, sizeof *l);
    pthread_mutex_lock(&lock);
    if (l) {
        *l = (struct left){all_left, o, user};
        all_left = l;
    }
    pthread_mutex_unlock(&lock);
}

/* The group stays, and what was split from it: to free them, all ranks would have to, and one may hang. */
int sk_offpath_give_up(struct sk_offpath *o, void *user)
{
    if (!o)
        return 0;
    o->given_up = 1;
    sk_offpath_stop(o);
    keep(o, user);
    return o->left;
}

struct sk_group *sk_offpath_group(struct sk_offpath *o)
{
    return o->g;
}

/* ---- in slices: all by the program's thread ---- */

static void finish_now(struct sk_offpath *o)
{
    struct item *w = o->now;
    finish(w);
    o->now = NULL;
    end(w);
    mark(o, &o->ready, w->number);
    mark(o, &o->ended, w->number);
}

/* Begin works until one has something to do. */
static void begin_next(struct sk_offpath *o)
{
    while (!o->now && (o->now = take(o))) {
        begin(o->now);
        if (o->now->rc)
            finish_now(o);
        else if (!o->now->ops->step)
            mark(o, &o->ready, o->now->number);
    }
}

int sk_offpath_wants_slices(struct sk_offpath *o)
{
    return o && o->now && o->ready < o->now->number;
}

void sk_offpath_slice(struct sk_offpath *o, double seconds)
{
    double until = sk_now() + seconds;
    while (sk_offpath_wants_slices(o)) {
        int done = 0;
        int rc = o->now->ops->step(o->now->work, &done, &o->now->err);
        if (rc) {
            o->now->err.code = o->now->rc = rc;
            done = 1;
        }
        if (done)
            mark(o, &o->ready, o->now->number);
        else if (sk_now() >= until)
            break;
        else
            sched_yield();
    }
}

void sk_offpath_agree(struct sk_offpath *o, int64_t ready)
{
    if (!o || !o->now || ready < o->now->number)
        return;
    finish_now(o);
    begin_next(o);
}

/* ---- both ---- */

int64_t sk_offpath_submit(struct sk_offpath *o, const struct sk_offwork_ops *ops, void *work)
{
    pthread_mutex_lock(&o->lock);
    int64_t number = ++o->submitted;
    o->item[number % SK_OFFPATH_MOST] = (struct item){.ops = ops, .work = work, .number = number};
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
    if (!o->threaded)
        begin_next(o);
    return number;
}

int64_t sk_offpath_ready(struct sk_offpath *o)
{
    pthread_mutex_lock(&o->lock);
    int64_t n = o->ready;
    pthread_mutex_unlock(&o->lock);
    return n;
}

int64_t sk_offpath_ended(struct sk_offpath *o)
{
    pthread_mutex_lock(&o->lock);
    int64_t n = o->ended;
    pthread_mutex_unlock(&o->lock);
    return n;
}

void sk_offpath_drain(struct sk_offpath *o)
{
    while (o && !sk_offpath_wait(o, 3600))
        ;
}

int sk_offpath_wait(struct sk_offpath *o, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    double at = (double)until.tv_nsec * 1e-9 + seconds;
    until.tv_sec += (time_t)at;
    until.tv_nsec = (long)((at - (double)(time_t)at) * 1e9);
    pthread_mutex_lock(&o->lock);
    while (o->threaded && o->ended < o->submitted && !pthread_cond_timedwait(&o->changed, &o->lock, &until))
        ;
    int ended = !o->threaded || o->ended >= o->submitted;
    pthread_mutex_unlock(&o->lock);
    while (o->now) {
        finish_now(o);
        begin_next(o);
    }
    return ended;
}
