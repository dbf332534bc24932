/* Plays a job whose checkpoints reach their levels one after the other, and what a failure of each
 * level leaves of them. */
#include "schedule/simulate_levels.h"

#include <math.h>

/* One run. Positions count intervals. */
struct run {
    const struct sk_levels_simulation *s;
    const struct sk_failures_ops *ops;
    void *source; /* of failures */
    uint64_t failures[SK_LEVELS_MOST], total;
    double now, next_failure;
    int next_level;
    double position;
    struct place {
        double safe;             /* the newest checkpoint of this level */
        double coming, comes_at; /* one that will be safe then; < 0: none */
    } at[SK_LEVELS_MOST];
};

static void draw_failure(struct run *r)
{
    uint64_t level = 0;
    r->next_failure += r->ops->next(r->source, &level);
    r->next_level = (int)level;
}

/* A checkpoint at this position begins to come to level k. */
static void send(struct run *r, int k, double position, double comes_at)
{
    struct place *p = &r->at[k];
    if (p->coming >= 0)
        return; /* an older one is still on its way and goes on */
    p->coming = position;
    p->comes_at = comes_at;
    if (comes_at <= r->now) {
        p->safe = position;
        p->coming = -1;
    }
}

static void settle(struct run *r)
{
    for (int k = 0; k < r->s->n; k++) {
        struct place *p = &r->at[k];
        if (p->coming >= 0 && p->comes_at <= r->now) {
            p->safe = p->coming;
            p->coming = -1;
        }
    }
}

/* What a failure of this level leaves; returns the newest checkpoint that is still there, which restarting brings to the levels below. */
static double lose(struct run *r, int level)
{
    double back = 0;
    for (int k = level; k < r->s->n; k++)
        back = fmax(back, r->at[k].safe);
    for (int k = 0; k < r->s->n; k++) {
        struct place *p = &r->at[k];
        if (k < level || p->coming > back)
            p->coming = -1; /* there is nothing left to bring there */
    }
    return back;
}

/* The failure at next_failure, others during its restart included; then the job computes again. */
static void fail_and_restart(struct run *r)
{
    const struct sk_levels_simulation *s = r->s;
    int level = 0;
    double held = 0;
    do {
        r->now = r->next_failure;
        settle(r);
        level = r->next_level > level ? r->next_level : level;
        r->failures[r->next_level]++;
        r->total++;
        r->position = lose(r, level);
        draw_failure(r);
    } while (r->next_failure < r->now + s->levels[level].restart_seconds &&
             r->total <= s->max_failures);
    r->now += s->levels[level].restart_seconds;
    settle(r);
    for (int k = 0; k < s->n; k++) {
        struct place *p = &r->at[k];
        held += s->levels[k].cost_seconds;
        if (k < level) /* restarting has put it there */
            p->safe = r->position;
        else if (p->safe < r->position && p->coming < 0 &&
                 fmod(r->position, (double)s->every[k]) == 0)
            send(r, k, r->position, r->now + s->levels[k].latency_seconds - held);
    }
}

/* Whole patterns that nothing disturbs, but for the last one, in one step: afterwards all that was
 * under way at its start is safe. */
static void skip_patterns(struct run *r, double intervals)
{
    const struct sk_levels_simulation *s = r->s;
    double pattern = (double)s->every[s->n - 1], seconds = pattern * s->interval;
    if (fmod(r->position, pattern) != 0)
        return;
    for (int k = 0; k < s->n; k++)
        seconds += s->levels[k].cost_seconds * pattern / (double)s->every[k];
    double whole =
        fmin((r->next_failure - r->now) / seconds, (intervals - r->position) / pattern) - 1;
    if (!(whole >= 1))
        return;
    whole = floor(whole);
    r->now += whole * seconds;
    r->position += whole * pattern;
    for (int k = 0; k < s->n; k++)
        r->at[k] = (struct place){.safe = r->position, .coming = -1};
}

static double play(struct run *r, double intervals)
{
    const struct sk_levels_simulation *s = r->s;
    while (r->total <= s->max_failures) {
        skip_patterns(r, intervals);
        double next = r->position + 1, held = 0, length = s->interval;
        if (next > intervals)
            return r->now;
        for (int k = 0; k < s->n; k++)
            if (fmod(next, (double)s->every[k]) == 0)
                length += s->levels[k].cost_seconds;
        if (r->now + length > r->next_failure) {
            fail_and_restart(r);
            continue;
        }
        r->now += length;
        r->position = next;
        settle(r);
        for (int k = 0; k < s->n; k++) {
            held += s->levels[k].cost_seconds;
            if (fmod(next, (double)s->every[k]) == 0)
                send(r, k, next, r->now + s->levels[k].latency_seconds - held);
        }
    }
    return INFINITY;
}

int sk_levels_simulate(const struct sk_levels_simulation *s,
                       struct sk_levels_simulation_result *out, struct saikai_error *err)
{
    if (s->n < 1 || s->n > SK_LEVELS_MOST || !(s->interval > 0) || !(s->work > 0) || s->runs < 2)
        return sk_fail(err, SAIKAI_EINVAL,
                       "a simulation needs levels, an interval, work and two runs");
    for (int k = 0; k < s->n; k++)
        if (s->every[k] < 1 || (k && s->every[k] % s->every[k - 1]))
            return sk_fail(err, SAIKAI_EINVAL,
                           "level %d: a simulation needs each level, and each a multiple of the "
                           "one below it",
                           k);
        else if (s->levels[k].latency_seconds > s->interval * (double)s->every[k] * 2)
            return sk_fail(err, SAIKAI_EINVAL, "level %d: it is not safe before the next is made",
                           k);
    double rates[SK_LEVELS_MOST], sum = 0, squares = 0, intervals = ceil(s->work / s->interval);
    for (int k = 0; k < s->n; k++)
        rates[k] = s->levels[k].rate;
    struct sk_fleet fleet = {.nodes = (uint64_t)s->n, .rates = rates};
    struct run r = {.s = s, .ops = s->failures ? s->failures : &sk_failures_superposed};
    int rc = 0;
    r.source = r.ops->open(&fleet, s->seed);
    if (!r.source)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to simulate");
    draw_failure(&r);
    for (int i = 0; i < s->runs && !rc; i++) {
        for (int k = 0; k < s->n; k++)
            r.at[k] = (struct place){.coming = -1};
        r.now = r.position = 0;
        double wall = play(&r, intervals), x = wall / (intervals * s->interval) - 1;
        r.next_failure -= wall; /* exponential times have no memory */
        sum += x;
        squares += x * x;
        if (isinf(wall))
            rc = sk_fail(err, SAIKAI_ELOST, "the job gets nowhere: %llu failures in %d runs",
                         (unsigned long long)r.total, i + 1);
    }
    r.ops->close(r.source);
    if (rc)
        return rc;
    double n = s->runs, mean = sum / n;
    *out = (struct sk_levels_simulation_result){
        .overhead = mean, .overhead_error = sqrt(fmax(0, squares / n - mean * mean) / (n - 1))};
    for (int k = 0; k < s->n; k++)
        out->failures[k] = r.failures[k];
    return 0;
}
