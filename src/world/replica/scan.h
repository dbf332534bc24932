/* Collectives that the protocol `logging` does not have, made of messages, where each rank is two processes. */
#ifndef SK_WORLD_REPLICA_SCAN_H
#define SK_WORLD_REPLICA_SCAN_H

#include "world/comms/members.h"
#include "world/layer.h"

/* As MPI's, for the members of a communicator. All processes compute with the same operands in the same order. */
int sk_replica_Scan(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op);
int sk_replica_Exscan(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op);
int sk_replica_Reduce_scatter(struct sk_members *g, const void *send, void *recv, const int *nr, MPI_Datatype type, MPI_Op op);
int sk_replica_Reduce_scatter_block(struct sk_members *g, const void *send, void *recv, int nr, MPI_Datatype type, MPI_Op op);

#endif
