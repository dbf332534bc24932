/* The rate from what was believed and what was suffered taken together, and the longest interval
 * of a job that is young or died early. */
#include "schedule/failure/suffered.h"

#include "schedule/learn/belief.h"

#include <math.h>

double sk_suffered_rate(double mtbf, const struct sk_suffered *s)
{
    struct sk_belief seen = {fmax(s->faults, 0), fmax(s->seconds, 0)};
    return sk_belief_mean(sk_belief_with(sk_belief_prior(mtbf, 1), seen));
}

/* The best interval of a job of which nothing else is known, seconds. */
static double best_when_young(const struct sk_suffered *s, double ran, double cost)
{
    return sqrt(2 * fmax(cost, 0) * (fmax(s->seconds, 0) + ran) / (fmax(s->faults, 0) + 1));
}

int64_t sk_suffered_most(const struct sk_suffered *s, int64_t candidates, const struct sk_suffered_costs *c)
{
    double half = (double)candidates / 2, least = 1, young = INFINITY;
    if (c->iteration_time > 0) {
        young = best_when_young(s, (double)candidates * c->iteration_time, c->cost) / c->iteration_time;
        least = ceil(fmax(fmax(c->cost, 0) / SK_MODEST_SHARE, fmax(c->latency, 0) / SK_BESIDE_SHARE) / c->iteration_time);
    }
    if (s->faults > 0)
        least = fmin(least, young);
    if (s->last_candidates > 0)
        least = fmin(least, (double)s->last_candidates / 2);
    double most = fmax(1, floor(fmax(fmin(half, young), least)));
    return most < (double)(INT64_MAX / 8) ? (int64_t)most : INT64_MAX / 8;
}
