/* A second copy that has no further use: the program does what is not replicated, and a death is a restart from then on. MPI has no world of second copies
 * to do it in, or one on other hosts, where memory is shared between other ranks; and on one host Open MPI takes memory of windows that first and second
 * copies make for the same, by its name. */
#ifndef SK_WORLD_REPLICA_LEAVE_H
#define SK_WORLD_REPLICA_LEAVE_H

#include "world/replica/replica.h"

/* After what was refused; returns in a first copy alone. */
void sk_replica_leave(void);
/* The same where no process knows of the others' copies: nothing is replicated from MPI_Init on. */
void sk_replica_leave_at_once(void);

#endif
