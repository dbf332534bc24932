/* Composes the time of a pattern from its blocks, level by level, and searches the intervals and
 * whole steps with the least overhead. */
#include "schedule/levels.h"

#include <math.h>
#include <string.h>

/* A stretch of the job, from a checkpoint on, as far as failures of the levels that are not yet
 * dealt with let it come. The chances add up to 1. */
struct block {
    double done;                 /* the chance that it is finished */
    double lost[SK_LEVELS_MOST]; /* that a failure of this level ends it before */
    double time;                 /* expected until the one or the other */
};

/* What does not change during a search. */
struct model {
    const struct sk_level *l;
    int n;
    double rate;                 /* of all levels */
    double held[SK_LEVELS_MOST]; /* by a checkpoint of this level and all below */
    double back[SK_LEVELS_MOST]; /* restart, and what the latency loses */
};

static struct model model_of(const struct sk_level *l, int n)
{
    struct model m = {.l = l, .n = n};
    for (int k = 0; k < n; k++) {
        m.rate += l[k].rate;
        m.held[k] = l[k].cost_seconds + (k ? m.held[k - 1] : 0);
        m.back[k] = l[k].restart_seconds + l[k].latency_seconds - m.held[k];
    }
    return m;
}

static struct block attempt(const struct model *m, double seconds)
{
    struct block b = {.done = exp(-m->rate * seconds), .time = seconds};
    double failed = -expm1(-m->rate * seconds);
    if (m->rate > 0)
        b.time = failed / m->rate;
    for (int k = 0; k < m->n && m->rate > 0; k++)
        b.lost[k] = m->l[k].rate / m->rate * failed;
    return b;
}

/* Restart from level `level`: begun again after a failure that needs no more than that. */
static struct block restart(const struct model *m, int level)
{
    struct block b = attempt(m, m->back[level]);
    double leaves = b.done; /* 1 - the chance of beginning again, without cancellation */
    for (int k = level + 1; k < m->n; k++)
        leaves += b.lost[k];
    b.done /= leaves;
    b.time /= leaves;
    for (int k = 0; k < m->n; k++)
        b.lost[k] = k > level ? b.lost[k] / leaves : 0;
    return b;
}

/* Failures of this level send the block back to its start, after a restart. */
static struct block until_done(const struct model *m, struct block b, int level)
{
    struct block r = restart(m, level);
    double again = b.lost[level], leaves = b.done;
    for (int k = level + 1; k < m->n; k++)
        leaves += b.lost[k] + again * r.lost[k];
    b.done /= leaves;
    b.time = (b.time + again * r.time) / leaves;
    b.lost[level] = 0;
    for (int k = level + 1; k < m->n; k++)
        b.lost[k] = (b.lost[k] + again * r.lost[k]) / leaves;
    return b;
}

static struct block then(const struct model *m, struct block a, struct block b)
{
    for (int k = 0; k < m->n; k++)
        b.lost[k] = a.lost[k] + a.done * b.lost[k];
    b.time = a.time + a.done * b.time;
    b.done *= a.done;
    return b;
}

/* The same block `times` times; need not be whole. */
static struct block repeated(const struct model *m, struct block b, double times)
{
    double fails = 0;
    for (int k = 0; k < m->n; k++)
        fails += b.lost[k];
    double log_done = times * (fails < 0.5 ? log1p(-fails) : log(b.done));
    double sum = fails > 0 ? -expm1(log_done) / fails : times; /* 1 + done + done² + … */
    b.done = exp(log_done);
    b.time *= sum;
    for (int k = 0; k < m->n; k++)
        b.lost[k] *= sum;
    return b;
}

/* From a checkpoint of `level` to the next one, which goes up to level `last`. */
static struct block block_of(const struct model *m, const double *t, int level, int last)
{
    struct block b;
    if (!level) {
        b = attempt(m, t[0] + m->held[last]);
    } else {
        b = block_of(m, t, level - 1, last);
        if (t[level] > t[level - 1])
            b = then(m,
                     repeated(m, block_of(m, t, level - 1, level - 1), t[level] / t[level - 1] - 1),
                     b);
    }
    return until_done(m, b, level);
}

