/* Repeats become blocks that take their bytes from others. */
#ifndef SK_ARCHIVE_PLAN_TAKES_H
#define SK_ARCHIVE_PLAN_TAKES_H

#include "archive/plan/repeats.h"

/* After all other blocks were cut: blocks that take the repeats from them. */
int sk_takes_cut(struct sk_ska_plan *p, const struct sk_repeats *r, struct saikai_error *err);

#endif
