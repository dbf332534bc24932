/* Which hosts sources of events call not well: the memory of a monitor (recovery/fault/monitor.h). Of the thread that asks monitors. */
#ifndef SK_RECOVERY_UNWELL_H
#define SK_RECOVERY_UNWELL_H

#include "recovery/hosts.h"

#include <saikai/component.h>

/* source says that the host is not well, in these words, or is again (NULL). 1: that is new. Of more than 1024 hosts the rest is left. */
int sk_unwell_set(const char *host, const char *source, const char *why);
void sk_unwell_forget_all(void);

/* Before nodes are asked about: the hosts of the job. */
void sk_unwell_look(const struct sk_hosts *h);
/* A monitor: a spare that is not well is down; a node with ranks is, if there is a spare that is well: without one it is better than none. */
int sk_unwell_is_down(const struct saikai_node *node, char *why, size_t why_cap);

#endif
