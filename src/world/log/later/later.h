/* Non-blocking collectives of the protocols `logging` and `replication`: each is a schedule (steps.h) whose messages are kept as any other, and a request that stays
 * what it is through a repair. They go on whenever the program waits or looks for something.
 *
 * All of one communicator have one tag of the layer's own and are done one after the other, in the order of the program: which message belongs to
 * which of them follows from that order alone, so a process that begins in the middle of the program needs to know nothing of those before.
 * None waits for one of another communicator, but for one that was freed and whose number that has now. */
#ifndef SK_WORLD_LOG_LATER_H
#define SK_WORLD_LOG_LATER_H

#include "world/log/log.h"
#include "world/log/later/steps.h"

/* A collective of these members begins: its steps are taken over, also when they are wrong (rc, of those who planned them). */
int sk_later_begin(struct sk_members *g, struct sk_steps *steps, int rc, MPI_Request *out);
/* The same of one that makes the communicator of the members `made`, by filling in their contexts (members.h). made_rc: an error that the program hears of
 * when it waits for it. */
int sk_later_begin_making(struct sk_members *g, struct sk_steps *steps, int rc, struct sk_members *made, int made_rc, MPI_Request *out);
/* All go on as far as they can. */
void sk_later_look(void);
/* A request of such a collective: MPI_Request_free and MPI_Cancel of it are errors. */
int sk_later_is(MPI_Request r);
/* The body of saikai_in_place begins again. */
void sk_later_forget(void);

#endif
