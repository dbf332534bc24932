/* The other side of a pull (pull.h). */
#ifndef SK_ARCHIVE_RANKS_SERVE_H
#define SK_ARCHIVE_RANKS_SERVE_H

#include "archive/plan/feed.h"
#include "group/group.h"

/* Other ranks, collective with sk_pull_run of rank 0: answer it until it has dismissed us. Returns
 * the first failure to read. Blocks. */
int sk_serve(struct sk_group *g, struct sk_feed_local *own, size_t piece_bytes,
             struct saikai_error *err);

#endif
