/* The node-local directories of this job: found, taken and let go. */
#ifndef SK_LIB_START_HOLD_LOCAL_H
#define SK_LIB_START_HOLD_LOCAL_H

#include "lib/start/start.h"

/* Collective, when the prefix cannot be asked: the store of st->job.name and st->prefix that the nodes know, into
 * st. SAIKAI_ENOENT: none of them does. */
int sk_local_find(struct sk_session *s, struct sk_start *st, struct saikai_error *err);
/* This user's directory below the node-local one, "" when there is none. */
void sk_local_user(const struct sk_session *s, char *out, size_t cap);
/* 1: a store of this name and place waits in the user's directory for a prefix that takes files: its id into *store. */
int sk_local_unclaimed(const char *user, const char *name, const char *place, struct sk_id *store);
/* Collective: take the node-local directories for this job, after they were made. Without a prefix also agree on
 * the store's id, which then stands in them alone. */
int sk_local_take(struct sk_session *s, struct sk_start *st, struct saikai_error *err);
/* Let go; remove != 0: this rank's files are gone, and the last one of the node removes the directory. */
void sk_local_release(struct sk_session *s, int remove);

#endif
