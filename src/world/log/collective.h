/* The collectives of the protocol `logging`, made of messages that are kept. */
#ifndef SK_WORLD_LOG_COLLECTIVE_H
#define SK_WORLD_LOG_COLLECTIVE_H

#include "world/layer.h"

/* As MPI's, on MPI_COMM_WORLD. */
int sk_logging_Barrier(void);
int sk_logging_Bcast(void *buf, int count, MPI_Datatype type, int root);
int sk_logging_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root);
int sk_logging_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op);
int sk_logging_Gather(const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root);
int sk_logging_Gatherv(const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *displs, MPI_Datatype tr, int root);
int sk_logging_Scatter(const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root);
int sk_logging_Scatterv(const void *send, const int *ns, const int *displs, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root);
int sk_logging_Allgather(const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr);
int sk_logging_Allgatherv(const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *displs, MPI_Datatype tr);
int sk_logging_Alltoall(const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr);
int sk_logging_Alltoallv(const void *send, const int *ns, const int *ds, MPI_Datatype ts, void *recv, const int *nr, const int *dr,
                     MPI_Datatype tr);

#endif
