/* The receives that have not ended (sk_replica.first), in the order in which they were begun. There may be very many, so nothing that is done for one of them looks at all
 * others: those that wait to be given to MPI stand behind a place that is known. */
#ifndef SK_WORLD_REPLICA_RECEIVES_LIST_H
#define SK_WORLD_REPLICA_RECEIVES_LIST_H

#include "world/replica/replica.h"

/* At the end, and out of it. */
void sk_receives_add(struct sk_replica_open *o);
void sk_receives_remove(struct sk_replica_open *o);
/* The first that MPI has not been given, or that was taken from it for a moment (out); NULL: there is none. */
struct sk_replica_open *sk_receives_first_waiting(void);
/* One was taken from MPI. */
void sk_receives_look_again(void);
/* 1: it must not be posted before another one is that might get its message. */
int sk_receives_is_behind(const struct sk_replica_open *o);
/* 1: a message with this lane, source and tag may be that of a receive which is not posted yet, and stands before this one (NULL: of any). */
int sk_receives_is_claimed(const struct sk_replica_open *before, int context, int source, int tag);

#endif
