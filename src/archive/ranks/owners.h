/* Which rank gives a file that several of them see. */
#ifndef SK_ARCHIVE_RANKS_OWNERS_H
#define SK_ARCHIVE_RANKS_OWNERS_H

#include "archive/plan/feed.h"
#include "group/group.h"

#include <stdint.h>

/* What a rank has, as it tells rank 0. */
struct sk_file_owner {
    const char *name;
    uint64_t size, inode;
    int64_t mtime_ns;
    int rank;
    uint32_t index;
};
/* Append a rank's message to an array to be freed; names stay in data. Hostile input. Fails with
 * SAIKAI_EDAMAGED, SAIKAI_ENOMEM. */
int sk_owners_read(const void *data, size_t n, int rank, struct sk_file_owner **list, size_t *count);

/* Collective, blocking: keep[i] of every rank says whether it gives its file i. A file that several
 * ranks name and that is the same one (inode, size and time) is given by the one of them with the
 * fewest bytes so far. One verdict; SAIKAI_EINVAL: different files of one name; SAIKAI_ENOMEM,
 * SAIKAI_EMPI, SAIKAI_EPEER. */
int sk_owners_settle(struct sk_group *g, const struct sk_feed_local *all, uint8_t *keep,
                     struct saikai_error *err);

#endif
