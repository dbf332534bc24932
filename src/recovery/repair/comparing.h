/* The two processes of a rank have sent different messages: what the supervisor does about it. */
#ifndef SK_RECOVERY_COMPARING_H
#define SK_RECOVERY_COMPARING_H

#include "recovery/repair/supervisor_parts.h"

/* Tell of the first difference of each rank in this start. 1: the job is not to go on with it, and all is cleared. */
int sk_supervisor_tick_compare(struct sk_supervisor *s, double now);

#endif
