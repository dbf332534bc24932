/* Messages between copies, for the program and for collectives. */
#ifndef SK_WORLD_REPLICA_MESSAGE_H
#define SK_WORLD_REPLICA_MESSAGE_H

#include "world/comms/made.h"
#include "world/log/log.h"
#include "world/replica/replica.h"

/* As which communicator the program knows a receive. */
struct sk_replica_known {
    MPI_Comm comm;
    struct sk_members *members;
};

/* The members, if each rank is two processes that both get the messages of this communicator. */
static inline struct sk_members *sk_replicates_on(MPI_Comm c)
{
    return __builtin_expect(sk_world.replicates, 0) ? sk_made_members(c) : NULL;
}
/* How a copy of a rank is reached. */
int sk_replica_reach(int copy, int rank, int context, MPI_Comm *comm);
/* What the program names in communicator c with these members, as a rank of the world, a tag and a lane. receives: also any. 0, or the error that the
 * program's error handler was told of. */
int sk_replica_address(struct sk_members *g, MPI_Comm c, int *peer, int *tag, int receives, int *lane);
/* By the members of a receive's communicator the program is told of it, NULL: those of the world. */
int sk_replica_send(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag, int context);
int sk_replica_isend(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag, int context, MPI_Request *out);
/* Of what is kept: it is under way, and the memory may be used again. */
void sk_replica_begin_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, int context);
int sk_replica_irecv(struct sk_members *g, MPI_Comm comm, void *buf, int count, MPI_Datatype type, int source, int tag, int context, MPI_Request *out);
/* 1: the receive that this request stands for has not ended. MPI, asked for that, would first let others have the core. */
int sk_replica_receives(MPI_Request handle);
int sk_replica_recv(const struct sk_replica_known *as, void *buf, int count, MPI_Datatype type, int source, int tag, int context, MPI_Status *status);
int sk_replica_exchange(const struct sk_replica_known *as, const void *send, int nsend, MPI_Datatype stype, int dest, int stag, int scontext, void *recv, int nrecv,
                        MPI_Datatype rtype, int source, int rtag, int rcontext, MPI_Status *status);
/* A message of what is kept, to one copy. */
void sk_replica_send_kept(struct sk_copied *m, int copy, int rank);
/* It is no longer under way to this copy. */
void sk_replica_is_out(struct sk_copied *m, int copy);
/* What MPI has had no room for may have been sent: whoever may be the one to get it is rung. */
void sk_replica_look_after_crowd(void);
/* Of synchronous sends, those whose messages have arrived. */
void sk_replica_end_sends(void);
/* Post, or post again. */
void sk_replica_begin_receive(struct sk_replica_open *o);
void sk_replica_end_receive(struct sk_replica_open *o, int rc);
int sk_replica_is_over(struct sk_copied *m);
/* 1: it has no message, and neither has one behind it in its channel; MPI gives none to any of them before they are put back, or this one ends as one that was
 * taken back, and those behind it get the messages before theirs. 0: it has one, or is getting it. */
int sk_replica_withdraw(struct sk_replica_open *o);
void sk_replica_put_back(void);
void sk_replica_drop(struct sk_replica_open *o);
/* 1: the receive that this request stands for was taken back. */
int sk_replica_was_taken(MPI_Request r);

#endif
