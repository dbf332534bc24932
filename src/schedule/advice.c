/* Turns the model's interval into whole iterations within the user's limits, and follows measured
 * costs when they have moved far enough. */
#include "schedule/advice.h"

#include <math.h>

/* Numbers of iterations beyond this mean "never" in practice, and stay clear of overflow in sums.
 */
#define MOST_ITERATIONS (INT64_MAX / 8)
/* What a clock cannot resolve. */
#define LEAST_TIME 1e-9

/* Whole iterations within this many seconds, at least 1. A quotient that is a whole number but for
 * rounding counts as that number: 10 s hold 100 iterations of 0.1 s. */
static int64_t iterations_within(double seconds, double iteration_time)
{
    return (int64_t)fmin(fmax(floor(seconds / iteration_time * (1 + 1e-12)), 1), (double)MOST_ITERATIONS); /* fmax: 1 for what is no number */
}

int64_t sk_advice_every(const struct sk_advice_policy *p, double cost, double iteration_time)
{
    if (p->every > 0)
        return p->every;
    iteration_time = fmax(iteration_time, LEAST_TIME);
    if (p->interval > 0)
        return iterations_within(p->interval, iteration_time);
    double best = p->planned > 0 ? p->planned : sk_model_optimum(p->model, p->rate, cost);
    int64_t most = p->max_interval > 0 ? iterations_within(p->max_interval, iteration_time) : 0;
    if (p->most > 0 && (!most || p->most < most))
        most = p->most;
    if (!isfinite(best) || best / iteration_time >= (double)MOST_ITERATIONS)
        return most;
    int64_t m = iterations_within(best, iteration_time);
    struct sk_costs c = sk_costs_simple(p->rate, cost);
    if (p->planned > 0)
        m += best / iteration_time - (double)m > 0.5;
    else if (sk_model_overhead(&c, (double)(m + 1) * iteration_time) <
             sk_model_overhead(&c, (double)m * iteration_time))
        m++;
    return most && m > most ? most : m;
}

static struct sk_advice fixed_advice(int64_t every)
{
    return every > 0 ? (struct sk_advice){every, every} : (struct sk_advice){0, 0};
}

void sk_advice_init(struct sk_advice_state *s, const struct sk_advice_policy *policy)
{
    *s = (struct sk_advice_state){.policy = *policy, .now = fixed_advice(policy->every)};
}

static int moved(double before, double after, double threshold)
{
    return !(before > 0) || fabs(after - before) > threshold * before;
}

int sk_advice_update(struct sk_advice_state *s, double cost, double iteration_time, int64_t last,
                     int64_t earliest)
{
    if (s->policy.every > 0 || !isfinite(cost) || !isfinite(iteration_time) || cost < 0 ||
        iteration_time < 0)
        return 0;
    cost = fmax(cost, LEAST_TIME);
    iteration_time = fmax(iteration_time, LEAST_TIME);
    double threshold = s->policy.threshold;
    if (!moved(s->cost, cost, threshold) && !moved(s->iteration_time, iteration_time, threshold))
        return 0;
    s->cost = cost;
    s->iteration_time = iteration_time;
    int64_t every = sk_advice_every(&s->policy, cost, iteration_time);
    if (every == s->now.every)
        return 0;
    int64_t from = last >= 0 && every ? last + every : earliest;
    s->now = (struct sk_advice){from > earliest ? from : earliest, every};
    return 1;
}

void sk_advice_set_rate(struct sk_advice_state *s, double rate)
{
    if (!moved(s->policy.rate, rate, s->policy.threshold))
        return; /* many small changes add up to one that counts */
    s->cost = s->iteration_time = 0;
    s->policy.rate = rate;
}

int64_t sk_advice_next(struct sk_advice a, int64_t i)
{
    if (a.every <= 0)
        return SK_ADVICE_NEVER;
    if (i <= a.from)
        return a.from;
    int64_t steps = (i - a.from) / a.every + ((i - a.from) % a.every != 0);
    return steps > (INT64_MAX - a.from) / a.every ? SK_ADVICE_NEVER : a.from + steps * a.every;
}

void sk_advice_set_planned(struct sk_advice_state *s, double seconds)
{
    if (!(seconds > 0))
        seconds = 0;
    if (seconds == s->policy.planned ||
        (seconds > 0 && !moved(s->policy.planned, seconds, s->policy.threshold)))
        return;
    s->policy.planned = seconds;
    s->cost = s->iteration_time = 0;
}

void sk_advice_set_most(struct sk_advice_state *s, int64_t iterations)
{
    int64_t before = s->policy.most;
    if (iterations < 0)
        iterations = 0;
    if (iterations == before ||
        (iterations && before &&
         !moved((double)before, (double)iterations, s->policy.threshold)))
        return;
    s->policy.most = iterations;
    /* what is above the advice before and now does not bound it */
    if (!s->now.every || !iterations || iterations < s->now.every || (before && before <= s->now.every))
        s->cost = s->iteration_time = 0;
}

static double room_for_last(double margin, double cost)
{
    return fmax(margin, 2 * cost);
}

int sk_deadline_due(double remaining, double margin, double cost, double iteration_time)
{
    return remaining - iteration_time < room_for_last(margin, cost);
}

int64_t sk_deadline_iteration(int64_t iteration, double remaining, double margin, double cost,
                              double iteration_time)
{
    double spare = remaining - room_for_last(margin, cost);
    if (isinf(remaining) && remaining > 0)
        return SK_ADVICE_NEVER;
    if (!(spare >= iteration_time))
        return iteration;
    int64_t more = iterations_within(spare, fmax(iteration_time, LEAST_TIME));
    return iteration > INT64_MAX - more ? SK_ADVICE_NEVER : iteration + more;
}
