/* Files out of an archive, byte for byte. */
#ifndef SK_ARCHIVE_READ_EXTRACT_H
#define SK_ARCHIVE_READ_EXTRACT_H

#include "archive/file/ska.h"
#include "archive/plan/options.h"

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
    int sweeps; /* 1: what a restore that was killed left below dir is removed, and what this one would leave is noted there (file/parts.h) */
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
