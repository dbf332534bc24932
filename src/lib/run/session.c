/* Begin and end of a session: starting its parts in order, waiting for what is under way, and what
 * is archived or removed at the end. */
#include "lib/session/session.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"
#include "lib/levels/kinds.h"
#include "lib/run/events.h"
#include "lib/run/pace.h"
#include "lib/run/poll.h"
#include "lib/run/report.h"
#include "lib/run/requests.h"
#include "lib/run/walk.h"
#include "lib/start/hold_local.h"
#include "lib/start/memo.h"
#include "lib/start/start.h"
#include "lib/start/tries.h"
#include "store/event/courier.h"
#include "store/holdings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The ledger, what captures and codes, and the engine over them: the parts that need places and an incarnation. */
static int start_engine(struct sk_session *s, struct saikai_error *err)
{
    int apart = sk_place_is_apart(&s->place);
    struct sk_engine_config c = {
        .local_root = s->place.local_root,
        .prefix_root = apart ? s->place.prefix_root : NULL,
        .leased_root = *s->place.prefix_root ? s->place.prefix_root : NULL,
        .lease = s->place.lease_token,
        .hold = s->place.hold,
        .incarnation = s->who.incarnation,
        .rank = s->g->rank,
        .nranks = s->g->size,
        .keep_local = (int)sk_config_int(s->config, apart ? "store.keep_local" : "store.keep_prefix"),
        .keep_prefix = (int)sk_config_int(s->config, "store.keep_prefix"),
        .sync_local = !apart && sk_config_bool(s->config, "store.fsync"),
        .sync_prefix = sk_config_bool(s->config, "store.fsync"),
        .scrub_period = sk_session_has_local(s) ? sk_config_time(s->config, "store.scrub") : 0,
        .scrub_share = sk_config_real(s->config, "store.scrub_share"),
        .prefix_timeout = sk_config_time(s->config, "store.prefix_timeout"),
        .final_wait = sk_config_time(s->config, "store.final_wait"),
        .finished_from = s->who.finished_from,
        .limits = {.max_deltas = (unsigned)sk_config_int(s->config, "capture.max_deltas"),
                   .max_ratio = sk_config_real(s->config, "capture.max_ratio")},
    };
    size_t most = (size_t)(c.keep_local > c.keep_prefix ? c.keep_local : c.keep_prefix);
    int rc = sk_ledger_new(most, &s->levels.ledger, err);
    c.ledger = s->levels.ledger;
    if (!rc)
        rc = sk_coding_policy_new(s->config, &s->capture.coding, err);
    c.coding = s->capture.coding;
    if (!rc)
        rc = sk_changes_open(s->config, &s->capture.changes, err);
    if (!rc)
        rc = sk_saver_open(s->config, &s->capture.saver, err);
    if (!rc)
        rc = sk_engine_new(&c, &s->levels.engine, err);
    if (!rc && sk_session_has_local(s))
        sk_engine_set_share(s->levels.engine, 1.0 / (s->place.node_ranks > 0 ? s->place.node_ranks : 1));
    return rc;
}

static int open_levels(struct sk_session *s, struct saikai_error *err)
{
    int apart = sk_place_is_apart(&s->place), local = sk_session_has_local(s);
    /* without a local directory all is on the shared file system already */
    const int is_there[SK_LEVELS] = {[SK_LEVEL_LOCAL] = 1, [SK_LEVEL_PARITY] = local, [SK_LEVEL_FAR] = apart};
    struct sk_level_setup setup = {.g = s->g,
                                   .config = s->config,
                                   .engine = s->levels.engine,
                                   .local_root = s->place.local_root,
                                   .prefix_root = s->place.prefix_root,
                                   .host = s->place.host,
                                   .store = s->who.job.store,
                                   .lease = s->place.lease_token,
                                   .incarnation = s->who.incarnation,
                                   .sync = !apart && sk_config_bool(s->config, "store.fsync")};
    int rc = 0;
    for (int k = 0; !rc && k < SK_LEVELS; k++)
        if (is_there[k])
            rc = sk_level_open(k, &setup, &s->levels.at[k], err);
    return rc;
}

