/* What messages and arithmetic cost here: the figures behind the choice of a transfer form. */
#ifndef SK_REDUNDANCY_COST_H
#define SK_REDUNDANCY_COST_H

#include "group/group.h"
#include "redundancy/code/form.h"

/* Figures of a common cluster, for when nothing was measured. Local. */
struct sk_link_costs sk_link_costs_usual(void);

/* Collective, blocking, about 20 ms: messages to the right-hand neighbour (all at once, as coding
 * does it) and the kernels, on this group. All ranks get the figures of the slowest. */
int sk_link_costs_measure(struct sk_group *g, struct sk_link_costs *out, struct saikai_error *err);

#endif
