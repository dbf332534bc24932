/* The rate from what was believed and what was suffered taken together, and the longest interval
 * after starts that died early. */
#include "schedule/failure/suffered.h"

#include <math.h>

double sk_suffered_rate(double mtbf, const struct sk_suffered *s)
{
    double seconds = fmax(mtbf, 0) + fmax(s->seconds, 0), faults = (double)s->faults + (mtbf > 0);
    return seconds > 0 && faults > 0 ? faults / seconds : 0;
}

int64_t sk_suffered_most(const struct sk_suffered *s, int64_t candidates, double cost, double iteration_time)
{
    double half = (double)candidates / 2;
    double least = iteration_time > 0 ? ceil(fmax(cost, 0) / (SK_MODEST_SHARE * iteration_time)) : 1;
    if (s->last_candidates > 0)
        least = fmin(least, (double)s->last_candidates / 2);
    double most = fmax(1, floor(fmax(half, least)));
    return most < (double)(INT64_MAX / 8) ? (int64_t)most : INT64_MAX / 8;
}
