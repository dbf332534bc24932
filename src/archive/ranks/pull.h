/* The feed of an aggregator: files of other ranks, pulled when they are needed.
 *
 * Rank 0 of a group asks for ranges, the others (members) answer with their bytes in pieces. Only
 * the thread that runs the messenger speaks over the group, so that any MPI will do; reading,
 * merging, compressing and writing are other threads. At most two pieces per member are under way
 * or wait. */
#ifndef SK_ARCHIVE_RANKS_PULL_H
#define SK_ARCHIVE_RANKS_PULL_H

#include "archive/plan/feed.h"
#include "group/group.h"

struct sk_pull;

/* Rank 0: a feed of files 0 … first[1]-1 (its own, of `own`), first[1] … first[2]-1 (rank 1) and so
 * on; first has size + 1 numbers and is copied. piece_bytes: of a message. */
int sk_pull_new(struct sk_group *g, struct sk_feed_local *own, const uint32_t *first,
                size_t piece_bytes, struct sk_pull **out, struct saikai_error *err);
struct sk_ska_feed *sk_pull_feed(struct sk_pull *p);
/* Collective with sk_serve of the others. Run work(arg) in a thread, carry messages until it has
 * ended, then dismiss the members. Returns what work returned, or a code of the group; 0 in place
 * of a failure that a member is to tell. Blocks. */
int sk_pull_run(struct sk_pull *p, int (*work)(void *arg, struct saikai_error *err), void *arg,
                struct saikai_error *err);
void sk_pull_free(struct sk_pull *p);

#endif
