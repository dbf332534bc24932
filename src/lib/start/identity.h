/* Which job this is, and its place in the prefix. */
#ifndef SK_LIB_START_IDENTITY_H
#define SK_LIB_START_IDENTITY_H

#include "lib/start/start.h"

/* Rank 0: what the job is called; without a prefix also a store's id, should it have none yet. */
int sk_identity_name(struct sk_session *s, struct sk_start *st, const char *program, struct saikai_error *err);
/* Rank 0: the job's place in the prefix and its store's id; takes the lease of the place. SAIKAI_EBUSY: another job has it;
 * SAIKAI_ETIMEDOUT: the prefix does not answer. A prefix that takes no files leaves the store unclaimed. */
int sk_identity_find(struct sk_session *s, struct sk_start *st, struct saikai_error *err);
/* Rank 0: the store is known, and nothing is held yet since the prefix is away: the lease is taken when it is back. */
int sk_identity_wait(struct sk_session *s, const struct sk_start *st, struct saikai_error *err);

#endif
