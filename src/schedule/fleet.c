/* The nodes of a simulation. */
#include "schedule/fleet.h"

#include <math.h>
#include <stddef.h>

double sk_fleet_rate(const struct sk_fleet *f)
{
    if (!f->rates)
        return (double)f->nodes * f->rate;
    double sum = 0, carry = 0; /* a million small terms: compensated */
    for (uint64_t i = 0; i < f->nodes; i++) {
        double y = f->rates[i] - carry, t = sum + y;
        carry = (t - sum) - y;
        sum = t;
    }
    return sum;
}
