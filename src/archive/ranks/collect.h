/* Archives made by many ranks: N ranks with files, M writers, and back to any number of ranks. */
#ifndef SK_ARCHIVE_RANKS_COLLECT_H
#define SK_ARCHIVE_RANKS_COLLECT_H

#include "archive/write/create.h"
#include "archive/file/set.h"
#include "group/group.h"

struct sk_writers;

enum sk_order { SK_ORDER_RANK = 0, SK_ORDER_NODE };

struct sk_collect_options {
    struct sk_archive_options archive; /* memory_bytes: of each writer; previous is not used */
    int previous;                      /* 1: each archive builds on one of the newest whole set in
                                        * the directory, if there is one and its chain is not full */
    int writers;                       /* M; 0: by group */
    int group;        /* ranks that share a writer; 0 with writers 0: one writer per node */
    int order;        /* enum sk_order: who shares a writer, ranks in a row or those of a node */
    const char *host; /* name of this rank's node, NULL: the machine's */
    /* who shares a writer, of sk_writers_form over the same group with these options; NULL: formed for this archive, for which the
     * ranks block until all have come */
    const struct sk_writers *formed;
};

/* Collective: write all ranks' inputs as a new set into dir (created; on a file system that all
 * writers see), one archive per writer, then remove older sets but for what the new one builds on.
 * A file that several ranks name and that is the same one is given by one of them; different files
 * of one name are an error. Blocks; starts threads; only the calling thread speaks over the group.
 * One verdict for all ranks: after a failure the older set is whole and the new one is gone. Fails
 * as sk_archive_create, and with SAIKAI_EPEER, SAIKAI_EMPI, SAIKAI_EEXIST (another program is
 * making a set there). stats (of all ranks together) and made may be NULL. */
int sk_collect_create(struct sk_group *g, const char *dir, const struct sk_archive_input *inputs,
                      size_t count, const struct sk_collect_options *o,
                      struct sk_archive_stats *stats, struct sk_ska_set *made,
                      struct saikai_error *err);

#endif
