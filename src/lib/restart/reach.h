/* Generations that are there in part, and out of reach of this job: what is missing of them. */
#ifndef SK_LIB_REACH_H
#define SK_LIB_REACH_H

#include "lib/session/session.h"

/* Collective, blocking: before a generation of key `taken` (0: none, a fresh start) is used, rank 0
 * warns when newer ones up to `most` are there in part: which the newest of them is, what of it is
 * missing, and how far the job goes back. *newest is its key, 0: there is none. Fails on the group,
 * and for want of memory. */
int sk_reach_tell(struct sk_session *s, int64_t taken, int64_t most, int64_t *newest,
                  struct saikai_error *err);

/* Collective: of how many of `ranks` ranks nobody has a file, and the lowest of them. has says what
 * this rank sees. */
int sk_reach_missing(struct sk_session *s, int64_t ranks, int (*has)(const void *arg, int rank),
                     const void *arg, int64_t *missing, int64_t *first, struct saikai_error *err);

#endif
