/* What earlier starts left on the nodes. */
#ifndef SK_LIB_LEFTOVERS_H
#define SK_LIB_LEFTOVERS_H

#include "lib/session/session.h"

/* After a restart, whatever came of it. Collective. */
int sk_session_remove_leftovers(struct sk_session *s);

#endif
