/* Looks at what is in the prefix, which may hang: each is waited for with the session's patience, then SAIKAI_ETIMEDOUT. Where the
 * prefix is the local directory, too, there is nothing else to go on with: as long as it takes. All are local; the results are
 * those of the functions named. */
#ifndef SK_LIB_FAR_H
#define SK_LIB_FAR_H

#include "archive/read/content.h"
#include "lib/session/session.h"

/* sk_gen_scan; rank -1: of any rank. */
int sk_far_scan(struct sk_session *s, int rank, struct sk_gen_list *out, struct saikai_error *err);
/* What a level that may be there lists for this rank (levels/level.h). */
int sk_far_list(struct sk_session *s, const struct sk_level_ops *ops, struct sk_gen_list *out, struct saikai_error *err);
/* sk_archived_ranks; 0: it is not archived as a whole set. */
int sk_far_archived_ranks(struct sk_session *s, struct sk_gen gen, int *ranks, struct saikai_error *err);
/* sk_content_scan. */
int sk_far_content_scan(struct sk_session *s, struct sk_gen_list *out, struct saikai_error *err);
/* sk_content_load. */
int sk_far_content(struct sk_session *s, struct sk_gen gen, struct sk_content **out, struct saikai_error *err);

#endif
