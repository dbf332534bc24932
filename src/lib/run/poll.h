/* The exchange of the ranks, at candidates. */
#ifndef SK_LIB_RUN_POLL_H
#define SK_LIB_RUN_POLL_H

#include "lib/session/session.h"

/* At a candidate, take up and start the exchange of the ranks when its tick has come. */
int sk_poll_step(struct sk_session *s, struct saikai_error *err);
/* Wait for the exchange under way, if any, and drop its result. */
void sk_poll_end(struct sk_session *s);

#endif
