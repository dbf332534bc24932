/* A queue towards the store, a ring of what was read there, and the thread between. */
#include "store/event/courier.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"
#include "store/event/kept.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often it looks for what others wrote, and how long the end waits for what has to be written. */
static const double look_s = 1, end_wait_s = 2;

struct subscription {
    char text[SK_FILTER_TEXT];
    struct sk_filter filter;
    uint64_t next; /* number of the event to look at */
};

struct sk_courier {
    pthread_mutex_t lock;
    pthread_cond_t wake, came; /* for the thread; for those who wait for events */
    pthread_t thread;
    int ends, ended, left; /* the thread frees it */
    int kicked;
    struct sk_buf out; /* lines to be written */
    int waiting;       /* so many */
    struct saikai_event *kept; /* the newest, number n at n modulo SK_COURIER_KEPT; NULL: nobody has asked so far */
    uint64_t count;            /* of all that were kept */
    struct subscription *subscription;
    int subscriptions;
    int64_t began_ms;
    _Atomic unsigned notices;
    unsigned notices_heard;
    int64_t deadline_ms;
    /* the thread's own */
    struct sk_events_reader reader;
    int read_before; /* what was there when it began was read */
    int told;        /* that the events cannot be read or written */
};

/* ---- the thread ---- */

static void trouble(struct sk_courier *c, const struct saikai_error *err)
{
    sk_log(c->told || err->code == SAIKAI_ENOENT ? SK_LOG_DEBUG : SK_LOG_WARN, "events: %s", err->text);
    c->told |= err->code != SAIKAI_ENOENT;
}

static void note_notice(struct sk_courier *c, const struct saikai_event *e)
{
    int is_new = atomic_load(&c->notices) == c->notices_heard;
    if (is_new)
        c->deadline_ms = 0;
    if (e->deadline_ms && (!c->deadline_ms || e->deadline_ms < c->deadline_ms))
        c->deadline_ms = e->deadline_ms;
    atomic_fetch_add(&c->notices, 1);
}

/* What was told before this process began is over, but for a notice whose deadline is ahead. */
static void take(void *arg, const struct saikai_event *e)
{
    struct sk_courier *c = arg;
    int is_past = !c->read_before && e->time_ms < c->began_ms;
    pthread_mutex_lock(&c->lock);
    if (sk_event_is_notice(e) && (!is_past || e->deadline_ms > sk_wall_ms()))
        note_notice(c, e);
    if (!is_past && c->kept) {
        c->kept[c->count % SK_COURIER_KEPT] = *e;
        c->count++;
        pthread_cond_broadcast(&c->came);
    }
    pthread_mutex_unlock(&c->lock);
}

static void write_waiting(struct sk_courier *c)
{
    struct saikai_error err = {0};
    pthread_mutex_lock(&c->lock);
    struct sk_buf lines = c->out;
    int n = c->waiting;
    c->out = (struct sk_buf){0};
    pthread_mutex_unlock(&c->lock);
    int rc = n ? sk_events_add(c->reader.dir, lines.data, lines.len, 0, &err) : 0;
    pthread_mutex_lock(&c->lock);
    if (rc == SAIKAI_ENOENT || rc == SAIKAI_EIO) { /* the store is away: later, before what came meanwhile */
        sk_buf_put(&lines, c->out.data, c->out.len);
        lines.failed = 0; /* without memory for both what came meanwhile is lost */
        sk_buf_free(&c->out);
        c->out = lines;
        lines = (struct sk_buf){0};
    } else {
        c->waiting -= n;
    }
    pthread_mutex_unlock(&c->lock);
    sk_buf_free(&lines);
    if (rc)
        trouble(c, &err);
}

static void read_new(struct sk_courier *c)
{
    struct saikai_error err = {0};
    int rc = sk_events_read(&c->reader, take, c, &err);
    c->read_before |= !rc;
    if (rc)
        trouble(c, &err);
}

/* Until it is time, or there is something to write; 1: the end. */
static int rest(struct sk_courier *c)
{
    const struct timespec until = sk_clock_after(look_s);
    pthread_mutex_lock(&c->lock);
    while (!c->ends && !c->kicked && !pthread_cond_timedwait(&c->wake, &c->lock, &until))
        ;
    c->kicked = 0;
    int ends = c->ends;
    pthread_mutex_unlock(&c->lock);
    return ends;
}

static void destroy(struct sk_courier *c)
{
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->wake);
    pthread_cond_destroy(&c->came);
    sk_buf_free(&c->out);
    free(c->kept);
    free(c->subscription);
    free(c);
}

static void *run(void *arg)
{
    struct sk_courier *c = arg;
    sk_io_do_not_count();
    do {
        write_waiting(c);
        read_new(c);
    } while (!rest(c));
    write_waiting(c);
    pthread_mutex_lock(&c->lock);
    c->ended = 1;
    int left = c->left;
    pthread_cond_broadcast(&c->came);
    pthread_mutex_unlock(&c->lock);
    if (left)
        destroy(c);
    return NULL;
}

