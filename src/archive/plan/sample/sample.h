/* How a family of variables is coded, chosen from samples. */
#ifndef SK_ARCHIVE_SAMPLE_SAMPLE_H
#define SK_ARCHIVE_SAMPLE_SAMPLE_H

#include "archive/plan/plan.h"

/* Choose the recipes and the order of a family's fields. */
int sk_sample_family(struct sk_ska_plan *p, struct sk_family *f, struct saikai_error *err);

#endif
