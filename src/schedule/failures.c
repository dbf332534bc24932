#include "schedule/failures.h"

#include "schedule/random.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct sk_failures_ops *const forms[] = {&sk_failures_superposed,
                                                          &sk_failures_per_node};

const struct sk_failures_ops *sk_failures_at(int i)
{
    return i >= 0 && i < (int)(sizeof forms / sizeof *forms) ? forms[i] : NULL;
}

SK_KIND(sk_failures_kind, "failures", "source of simulated failures", struct sk_failures_ops, sk_failures_at, description);

const struct sk_failures_ops *sk_failures_find(const char *name)
{
    return sk_failures_at(sk_kind_form(&sk_failures_kind, name));
}

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
