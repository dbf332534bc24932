/* The file an archive is written to before it has its name. */
#ifndef SK_ARCHIVE_FILE_TARGET_H
#define SK_ARCHIVE_FILE_TARGET_H

#include "base/error.h"
#include "base/file/passing.h"

struct sk_target {
    int fd; /* -1: none */
    char tmp[4096];
    struct sk_passing passing;
};

/* *t must stay where it is until it is committed or dropped. Make OUT.PID.tmp, empty and locked (flock) for as long as it is open; what dead processes left of
 * the same OUT is removed. Fails with SAIKAI_EIO, SAIKAI_ENOSPC, SAIKAI_ENOENT. */
int sk_target_open(struct sk_target *t, const char *out, struct saikai_error *err);
/* Rename it to out, which it replaces; sync: wait until the name is on the disk. */
int sk_target_commit(struct sk_target *t, const char *out, int sync, struct saikai_error *err);
/* Close it, and remove it if it was not committed. */
void sk_target_drop(struct sk_target *t);

/* Remove NAME.*.tmp of dead processes from a directory, for all names that begin with prefix, which is not empty. A
 * process lives as long as its lock; where locks do not work nothing is removed. Best effort. */
void sk_target_sweep(const char *dir, const char *prefix);

#endif
