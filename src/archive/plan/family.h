/* Which variables belong together. */
#ifndef SK_ARCHIVE_PLAN_FAMILY_H
#define SK_ARCHIVE_PLAN_FAMILY_H

#include "archive/plan/key.h"
#include "archive/plan/plan.h"

/* The class of a variable, added when it is new; or SAIKAI_ENOMEM. */
int sk_ska_plan_class(struct sk_ska_plan *p, const struct sk_key_rule *rule, const struct sk_extent *e);
/* Group their variables. Part of sk_ska_plan_cut. */
int sk_ska_plan_families(struct sk_ska_plan *p, struct saikai_error *err);

#endif