static void find_deadline(struct sk_session *s)
{
    double limit = sk_config_time(s->config, "schedule.time_limit");
    const char *slurm = getenv("SLURM_JOB_END_TIME"); /* seconds since 1970 */
    char *end;
    long long at = slurm ? strtoll(slurm, &end, 10) : 0;
    if (s->page && s->page->deadline_ms)
        s->measured.deadline = (double)s->page->deadline_ms / 1e3;
    else if (limit > 0)
        s->measured.deadline = s->measured.started_at + limit;
    else if (at > 0 && !*end)
        s->measured.deadline = s->measured.started_at + (double)at - (double)sk_wall_ms() / 1e3;
}

/* The program ends of it, and the launcher is to know that it uses the library: whether it gets on is then seen by its generations, and not by how long
 * it lives. */
static void tell_failed(const struct sk_session *s)
{
    if (s && s->page && !atomic_load(&s->page->state) && strcmp(sk_config_text(s->config, "lib.on_error"), "return"))
        atomic_store(&s->page->state, SK_KEEPER_INITIALISED);
}

int sk_session_new(struct sk_group *g, struct sk_config *config, const char *program,
                   struct sk_session **out, struct saikai_error *err)
{
    struct sk_session *s = calloc(1, sizeof *s);
    int rc = s ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a session");
    sk_lib_kinds_tell();
    if (s) {
        s->g = g;
        s->config = config;
        sk_measured_start(&s->measured);
        sk_clock_start(&s->clock, (int)sk_config_int(config, "schedule.every"));
        sk_agreement_start(&s->agreement);
        s->ending.end_tick = UINT64_MAX;
        s->levels.heals_from = s->levels.last_from = -1;
        gethostname(s->place.host, sizeof s->place.host - 1);
        rc = sk_patience_new(sk_config_time(config, "store.prefix_timeout"), &s->place.patience, err);
    }
    if (!rc) {
        rc = sk_keeper_page_attach(&s->page, err);
    }
    rc = sk_group_verdict(g, rc, err);
    if (!rc)
        rc = sk_start_agree(s, program, err);
    if (!rc)
        rc = sk_group_verdict(g, start_engine(s, err), err);
    if (!rc)
        rc = open_levels(s, err);
    if (!rc)
        rc = sk_group_verdict(g, sk_requests_install(config, s->page != NULL, err), err);
    if (rc) {
        tell_failed(s);
        if (s)
            sk_session_abandon(s);
        else {
            sk_group_free(g);
            sk_config_free(config);
        }
        return rc;
    }
    find_deadline(s);
    sk_pace_start(s);
    sk_session_begin_events(s);
    if (s->page)
        atomic_store(&s->page->state, SK_KEEPER_INITIALISED);
    *out = s;
    return 0;
}

int sk_session_new_silent(struct sk_group *g, struct sk_config *config, struct sk_session **out, struct saikai_error *err)
{
    struct sk_session *s = *out = calloc(1, sizeof *s);
    if (!s) {
        sk_group_free(g);
        sk_config_free(config);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a session");
    }
    s->g = g;
    s->config = config;
    s->silent = 1;
    sk_clock_start(&s->clock, 0);
    sk_clock_sleep(&s->clock, 0, UINT64_MAX);
    int rc = sk_requests_hush(config, err);
    if (!rc)
        return 0;
    *out = NULL;
    sk_session_abandon(s);
    return rc;
}

void sk_session_abandon(struct sk_session *s)
{
    if (!s)
        return;
    sk_tries_disarm(s);
    sk_courier_free(s->courier);
    sk_levels_close(&s->levels);
    sk_coding_policy_free(s->capture.coding);
    sk_changes_close(s->capture.changes);
    sk_saver_close(s->capture.saver);
    sk_vars_free(&s->vars);
    sk_keeper_page_unmap(s->page);
    if (*s->resume.restored_files)
        sk_io_rmtree(s->resume.restored_files, NULL);
    sk_local_release(s, 0);
    sk_lease_release(s->place.lease);
    sk_patience_free(s->place.patience);
    sk_group_free(s->g);
    sk_config_free(s->config);
    free(s);
}

