/* A user's own directory in a place that all users share. Whoever is malicious can take its name;
 * then another is taken, and that is said. */
#include "store/owner/private.h"

#include "base/file/denied.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/file/modes.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many names are tried. */
enum { NAMES = 100 };

static int name(const char *given, int i, char *out, size_t cap, struct saikai_error *err)
{
    char suffix[16] = "";
    if (i)
        snprintf(suffix, sizeof suffix, "-%d", i);
    return sk_io_path(out, cap, err, "%s/saikai-%ld%s", given, (long)geteuid(), suffix);
}

static int is_ours(const char *path, struct stat *st)
{
    return !lstat(path, st) && S_ISDIR(st->st_mode) && st->st_uid == geteuid();
}

/* Rights that others were given by mistake, or by an earlier version, are taken back. */
static int settle(const char *path, const struct stat *st, struct saikai_error *err)
{
    int mode = sk_modes_of_directories() ? sk_modes_of_directories() : SK_MODE_PRIVATE;
    mode_t want = (mode_t)mode | (st->st_mode & S_ISGID);
    if ((st->st_mode & 07777) != want && chmod(path, want))
        return sk_fail_errno(err, errno, "cannot set the permissions of %s", path);
    sk_modes_guard(path);
    return 0;
}

void sk_private_refuse(struct saikai_error *err)
{
    if (err && sk_denied(err))
        sk_error_append(err, "; name a directory that can be written with store.local, or none to save in the prefix alone");
}

int sk_private_dir(const char *given, int make, char *out, size_t cap, struct saikai_error *err)
{
    struct stat st;
    int rc = 0, found = 0, which = 0;
    for (int i = 0; !rc && !found && i < NAMES; i++) {
        rc = name(given, which = i, out, cap, err);
        found = !rc && is_ours(out, &st);
    }
    if (!rc && !found && !make && lstat(out, &st) && (errno == EACCES || errno == EPERM))
        return sk_fail_at(err, errno, out, "cannot look for a directory of this user in %s", given);
    if (!rc && !found && !make)
        return sk_fail(err, SAIKAI_ENOENT, "there is no directory of this user in %s", given);
    for (int i = 0; !rc && !found && i < NAMES; i++) {
        rc = name(given, which = i, out, cap, err);
        struct saikai_error why = {0};
        if (!rc && (rc = sk_io_mkdir(out, SK_MODE_PRIVATE, &why)) == SAIKAI_EEXIST)
            rc = 0;
        else if (why.code && err) {
            *err = why;
            sk_error_append(err, " (store.local)");
            sk_private_refuse(err);
        }
        found = !rc && is_ours(out, &st); /* also when another rank was faster */
    }
    if (!rc && !found)
        rc = sk_fail(err, SAIKAI_EAUTH,
                     "%s and the names after it in %s are taken by others: set store.local", out, given);
    if (!rc && make && which)
        sk_log(SK_LOG_NOTICE, "%s/saikai-%ld is, or was, somebody else's: %s is used", given,
               (long)geteuid(), out);
    return rc || !make ? rc : settle(out, &st, err);
}
