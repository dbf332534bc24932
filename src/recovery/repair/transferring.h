/* A process died whose twin goes on in its place: what the supervisor does about it. */
#ifndef SK_RECOVERY_TRANSFERRING_H
#define SK_RECOVERY_TRANSFERRING_H

#include "recovery/repair/supervisor_parts.h"

/* 1: the twins of all that are dead go on in their place; 0: they do not, and s->no_place may say why. */
int sk_supervisor_transfer(struct sk_supervisor *s, const struct sk_fault *f, double now);
/* Tell of the dead until that is heard. 1: it turned out that a twin cannot go on, and all is cleared. */
int sk_supervisor_tick_transfer(struct sk_supervisor *s, double now);
/* 1: it died, and its twin has gone on. */
int sk_supervisor_is_spent(const struct sk_supervisor *s, int rank);

#endif