/* t: the intervals of all levels, in seconds of computing. */
static double overhead(const struct model *m, const double *t)
{
    double x = block_of(m, t, m->n - 1, m->n - 1).time / t[m->n - 1] - 1;
    return isfinite(x) ? x : INFINITY;
}

/* ---- the search ---- */

#define PASSES      60
#define MOST_RATIO  1e12
#define GOLDEN      0.6180339887498949
#define GOLDEN_DONE 1e-8

/* Multiply the intervals first..last by the factor within [low, high] (logarithms) that makes the
 * overhead least; returns it. */
static double shift(const struct model *m, double *t, int first, int last, double low, double high)
{
    double start[SK_LEVELS_MOST], a = low, b = high, x = b - GOLDEN * (b - a),
                                  y = a + GOLDEN * (b - a), at[2] = {NAN, NAN}, best = 0;
    memcpy(start, t, sizeof start);
    double least = overhead(m, t);
    while (b - a > GOLDEN_DONE) {
        for (int side = 0; side < 2; side++) {
            if (!isnan(at[side]))
                continue;
            double f = side ? y : x;
            for (int k = first; k <= last; k++)
                t[k] = start[k] * exp(f);
            at[side] = overhead(m, t);
            if (at[side] < least) {
                least = at[side];
                best = f;
            }
        }
        if (at[0] <= at[1]) {
            b = y, y = x, at[1] = at[0];
            x = b - GOLDEN * (b - a), at[0] = NAN;
        } else {
            a = x, x = y, at[0] = at[1];
            y = a + GOLDEN * (b - a), at[1] = NAN;
        }
    }
    for (int k = first; k <= last; k++)
        t[k] = start[k] * exp(best);
    return least;
}

/* How far the intervals first..last may be moved together. */
static void room(const struct model *m, const double *t, int first, int last, double *low,
                 double *high)
{
    double least = first ? log(t[first - 1] / t[first]) : -INFINITY;
    for (int k = first; k <= last; k++)
        least = fmax(least, log(m->l[k].latency_seconds / t[k]));
    *low = fmax(fmin(least, 0), -2);
    *high = last + 1 < m->n ? fmin(2, log(t[last + 1] / t[last])) : 2;
    *high = fmin(*high, log(MOST_RATIO * t[0] / t[last]));
    if (!first && last + 1 < m->n)
        *low = fmax(*low, log(t[m->n - 1] / MOST_RATIO / t[0]));
    *high = fmax(*high, 0);
}

/* The best real intervals, ascending; those before `fixed` stay. Each alone and each run of them
 * together is moved, until nothing gets better. */
static double descend(const struct model *m, double *t, int fixed)
{
    double least = overhead(m, t);
    for (int pass = 0; pass < PASSES; pass++) {
        double before = least;
        for (int first = fixed; first < m->n; first++)
            for (int last = first; last < m->n; last++) {
                double low, high;
                room(m, t, first, last, &low, &high);
                if (high - low > GOLDEN_DONE)
                    least = shift(m, t, first, last, low, high);
            }
        if (isfinite(before) && !(before - least > 1e-10 * before))
            break;
    }
    return least;
}

/* Where to begin: √(2C/λ) for each level; levels that would come in the wrong order go together. */
static void first_order(const struct model *m, double *t)
{
    double cost[SK_LEVELS_MOST], rate[SK_LEVELS_MOST];
    int size[SK_LEVELS_MOST], groups = 0, k = 0;
    for (int i = 0; i < m->n; i++) {
        cost[groups] = m->l[i].cost_seconds;
        rate[groups] = m->l[i].rate;
        size[groups++] = 1;
        while (groups > 1 &&
               cost[groups - 1] * rate[groups - 2] <= cost[groups - 2] * rate[groups - 1]) {
            groups--;
            cost[groups - 1] += cost[groups];
            rate[groups - 1] += rate[groups];
            size[groups - 1] += size[groups];
        }
    }
    for (int g = 0; g < groups; g++)
        for (int i = 0; i < size[g]; i++, k++) {
            double x = sqrt(2 * cost[g] / rate[g]);
            t[k] = fmax(fmin(x, 1 / rate[g]), m->l[k].latency_seconds);
            if (k)
                t[k] = fmin(fmax(t[k], t[k - 1]), MOST_RATIO * t[0]);
        }
}

