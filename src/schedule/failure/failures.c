/* The table of failure sources, and finding one by name. */
#include "schedule/failure/failures.h"

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
