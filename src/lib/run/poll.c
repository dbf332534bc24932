/* What the ranks tell each other (session/agreement.h), and what all of them do when they have heard it. */
#include "lib/run/poll.h"

#include "base/config/units.h"
#include "base/log.h"
#include "lib/run/events.h"
#include "lib/run/pace.h"
#include "lib/run/report.h"
#include "lib/run/requests.h"
#include "lib/run/walk.h"
#include "world/world.h"

#include <math.h>

/* What this rank has to say. */
static void say(struct sk_session *s)
{
    int64_t *v = s->agreement.values;
    sk_walk_tell(s, v + SK_POLL_LEVELS);
    unsigned requests = sk_requests_gather(s), due = 0;
    for (int k = 0; k < SK_LEVELS; k++)
        due |= (unsigned)sk_pace_due(s, k) << k;
    struct sk_engine_status st;
    sk_engine_status(s->levels.engine, &st);
    v[SK_POLL_MAX_DUE] = -(int64_t)due;
    v[SK_POLL_MAX_LAST] = -s->measured.asks_last;
    s->measured.asks_last = 0;
    v[SK_POLL_MAX_INTERVAL_NS] = -(int64_t)(sk_pace_interval(s) * 1e9);
    v[SK_POLL_MAX_REQUEST] = -(int64_t)requests;
    v[SK_POLL_MAX_TICK_NS] = -(int64_t)(sk_measured_tick(&s->measured, s->clock.tick) * 1e9);
    v[SK_POLL_MAX_COST_NS] = -(int64_t)(sk_pace_cost(s) * 1e9);
    v[SK_POLL_MAX_LATENCY_NS] = s->g->rank ? 0 : -(int64_t)(fmin(s->measured.pace.cadence.latency, 1e6) * 1e9);
    v[SK_POLL_MAX_LOST] = -sk_lease_is_lost(s->place.lease);
    v[SK_POLL_MAX_HEAL] = -(st.damages != s->agreement.damages_told);
    if (st.damages != s->agreement.damages_told)
        sk_session_tell_simply(s, "mw.damage", SAIKAI_EVENT_WARNING, 1);
    s->agreement.damages_told = st.damages;
    uint64_t most = saikai_world_pace ? saikai_world_pace(s->clock.tick) : UINT64_MAX;
    v[SK_POLL_CANDIDATES] = most < INT64_MAX ? (int64_t)most : INT64_MAX;
    sk_measured_mark(&s->measured, s->clock.tick); /* the next span is measured afresh */
}

/* Where the model knows of bursts: the rate at this time after the fault that this start was made for. All ranks count the same candidates. When the last
 * fault was before the first start nobody knows. */
static void follow_hazard(struct sk_session *s, double tick, double cost)
{
    const struct sk_model_ops *m = s->measured.advice.policy.model;
    if (m && m->rate_at && s->measured.suffered.after_fault)
        sk_advice_set_rate(&s->measured.advice, sk_model_rate(m, s->measured.rate, s->measured.shape, (double)s->clock.tick * tick, cost));
}

/* All ranks advise themselves alike: the time of a tick and the cost of a checkpoint are those of the slowest rank. */
static void take_advice(struct sk_session *s, double tick, double cost, double latency)
{
    const struct sk_suffered_costs costs = {cost, latency, tick};
    if (s->clock.every || !(tick > 0))
        return;
    follow_hazard(s, tick, cost);
    sk_advice_set_most(&s->measured.advice, sk_suffered_most(&s->measured.suffered, (int64_t)s->clock.tick, &costs));
    if (!sk_advice_update(&s->measured.advice, cost, tick, (int64_t)s->clock.last_checkpoint_tick, (int64_t)s->clock.tick + 1))
        return;
    sk_clock_set_due(&s->clock, sk_advice_next(s->measured.advice.now, (int64_t)s->clock.tick + 1));
    int passing = s->measured.advice.now.every == s->measured.advice.policy.most; /* it grows with the length of this start */
    double interval = (double)s->measured.advice.now.every * tick;
    struct sk_costs c = sk_costs_simple(s->measured.advice.policy.rate, cost);
    char each[32], held[32];
    if (s->g->rank == 0)
        sk_log(passing ? SK_LOG_DEBUG : SK_LOG_INFO,
               "checkpoint every %lld candidates (%s), cost %s: takes %.2g %% of the time, faults are expected to take %.2g %%",
               (long long)s->measured.advice.now.every, sk_format_time(each, sizeof each, interval), sk_format_time(held, sizeof held, cost),
               100 * cost / interval, 100 * sk_model_failure_overhead(&c, interval));
}

static void take_up(struct sk_session *s)
{
    const int64_t *v = s->agreement.values;
    double tick = (double)-v[SK_POLL_MAX_TICK_NS] * 1e-9, cost = (double)-v[SK_POLL_MAX_COST_NS] * 1e-9;
    if (tick > 0)
        s->measured.tick = tick;
    if (v[SK_POLL_MAX_LOST])
        sk_session_lose_prefix(s);
    if (v[SK_POLL_MAX_LAST])
        s->levels.last_from = sk_ledger_count(s->levels.ledger);
    sk_walk_on(s, v + SK_POLL_LEVELS, (unsigned)-v[SK_POLL_MAX_DUE], tick, cost);
    int64_t request = -v[SK_POLL_MAX_REQUEST];
    if (v[SK_POLL_MAX_HEAL])
        s->levels.heals_from = sk_ledger_count(s->levels.ledger);
    if (request || v[SK_POLL_MAX_HEAL])
        sk_clock_ask(&s->clock);
    if (request && !s->g->rank)
        sk_session_tell_simply(s, request & SK_REQUEST_STOP ? "mw.stop-asked" : "mw.checkpoint-asked", SAIKAI_EVENT_INFO, 0);
    if (request & SK_REQUEST_STOP)
        s->ending.stop_agreed = 1;
    if (request & SK_REQUEST_END)
        s->ending.end_tick = s->clock.tick + 1;
    sk_advice_set_planned(&s->measured.advice, (double)-v[SK_POLL_MAX_INTERVAL_NS] * 1e-9);
    take_advice(s, tick, cost, (double)-v[SK_POLL_MAX_LATENCY_NS] * 1e-9);
    sk_agreement_plan(&s->agreement, s->clock.tick, tick, sk_config_time(s->config, "schedule.poll"));
    sk_agreement_shorten(&s->agreement, (uint64_t)v[SK_POLL_CANDIDATES]);
}

int sk_poll_step(struct sk_session *s, struct saikai_error *err)
{
    int rc = sk_agreement_take(&s->agreement, s->g, s->clock.tick, err);
    if (rc < 0)
        return rc;
    if (rc)
        take_up(s);
    sk_session_report(s, 0);
    if (!sk_agreement_is_due(&s->agreement, s->clock.tick))
        return sk_agreement_progress(&s->agreement, s->g);
    say(s);
    return sk_agreement_post(&s->agreement, s->g, s->clock.tick, err);
}

void sk_poll_end(struct sk_session *s)
{
    sk_agreement_end(&s->agreement, s->g);
}
