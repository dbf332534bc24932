/* Counting faults in a row without progress. */
#include "recovery/repair/barren.h"

struct sk_barren sk_barren_next(struct sk_barren b, const struct sk_fault *f)
{
    return (struct sk_barren){b.all + 1, b.own + !sk_fault_may_be_chance(f)};
}

int sk_barren_enough(struct sk_barren b, int limit)
{
    return limit > 0 && (b.own >= limit || b.all / 2 >= limit);
}
