/* A second copy that can go no further: the program does what is not replicated, and MPI has no world of second copies to do it in, or one on other
 * hosts, where memory is shared between other ranks. */
#ifndef SK_WORLD_REPLICA_LEAVE_H
#define SK_WORLD_REPLICA_LEAVE_H

#include "world/replica/replica.h"

/* 1: this process is one that would leave then. */
static inline int sk_replica_leaves(void)
{
    return sk_replica.copy && (sk_replica_is_partial() || sk_replica.apart);
}
/* After what was refused; returns where there is a world for it. */
void sk_replica_leave(void);
/* The same where no process knows of the others' copies: nothing is replicated from MPI_Init on. */
void sk_replica_leave_at_once(void);

#endif
