/* How generations come from one level to the next. */
#ifndef SK_LIB_RUN_WALK_H
#define SK_LIB_RUN_WALK_H

#include "lib/session/session.h"

/* What this rank says of its levels; and what follows from the least of what all said: what has arrived is marked, and
 * retires what it replaces, and what is due is sent on. due: bits 1 << place. tick, cost: as sk_pace_hear. At the same tick on all
 * ranks. */
void sk_walk_tell(struct sk_session *s, int64_t *word);
void sk_walk_on(struct sk_session *s, const int64_t *least, unsigned due, double tick, double cost);
/* All ranks have this generation in this place; 0: the restored one. */
void sk_walk_arrived(struct sk_session *s, enum sk_level_place place, int64_t seq);
/* Bring a generation that is complete to a level, whatever is due; when nothing is on its way there. Does not block. */
void sk_walk_bring(struct sk_session *s, enum sk_level_place place, int64_t seq);

#endif
