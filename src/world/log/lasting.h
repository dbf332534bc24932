/* Persistent requests of the protocols `logging` and `replication`: the program's handle stays, and each start of it is a message or receive as any other (inner). */
#ifndef SK_WORLD_LOG_LASTING_H
#define SK_WORLD_LOG_LASTING_H

#include "world/log/log.h"

/* What MPI knows a persistent request by now: MPI_REQUEST_NULL when it was not started, or has ended. NULL: it is none of these. Valid until the
 * next request is made. */
MPI_Request *sk_lasting_inner(MPI_Request handle);
/* Start it. -1: it is none of these. */
int sk_lasting_start(MPI_Request handle);
/* It is freed, inner goes on: the handle is MPI's affair then. */
void sk_lasting_forget(MPI_Request handle);

#endif
