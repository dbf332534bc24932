/* The job key of the run that a keeper belongs to: from the file of the run, or from one of this host's own. Local. */
#ifndef SK_DAEMON_KEY_H
#define SK_DAEMON_KEY_H

#include "backbone/message.h"

/* SAIKAI_ENOENT: there is none so far. */
int sk_run_key_find(const struct sk_link_settings *s, uint8_t job[SK_KEY_BYTES], struct saikai_error *err);
/* What was brought to this host alone is of no more use. The other ranks here look for it as often as this one did: they have it by that time (base/clock.h),
 * or another of them removed it. Blocks until then, where there is something to remove. */
void sk_run_key_remove(const struct sk_link_settings *s, double until);

#endif