/* ---- begin and end ---- */

int sk_courier_new(const char *dir, struct sk_courier **out, struct saikai_error *err)
{
    pthread_condattr_t attr;
    sigset_t all, old;
    struct sk_courier *c = calloc(1, sizeof *c);
    int rc = c ? sk_events_open(&c->reader, dir, 1, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory for events");
    if (rc) {
        free(c);
        return rc;
    }
    c->began_ms = sk_wall_ms();
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &attr);
    pthread_cond_init(&c->came, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&c->lock, NULL);
    sigfillset(&all); /* no signal of the program's is for this thread */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int e = pthread_create(&c->thread, NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (e) {
        destroy(c);
        return sk_fail_errno(err, e, "cannot start a thread for events");
    }
    pthread_detach(c->thread);
    *out = c;
    return 0;
}

void sk_courier_free(struct sk_courier *c)
{
    const struct timespec until = sk_clock_after(end_wait_s);
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->ends = 1;
    pthread_cond_broadcast(&c->wake);
    while (!c->ended && !pthread_cond_timedwait(&c->came, &c->lock, &until))
        ;
    int ended = c->ended;
    c->left = !ended;
    pthread_mutex_unlock(&c->lock);
    if (ended)
        destroy(c);
}

/* ---- for the program ---- */

int sk_courier_tell(struct sk_courier *c, const struct saikai_event *e, struct saikai_error *err)
{
    struct sk_buf line = {0};
    int rc = sk_event_print(e, &line, err);
    pthread_mutex_lock(&c->lock);
    if (!rc && c->waiting >= SK_COURIER_WAITING)
        rc = sk_fail(err, SAIKAI_EBUSY, "%d events wait to be written to %s: this one is dropped", c->waiting, c->reader.dir);
    if (!rc) {
        sk_buf_put(&c->out, line.data, line.len);
        rc = sk_buf_ok(&c->out) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for an event: it is dropped");
        c->out.failed = 0; /* those that wait are as they were */
    }
    if (!rc) {
        c->waiting++;
        c->kicked = 1;
        pthread_cond_signal(&c->wake);
    }
    pthread_mutex_unlock(&c->lock);
    sk_buf_free(&line);
    return rc;
}

static struct subscription *find_or_add(struct sk_courier *c, const char *text, struct saikai_error *err)
{
    for (int i = 0; i < c->subscriptions; i++)
        if (!strcmp(c->subscription[i].text, text))
            return &c->subscription[i];
    struct sk_filter f;
    if (sk_filter_parse(text, &f, err))
        return NULL;
    if (c->subscriptions == SK_COURIER_SUBSCRIPTIONS) {
        sk_fail(err, SAIKAI_EINVAL, "'%.60s' is one filter too many: a rank may have %d", text, SK_COURIER_SUBSCRIPTIONS);
        return NULL;
    }
    if (!c->kept)
        c->kept = calloc(SK_COURIER_KEPT, sizeof *c->kept);
    if (!c->subscription)
        c->subscription = calloc(SK_COURIER_SUBSCRIPTIONS, sizeof *c->subscription);
    if (!c->kept || !c->subscription) {
        sk_fail(err, SAIKAI_ENOMEM, "no memory for events");
        return NULL;
    }
    struct subscription *s = &c->subscription[c->subscriptions++];
    *s = (struct subscription){.filter = f, .next = c->count};
    strcpy(s->text, text);
    return s;
}

static int find_next(struct sk_courier *c, struct subscription *s, struct saikai_event *out)
{
    if (c->count - s->next > SK_COURIER_KEPT)
        s->next = c->count - SK_COURIER_KEPT;
    while (s->next < c->count) {
        const struct saikai_event *e = &c->kept[s->next++ % SK_COURIER_KEPT];
        if (sk_filter_passes(&s->filter, e)) {
            *out = *e;
            return 1;
        }
    }
    return 0;
}

int sk_courier_next(struct sk_courier *c, const char *filter, double seconds, struct saikai_event *out, struct saikai_error *err)
{
    const struct timespec until = sk_clock_after(seconds > 0 && seconds < 1e9 ? seconds : 0);
    pthread_mutex_lock(&c->lock);
    struct subscription *s = find_or_add(c, filter, err);
    int rc = s ? find_next(c, s, out) : err ? err->code : SAIKAI_EINVAL;
    while (!rc && seconds > 0 && !pthread_cond_timedwait(&c->came, &c->lock, &until))
        rc = find_next(c, s, out);
    if (!rc)
        rc = find_next(c, s, out);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

int sk_courier_notice(struct sk_courier *c, int64_t *deadline_ms)
{
    if (!c || atomic_load_explicit(&c->notices, memory_order_relaxed) == c->notices_heard)
        return 0;
    pthread_mutex_lock(&c->lock);
    c->notices_heard = atomic_load(&c->notices);
    *deadline_ms = c->deadline_ms;
    pthread_mutex_unlock(&c->lock);
    return 1;
}