/* Everything is committed or has failed: learn what is complete and archived, blocking. What is being protected goes on. */
static int settle(struct sk_session *s)
{
    int64_t v[SK_LEVELS * SK_LEVEL_WORDS + 1];
    static const enum sk_level_place settled[] = {SK_LEVEL_LOCAL, SK_LEVEL_FAR};
    sk_engine_drain(s->levels.engine);
    sk_walk_tell(s, v);
    v[SK_LEVELS * SK_LEVEL_WORDS] = -sk_lease_is_lost(s->place.lease);
    int rc = sk_group_allreduce(s->g, v, SK_LEVELS * SK_LEVEL_WORDS + 1, SK_OP_MIN);
    if (!rc && v[SK_LEVELS * SK_LEVEL_WORDS])
        sk_session_lose_prefix(s);
    for (int i = 0; !rc && i < 2; i++) {
        struct sk_level_heard h;
        sk_level_hear(&s->levels.at[settled[i]], v + settled[i] * SK_LEVEL_WORDS, &h);
        if (h.arrived)
            sk_walk_arrived(s, settled[i], h.seq);
    }
    return rc;
}

int sk_session_wait(struct sk_session *s, struct saikai_error *err)
{
    struct sk_engine_status st;
    if (s->silent)
        return 0;
    int rc = settle(s);
    if (rc)
        return sk_fail(err, rc, "the ranks could not agree on what is complete");
    sk_engine_status(s->levels.engine, &st);
    int64_t seq = sk_ledger_count(s->levels.ledger);
    if (sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE) < seq && st.committed_seq < seq)
        rc = sk_fail(err, st.failures ? st.last_error.code : SAIKAI_EIO, "%s",
                     st.failures ? st.last_error.text : "the newest checkpoint was not captured");
    return sk_group_verdict(s->g, rc, err);
}

static void remove_local(struct sk_session *s)
{
    if (!s->levels.engine_left) {
        s->levels.ledger_left |= sk_engine_free(s->levels.engine); /* its slots go with it */
        s->levels.engine = NULL;
    }
    sk_holdings_remove_rank(s->place.local_root, s->g->rank, s->g->size);
    if (!s->who.state_behind)
        sk_memo_remove_local(s);
    sk_local_release(s, 1); /* the last rank of the node removes the directory */
}

/* Whether the newest generation goes to the prefix at the end: whoever goes on later, perhaps on other nodes, must find it, as this
 * memory is given back. */
static int archives_last(const struct sk_session *s)
{
    return s->ending.stop_agreed || sk_config_bool(s->config, "store.archive_last");
}

/* Until what is being archived has ended on all ranks: 0; -1: on none of them has anything moved for store.final_wait. A rank
 * that reads and writes nothing may only wait for one that does. */
static int wait_for_archives(struct sk_session *s)
{
    double since = sk_now(), most = sk_config_time(s->config, "store.final_wait");
    unsigned long seen = sk_io_count();
    for (;;) {
        int64_t ended = sk_level_wait(&s->levels.at[SK_LEVEL_FAR], 0.05);
        int64_t moved = sk_io_count() != seen, v[3] = {ended, -moved, -(most > 0 && sk_now() - since > most)};
        seen = sk_io_count();
        if (sk_group_allreduce(s->g, v, 3, SK_OP_MIN) || v[0])
            return 0;
        if (v[1])
            since = sk_now();
        else if (v[2])
            return -1;
    }
}

/* 1, on all ranks: the prefix does not answer any more, and nothing more is archived. */
static int drain_far(struct sk_session *s)
{
    if (!sk_levels_has(&s->levels, SK_LEVEL_FAR) || !wait_for_archives(s))
        return 0;
    if (s->g->rank == 0)
        sk_log(SK_LOG_WARN, "the prefix %s does not answer: what is being archived there is given up", s->place.prefix_root);
    s->levels.engine_left = sk_level_give_up(&s->levels.at[SK_LEVEL_FAR]);
    return 1;
}

static int drain_all(struct sk_session *s)
{
    struct sk_level_heard coded;
    sk_poll_end(s);
    sk_level_drain(&s->levels.at[SK_LEVEL_PARITY], &coded);
    if (coded.arrived)
        sk_walk_arrived(s, SK_LEVEL_PARITY, coded.seq);
    int hangs = drain_far(s), rc = settle(s);
    int64_t complete = sk_levels_complete(&s->levels);
    if (!rc && !hangs && archives_last(s) && !s->place.prefix_lost && complete > sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED)) {
        sk_walk_bring(s, SK_LEVEL_FAR, complete);
        drain_far(s);
        rc = settle(s);
    }
    sk_engine_drain(s->levels.engine);
    return rc;
}

