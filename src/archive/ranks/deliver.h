/* Files of archives, given to whichever ranks want them. */
#ifndef SK_ARCHIVE_RANKS_DELIVER_H
#define SK_ARCHIVE_RANKS_DELIVER_H

#include "archive/read/extract.h"
#include "group/group.h"

/* Which rank gets which file; the same answer on all ranks. index, files: among all files of a set;
 * -1: nobody wants it. */
typedef int sk_collect_owner(void *arg, const struct sk_ska_file *f, size_t index, size_t files,
                             int ranks);
/* Rank r of N: what rank r gave to the archive when that were N ranks too, else what ranks in the
 * same part of the row gave; of an archive without ranks, equal numbers of files. arg: an
 * int, the number of ranks that gave files. */
sk_collect_owner sk_collect_by_origin;

struct sk_deliver_options {
    struct sk_extract_options extract; /* only: files of other names are nobody's */
    sk_collect_owner *owner;           /* NULL: sk_collect_by_origin */
    void *arg;                         /* of owner, if given */
};

/* Collective: restore files of an archive, or of a directory's newest set (sk_ska_set_find), each
 * rank its own, below its dir (NULL: check only). Each block is read and decoded by one rank, which
 * gives every rank what is its own; all ranks must see the archives. Blocks; starts threads; only
 * the calling thread speaks over the group. One verdict; after a failure files may be missing, and
 * none is half there. Archives where the caller has patience (base/file/patient_io.h) are waited for no longer than that. Fails as sk_archive_extract, and with SAIKAI_EPEER, SAIKAI_EMPI. stats: of
 * all ranks; may be NULL. */
int sk_collect_extract(struct sk_group *g, const char *path, const char *dir,
                       const struct sk_deliver_options *o, struct sk_archive_stats *stats,
                       struct saikai_error *err);

#endif
