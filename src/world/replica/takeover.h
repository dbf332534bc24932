/* What happens at a death. */
#ifndef SK_WORLD_REPLICA_TAKEOVER_H
#define SK_WORLD_REPLICA_TAKEOVER_H

#include "world/replica/replica.h"

/* The keeper has been told who is dead. */
void sk_replica_hear(void);
/* A second copy has left (leave.h): nobody has died, but nothing more comes from it. */
void sk_replica_part(int process);
void sk_replica_take_cut(int process, const uint64_t *word, int n);
void sk_replica_take_cut_end(int process);

#endif
