/* Archives of checkpoint files: many files into one `.ska`, and back byte for byte.
 *
 * Data-aware aggregation after Islam et al., "mcrEngine: A Scalable Checkpointing System Using
 * Data-Aware Aggregation and Compression" (SC'12): variables of the same meaning in many files are
 * brought together before they are compressed (sections III-A and III-B). The scheme `auto` goes on
 * from there: shapes, neighbours and relations between variables predict values, and samples decide
 * per class what is used. */
#ifndef SK_ARCHIVE_LOCAL_ARCHIVE_H
#define SK_ARCHIVE_LOCAL_ARCHIVE_H

#include "archive/file/ska.h"
#include "archive/plan/options.h"

/* Write the inputs into a new archive at `out` (replaced when it exists): temporary name, sync,
 * rename. Local; blocks; starts threads. A file that changes while it is read is an error. After a
 * failure nothing of it is left and an older archive is untouched. One that another archive beside
 * it builds on is not replaced (SAIKAI_EEXIST). Fails with SAIKAI_EIO, SAIKAI_ENOSPC,
 * SAIKAI_ENOENT, SAIKAI_ECHANGED, SAIKAI_EINVAL, SAIKAI_ENOMEM, and as sk_unpack_block when the
 * previous archive cannot be read. stats may be NULL.
 */
int sk_archive_create(const char *out, const struct sk_archive_input *inputs, size_t count,
                      const struct sk_archive_options *opt, struct sk_archive_stats *stats,
                      struct saikai_error *err);

/* Restore the files of an archive below dir (created), or those whose name matches the glob `only`
 * (NULL: all). Each file is written under a temporary name, checked against the stored hashes,
 * synced and renamed. dir NULL: decode and check, write nothing. Damage costs the files that have
 * bytes in the damaged block: all others are restored, and the result is SAIKAI_EDAMAGED (or
 * SAIKAI_ENOTSUP: a codec that this build lacks), with stats of what came back. Fails with
 * SAIKAI_EFORMAT, SAIKAI_EIO, SAIKAI_ENOSPC, SAIKAI_ENOENT (no such file in it),
 * SAIKAI_ENOMEM. */
struct sk_extract_options {
    const char *only;
    /* more names: only files that match one of them, or lie below it; none: all. And those of which
     * none is restored. A member that matches nothing is SAIKAI_ENOENT. */
    const char *const *members, *const *exclude;
    int member_count, exclude_count;
    int threads, no_sync;
    uint64_t memory_bytes; /* as above */
    /* an archive of another store than these is SAIKAI_EDAMAGED, and not used; none given: any is */
    const struct sk_id *stores;
    int store_count;
    /* NULL: everything. Else only segments of classes for which it says 1 are restored, and what is
     * of others stays a hole in the files. */
    int (*wants_class)(void *arg, const struct sk_ska_class *c);
    void *arg;
    /* NULL, or told of each damaged block (file NULL, why) and, at the end, of each file that was
     * left out (why NULL); one call at a time, from any thread */
    void (*damaged)(void *arg, const char *file, const char *why);
    /* NULL, or told how many of how many bytes are done; one call at a time, from any thread */
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};
int sk_archive_extract(const char *path, const char *dir, const struct sk_extract_options *opt,
                       struct sk_archive_stats *stats, struct saikai_error *err);

#endif
