/* The exchange of the ranks: one non-blocking reduction at a time, started and taken up at agreed ticks. */
#include "lib/session.h"

#include "base/clock.h"
#include "base/log.h"
#include "lib/memo.h"

static const uint64_t longest_span = 1u << 24;

static double seconds_per_tick(const struct sk_session *s)
{
    uint64_t ticks = s->tick_mark_count ? s->tick - s->tick_mark_count : 0; /* before the first tick lies the set-up */
    double t = sk_now() - s->tick_mark - s->tick_paused;
    return ticks && t > 0 ? t / (double)ticks : 0;
}

static void post(struct sk_session *s)
{
    struct sk_engine_status st;
    sk_engine_report(s->engine, &st);
    int64_t archived;
    int idle;
    sk_session_archive_status(s, &archived, &idle);
    unsigned requests = sk_requests_gather(s);
    int archive = sk_pace_due(s, SK_CADENCE_ARCHIVE);
    struct sk_protector_news news;
    sk_protector_tell(s->protector, &news);
    int protect = sk_pace_due(s, SK_CADENCE_PROTECT);
    s->pace.coding = sk_protector_busy(s->protector);
    int64_t *v = s->poll;
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
    v[SK_POLL_MAX_TICK_NS] = -(int64_t)(seconds_per_tick(s) * 1e9);
    v[SK_POLL_MAX_COST_NS] = -(int64_t)(sk_pace_cost(s) * 1e9);
    v[SK_POLL_MAX_ARCHIVE] = -archive;
    v[SK_POLL_MAX_LOST] = -sk_lease_is_lost(s->lease);
    v[SK_POLL_MAX_HEAL] = -(st.damages != s->damages_told);
    s->damages_told = st.damages;
    /* measure the next span afresh */
    s->tick_mark = sk_now();
    s->tick_mark_count = s->tick;
    s->tick_paused = 0;
    s->poll_take_tick = s->tick + s->poll_span;
    s->poll_post_tick = UINT64_MAX;
    s->poll_posted_at = s->tick_mark;
}

