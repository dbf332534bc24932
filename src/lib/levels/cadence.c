/* Keeps means, in which old values fade, of what checkpoints and levels cost and how long ticks
 * take. Plans anew when one of them has moved. */
#include "lib/levels/cadence.h"

#include <math.h>
#include <string.h>

/* What is older counts this much less with each new value. */
#define FADES 0.95
/* A difference of means that is less than this many standard errors may be chance. */
#define SURE 2.5
/* Values before a mean is looked at. */
#define ENOUGH 4

void sk_cadence_init(struct sk_cadence *c, const struct sk_cadence_setup *setup)
{
    memset(c, 0, sizeof *c);
    c->setup = *setup;
    for (int k = 0; k < SK_CADENCES; k++)
        c->every[k] = 1;
}

static double blend(double old, double new, int known)
{
    return known ? old + 0.3 * (new - old) : new;
}

void sk_cadence_checkpoint(struct sk_cadence *c, double interval, double cost, double latency)
{
    if (interval > 0)
        c->interval = blend(c->interval, interval, c->interval > 0);
    if (cost > 0)
        c->cost = blend(c->cost, cost, c->cost > 0);
    if (latency > 0)
        c->latency = blend(c->latency, latency, c->latency > 0);
}

static void add(struct sk_cadence_ticks *t, double x)
{
    t->weight = FADES * t->weight + 1;
    t->weights_squared = FADES * FADES * t->weights_squared + 1;
    double d = x - t->mean;
    t->mean += d / t->weight;
    t->square = FADES * t->square + d * (x - t->mean);
}

static double error_squared(const struct sk_cadence_ticks *t)
{
    return t->square / t->weight * t->weights_squared / (t->weight * t->weight);
}

void sk_cadence_ticks(struct sk_cadence *c, double seconds, const int busy[SK_CADENCES])
{
    if (!(seconds > 0))
        return;
    if (!busy[SK_CADENCE_PROTECT] && !busy[SK_CADENCE_ARCHIVE])
        add(&c->quiet, seconds);
    else if (!busy[SK_CADENCE_PROTECT] ||
             !busy[SK_CADENCE_ARCHIVE]) /* of both nothing is learned */
        add(&c->at[busy[SK_CADENCE_ARCHIVE] ? SK_CADENCE_ARCHIVE : SK_CADENCE_PROTECT].ticks,
            seconds);
}

void sk_cadence_done(struct sk_cadence *c, enum sk_cadence_level level, double latency,
                     double duration, double held)
{
    struct sk_cadence_at *a = &c->at[level];
    a->latency = blend(a->latency, latency, a->done);
    a->duration = blend(a->duration, duration, a->done);
    a->held = blend(a->held, held, a->done);
    a->done++;
}

double sk_cadence_cost(const struct sk_cadence *c, enum sk_cadence_level level)
{
    const struct sk_cadence_at *a = &c->at[level];
    double slower = 0;
    if (c->quiet.weight >= ENOUGH * FADES && a->ticks.weight >= ENOUGH * FADES) {
        double d = a->ticks.mean - c->quiet.mean;
        if (d > SURE * sqrt(error_squared(&a->ticks) + error_squared(&c->quiet)))
            slower = d / a->ticks.mean; /* of the time that it was under way */
    }
    return a->held + slower * a->duration;
}

static int moved(double from, double to, double threshold)
{
    return fabs(to - from) > threshold * fabs(from);
}

static void plan(struct sk_cadence *c)
{
    const struct sk_cadence_setup *s = &c->setup;
    const struct sk_cadence_at *p = &c->at[SK_CADENCE_PROTECT];
    struct sk_level l[1 + SK_CADENCES];
    int n = 1, at[SK_CADENCES] = {0}, has[SK_CADENCES];
    double rate[3], held = c->cost;
    for (int k = 0; k < SK_CADENCES; k++)
        has[k] = s->has[k] && c->at[k].done;
    sk_levels_rates(s->rate, s->local_share, s->beyond_share,
                    (uint64_t)s->groups * (uint64_t)s->members, s->members,
                    has[SK_CADENCE_PROTECT] ? s->tolerated : 0, 2 * p->latency, rate);
    l[0] = (struct sk_level){rate[0], held, fmax(held, c->latency), fmax(held, c->latency)};
    for (int k = 0; k < SK_CADENCES; k++) {
        if (!has[k])
            continue;
        double cost = sk_cadence_cost(c, k), latency;
        held += cost;
        latency = fmax(held, c->at[k].latency);
        at[k] = n;
        l[n++] = (struct sk_level){rate[1 + k], cost, latency, latency};
    }
    struct sk_levels_plan out;
    int rc = sk_levels_plan_every(l, n, c->interval, &out, NULL);
    for (int k = 0; k < SK_CADENCES; k++)
        c->every[k] = rc || !has[k] ? 1 : out.every[at[k]];
    rc = sk_levels_plan(l, n, &out, NULL);
    c->best_interval = rc || !isfinite(out.interval_seconds) ? 0 : out.interval_seconds;
}

static void keep_plan(struct sk_cadence *c)
{
    enum { N = sizeof c->planned_from / sizeof *c->planned_from };
    double now[N] = {c->interval, c->cost, c->latency};
    int changed = 0;
    for (int k = 0; k < SK_CADENCES; k++) {
        now[3 + 2 * k] = sk_cadence_cost(c, k);
        now[4 + 2 * k] = c->at[k].latency;
    }
    for (int i = 0; i < N; i++)
        changed |= moved(c->planned_from[i], now[i], c->setup.threshold);
    if (changed) {
        plan(c);
        memcpy(c->planned_from, now, sizeof now);
    }
}

int64_t sk_cadence_every(struct sk_cadence *c, enum sk_cadence_level level)
{
    if (!c->at[level].done || !(c->interval > 0) || !(c->cost > 0))
        return 1;
    keep_plan(c);
    return c->every[level];
}

double sk_cadence_interval(struct sk_cadence *c)
{
    int levels = 0;
    for (int k = 0; k < SK_CADENCES; k++) {
        levels += c->setup.has[k];
        if (c->setup.has[k] && !c->at[k].done)
            return 0;
    }
    if (!levels || !(c->interval > 0) || !(c->cost > 0))
        return 0;
    keep_plan(c);
    return c->best_interval;
}
