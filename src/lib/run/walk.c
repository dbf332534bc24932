/* The walk of a generation, from the slot that was captured to the last level that it is brought to. At an exchange of the ranks
 * (poll.c) each rank says how far it is (sk_walk_tell); from what all said, equal on all of them, each learns what has arrived where,
 * and begins with what is due next (sk_walk_on). Levels are called by their tables alone (levels/level.h). */
#include "lib/run/walk.h"

#include "base/clock.h"
#include "base/log.h"
#include "lib/run/events.h"
#include "lib/run/pace.h"
#include "lib/start/memo.h"
#include "world/hooks/hooks.h"
#include "world/world.h"

void sk_walk_tell(struct sk_session *s, int64_t *word)
{
    for (int k = 0; k < SK_LEVELS; k++)
        sk_level_tell(&s->levels.at[k], word + k * SK_LEVEL_WORDS);
}

/* ---- arrived ---- */

/* Where generations outlive the nodes' memory, or at least this start. */
static enum sk_level_place last_place(const struct sk_session *s)
{
    return sk_place_is_apart(&s->place) ? SK_LEVEL_FAR : SK_LEVEL_LOCAL;
}

/* 1: the first to arrive there of those since a checkpoint was asked for because of a deadline. */
static int is_asked_for(const struct sk_session *s, enum sk_level_place place, int64_t seq)
{
    return s->levels.last_from >= 0 && seq > s->levels.last_from &&
           sk_ledger_newest(s->levels.ledger, sk_level_traits[place].done) <= s->levels.last_from;
}

void sk_walk_arrived(struct sk_session *s, enum sk_level_place place, int64_t seq)
{
    const struct sk_level_trait *t = &sk_level_traits[place];
    struct sk_ledger_entry e;
    struct saikai_error err = {0};
    if (seq && seq <= sk_ledger_newest(s->levels.ledger, t->done))
        return;
    if (sk_ledger_find(s->levels.ledger, seq, &e, &err)) {
        sk_log(SK_LOG_ERROR, "rank %d: the exchange of the ranks tells of a generation that nobody knows: %s", s->g->rank, err.text);
        return;
    }
    int first = is_asked_for(s, place, seq);
    sk_ledger_mark(s->levels.ledger, seq, t->done);
    sk_pace_arrived(s, place, seq);
    sk_level_retire(&s->levels.at[place], seq);
    if (place == last_place(s))
        sk_memo_is_safe(s);
    if (place == SK_LEVEL_FAR)
        sk_memo_catch_up(s);
    if (place == SK_LEVEL_LOCAL && s->page)
        sk_keeper_page_complete(s->page, e.gen.iteration);
    if (place == SK_LEVEL_LOCAL && saikai_world_cut)
        saikai_world_cut(sk_gen_key(e.gen));
    if (place == SK_LEVEL_LOCAL && saikai_hooks_complete)
        saikai_hooks_complete(sk_gen_key(e.gen));
    if (s->g->rank == 0)
        sk_log(SK_LOG_DEBUG, "generation of iteration %lld is %s", (long long)e.gen.iteration, t->arrived);
    sk_session_tell_generation(s, first ? "mw.saved" : "mw.checkpoint", e.gen.iteration, t->arrived, first ? SAIKAI_EVENT_INFO : SAIKAI_EVENT_DEBUG);
}

/* ---- due ---- */

/* 1: a complete generation stands for damaged ones, and none of its kind was brought to a level yet. */
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

/* 1: the newest complete generation, which is newer than what was brought there last, is to be brought there now. */
static int is_wanted(const struct sk_session *s, enum sk_level_place place, int64_t complete, int64_t begun, int due)
{
    const char *key = sk_level_traits[place].every;
    int64_t every = key ? sk_config_int(s->config, key) : 1;
    if (place == SK_LEVEL_FAR && is_last(s, complete, begun))
        return 1;
    return (due || heals(s, complete, begun)) && every && !(begun && complete - begun < every);
}

void sk_walk_bring(struct sk_session *s, enum sk_level_place place, int64_t seq)
{
    const struct sk_level_trait *t = &sk_level_traits[place];
    struct sk_ledger_entry e;
    struct saikai_error err = {0};
    if (sk_ledger_find(s->levels.ledger, seq, &e, &err)) {
        sk_log(SK_LOG_ERROR, "rank %d: nothing is %s: %s", s->g->rank, t->arrived, err.text);
        return;
    }
    int anew = heals(s, seq, sk_ledger_newest(s->levels.ledger, t->done));
    sk_pace_begun(s, place);
    sk_ledger_mark(s->levels.ledger, seq, t->begun);
    sk_level_bring(&s->levels.at[place], e.gen, seq, anew);
}

/* Bring the next generation to a level, if there is one and it is time. All ranks decide alike: what this looks at is equal on all of
 * them. The restored one is coded first, as long as there is no newer one. */
static void consider(struct sk_session *s, enum sk_level_place place, int idle, int due)
{
    int64_t complete = sk_levels_complete(&s->levels), begun = sk_ledger_newest(s->levels.ledger, sk_level_traits[place].begun);
    if (!sk_levels_has(&s->levels, place) || !idle || (place == SK_LEVEL_FAR && s->place.prefix_lost))
        return;
    int newer = complete > begun && is_wanted(s, place, complete, begun, due);
    if (!newer && !(place == SK_LEVEL_PARITY && s->resume.code_from && !complete))
        return;
    if (place == SK_LEVEL_PARITY)
        s->resume.code_from = 0;
    sk_walk_bring(s, place, newer ? complete : 0);
}

/* What all ranks said of their levels. Local, but for parity, whose slices may block shortly. */
static void hear(struct sk_session *s, const int64_t *least, struct sk_level_heard h[SK_LEVELS])
{
    for (int k = 0; k < SK_LEVELS; k++)
        sk_level_hear(&s->levels.at[k], least + k * SK_LEVEL_WORDS, &h[k]);
}

void sk_walk_on(struct sk_session *s, const int64_t *least, unsigned due, double tick, double cost)
{
    struct sk_level_heard h[SK_LEVELS];
    double begun = sk_now();
    hear(s, least, h);
    sk_measured_pause(&s->measured, sk_now() - begun);
    sk_pace_hear(s, tick, cost, h);
    for (int k = 0; k < SK_LEVELS; k++)
        if (h[k].arrived)
            sk_walk_arrived(s, k, h[k].seq);
    begun = sk_now();
    for (int k = SK_LEVEL_PARITY; k < SK_LEVELS; k++)
        consider(s, k, h[k].idle, due >> k & 1);
    sk_measured_pause(&s->measured, sk_now() - begun);
}
