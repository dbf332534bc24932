/* Receives into data with gaps, in one piece at first. */
#ifndef SK_WORLD_REPLICA_GAPS_H
#define SK_WORLD_REPLICA_GAPS_H

#include "world/replica/replica.h"

/* Before it is posted, and when it has ended. -1: no memory. */
int sk_gaps_begin(struct sk_replica_open *o);
void sk_gaps_end(struct sk_replica_open *o);

#endif