struct best {
    double overhead, t[SK_LEVELS_MOST];
    int64_t every[SK_LEVELS_MOST];
};

/* What these whole numbers come to; unless the interval is given, the one that suits them. */
static void try_whole(const struct model *m, const double *t, const int64_t *every, int fixed,
                      struct best *best)
{
    double own[SK_LEVELS_MOST], low = -2, x;
    for (int k = 0; k < m->n; k++) {
        own[k] = t[0] * (double)every[k];
        if (k || !fixed)
            low = fmax(low, log(m->l[k].latency_seconds / own[k]));
    }
    if (low > 1e-9 && fixed) /* too often for one of them */
        return;
    if (low > 0) {
        for (int k = 0; k < m->n; k++)
            own[k] *= exp(low);
        low = 0;
    }
    x = fixed ? overhead(m, own) : shift(m, own, 0, m->n - 1, low, 2);
    if (x < best->overhead) {
        best->overhead = x;
        memcpy(best->t, own, sizeof own);
        memcpy(best->every, every, sizeof best->every);
    }
}

/* The plan for these steps from each level to the next. */
static void try_steps(const struct model *m, const double *t, const int64_t *step, int fixed,
                      struct best *best)
{
    int64_t every[SK_LEVELS_MOST] = {1};
    for (int k = 1; k < m->n; k++) {
        if (step[k] < 1 || (double)step[k] * (double)every[k - 1] > 2 * MOST_RATIO)
            return;
        every[k] = step[k] * every[k - 1];
    }
    try_whole(m, t, every, fixed, best);
}

/* From the real intervals to whole steps: rounded up where a latency is to fit, then each step, and
 * each with the next one against it, up or down by one as long as that is better. */
static void choose_whole(const struct model *m, const double *t, int fixed, struct best *best)
{
    int64_t step[SK_LEVELS_MOST] = {1}, below = 1;
    for (int k = 1; k < m->n; k++) {
        double ratio = t[k] / t[0] / (double)below;
        double least = fixed ? m->l[k].latency_seconds / t[0] / (double)below : 1;
        ratio = fmin(fmax(fmax(1, round(ratio)), ceil(least * (1 - 1e-12))), MOST_RATIO);
        step[k] = (int64_t)ratio;
        below *= step[k];
    }
    try_steps(m, t, step, fixed, best);
    for (double before = INFINITY; best->overhead < before;) {
        before = best->overhead;
        for (int k = 1; k < m->n; k++)
            for (int up = -1; up <= 1; up += 2)
                for (int other = 0; other <= 2; other++) { /* the next step: same, less, more */
                    int64_t try[SK_LEVELS_MOST] = {1};
                    for (int j = 1; j < m->n; j++)
                        try[j] = best->every[j] / best->every[j - 1];
                    try[k] += up;
                    if (other && k + 1 < m->n)
                        try[k + 1] += other == 1 ? -1 : 1;
                    try_steps(m, best->t, try, fixed, best);
                }
    }
}

static int check(const struct sk_level *l, int n, struct saikai_error *err)
{
    double held = 0;
    if (n < 1 || n > SK_LEVELS_MOST)
        return sk_fail(err, SAIKAI_EINVAL, "%d levels of checkpoints: 1 to %d are possible", n,
                       SK_LEVELS_MOST);
    for (int k = 0; k < n; k++) {
        held += l[k].cost_seconds;
        if (!(l[k].rate >= 0) || !(l[k].cost_seconds >= 0) || !(l[k].restart_seconds >= 0) ||
            !isfinite(l[k].rate + l[k].latency_seconds + l[k].restart_seconds + held))
            return sk_fail(err, SAIKAI_EINVAL, "level %d: rates and times are 0 or more", k);
        if (!(l[k].latency_seconds >= held * (1 - 1e-12)))
            return sk_fail(err, SAIKAI_EINVAL,
                           "level %d: it cannot be safe after %g s when it holds the program up "
                           "for %g s",
                           k, l[k].latency_seconds, held);
    }
    if (!(l[0].cost_seconds > 0))
        return sk_fail(err, SAIKAI_EINVAL,
                       "a checkpoint that costs nothing needs no plan: take one always");
    return 0;
}

