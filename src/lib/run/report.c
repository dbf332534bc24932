/* What rank 0 puts into the store for whoever asks how the job is doing (store/report.h), and for a collector of metrics. */
#include "lib/run/report.h"

#include "base/clock.h"
#include "store/report.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* So old the report may become while candidates are reached. */
static const double longest_silence_s = 1;

/* The wall clock's time of what was at that time of sk_now(). */
static int64_t wall_of(double then)
{
    return sk_wall_ms() - (int64_t)((sk_now() - then) * 1000);
}

static struct sk_report_newest newest(struct sk_ledger *l, enum sk_ledger_state state)
{
    struct sk_report_newest n = {sk_ledger_iteration(l, state), 0};
    struct sk_ledger_entry e;
    int64_t seq = sk_ledger_newest(l, state);
    if (seq > 0 && !sk_ledger_find(l, seq, &e, NULL))
        n.at_ms = wall_of(e.captured_at);
    return n;
}

/* What chose the interval. */
static const char *reason(const struct sk_session *s)
{
    const struct sk_advice_state *a = &s->measured.advice;
    if (s->clock.every)
        return "every";
    if (a->policy.interval > 0)
        return "interval";
    if (a->policy.most > 0 && a->now.every == a->policy.most)
        return "early";
    if (a->policy.planned > 0)
        return "levels";
    return a->policy.model ? a->policy.model->name : "";
}

static void fill(struct sk_session *s, struct sk_report *r)
{
    struct sk_ledger *l = s->levels.ledger;
    const struct sk_keeper_page *p = s->page;
    *r = (struct sk_report){
        .at_ms = sk_wall_ms(),
        .began_ms = wall_of(s->measured.started_at),
        .start = s->who.incarnation,
        .ranks = s->g->size,
        .nodes = s->place.nodes,
        .iteration = s->clock.last_iteration,
        .tick = s->measured.tick,
        .newest = {newest(l, SK_LEDGER_COMPLETE), newest(l, SK_LEDGER_PROTECTED), newest(l, sk_session_in_prefix(s))},
        .checkpoints = s->capture.checkpoints,
        .failed = s->capture.failed,
        .bytes = (int64_t)s->capture.bytes_last,
        .cost = s->measured.cost_seconds,
        .blocked = s->capture.blocked_seconds,
        .every = s->clock.every ? s->clock.every : s->measured.advice.now.every,
        .host_rate = s->measured.host_rate,
        .program_rate = fmax(0, s->measured.rate - s->measured.host_rate),
    };
    if (p) {
        r->faults = p->past_faults;
        r->past = (double)p->past_ms / 1000 + (double)p->past_down_seconds;
        r->lost = (double)p->past_lost_seconds + (double)p->past_down_seconds;
    }
    snprintf(r->host, sizeof r->host, "%s", s->place.host);
    snprintf(r->why, sizeof r->why, "%s", reason(s));
}

/* DIR/saikai-JOB-STORE.prom: two jobs never write the same. 0 when there is a directory. */
static int metrics_path(const struct sk_session *s, char path[PATH_MAX])
{
    char name[SK_JOB_NAME_MAX + 20];
    const char *dir = sk_config_text(s->config, "metrics.textfile");
    if (!*dir || sk_job_local_name(&s->who.job, name, sizeof name, NULL))
        return -1;
    return snprintf(path, PATH_MAX, "%s/saikai-%s.prom", dir, name) < PATH_MAX ? 0 : -1;
}

void sk_session_report(struct sk_session *s, int at_once)
{
    struct sk_report r;
    struct sk_buf text = {0};
    char path[PATH_MAX];
    if (s->g->rank || !s->place.lease || (!at_once && sk_now() - s->measured.reported_at < longest_silence_s))
        return;
    s->measured.reported_at = sk_now();
    fill(s, &r);
    sk_report_print(&r, &text);
    if (sk_buf_ok(&text) && snprintf(path, sizeof path, "%s/" SK_REPORT_FILE, s->place.prefix_root) < (int)sizeof path)
        sk_lease_post(s->place.lease, path, 0, text.data, text.len);
    sk_buf_free(&text);
    if (!metrics_path(s, path)) {
        sk_report_metrics(&r, s->who.job.name, &text);
        if (sk_buf_ok(&text))
            sk_lease_post(s->place.lease, path, 1, text.data, text.len);
        sk_buf_free(&text);
    }
}
