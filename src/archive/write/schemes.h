/* From a plan to a written file. What makes an archive of the files of this process (create.c) and what makes one of those of many
 * ranks (ranks/collect.c) share it. */
#ifndef SK_ARCHIVE_WRITE_SCHEMES_H
#define SK_ARCHIVE_WRITE_SCHEMES_H

#include "archive/plan/plan.h"

enum { SK_ARCHIVE_THREADS = 64 }; /* that compress, at most */

/* Fill in what the options leave open and the number of threads. */
void sk_ska_plan_options(struct sk_ska_plan *p, const struct sk_archive_options *opt);
/* Cut the listed files, read, compress and write them into an open, empty file; it is synced unless
 * the options say no. `name` is for messages. Blocks; starts threads. */
int sk_ska_plan_write(struct sk_ska_plan *p, int fd, const char *name, struct sk_archive_stats *st,
                      struct saikai_error *err);

#endif
