/* Is a host there at all? Asked by a connection to its port 22: both an answer and a refusal prove
 * that its kernel lives. Firewalls may swallow the question, so silence proves something only of
 * hosts that have answered before. */
#ifndef SK_RECOVERY_PROBE_H
#define SK_RECOVERY_PROBE_H

#include "recovery/hosts.h"

struct sk_probe;

/* Looks the names up (may ask a name server). NULL: out of memory. */
struct sk_probe *sk_probe_new(const struct sk_hosts *h);
void sk_probe_free(struct sk_probe *p); /* NULL is accepted */

/* answers[i] = 1 for each host that answers within timeout_s, else 0. Asks all at once; returns as
 * soon as all have answered. */
void sk_probe_ask(struct sk_probe *p, double timeout_s, char *answers);

#endif
