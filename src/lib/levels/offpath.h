/* Off the path: collective work that the program does not wait for.
 *
 * All ranks submit the same works in the same order, at the same ticks. Where MPI allows several
 * threads, a thread of the rank does them one after the other, on a group of its own. Elsewhere the
 * program's thread does them in slices, at candidates: what blocks (begin and finish) at ticks that
 * all ranks agree on, what does not (step) at any candidate.
 *
 * A work is finished when its end is known on all ranks. That is learnt by the session's poll,
 * which carries the minimum over the ranks of sk_offpath_ready and sk_offpath_ended, so that all
 * decisions that follow are the same everywhere. Works are numbered 1, 2, … in the order of
 * submission, the same on all ranks.
 *
 * One offpath does one work at a time; what must not wait for each other has an offpath each. */
#ifndef SK_LIB_OFFPATH_H
#define SK_LIB_OFFPATH_H

#include "group/group.h"

enum { SK_OFFPATH_MOST = 8 };

struct sk_offpath;

/* One kind of work. begin, finish and end are called once each, by the same thread. */
struct sk_offwork_ops {
    const char *name; /* for messages */
    /* Collective over the offpath's ranks, blocking; short. 0 on all ranks, or a negative code on
     * all. NULL: nothing. */
    int (*begin)(void *work, struct saikai_error *err);
    /* Local: go on as far as is possible without waiting for others. *done 1: only finish remains.
     * Called only where work is done in slices, until it is done. A negative code: the ranks lost
     * contact, and end is the next call. NULL: nothing. */
    int (*step)(void *work, int *done, struct saikai_error *err);
    /* Collective, blocking: do what is left. Not called when begin or step failed. */
    int (*finish)(void *work, struct saikai_error *err);
    /* Local, always the last call, also when nothing was begun: take the result (rc 0 or the
     * failure), free the work. */
    void (*end)(void *work, int rc, const struct saikai_error *err);
};

/* Collective over g, which stays the caller's, blocking. slices 1: never by a thread. NULL in *out
 * after a failure. */
int sk_offpath_new(struct sk_group *g, int slices, struct sk_offpath **out,
                   struct saikai_error *err);
/* Local: stop the work as sk_offpath_free does, but keep its group, so that what was split from it
 * can be freed before. */
void sk_offpath_stop(struct sk_offpath *o);
/* Local: give up. What waits for other ranks stops waiting and ends with SAIKAI_EPEER; works not
 * begun end so, too. For an orderly end, drain before (and over MPI, always). NULL is accepted. */
void sk_offpath_free(struct sk_offpath *o);
/* The same when a work hangs on some rank, and groups cannot be freed: `user`, which has those that were split from this one, stays
 * reachable and must not be freed. 1: a work hangs here, and goes on alone with all that it uses. */
int sk_offpath_give_up(struct sk_offpath *o, void *user);
/* Collective, blocking: until all works have ended here. */
void sk_offpath_drain(struct sk_offpath *o);
/* Local: for so long at most; 1: all works have ended here. Works in slices are waited for whatever they take, collectively. */
int sk_offpath_wait(struct sk_offpath *o, double seconds);

/* The group that works use, and that groups for them are split from, by the session before the first work: a work that would split it
 * could not be stopped while it waits for ranks that do not come. */
struct sk_group *sk_offpath_group(struct sk_offpath *o);

/* Collective in the sense that all ranks call it at the same tick. Takes work over. In slices it
 * may begin at once, and then blocks shortly. Returns the number of the work. There must never be
 * more than SK_OFFPATH_MOST works that have not ended on all ranks (nothing is allocated here, so
 * that no rank can fail alone). */
int64_t sk_offpath_submit(struct sk_offpath *o, const struct sk_offwork_ops *ops, void *work);

/* Local: numbers of the newest works that only need to be finished here, and that have ended here.
 */
int64_t sk_offpath_ready(struct sk_offpath *o);
int64_t sk_offpath_ended(struct sk_offpath *o);
/* 1: the program's thread should call sk_offpath_slice at every candidate. Local. */
int sk_offpath_wants_slices(struct sk_offpath *o);
/* Local, at a candidate: step for about so long (at least once). */
void sk_offpath_slice(struct sk_offpath *o, double seconds);
/* At a tick that is the same on all ranks: ready is the minimum over them. In slices, a work that
 * is ready everywhere is finished here, blocking, and the next one begun. */
void sk_offpath_agree(struct sk_offpath *o, int64_t ready);

#endif
