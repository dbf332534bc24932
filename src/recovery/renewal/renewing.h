/* A job that goes slower since a repair in place is started again from its next checkpoint, when that costs less. */
#ifndef SK_RECOVERY_RENEWING_H
#define SK_RECOVERY_RENEWING_H

#include "recovery/repair/supervisor_parts.h"

/* How far the job is; 0: not all ranks are where candidates are reached, and *g is not filled. */
int sk_supervisor_gait(const struct sk_supervisor *s, struct sk_gait *g);
/* When all is well: see how fast the job is, and ask for the checkpoint from which it is to go on. 1: that is there, and all is cleared. */
int sk_supervisor_tick_renew(struct sk_supervisor *s, double now);

#endif
