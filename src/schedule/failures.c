#include "schedule/failures.h"

#include "schedule/random.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct saikai_failures_ops *const forms[] = {&sk_failures_superposed,
                                                          &sk_failures_per_node};

const struct saikai_failures_ops *sk_failures_at(int i)
{
    return i >= 0 && i < (int)(sizeof forms / sizeof *forms) ? forms[i] : NULL;
}

const struct saikai_failures_ops *sk_failures_find(const char *name)
{
    for (int i = 0; sk_failures_at(i); i++)
        if (!strcmp(forms[i]->name, name))
            return forms[i];
    return NULL;
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
