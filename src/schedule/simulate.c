/* Plays a job from failure to failure, repeats that, and gives mean and confidence of the
 * overhead. */
#include "schedule/simulate.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

/* One run. Time counts from its start; positions count finished intervals, of which the last may be
 * shorter. */
struct run {
    const struct sk_simulation *s;
    double now;
    double next_failure;
    double saved;    /* position of the newest checkpoint that counts */
    double captured; /* position of a newer one that will count at `counts_at`; = saved: none */
    double counts_at;
    double intervals; /* of the whole job */
    double last;      /* length of the last one */
};

struct totals {
    void *source;
    const struct sk_failures_ops *ops;
    uint64_t failures;
};

/* The job goes on after the failure at next_failure, which may be followed by others while it
 * restarts. */
static void fail_and_restart(struct run *r, struct totals *t)
{
    if (r->counts_at <= r->next_failure)
        r->saved = r->captured;
    r->captured = r->saved;
    do {
        r->now = r->next_failure;
        r->next_failure += t->ops->next(t->source, NULL);
        t->failures++;
    } while (r->next_failure < r->now + r->s->costs.restart && t->failures <= r->s->max_failures);
    r->now += r->s->costs.restart;
}

/* `count` more intervals are computed and captured; all but the newest count by now. */
static void advance(struct run *r, double count, double each)
{
    double late = r->s->costs.latency - r->s->costs.cost;
    r->now += count * (each + r->s->costs.cost);
    r->saved = r->captured + count - 1;
    r->captured += count;
    r->counts_at = r->now + late;
    if (late <= 0)
        r->saved = r->captured;
}

/* Play until the checkpoint of the job's end counts; the time it took. Whole stretches of
 * undisturbed intervals are taken in one step: nothing happens in them. */
static double play(struct run *r, struct totals *t)
{
    const struct sk_simulation *s = r->s;
    double cycle = s->interval + s->costs.cost;
    while (t->failures <= s->max_failures) {
        double whole =
            fmin(floor((r->next_failure - r->now) / cycle), r->intervals - 1 - r->captured);
        if (whole >= 1) {
            advance(r, whole, s->interval);
            continue;
        }
        int is_last = r->captured >= r->intervals - 1;
        double length = is_last ? r->last : s->interval;
        if (r->captured < r->intervals && r->now + length + s->costs.cost <= r->next_failure)
            advance(r, 1, length);
        else if (r->captured >= r->intervals && r->counts_at <= r->next_failure)
            return fmax(r->now, r->counts_at);
        else
            fail_and_restart(r, t);
    }
    return INFINITY;
}

static int check(const struct sk_simulation *s, struct saikai_error *err)
{
    const struct sk_costs *c = &s->costs;
    if (!(s->work > 0) || !(s->interval > 0) || isinf(s->work))
        return sk_fail(err, SAIKAI_EINVAL, "a simulated job needs work and an interval above 0");
    if (!(s->work / s->interval < 1e15))
        return sk_fail(err, SAIKAI_EINVAL,
                       "more than 10^15 checkpoints: the interval is too short");
    if (!(c->cost >= 0) || !(c->latency >= c->cost) || !(c->restart >= 0) ||
        isinf(c->latency + c->restart))
        return sk_fail(err, SAIKAI_EINVAL,
                       "costs are 0 or more, and a latency is at least the cost");
    if (c->latency - c->cost > s->interval)
        return sk_fail(err, SAIKAI_EINVAL,
                       "a checkpoint takes %g s until it counts, longer than the interval of %g s",
                       c->latency, s->interval);
    if (s->runs < 2 || !s->fleet.nodes)
        return sk_fail(err, SAIKAI_EINVAL, "a simulation needs a node and two runs");
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return SK_ORDER(x, y);
}

