/* Reading, merging, compressing and writing, beside each other. */
#ifndef SK_ARCHIVE_WRITE_PIPELINE_H
#define SK_ARCHIVE_WRITE_PIPELINE_H

#include "archive/plan/plan.h"

/* Read, compress and write what is cut; fd -1: it is only counted. *stored: bytes of the
 * whole archive. */
int sk_ska_plan_run(struct sk_ska_plan *p, int fd, const char *name, uint64_t *stored,
                    struct saikai_error *err);

#endif
