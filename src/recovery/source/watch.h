/* The sources of events of a job, each in a process beside `saikai run`, and what is heard of them. */
#ifndef SK_RECOVERY_WATCH_H
#define SK_RECOVERY_WATCH_H

#include "base/config/config.h"
#include "recovery/hosts.h"

#include <stdint.h>

struct sk_watch;

/* Begin the sources that events.sources wants (NULL in *out: there is none). told_hosts: the hosts are a list; 0: this one alone. launcher: its path. run: the
 * number of this `saikai run` in the leases of stores. To be called while the process has one thread: it forks. SAIKAI_ECONFIG:
 * events.sources names what there is not. */
int sk_watch_new(const struct sk_config *c, const struct sk_hosts *hosts, int told_hosts, const char *launcher, uint64_t run,
                 struct sk_watch **out, struct saikai_error *err);
/* Take what they said; says what is new of hosts (recovery/fault/unwell.h), and once of each source that it has ended or is silent. Never
 * blocks. NULL is accepted, here and below. */
void sk_watch_tick(struct sk_watch *w, double now);
/* Ends them and what they started. */
void sk_watch_free(struct sk_watch *w);

#endif
