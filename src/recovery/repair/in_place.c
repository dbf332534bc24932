/* Who reports as whom, and what the layers of all ranks say of themselves. */
#include "recovery/repair/in_place.h"

#include "backbone/keeper_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sk_in_place {
    int n_ranks, first; /* as whom the first that is made again reports */
    double limit_s, began;
    int under_way;
    uint32_t count, made;            /* repairs, and processes made again */
    int rank_of[SK_IN_PLACE_MOST];   /* of those that were made again */
    struct sk_message order;
    uint32_t id[]; /* by rank */
};

struct sk_in_place *sk_in_place_new(int n_ranks, int spares, double limit_s)
{
    struct sk_in_place *p = calloc(1, sizeof *p + sizeof *p->id * (size_t)n_ranks);
    if (!p)
        return NULL;
    p->n_ranks = n_ranks;
    p->first = n_ranks + spares;
    p->limit_s = limit_s;
    sk_in_place_reset(p);
    return p;
}

void sk_in_place_free(struct sk_in_place *p)
{
    free(p);
}

void sk_in_place_reset(struct sk_in_place *p)
{
    p->under_way = 0;
    p->count = p->made = 0;
    for (int r = 0; r < p->n_ranks; r++)
        p->id[r] = (uint32_t)r;
}

uint32_t sk_in_place_id(const struct sk_in_place *p, int rank)
{
    return p->id[rank];
}

int sk_in_place_rank(const struct sk_in_place *p, uint32_t id)
{
    uint32_t first = (uint32_t)p->first;
    int rank = id < (uint32_t)p->n_ranks ? (int)id : id >= first && id - first < p->made ? p->rank_of[id - first] : -1;
    return rank >= 0 && p->id[rank] == id ? rank : -1;
}

static const char *reason(uint32_t why)
{
    static const char *const words[SK_WORLD_REASONS] = {
        [SK_WORLD_FINE] = "the program does not call saikai_in_place, or not yet",
        [SK_WORLD_THREADS] = "threads of the program may call MPI",
        [SK_WORLD_BEFORE] = "the program communicates before saikai_in_place",
        [SK_WORLD_FUNCTION] = "the program calls what cannot be repaired",
        [SK_WORLD_STALE] = "the program uses what was made before the repair",
        [SK_WORLD_MPI] = "this MPI cannot be repaired",
        [SK_WORLD_FAILED] = "the repair did not work",
        [SK_WORLD_WAITS] = "the processes wait for each other",
        [SK_WORLD_UNSENT] = "what the dead process had sent is still on its way to another host",
        [SK_WORLD_BOUND] = "a process waits for the dead one inside MPI, where it makes a communicator",
    };
    return why < SK_WORLD_REASONS ? words[why] : "unknown";
}

/* NULL: the rank stood where it can be left, in the world of now. */
static const char *stands(const struct sk_in_place *p, const struct sk_progress *at)
{
    uint32_t state = SK_WORLD_STATE(at->world);
    if (state == SK_WORLD_OVER || at->state == SK_KEEPER_ENDING || at->state == SK_KEEPER_FINALIZED)
        return "the program was at its end";
    if (at->state == SK_KEEPER_STOPPED || at->state >= SK_KEEPER_REFUSED)
        return "the program was to end";
    if (state != SK_WORLD_READY)
        return reason(SK_WORLD_REASON(at->world));
    return SK_WORLD_EPOCH(at->world) == p->count ? NULL : "the repair before was not over";
}

const char *sk_in_place_why_not(const struct sk_in_place *p, const struct sk_detector *d)
{
    uint32_t dead = 0;
    if (p->under_way)
        return "another process died during the repair";
    for (int r = 0; r < p->n_ranks; r++) {
        struct sk_progress at = sk_detector_rank_at(d, r);
        const char *why = stands(p, &at);
        int runs = sk_detector_rank_runs(d, r);
        if (runs < 0)
            return "not all ranks had started";
        if (why)
            return why;
        if (!runs && sk_detector_rank_ended_well(d, r))
            return "a rank had ended";
        dead += !runs;
    }
    if (!dead || dead >= (uint32_t)p->n_ranks)
        return dead ? "no rank is left" : "nobody is dead";
    if (dead > SK_REPAIR_MOST || p->made + dead > SK_IN_PLACE_MOST)
        return "too many processes died";
    return NULL;
}

