/* Messages between copies, for the program and for collectives. */
#ifndef SK_WORLD_REPLICA_MESSAGE_H
#define SK_WORLD_REPLICA_MESSAGE_H

#include "world/replica/replica.h"

/* How a copy of a rank is reached. */
int sk_replica_reach(int copy, int rank, int context, MPI_Comm *comm);
/* What comes is taken in. Never blocks. */
void sk_replica_turn(void);
int sk_replica_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, int context);
int sk_replica_isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Request *out);
int sk_replica_irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Request *out);
int sk_replica_recv(void *buf, int count, MPI_Datatype type, int source, int tag, int context, MPI_Status *status);
int sk_replica_exchange(const void *send, int nsend, MPI_Datatype stype, int dest, int stag, void *recv, int nrecv, MPI_Datatype rtype,
                        int source, int rtag, int context, MPI_Status *status);
/* A message of what is kept, to one copy. */
void sk_replica_send_kept(struct sk_copied *m, int copy, int rank);
/* Post, or post again. */
void sk_replica_begin_receive(struct sk_replica_open *o);
void sk_replica_end_receive(struct sk_replica_open *o, int rc);
int sk_replica_is_over(struct sk_copied *m);
/* 1: it must not be posted before another one is that might get its message. */
int sk_replica_is_behind(const struct sk_replica_open *o);
/* 1: a message of the program with this source and tag may be that of a receive which is not posted yet, and stands before this one (NULL: of any). */
int sk_replica_is_claimed(const struct sk_replica_open *before, int source, int tag);

#endif
