/* What the ranks tell each other (session/agreement.h), and what all of them do when they have heard it. */
#include "lib/session/session.h"

#include "base/clock.h"
#include "base/log.h"
#include "lib/start/memo.h"

#include <math.h>

/* What rank 0 says of the copies to the prefix (SK_POLL_MAX_ARCHIVE). */
enum { ARCHIVE_DUE = 1, ARCHIVE_LAST = 2 /* the time slot ends: the checkpoint that is asked for now goes there in any case */ };

/* What this rank has to say. */
static void say(struct sk_session *s)
{
    struct sk_engine_status st;
    sk_engine_report(s->levels.engine, &st);
    int64_t archived;
    int idle;
    sk_session_archive_status(s, &archived, &idle);
    int slot_ended = s->measured.deadline_done;
    unsigned requests = sk_requests_gather(s);
    int archive = sk_pace_due(s, SK_CADENCE_ARCHIVE) ? ARCHIVE_DUE : 0;
    if (s->measured.deadline_done && !slot_ended) /* known to rank 0 */
        archive |= ARCHIVE_LAST;
    struct sk_protector_news news;
    sk_protector_tell(s->levels.protector, &news);
    int protect = sk_pace_due(s, SK_CADENCE_PROTECT);
    s->measured.pace.coding = sk_protector_busy(s->levels.protector);
    int64_t *v = s->agreement.values;
    v[SK_POLL_MIN_CODE_READY] = news.ready;
    v[SK_POLL_MIN_CODE_ENDED] = news.ended;
    v[SK_POLL_MIN_CODED] = news.coded;
    v[SK_POLL_MAX_PROTECT] = -protect;
    v[SK_POLL_MAX_INTERVAL_NS] = -(int64_t)(sk_pace_interval(s) * 1e9);
    v[SK_POLL_MIN_COMMITTED] = st.committed_seq;
    v[SK_POLL_MAX_COMMITTED] = -st.committed_seq;
    v[SK_POLL_MIN_ARCHIVED] = archived;
    v[SK_POLL_MAX_ARCHIVED] = -archived;
    v[SK_POLL_MIN_IDLE] = idle;
    v[SK_POLL_MAX_REQUEST] = -(int64_t)requests;
    v[SK_POLL_MAX_TICK_NS] = -(int64_t)(sk_measured_tick(&s->measured, s->clock.tick) * 1e9);
    v[SK_POLL_MAX_COST_NS] = -(int64_t)(sk_pace_cost(s) * 1e9);
    v[SK_POLL_MAX_LATENCY_NS] = s->g->rank ? 0 : -(int64_t)(fmin(s->measured.pace.cadence.latency, 1e6) * 1e9);
    v[SK_POLL_MAX_ARCHIVE] = -archive;
    v[SK_POLL_MAX_LOST] = -sk_lease_is_lost(s->place.lease);
    v[SK_POLL_MAX_HEAL] = -(st.damages != s->agreement.damages_told);
    s->agreement.damages_told = st.damages;
    sk_measured_mark(&s->measured, s->clock.tick); /* the next span is measured afresh */
}

void sk_session_learn(struct sk_session *s, int64_t committed, int64_t archived)
{
    struct sk_ledger_entry e;
    struct saikai_error err = {0};
    int rc = 0;
    if (committed > sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE) &&
        !(rc = sk_ledger_find(s->levels.ledger, committed, &e, &err))) {
        sk_ledger_mark(s->levels.ledger, committed, SK_LEDGER_COMPLETE);
        sk_pace_complete(s, committed);
        sk_engine_complete(s->levels.engine, committed);
        if (!sk_place_is_apart(&s->place))
            sk_memo_is_safe(s);
        if (s->page)
            sk_keeper_page_complete(s->page, e.gen.iteration);
        if (s->g->rank == 0)
            sk_log(SK_LOG_DEBUG, "generation of iteration %lld is complete", (long long)e.gen.iteration);
    }
    if (!rc && archived > sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) &&
        !(rc = sk_ledger_find(s->levels.ledger, archived, &e, &err))) {
        sk_ledger_mark(s->levels.ledger, archived, SK_LEDGER_ARCHIVED);
        sk_pace_done(s, SK_CADENCE_ARCHIVE, archived);
        sk_engine_archived(s->levels.engine, archived);
        sk_memo_is_safe(s);
        sk_memo_catch_up(s);
        if (s->g->rank == 0)
            sk_log(SK_LOG_DEBUG, "generation of iteration %lld is archived", (long long)e.gen.iteration);
    }
    if (rc)
        sk_log(SK_LOG_ERROR, "rank %d: the exchange of the ranks tells of a generation that nobody knows: %s", s->g->rank,
               err.text);
}

