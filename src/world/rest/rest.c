/* How long a wait may sleep between two looks. */
#include "world/rest/rest.h"

/* Whoever waits for less would pay more for falling asleep than the core is worth. */
static const double short_s = 0.002, most_s = 0.001;

double sk_rest_for(struct sk_rest *r, double now)
{
    if (r->since == 0)
        r->since = now;
    double waited = now - r->since, part = waited / 32;
    return waited < short_s ? 0 : part < most_s ? part : most_s;
}