int sk_in_place_may_change(const struct sk_in_place *p, const struct sk_detector *d)
{
    if (p->under_way)
        return 0;
    for (int r = 0; r < p->n_ranks; r++) {
        struct sk_progress at = sk_detector_rank_at(d, r);
        uint32_t state = SK_WORLD_STATE(at.world);
        int runs = sk_detector_rank_runs(d, r);
        if ((!runs && (stands(p, &at) || sk_detector_rank_ended_well(d, r))) || state == SK_WORLD_CANNOT || state == SK_WORLD_OVER)
            return 0;
    }
    return 1;
}

void sk_in_place_begin(struct sk_in_place *p, struct sk_detector *d, double now, struct sk_message *order, char *who, size_t cap)
{
    struct sk_message m = {.kind = SK_MSG_REPAIR, .number = ++p->count, .first = (uint32_t)p->first + p->made};
    size_t at = 0;
    p->under_way = 1;
    p->began = now;
    for (int r = 0; r < p->n_ranks; r++) {
        if (sk_detector_rank_runs(d, r))
            continue;
        m.dead[m.n_dead++] = (uint32_t)r;
        p->rank_of[p->made] = r;
        p->id[r] = (uint32_t)p->first + p->made++;
        sk_detector_replaced(d, r, now);
        int n = snprintf(who + at, cap - at, "%s%d", at ? ", " : "", r);
        at = n > 0 && at + (size_t)n < cap ? at + (size_t)n : at;
    }
    *order = p->order = m;
}

int sk_in_place_under_way(const struct sk_in_place *p)
{
    return p->under_way;
}

const struct sk_message *sk_in_place_order(const struct sk_in_place *p)
{
    return &p->order;
}

int sk_in_place_has_heard(const struct sk_in_place *p, const struct sk_detector *d, int rank)
{
    uint32_t state = SK_WORLD_STATE(sk_detector_rank_at(d, rank).world);
    for (uint32_t i = 0; i < p->order.n_dead; i++)
        if (p->order.dead[i] == (uint32_t)rank)
            return 1; /* it is born with it */
    return SK_WORLD_EPOCH(sk_detector_rank_at(d, rank).world) == p->count || state == SK_WORLD_REPAIRING;
}

int sk_in_place_look(struct sk_in_place *p, const struct sk_detector *d, double now, const char **why)
{
    int back = 0;
    *why = NULL;
    for (int r = 0; r < p->n_ranks && !*why; r++) {
        uint32_t w = sk_detector_rank_at(d, r).world, state = SK_WORLD_STATE(w);
        if (state == SK_WORLD_CANNOT)
            *why = reason(SK_WORLD_REASON(w));
        if (state == SK_WORLD_OVER && SK_WORLD_EPOCH(w) != p->count)
            *why = "the program was at its end";
        /* whose program has come to its end since the repair has been in it, too */
        back += (state == SK_WORLD_READY || state == SK_WORLD_OVER) && SK_WORLD_EPOCH(w) == p->count;
    }
    if (!*why && back < p->n_ranks && now - p->began > p->limit_s)
        *why = "the repair took longer than run.repair_limit";
    if (*why)
        return -1;
    if (back < p->n_ranks)
        return 0;
    p->under_way = 0;
    return 1;
}

double sk_in_place_seconds(const struct sk_in_place *p, double now)
{
    return now - p->began;
}

uint32_t sk_in_place_count(const struct sk_in_place *p)
{
    return p->count;
}

uint32_t sk_in_place_made(const struct sk_in_place *p)
{
    return p->made;
}

int sk_in_place_is_stuck(const struct sk_in_place *p, const struct sk_detector *d)
{
    int waiting = 0;
    for (int r = 0; p->count && !p->under_way && r < p->n_ranks; r++) {
        uint32_t w = sk_detector_rank_at(d, r).world;
        waiting += sk_detector_rank_runs(d, r) > 0 && SK_WORLD_STATE(w) == SK_WORLD_READY && SK_WORLD_REASON(w) == SK_WORLD_WAITS &&
                   SK_WORLD_EPOCH(w) == p->count;
    }
    return waiting == p->n_ranks;
}
