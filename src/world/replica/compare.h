/* Messages of twins compared by hash (run.compare). */
#ifndef SK_WORLD_REPLICA_COMPARE_H
#define SK_WORLD_REPLICA_COMPARE_H

#include "world/replica/replica.h"

/* This process has a message for a rank; m is as it is sent. */
void sk_compare_sent(int dest, const struct sk_copied *m);
/* In the lead: its twin says what it has sent. */
void sk_compare_take(const uint64_t *word, int n);
/* Nothing else is to be done: what is still to be told may be told now. */
void sk_compare_idle(void);
/* In the twin: tell all. */
void sk_compare_flush(void);
/* In the lead, when its twin has said that it is at its end: nothing must be left. */
void sk_compare_end(void);

#endif
