/* The number of this start of the job. */
#ifndef SK_LIB_START_INCARNATION_H
#define SK_LIB_START_INCARNATION_H

#include "lib/start/start.h"

/* Every rank: the highest incarnation of which it finds a file on its node into *newest. */
int sk_incarnation_scan(struct sk_session *s, int64_t *newest, struct saikai_error *err);
/* Rank 0: begin a new incarnation, above newest, in s->who.state and where it is kept. */
int sk_incarnation_begin(struct sk_session *s, struct sk_start *st, int64_t newest, struct saikai_error *err);

#endif