/* 1: the newest complete generation stands for damaged ones, and none of its kind was brought to a level yet. */
static int heals(const struct sk_session *s, int64_t complete, int64_t brought)
{
    return s->levels.heals_from >= 0 && complete > s->levels.heals_from && brought <= s->levels.heals_from;
}

/* 1: the newest complete generation is the one that was asked for at the end of the time slot. The nodes' memory goes with the slot:
 * what the next one is to go on from has to be in the prefix, however seldom copies are made. */
static int is_last(const struct sk_session *s, int64_t complete, int64_t begun)
{
    return s->levels.last_from >= 0 && complete > s->levels.last_from && begun <= s->levels.last_from &&
           (sk_config_int(s->config, "store.archive_every") || sk_config_bool(s->config, "store.archive_last"));
}

/* All ranks decide alike: the arguments are results of the reduction. */
static void consider_archiving(struct sk_session *s, int idle, int is_due)
{
    int64_t every = sk_config_int(s->config, "store.archive_every");
    int64_t complete = sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE),
            begun = sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVING);
    is_due |= heals(s, complete, begun);
    if (!*s->place.prefix_root || s->place.prefix_lost || !idle || complete <= begun)
        return;
    if (!is_last(s, complete, begun) && (!is_due || !every || (begun && complete - begun < every)))
        return;
    s->measured.pace.begun[SK_CADENCE_ARCHIVE] = sk_now();
    sk_session_archive(s, complete);
}

void sk_session_learn_protected(struct sk_session *s, int64_t seq)
{
    sk_pace_done(s, SK_CADENCE_PROTECT, seq);
    sk_ledger_mark(s->levels.ledger, seq, SK_LEDGER_PROTECTED);
    if (s->g->rank == 0)
        sk_log(SK_LOG_DEBUG, "generation of iteration %lld is protected",
               (long long)sk_ledger_iteration(s->levels.ledger, SK_LEDGER_PROTECTED));
}

/* Which generation to protect now, if any. All ranks decide alike: what this looks at is equal on all of them. The
 * restored one first, as long as there is no newer one; then the newest complete one when rank 0 says that it is time
 * and the protector is idle. */
static void consider_protecting(struct sk_session *s, int is_due)
{
    if (!s->levels.protector || sk_protector_busy(s->levels.protector))
        return;
    int64_t complete = sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE);
    int64_t coding = sk_ledger_newest(s->levels.ledger, SK_LEDGER_CODING);
    int newer = (is_due || heals(s, complete, coding)) && complete > coding;
    struct sk_ledger_entry e;
    if (!newer && !(s->resume.code_from && !complete))
        return;
    s->measured.pace.begun[SK_CADENCE_PROTECT] = sk_now();
    s->resume.code_from = 0;
    if (sk_ledger_find(s->levels.ledger, newer ? complete : 0, &e, NULL)) /* cannot be: both are the newest of a state */
        return;
    sk_ledger_mark(s->levels.ledger, e.seq, SK_LEDGER_CODING);
    int anew = newer && heals(s, complete, sk_ledger_newest(s->levels.ledger, SK_LEDGER_PROTECTED));
    sk_protector_begin(s->levels.protector, e.gen, e.seq, anew);
}

static void hear_of_protection(struct sk_session *s, const int64_t *v)
{
    struct sk_protector_news least = {v[SK_POLL_MIN_CODE_READY], v[SK_POLL_MIN_CODE_ENDED], v[SK_POLL_MIN_CODED]};
    struct sk_gen gen;
    int64_t seq;
    if (sk_protector_hear(s->levels.protector, &least, &gen, &seq))
        sk_session_learn_protected(s, seq);
    consider_protecting(s, v[SK_POLL_MAX_PROTECT] != 0);
}

