/* The collectives of the protocols `logging` and `replication`, made of messages that are kept. */
#ifndef SK_WORLD_LOG_COLLECTIVE_H
#define SK_WORLD_LOG_COLLECTIVE_H

#include "world/comms/members.h"
#include "world/layer.h"
#include "world/log/later/steps.h"

/* Until this is said with NULL, none of the following is done, and its steps are added here. */
void sk_logging_note(struct sk_steps *steps);
/* As MPI's, for the members of a communicator. */
int sk_logging_Barrier(struct sk_members *g);
int sk_logging_Bcast(struct sk_members *g, void *buf, int count, MPI_Datatype type, int root);
int sk_logging_Reduce(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root);
int sk_logging_Allreduce(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op);
int sk_logging_Gather(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root);
int sk_logging_Gatherv(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *displs, MPI_Datatype tr, int root);
int sk_logging_Scatter(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root);
int sk_logging_Scatterv(struct sk_members *g, const void *send, const int *ns, const int *displs, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root);
int sk_logging_Allgather(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr);
int sk_logging_Allgatherv(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *displs, MPI_Datatype tr);
int sk_logging_Alltoall(struct sk_members *g, const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr);
int sk_logging_Alltoallv(struct sk_members *g, const void *send, const int *ns, const int *ds, MPI_Datatype ts, void *recv, const int *nr, const int *dr,
                     MPI_Datatype tr);
int sk_logging_Alltoallw(struct sk_members *g, const void *send, const int *ns, const int *ds, const MPI_Datatype *ts, void *recv, const int *nr,
                         const int *dr, const MPI_Datatype *tr);
int sk_logging_Scan(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op);
int sk_logging_Exscan(struct sk_members *g, const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op);
int sk_logging_Reduce_scatter(struct sk_members *g, const void *send, void *recv, const int *nr, MPI_Datatype type, MPI_Op op);
int sk_logging_Reduce_scatter_block(struct sk_members *g, const void *send, void *recv, int nr, MPI_Datatype type, MPI_Op op);
/* The same bytes of each, by rank. own: which of the layer's own tags. */
int sk_logging_tell_all(struct sk_members *g, int own, const void *mine, size_t bytes, void *all);

#endif