static int plan(const struct sk_level *l, int n, double interval, struct sk_levels_plan *out,
                struct saikai_error *err)
{
    int rc = check(l, n, err), fixed = interval > 0, used = n;
    if (rc)
        return rc;
    while (used && !(l[used - 1].rate > 0))
        used--;
    struct sk_levels_plan p = {.interval_seconds = fixed ? interval : INFINITY, .efficiency = 1};
    if (used) {
        struct model m = model_of(l, used);
        double t[SK_LEVELS_MOST] = {0};
        struct best best = {.overhead = INFINITY};
        first_order(&m, t);
        for (int k = 0; fixed && k < used; k++)
            t[k] = k ? fmax(t[k], interval) : interval;
        descend(&m, t, fixed);
        choose_whole(&m, t, fixed, &best);
        if (isinf(best.overhead))
            return sk_fail(err, SAIKAI_ELOST,
                           "with %g failures an hour and these costs the job gets nowhere",
                           3600 * m.rate);
        p.interval_seconds = best.t[0];
        p.overhead = best.overhead;
        memcpy(p.every, best.every, sizeof p.every);
    } else if (fixed) {
        p.every[0] = 1;
        p.overhead = l[0].cost_seconds / interval;
    }
    p.efficiency = 1 / (1 + p.overhead);
    *out = p;
    return 0;
}

int sk_levels_plan(const struct sk_level *l, int n, struct sk_levels_plan *out,
                   struct saikai_error *err)
{
    return plan(l, n, 0, out, err);
}

int sk_levels_plan_every(const struct sk_level *l, int n, double interval_seconds,
                         struct sk_levels_plan *out, struct saikai_error *err)
{
    if (!(interval_seconds > 0) || isinf(interval_seconds))
        return sk_fail(err, SAIKAI_EINVAL, "an interval is above 0");
    return plan(l, n, interval_seconds, out, err);
}

double sk_levels_overhead(const struct sk_level *l, int n, double interval_seconds,
                          const int64_t *every)
{
    double t[SK_LEVELS_MOST];
    int used = n;
    while (used > 1 && !every[used - 1]) {
        if (l[used - 1].rate > 0)
            return INFINITY; /* what is lost then is never safe */
        used--;
    }
    struct model m = model_of(l, used);
    for (int k = 0; k < used; k++) {
        t[k] = interval_seconds * (double)every[k];
        if (!(t[k] > 0) || (k && every[k] % every[k - 1]))
            return INFINITY;
    }
    return overhead(&m, t);
}

double sk_levels_beyond(double rate, int members, int tolerated, double window)
{
    double x = rate;
    for (int k = 1; k <= tolerated; k++) /* one more of those that are left, while k are lost */
        x *= fmax(0, members - k) / members * rate * window;
    return x;
}

void sk_levels_rates(double rate, double local_share, double beyond_share, uint64_t nodes,
                     int members, int tolerated, double window, double out[3])
{
    double local = fmin(fmax(local_share, 0), 1), beyond = fmin(fmax(beyond_share, 0), 1 - local);
    double lost = rate * (1 - local - beyond); /* nodes, one after the other */
    double together = lost;
    if (tolerated > 0 && members > 0 && nodes > 0) {
        double groups = fmax(1, (double)nodes / members);
        together = fmin(lost, groups * sk_levels_beyond(lost / groups, members, tolerated, window));
    }
    out[0] = rate * local;
    out[1] = lost - together;
    out[2] = rate * beyond + together;
}
