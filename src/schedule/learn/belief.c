/* The mean of a Gamma distribution, its update, and the fading of what was seen long ago. */
#include "schedule/learn/belief.h"

#include <math.h>

struct sk_belief sk_belief_prior(double mtbf, double weight)
{
    return mtbf > 0 ? (struct sk_belief){weight, weight * mtbf} : (struct sk_belief){0, 0};
}

double sk_belief_mean(struct sk_belief b)
{
    return b.faults > 0 && b.seconds > 0 ? b.faults / b.seconds : 0;
}

struct sk_belief sk_belief_with(struct sk_belief prior, struct sk_belief seen)
{
    return (struct sk_belief){prior.faults + seen.faults, prior.seconds + seen.seconds};
}

struct sk_belief sk_belief_of_one(struct sk_belief all, double weight)
{
    double rate = sk_belief_mean(all);
    return rate > 0 ? (struct sk_belief){weight, weight / rate} : (struct sk_belief){0, 0};
}

void sk_belief_time(struct sk_belief *seen, double seconds)
{
    seen->seconds += fmax(0, seconds);
}

/* Weights 1, q, q², … sum up to 1/(1 - q) = memory. */
void sk_belief_fault(struct sk_belief *seen, double memory)
{
    double keep = memory >= 1 ? 1 - 1 / memory : 1;
    seen->faults = seen->faults * keep + 1;
    seen->seconds *= keep;
}

void sk_belief_period(struct sk_belief *seen, double seconds, double faults, double memory)
{
    if (!(memory >= 1) || !(faults > 0)) {
        seen->faults += fmax(0, faults);
        seen->seconds += fmax(0, seconds);
        return;
    }
    double each = seconds / (faults + 1), last = fmin(faults, ceil(64 * memory)); /* before these nothing is left: e^-64 */
    if (last < faults)
        *seen = (struct sk_belief){0, 0};
    for (double i = 0; i < last; i++) {
        sk_belief_time(seen, each);
        sk_belief_fault(seen, memory);
    }
    sk_belief_time(seen, each);
}
