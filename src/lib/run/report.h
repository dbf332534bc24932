/* How the job is doing, for whoever looks into the store. */
#ifndef SK_LIB_RUN_REPORT_H
#define SK_LIB_RUN_REPORT_H

#include "lib/session/session.h"

/* Rank 0 puts up how the job is doing, unless it did a moment ago; others do nothing. Local, does not block. */
void sk_session_report(struct sk_session *s, int at_once);

#endif