void sk_session_learn(struct sk_session *s, int64_t committed, int64_t archived)
{
    struct sk_ledger_entry e;
    struct saikai_error err = {0};
    int rc = 0;
    if (committed > sk_ledger_newest(s->ledger, SK_LEDGER_COMPLETE) &&
        !(rc = sk_ledger_find(s->ledger, committed, &e, &err))) {
        sk_ledger_mark(s->ledger, committed, SK_LEDGER_COMPLETE);
        sk_pace_complete(s, committed);
        sk_engine_complete(s->engine, committed);
        if (s->page)
            sk_keeper_page_complete(s->page, e.gen.iteration);
        if (s->g->rank == 0)
            sk_log(SK_LOG_DEBUG, "generation of iteration %lld is complete", (long long)e.gen.iteration);
    }
    if (!rc && archived > sk_ledger_newest(s->ledger, SK_LEDGER_ARCHIVED) &&
        !(rc = sk_ledger_find(s->ledger, archived, &e, &err))) {
        sk_ledger_mark(s->ledger, archived, SK_LEDGER_ARCHIVED);
        sk_pace_done(s, SK_CADENCE_ARCHIVE, archived);
        sk_engine_archived(s->engine, archived);
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
    return s->heals_from >= 0 && complete > s->heals_from && brought <= s->heals_from;
}

/* All ranks decide alike: the arguments are results of the reduction. */
static void consider_archiving(struct sk_session *s, int idle, int is_due)
{
    int64_t every = sk_config_int(s->config, "store.archive_every");
    int64_t complete = sk_ledger_newest(s->ledger, SK_LEDGER_COMPLETE),
            begun = sk_ledger_newest(s->ledger, SK_LEDGER_ARCHIVING);
    is_due |= heals(s, complete, begun);
    if (!*s->prefix_root || s->prefix_lost || !idle || !is_due || !every || complete <= begun || (begun && complete - begun < every))
        return;
    s->archived_at = sk_now();
    sk_session_archive(s, complete);
}

void sk_session_learn_protected(struct sk_session *s, int64_t seq)
{
    sk_pace_done(s, SK_CADENCE_PROTECT, seq);
    sk_ledger_mark(s->ledger, seq, SK_LEDGER_PROTECTED);
    if (s->g->rank == 0)
        sk_log(SK_LOG_DEBUG, "generation of iteration %lld is protected",
               (long long)sk_ledger_iteration(s->ledger, SK_LEDGER_PROTECTED));
}

/* Which generation to protect now, if any. All ranks decide alike: what this looks at is equal on all of them. The
 * restored one first, as long as there is no newer one; then the newest complete one when rank 0 says that it is time
 * and the protector is idle. */
static void consider_protecting(struct sk_session *s, int is_due)
{
    if (!s->protector || sk_protector_busy(s->protector))
        return;
    int64_t complete = sk_ledger_newest(s->ledger, SK_LEDGER_COMPLETE);
    int64_t coding = sk_ledger_newest(s->ledger, SK_LEDGER_CODING);
    int newer = (is_due || heals(s, complete, coding)) && complete > coding;
    struct sk_ledger_entry e;
    if (!newer && !(s->code_from && !complete))
        return;
    s->protected_at = sk_now();
    s->code_from = 0;
    if (sk_ledger_find(s->ledger, newer ? complete : 0, &e, NULL)) /* cannot be: both are the newest of a state */
        return;
    sk_ledger_mark(s->ledger, e.seq, SK_LEDGER_CODING);
    int anew = newer && heals(s, complete, sk_ledger_newest(s->ledger, SK_LEDGER_PROTECTED));
    sk_protector_begin(s->protector, e.gen, e.seq, anew);
}

static void hear_of_protection(struct sk_session *s, const int64_t *v)
{
    struct sk_protector_news least = {v[SK_POLL_MIN_CODE_READY], v[SK_POLL_MIN_CODE_ENDED], v[SK_POLL_MIN_CODED]};
    struct sk_gen gen;
    int64_t seq;
    if (sk_protector_hear(s->protector, &least, &gen, &seq))
        sk_session_learn_protected(s, seq);
    consider_protecting(s, v[SK_POLL_MAX_PROTECT] != 0);
}

static void plan_span(struct sk_session *s, double tick_seconds)
{
    double poll = sk_config_time(s->config, "schedule.poll");
    double span = tick_seconds > 0 ? poll / tick_seconds : 2 * (double)s->poll_span;
    if (!(tick_seconds > 0) && s->tick <= 2)
        return; /* the first exchange measures nothing: the second comes at once */
    uint64_t limit = 4 * s->poll_span < longest_span ? 4 * s->poll_span : longest_span;
    s->poll_span = span < 1 ? 1 : span > (double)limit ? limit : (uint64_t)span;
}

/* All ranks advise themselves alike: the time of a tick and the cost of a checkpoint are those of the slowest rank. */
static void take_advice(struct sk_session *s, double tick, double cost)
{
    if (s->every || !(tick > 0))
        return;
    sk_advice_set_most(&s->advice, sk_suffered_most(&s->suffered, (int64_t)s->tick, cost, tick));
    if (!sk_advice_update(&s->advice, cost, tick, (int64_t)s->last_checkpoint_tick, (int64_t)s->tick + 1))
        return;
    int64_t next = sk_advice_next(s->advice.now, (int64_t)s->tick + 1);
    s->due_tick = next == SK_ADVICE_NEVER ? UINT64_MAX : (uint64_t)next;
    int passing = s->advice.now.every == s->advice.policy.most; /* it grows with the length of this start */
    if (s->g->rank == 0)
        sk_log(passing ? SK_LOG_DEBUG : SK_LOG_INFO, "checkpoint every %lld candidates (%.3g s), cost %.3g s",
               (long long)s->advice.now.every, (double)s->advice.now.every * tick, cost);
}

static void take_up(struct sk_session *s)
{
    const int64_t *v = s->poll;
    double tick = (double)-v[SK_POLL_MAX_TICK_NS] * 1e-9, cost = (double)-v[SK_POLL_MAX_COST_NS] * 1e-9;
    int64_t committed = v[SK_POLL_MIN_COMMITTED] == -v[SK_POLL_MAX_COMMITTED] ? v[SK_POLL_MIN_COMMITTED] : 0;
    int64_t archived = v[SK_POLL_MIN_ARCHIVED] == -v[SK_POLL_MAX_ARCHIVED] ? v[SK_POLL_MIN_ARCHIVED] : 0;
    sk_pace_hear(s, tick, cost, v[SK_POLL_MIN_IDLE] != 0);
    if (v[SK_POLL_MAX_LOST])
        sk_session_lose_prefix(s);
    sk_session_learn(s, committed, archived);
    consider_archiving(s, v[SK_POLL_MIN_IDLE] != 0, v[SK_POLL_MAX_ARCHIVE] != 0);
    double begun = sk_now();
    hear_of_protection(s, v);
    s->tick_paused += sk_now() - begun;
    int64_t request = -v[SK_POLL_MAX_REQUEST];
    if (v[SK_POLL_MAX_HEAL])
        s->heals_from = sk_ledger_count(s->ledger);
    if (request || v[SK_POLL_MAX_HEAL])
        s->now_tick = s->tick;
    if (request & SK_REQUEST_STOP)
        s->stop_agreed = 1;
    if (request & SK_REQUEST_END)
        s->end_tick = s->tick + 1;
    sk_advice_set_planned(&s->advice, (double)-v[SK_POLL_MAX_INTERVAL_NS] * 1e-9);
    take_advice(s, tick, cost);
    plan_span(s, tick);
}

int sk_poll_step(struct sk_session *s, struct saikai_error *err)
{
    int rc = 0;
    if (s->tick >= s->poll_take_tick) {
        /* Started poll_span ticks ago by all ranks that are not further behind than that: this does not wait. */
        rc = sk_group_wait(s->g, &s->poll_request);
        if (rc)
            return sk_fail(err, rc, "the ranks' exchange of measurements failed");
        s->poll_take_tick = UINT64_MAX;
        s->poll_post_tick = s->tick;
        take_up(s);
    }
    if (s->tick >= s->poll_post_tick) {
        post(s);
        rc = sk_group_iallreduce(s->g, s->poll, SK_POLL_FIELDS, SK_OP_MIN, &s->poll_request);
        if (rc)
            return sk_fail(err, rc, "the ranks' exchange of measurements cannot start");
    } else if (s->poll_request) {
        int done; /* lets MPI make progress */
        rc = sk_group_test(s->g, &s->poll_request, &done);
    }
    return rc;
}

void sk_poll_end(struct sk_session *s)
{
    sk_group_wait(s->g, &s->poll_request);
}