/* Student's quantile by its expansion in 1/ν (Abramowitz and Stegun, 26.7.5). */
double sk_student_95(int freedom)
{
    double z = 1.959963984540054, v = freedom, z2 = z * z;
    double g1 = (z2 + 1) * z / 4, g2 = ((5 * z2 + 16) * z2 + 3) * z / 96;
    double g3 = (((3 * z2 + 19) * z2 + 17) * z2 - 15) * z / 384;
    double g4 = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) * z / 92160;
    return z + g1 / v + g2 / (v * v) + g3 / (v * v * v) + g4 / (v * v * v * v);
}

static void summarise(const struct sk_simulation *s, double *wall, const struct totals *t,
                      double intervals, struct sk_simulation_result *out)
{
    double sum = 0, squares = 0, lost = 0, n = s->runs;
    double undisturbed = s->work + intervals * s->costs.cost + (s->costs.latency - s->costs.cost);
    for (int i = 0; i < s->runs; i++) {
        sum += wall[i];
        lost += wall[i] - undisturbed;
    }
    for (int i = 0; i < s->runs; i++)
        squares += (wall[i] - sum / n) * (wall[i] - sum / n);
    qsort(wall, (size_t)s->runs, sizeof *wall, by_value);
    *out = (struct sk_simulation_result){
        .wall = sum / n,
        .wall_error = sqrt(squares / (n - 1) / n),
        .wall_05 = wall[(int)(0.05 * (n - 1) + 0.5)],
        .wall_50 = wall[(int)(0.50 * (n - 1) + 0.5)],
        .wall_95 = wall[(int)(0.95 * (n - 1) + 0.5)],
        .loss = t->failures ? lost / (double)t->failures : 0,
        .failures = t->failures,
        .checkpoints = (uint64_t)(n * intervals),
    };
    out->overhead = out->wall / s->work - 1;
    out->overhead_error = out->wall_error / s->work;
    double half = sk_student_95(s->runs - 1) * out->overhead_error;
    out->overhead_low = out->overhead - half;
    out->overhead_high = out->overhead + half;
}

/* ceil(work/interval), where a remainder that is only rounding does not count. */
static double count_intervals(double work, double interval)
{
    return fmax(1, ceil(work / interval * (1 - 1e-13)));
}

int sk_simulate(const struct sk_simulation *s, struct sk_simulation_result *out,
                struct saikai_error *err)
{
    int rc = check(s, err);
    if (rc)
        return rc;
    struct totals t = {.ops = s->failures ? s->failures : &sk_failures_superposed};
    double *wall = malloc((size_t)s->runs * sizeof *wall);
    double intervals = count_intervals(s->work, s->interval), left = 0;
    t.source = t.ops->open(&s->fleet, s->seed);
    if (!wall || !t.source) {
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to simulate %llu nodes",
                     (unsigned long long)s->fleet.nodes);
        goto out;
    }
    left = t.ops->next(t.source, NULL);
    for (int i = 0; i < s->runs; i++) {
        /* the failure that is still to come is the next run's first: exponential times have no
         * memory */
        struct run r = {.s = s, .next_failure = left, .intervals = intervals};
        r.last = s->work - (intervals - 1) * s->interval;
        wall[i] = play(&r, &t);
        left = r.next_failure - wall[i];
        if (isinf(wall[i])) {
            rc = sk_fail(err, SAIKAI_ELOST, "the job gets nowhere: %llu failures in %d runs",
                         (unsigned long long)t.failures, i + 1);
            goto out;
        }
        if (s->progress && s->progress(s->arg, i + 1)) {
            rc = sk_fail(err, SAIKAI_ESTATE, "the simulation was stopped");
            goto out;
        }
    }
    summarise(s, wall, &t, intervals, out);
out:
    if (t.source)
        t.ops->close(t.source);
    free(wall);
    return rc;
}

double sk_simulate_expected(const struct sk_costs *c, double work, double interval)
{
    double n = count_intervals(work, interval);
    return (n - 1) * sk_model_interval(c, interval) +
           sk_model_interval(c, work - (n - 1) * interval);
}
