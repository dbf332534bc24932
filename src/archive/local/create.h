/* The inside of making an archive: from a plan to a written file. What makes one of the files of
 * this process (create.c) and what makes one of those of many ranks (ranks/collect.c) share it. */
#ifndef SK_ARCHIVE_LOCAL_CREATE_H
#define SK_ARCHIVE_LOCAL_CREATE_H

#include "archive/local/archive.h"
#include "archive/plan/plan.h"

/* delta.c: open the archive that the one that will be at `out` is to build on. When there are
 * enough in a row (options) it stands alone. Fails with SAIKAI_EINVAL (in another directory), and
 * as sk_opened_new. */
int sk_ska_plan_previous(struct sk_ska_plan *p, const char *out, const char *previous,
                         struct saikai_error *err);

enum { SK_ARCHIVE_THREADS = 64 }; /* that compress, at most */

/* Fill in what the options leave open and the number of threads. */
void sk_ska_plan_options(struct sk_ska_plan *p, const struct sk_archive_options *opt);
/* Cut the listed files, read, compress and write them into an open, empty file; it is synced unless
 * the options say no. `name` is for messages. Blocks; starts threads. */
int sk_ska_plan_write(struct sk_ska_plan *p, int fd, const char *name, struct sk_archive_stats *st,
                      struct saikai_error *err);

/* pipeline.c: read, compress and write what is cut; fd -1: it is only counted. *stored: bytes of the
 * whole archive. */
int sk_ska_plan_run(struct sk_ska_plan *p, int fd, const char *name, uint64_t *stored,
                    struct saikai_error *err);

#endif