/* All ranks advise themselves alike: the time of a tick and the cost of a checkpoint are those of the slowest rank. */
static void take_advice(struct sk_session *s, double tick, double cost, double latency)
{
    const struct sk_suffered_costs costs = {cost, latency, tick};
    if (s->clock.every || !(tick > 0))
        return;
    sk_advice_set_most(&s->measured.advice, sk_suffered_most(&s->measured.suffered, (int64_t)s->clock.tick, &costs));
    if (!sk_advice_update(&s->measured.advice, cost, tick, (int64_t)s->clock.last_checkpoint_tick, (int64_t)s->clock.tick + 1))
        return;
    sk_clock_set_due(&s->clock, sk_advice_next(s->measured.advice.now, (int64_t)s->clock.tick + 1));
    int passing = s->measured.advice.now.every == s->measured.advice.policy.most; /* it grows with the length of this start */
    double interval = (double)s->measured.advice.now.every * tick;
    struct sk_costs c = sk_costs_simple(s->measured.advice.policy.rate, cost);
    if (s->g->rank == 0)
        sk_log(passing ? SK_LOG_DEBUG : SK_LOG_INFO,
               "checkpoint every %lld candidates (%.3g s), cost %.3g s: takes %.2g %% of the time, faults are expected to take %.2g %%",
               (long long)s->measured.advice.now.every, interval, cost, 100 * cost / interval,
               100 * sk_model_failure_overhead(&c, interval));
}

static void take_up(struct sk_session *s)
{
    const int64_t *v = s->agreement.values;
    double tick = (double)-v[SK_POLL_MAX_TICK_NS] * 1e-9, cost = (double)-v[SK_POLL_MAX_COST_NS] * 1e-9;
    int64_t committed = v[SK_POLL_MIN_COMMITTED] == -v[SK_POLL_MAX_COMMITTED] ? v[SK_POLL_MIN_COMMITTED] : 0;
    int64_t archived = v[SK_POLL_MIN_ARCHIVED] == -v[SK_POLL_MAX_ARCHIVED] ? v[SK_POLL_MIN_ARCHIVED] : 0;
    sk_pace_hear(s, tick, cost, v[SK_POLL_MIN_IDLE] != 0);
    if (v[SK_POLL_MAX_LOST])
        sk_session_lose_prefix(s);
    sk_session_learn(s, committed, archived);
    if (-v[SK_POLL_MAX_ARCHIVE] & ARCHIVE_LAST)
        s->levels.last_from = sk_ledger_count(s->levels.ledger);
    consider_archiving(s, v[SK_POLL_MIN_IDLE] != 0, (-v[SK_POLL_MAX_ARCHIVE] & ARCHIVE_DUE) != 0);
    double begun = sk_now();
    hear_of_protection(s, v);
    sk_measured_pause(&s->measured, sk_now() - begun);
    int64_t request = -v[SK_POLL_MAX_REQUEST];
    if (v[SK_POLL_MAX_HEAL])
        s->levels.heals_from = sk_ledger_count(s->levels.ledger);
    if (request || v[SK_POLL_MAX_HEAL])
        sk_clock_ask(&s->clock);
    if (request & SK_REQUEST_STOP)
        s->ending.stop_agreed = 1;
    if (request & SK_REQUEST_END)
        s->ending.end_tick = s->clock.tick + 1;
    sk_advice_set_planned(&s->measured.advice, (double)-v[SK_POLL_MAX_INTERVAL_NS] * 1e-9);
    take_advice(s, tick, cost, (double)-v[SK_POLL_MAX_LATENCY_NS] * 1e-9);
    sk_agreement_plan(&s->agreement, s->clock.tick, tick, sk_config_time(s->config, "schedule.poll"));
}

int sk_poll_step(struct sk_session *s, struct saikai_error *err)
{
    int rc = sk_agreement_take(&s->agreement, s->g, s->clock.tick, err);
    if (rc < 0)
        return rc;
    if (rc)
        take_up(s);
    if (!sk_agreement_is_due(&s->agreement, s->clock.tick))
        return sk_agreement_progress(&s->agreement, s->g);
    say(s);
    return sk_agreement_post(&s->agreement, s->g, s->clock.tick, err);
}

void sk_poll_end(struct sk_session *s)
{
    sk_agreement_end(&s->agreement, s->g);
}
