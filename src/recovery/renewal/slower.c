/* The pace of a job before a repair and since, and what to believe of its reason. */
#include "recovery/renewal/slower.h"

#include <math.h>

/* Beside the way to the first candidate: what it takes to end a start, and to begin another one. */
static const double end_s = 1.0;

void sk_slower_init(struct sk_slower *w, double gap_s)
{
    *w = (struct sk_slower){.gap_s = gap_s};
}

static int is_told(const struct sk_stretch *t)
{
    return t->begun > 0 && t->seen - t->begun >= SK_SLOWER_LEAST_S && t->to - t->from >= SK_SLOWER_LEAST_N;
}

static double pace(const struct sk_stretch *t)
{
    return (double)(t->to - t->from) / (t->seen - t->begun);
}

/* Seconds of the stretch beyond those that its candidates took before. */
static double lost(const struct sk_slower *w, const struct sk_stretch *t)
{
    return t->seen - t->begun - (double)(t->to - t->from) / w->fast;
}

void sk_slower_begin(struct sk_slower *w, int planned, double now)
{
    if (planned && w->fast > 0 && is_told(&w->since)) {
        w->slow = pace(&w->since);
        w->tries = 1;
    }
    w->begun = w->looked = now;
    w->repaired = 0;
    w->reach = INT64_MIN;
    w->lost_s = 0;
    w->before = w->since = (struct sk_stretch){0};
}

/* What the start has shown, once it tells: the pace is nearer to the one before the repair, or to the one behind it. */
static void learn(struct sk_slower *w)
{
    if (!w->tries || !is_told(&w->before))
        return;
    w->tries = 0;
    w->belief = pace(&w->before) > sqrt(w->fast * w->slow) ? SK_SLOWER_BY_REPAIR : SK_SLOWER_BY_ITSELF;
}

void sk_slower_repair(struct sk_slower *w, const struct sk_gait *g)
{
    if (!w->repaired && is_told(&w->before))
        w->fast = pace(&w->before);
    if (w->fast > 0 && w->since.begun > 0)
        w->lost_s += fmax(0, lost(w, &w->since));
    w->repaired = 1;
    w->reach = g->farthest > w->reach ? g->farthest : w->reach;
    w->since = (struct sk_stretch){0};
}

static void walk(struct sk_stretch *t, uint64_t candidates, double now)
{
    if (!(t->begun > 0))
        *t = (struct sk_stretch){now, now, candidates, candidates};
    if (candidates != t->to) {
        t->seen = now;
        t->to = candidates;
    }
}

void sk_slower_look(struct sk_slower *w, const struct sk_gait *g, double now)
{
    struct sk_stretch *t = w->repaired ? &w->since : &w->before;
    double gap = now - w->looked;
    w->looked = now;
    if (gap > w->gap_s && t->begun > 0) { /* the job was stopped, or we were */
        t->begun += gap;
        t->seen += gap;
    }
    if (!g->candidates || (w->repaired && !(t->begun > 0) && g->slowest < w->reach))
        return;
    if (!w->repaired && !(t->begun > 0))
        w->start_s = fmax(w->start_s, now - w->begun);
    walk(t, g->candidates, now);
    if (!w->repaired)
        learn(w);
}

int sk_slower_pays(const struct sk_slower *w, double left_s, struct sk_slowness *out)
{
    if (!w->repaired || !(w->fast > 0) || w->belief == SK_SLOWER_BY_ITSELF || !is_told(&w->since))
        return 0;
    struct sk_slowness s = {.start_s = w->start_s + end_s, .part = lost(w, &w->since) / (w->since.seen - w->since.begun)};
    s.lost_s = w->lost_s + lost(w, &w->since);
    *out = s;
    return s.part >= SK_SLOWER_LEAST_PART && s.lost_s >= s.start_s && left_s * s.part > s.start_s;
}
