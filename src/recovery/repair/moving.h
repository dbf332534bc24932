/* The answer migration: what the supervisor does before the start on other hosts. */
#ifndef SK_RECOVERY_MOVING_H
#define SK_RECOVERY_MOVING_H

#include "recovery/repair/supervisor_parts.h"

/* Send the processes that the verdict names to their nodes, and replace all hosts that are down, and the one that it leaves; `then` is
 * added to by what was done. -1: no host is left. */
int sk_supervisor_move(struct sk_supervisor *s, const struct sk_verdict *v, char *then, size_t cap);

#endif
