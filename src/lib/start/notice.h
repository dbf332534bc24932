/* What a start says: one line, by rank 0, at the level that is shown by default. */
#ifndef SK_LIB_NOTICE_H
#define SK_LIB_NOTICE_H

#include "lib/session/session.h"

/* It goes on from s->resume.from. form: "protected copy", "node-local copy" …; in the node-local directory or in the prefix. */
void sk_notice_resumed(const struct sk_session *s, const char *form, int in_local);
/* It begins anew. passed_over: iteration of the newest generation that is there but cannot be used, -1: none. */
void sk_notice_fresh(const struct sk_session *s, int64_t passed_over);
/* First rank of a node: directories of stores that are gone are removed beyond what may stay of them. Told by rank 0 for its
 * node, as far as they are of this store's place, or removed. */
void sk_notice_leftovers(const struct sk_session *s);

#endif
