/* Receives that are not given to MPI before it is known which message they get: those from MPI_ANY_SOURCE or with MPI_ANY_TAG, and those behind
 * them that could get the same ones. When a message for one has arrived, MPI is given a receive that names it. So the layer knows which
 * message each gets, all that MPI sees has a named source and tag, and MPI_ANY_TAG never takes a message of the layer's own. */
#ifndef SK_WORLD_LOG_HELD_H
#define SK_WORLD_LOG_HELD_H

#include "world/log/later/later.h"
#include "world/log/log.h"

/* 1: a receive of this message has to wait for one that is held. */
int sk_held_stands_before(int source, int tag);
/* Hold this receive. number: among those that leave their message to chance, or UINT64_MAX: it names it. */
int sk_held_add(struct sk_members *g, void *buf, int count, MPI_Datatype type, int source, int tag, uint64_t number, MPI_Request *out);
/* One that gets no message: it ends when it is given up. */
int sk_held_void(MPI_Request *out);
/* One that waits, or gets no message, has been taken back. */
void sk_held_give_up(struct sk_logging_open *o);
/* A request that ends when MPI has this message, which is synchronous. */
int sk_held_send(struct sk_kept_message *m, MPI_Request *out);
/* A request that ends when it is said so: with rc. */
int sk_held_call(struct sk_logging_open **call, MPI_Request *out);
void sk_held_called(struct sk_logging_open *call, int rc);
/* What is kept is let go of: but messages that such requests wait for stay. */
void sk_held_refuse(void);
/* MPI begins to receive the next message with this named source and tag. */
int sk_held_receive(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Request *out);
/* In a repaired world: what had come from the one before comes again. */
void sk_held_forget(void);
/* Look for messages, and for what has ended. */
void sk_held_look(void);
static inline void sk_held_progress(void)
{
    if (__builtin_expect(sk_logging.held != NULL, 0))
        sk_held_look();
    if (__builtin_expect(sk_logging.later != 0, 0))
        sk_later_look();
}
/* A message that a receive made now would get. Once, or until there is one, or an error. */
int sk_held_probe(int source, int tag, int *found, MPI_Status *status);
int sk_held_await(int source, int tag, MPI_Status *status);

#endif
