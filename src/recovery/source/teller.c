/* Lines of events into a pipe and into stores, with a bucket of what may still be told. */
#include "recovery/source/teller.h"

#include "base/clock.h"
#include "base/log.h"
#include "recovery/history/history_tell.h"
#include "store/event/kept.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAITING = 64 };

struct sk_teller {
    const char *source;
    char prefix[PATH_MAX];
    uint64_t run;
    int out;
    double left, left_at; /* events that may be told */
    double noticed_at;
    int dropped, dropped_said, alone;
    int n; /* that wait for a store */
    struct saikai_event waiting[WAITING];
};

struct sk_teller *sk_teller_new(const char *source, const char *prefix, uint64_t run, int out)
{
    struct sk_teller *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->source = source;
    t->run = run;
    t->out = out;
    t->left = SK_TELLER_BURST;
    t->left_at = sk_now();
    t->noticed_at = -INFINITY;
    snprintf(t->prefix, sizeof t->prefix, "%s", prefix);
    return t;
}

void sk_teller_free(struct sk_teller *t)
{
    free(t);
}

/* A pipe that is full belongs to a `saikai run` that does not read: what it misses is in the store. */
static void write_line(struct sk_teller *t, const void *line, size_t n)
{
    if (t->out >= 0 && write(t->out, line, n) < 0)
        t->alone |= errno == EPIPE;
}

void sk_teller_beat(struct sk_teller *t)
{
    write_line(t, "\n", 1);
}

int sk_teller_is_alone(const struct sk_teller *t)
{
    return t->alone;
}

static int may_tell(struct sk_teller *t)
{
    double now = sk_now();
    t->left = fmin(SK_TELLER_BURST, t->left + (now - t->left_at) / SK_TELLER_EVERY_S);
    t->left_at = now;
    if (t->left < 1)
        return 0;
    t->left--;
    return 1;
}

static void keep(struct sk_teller *t, const struct saikai_event *e)
{
    if (t->n == WAITING) /* the newest are worth most */
        memmove(t->waiting, t->waiting + 1, (size_t)--t->n * sizeof *t->waiting);
    t->waiting[t->n++] = *e;
}

static void send(struct sk_teller *t, const struct saikai_event *e)
{
    struct sk_buf line = {0};
    if (!sk_event_print(e, &line, NULL))
        write_line(t, line.data, line.len); /* in one: at most PIPE_BUF bytes */
    sk_buf_free(&line);
}

static void say_dropped(struct sk_teller *t)
{
    struct saikai_event e;
    if (!t->dropped || sk_event_begin(&e, "mw.events-dropped", SAIKAI_EVENT_WARNING, NULL))
        return;
    sk_event_put(&e, "source", "%s", t->source);
    sk_event_put(&e, "count", "%d", t->dropped);
    t->dropped = 0;
    keep(t, &e);
}

void sk_teller_drop(struct sk_teller *t, int n)
{
    t->dropped += n;
    if (n > 0 && !t->dropped_said)
        sk_log(SK_LOG_WARN, "the source of events %s tells more than %d events at once and one in %d s: some are left out (events.sources)",
               t->source, SK_TELLER_BURST, SK_TELLER_EVERY_S);
    t->dropped_said |= n > 0;
}

void sk_teller_tell(struct sk_teller *t, struct saikai_event *e, const char *host)
{
    double now = sk_now();
    snprintf(e->host, sizeof e->host, "%s", host);
    sk_event_put(e, "source", "%s", t->source);
    if (sk_event_field(e, SK_NODE_FIELD)) /* `saikai run` hears of all that */
        send(t, e);
    if (sk_event_is_notice(e)) {
        if (now - t->noticed_at < SK_TELLER_NOTICES_S)
            return;
        t->noticed_at = now;
    } else if (!may_tell(t)) {
        sk_teller_drop(t, 1);
        return;
    }
    say_dropped(t);
    keep(t, e);
}

void sk_teller_node(struct sk_teller *t, const char *host, const char *why)
{
    struct saikai_event e;
    if (sk_event_begin(&e, "hw.health", why ? SAIKAI_EVENT_ERROR : SAIKAI_EVENT_INFO, NULL))
        return;
    sk_event_put(&e, SK_NODE_FIELD, "%s", why ? SK_NODE_UNWELL : SK_NODE_WELL);
    sk_event_put(&e, SK_NODE_WHY, "%s", why ? why : "");
    sk_teller_tell(t, &e, host);
}

void sk_teller_notice(struct sk_teller *t, const char *host, const char *reason)
{
    struct saikai_event e;
    if (sk_event_begin(&e, "hw." SK_EVENT_NOTICE, SAIKAI_EVENT_WARNING, NULL))
        return;
    sk_event_put(&e, "reason", "%s", reason);
    sk_teller_tell(t, &e, host);
}

struct bringing {
    const struct sk_teller *t;
    int stores;
};

static void bring(void *arg, const char *dir, const char *job)
{
    struct bringing *b = arg;
    struct saikai_error err = {0};
    struct sk_buf lines = {0};
    for (int i = 0; i < b->t->n; i++) {
        struct saikai_event e = b->t->waiting[i];
        snprintf(e.job, sizeof e.job, "%s", job);
        sk_event_print(&e, &lines, NULL);
    }
    if (sk_buf_ok(&lines) && lines.len && sk_events_add(dir, lines.data, lines.len, 0, &err))
        sk_log(SK_LOG_DEBUG, "events of hosts are not among those of job %s: %s", job, err.text);
    sk_buf_free(&lines);
    b->stores++;
}

void sk_teller_flush(struct sk_teller *t)
{
    struct bringing b = {t, 0};
    if (!t->n || !strcmp(t->prefix, "none"))
        return;
    sk_history_stores(t->prefix, t->run, bring, &b);
    if (b.stores)
        t->n = 0;
}

int sk_teller_waiting(const struct sk_teller *t, int i, struct saikai_event *e)
{
    if (i >= 0 && i < t->n)
        *e = t->waiting[i];
    return t->n;
}