int sk_session_keep_safe(struct sk_session *s, struct saikai_error *err)
{
    int rc = sk_session_wait(s, err), far = sk_levels_has(&s->levels, SK_LEVEL_FAR) && !s->silent;
    if (rc || !far || wait_for_archives(s))
        return rc;
    rc = settle(s);
    int64_t complete = sk_levels_complete(&s->levels);
    if (!rc && !s->place.prefix_lost && complete > sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED)) {
        sk_walk_bring(s, SK_LEVEL_FAR, complete);
        rc = wait_for_archives(s) ? 0 : settle(s);
    }
    return rc ? sk_fail(err, rc, "the ranks could not agree on what is in the prefix") : 0;
}

/* Is there what this start did not use, and has nothing to take its place? */
static int keeps_earlier(struct sk_session *s)
{
    struct sk_gen_list l = {0};
    if (sk_engine_may_remove_earlier(s->levels.engine) || sk_gen_scan(s->place.local_root, -1, &l, NULL))
        return 0;
    int found = l.count && l.gen[l.count - 1].incarnation < s->who.incarnation; /* the newest comes first */
    sk_gen_list_free(&l);
    return found;
}

/* What nobody will resume from must not keep a node's memory. A run that stopped before anything of its own was complete goes on
 * from what it was restored from, which may be there alone. */
static void give_memory_back(struct sk_session *s)
{
    int64_t complete = sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE);
    int apart = sk_place_is_apart(&s->place);
    int is_archived = sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) == complete;
    if (s->place.prefix_lost && !is_archived && apart) {
        if (s->g->rank == 0)
            sk_log(SK_LOG_WARN, "the prefix %s is another job's: what this one saved last (iteration %lld) stays in %s", s->place.prefix_root,
                   (long long)sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE), s->place.local_root);
        return;
    }
    if (apart && s->g->rank == 0 && archives_last(s) && !is_archived)
        sk_log(SK_LOG_WARN, "the newest generation (iteration %lld) is not in the prefix: its files stay in %s",
               (long long)sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE), s->place.local_root);
    if (apart && (!archives_last(s) || is_archived) && (complete || !s->ending.stop_agreed) && !keeps_earlier(s))
        remove_local(s);
}

int sk_session_wind_up(struct sk_session *s, struct saikai_error *err)
{
    int rc = drain_all(s);
    if (rc)
        sk_fail(err, rc, "the ranks could not agree at the end");
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc)
        give_memory_back(s);
    return rc;
}

/* The program did not come to its end by itself: it was told to stop, or a handler of its own made it. */
static int was_stopped(struct sk_session *s, int *stopped)
{
    int own = sk_requests_handed_on() || (s->ending.stop_agreed && sk_requests_left_to_program(sk_requests_reason()));
    int64_t v = -(int64_t)(s->ending.told || own);
    int rc = sk_group_allreduce(s->g, &v, 1, SK_OP_MIN);
    *stopped = v != 0;
    return rc;
}

int sk_session_finalize(struct sk_session *s, struct saikai_error *err)
{
    int stopped = 0;
    if (s->silent) {
        sk_session_abandon(s);
        return 0;
    }
    if (s->page && !sk_requests_shared())
        atomic_store(&s->page->state, SK_KEEPER_ENDING);
    int rc = drain_all(s);
    if (!rc)
        rc = was_stopped(s, &stopped);
    if (!rc && s->g->rank == 0 && !stopped) {
        sk_tries_refresh(s);
        s->who.state.finished = 1;
        rc = sk_memo_save(s, err);
    } else if (rc) {
        sk_fail(err, rc, "the ranks could not agree at the end");
    }
    if (!s->resume.proven && s->resume.from.incarnation)
        sk_tries_end(s, s->resume.from, 0);
    rc = sk_group_verdict(s->g, rc, err);
    sk_session_report(s, 1);
    if (!rc)
        give_memory_back(s);
    if (s->page && !sk_requests_shared()) /* else the launcher would take the rank for one that has ended well */
        atomic_store(&s->page->state, SK_KEEPER_FINALIZED);
    sk_session_abandon(s);
    return rc;
}
