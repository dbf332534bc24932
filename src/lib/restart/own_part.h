/* A rank's own part of a generation, read into its variables: from its node, from the prefix, or from archives there. What is in
 * the prefix is waited for, but not for ever. */
#ifndef SK_LIB_OWN_PART_H
#define SK_LIB_OWN_PART_H

#include "lib/session/session.h"
#include "store/form/container.h"

/* A rank's own file is of another number of ranks or of other tiles: sk_reshape_read is to read the generation. */
enum { SK_OTHER_TILES = 1 };

/* Whether an open file is this job's, this rank's and of g; 0, SK_OTHER_TILES or an error. */
int sk_own_part_check(struct sk_session *s, const struct sk_container *c, struct sk_gen g, struct saikai_error *err);
/* The local copy, or the one in the prefix; 0, SK_OTHER_TILES or an error. SAIKAI_ETIMEDOUT: it is in the prefix alone, which did not
 * answer for three times store.final_wait. */
int sk_own_part_read(struct sk_session *s, struct sk_gen g, uint64_t *run_id, struct saikai_error *err);
/* Collective: ranks whose part cannot be read get it from the archives, if there are any, every rank with its own *mine, which
 * becomes what reading says then; of a prefix that does not answer, as above. Fails on the group only. */
int sk_own_part_read_archived(struct sk_session *s, struct sk_gen g, int *mine, uint64_t *run_id, struct saikai_error *err);

#endif
