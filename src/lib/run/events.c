/* Events of the job (saikai/event.h): what the program, this rank and others tell, and the notice that asks for a checkpoint. Rank 0 listens
 * from the beginning; another rank from when its program first tells or asks something. */
#include "lib/run/events.h"

#include "base/clock.h"
#include "base/log.h"
#include "lib/run/pace.h"
#include "store/event/courier.h"

#include <stdio.h>
#include <string.h>

/* NULL: there is nowhere to keep events. */
static struct sk_courier *courier(struct sk_session *s, struct saikai_error *err)
{
    if (!*s->place.prefix_root)
        sk_fail(err, SAIKAI_ENOENT, "without a prefix (store.prefix) there are no events");
    else if (s->place.prefix_lost)
        sk_fail(err, SAIKAI_EBUSY, "another job has %s by now: events of this one are not kept", s->place.prefix_root);
    else if (s->courier || !sk_courier_new(s->place.prefix_root, &s->courier, err))
        return s->courier;
    return NULL;
}

/* Of this rank, by this job. */
static int send(struct sk_session *s, struct saikai_event *e, struct saikai_error *err)
{
    struct saikai_error why = {0};
    struct sk_courier *c = courier(s, &why);
    snprintf(e->job, sizeof e->job, "%s", s->who.job.name);
    snprintf(e->host, sizeof e->host, "%s", s->place.host);
    if (c && !sk_courier_tell(c, e, &why))
        return 0;
    if (err)
        *err = why;
    return why.code;
}

int sk_session_publish(struct sk_session *s, const char *name, int severity, const char *const fields[], struct saikai_error *err)
{
    struct saikai_event e;
    int rc = sk_event_begin(&e, name, severity, err);
    for (int i = 0; !rc && fields && fields[i]; i++)
        rc = sk_event_take(&e, fields[i], err);
    e.rank = s->g->rank;
    return rc ? rc : send(s, &e, err);
}

int sk_session_next_event(struct sk_session *s, const char *filter, double seconds, struct saikai_event *out, size_t size_bytes,
                          struct saikai_error *err)
{
    struct saikai_event e;
    struct saikai_error why = {0};
    struct sk_courier *c = courier(s, &why);
    int rc = c ? sk_courier_next(c, filter, seconds, &e, &why) : why.code;
    if (rc < 0 && err)
        *err = why;
    if (rc <= 0)
        return rc;
    memset(out, 0, size_bytes);
    memcpy(out, &e, size_bytes < sizeof e ? size_bytes : sizeof e);
    return 1;
}

void sk_session_tell(struct sk_session *s, int of_rank, struct saikai_event *e)
{
    struct saikai_error err = {0};
    if (e->severity < sk_severity_parse(sk_config_text(s->config, "events.least")))
        return;
    e->rank = of_rank ? s->g->rank : -1;
    if (send(s, e, &err))
        sk_log(SK_LOG_DEBUG, "the event %s.%s is not kept: %s", e->space, e->name, err.text);
}

void sk_session_begin_events(struct sk_session *s)
{
    struct saikai_event e;
    if (s->g->rank || !*s->place.prefix_root || sk_event_begin(&e, "mw.started", SAIKAI_EVENT_INFO, NULL))
        return;
    sk_event_put(&e, "start", "%u", s->who.incarnation);
    sk_event_put(&e, "ranks", "%d", s->g->size);
    sk_event_put(&e, "nodes", "%d", s->place.nodes);
    sk_session_tell(s, 0, &e);
    courier(s, NULL); /* it listens, whatever is told */
}

void sk_session_tell_simply(struct sk_session *s, const char *name, int severity, int of_rank)
{
    struct saikai_event e;
    if (!sk_event_begin(&e, name, severity, NULL))
        sk_session_tell(s, of_rank, &e);
}

void sk_session_tell_generation(struct sk_session *s, const char *name, int64_t iteration, const char *where, int severity)
{
    struct saikai_event e;
    if (s->g->rank || sk_event_begin(&e, name, severity, NULL))
        return;
    sk_event_put(&e, "iteration", "%lld", (long long)iteration);
    sk_event_put(&e, "level", "%s", where);
    sk_session_tell(s, 0, &e);
}

/* ---- the notice ---- */

static void say_notice(const struct sk_session *s, double left)
{
    if (left > 0)
        sk_log(SK_LOG_NOTICE, "job %s: a notice with a deadline in %.0f s: a checkpoint is made now, and another one shortly before",
               s->who.job.name, left);
    else
        sk_log(SK_LOG_NOTICE, "job %s: a notice: a checkpoint is made now", s->who.job.name);
}

unsigned sk_session_heed_notice(struct sk_session *s)
{
    struct sk_measured *m = &s->measured;
    int64_t deadline_ms = 0;
    unsigned asks = 0;
    if (s->g->rank || !s->courier)
        return 0;
    if (sk_courier_notice(s->courier, &deadline_ms)) {
        double left = deadline_ms ? (double)(deadline_ms - sk_wall_ms()) / 1000 : 0;
        say_notice(s, left);
        if (left > 0 && (m->notice <= 0 || sk_now() + left < m->notice))
            m->notice = sk_now() + left;
        asks = SK_REQUEST_CHECKPOINT;
    }
    if (m->notice > 0 && sk_pace_is_near(s, m->notice)) {
        m->notice = 0;
        asks = SK_REQUEST_CHECKPOINT;
    }
    m->asks_last |= asks != 0;
    return asks;
}
