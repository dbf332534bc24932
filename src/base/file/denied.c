/* Walks down a path to the first part of it that this process has no right to. */
#include "base/file/denied.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sk_denied(const struct saikai_error *err)
{
    return err->sys_errno == EACCES || err->sys_errno == EPERM;
}

/* By the rights that the process has now, which may be others than those of the user who started it. */
static int lacks(const char *path, int right)
{
    return faccessat(AT_FDCWD, path, right, AT_EACCESS) != 0;
}

/* 1: at is what stands in the way, and st what is known of it. */
static int find(const char *path, char at[PATH_MAX], struct stat *st)
{
    size_t n = strlen(path), end = 0, last = 0;
    if (!n || n >= PATH_MAX)
        return 0;
    while (end < n) {
        end += 1 + strcspn(path + end + 1, "/"); /* with the slash before it */
        memcpy(at, path, end);
        at[end] = 0;
        if (stat(at, st))
            break; /* it is not there, since all above it can be entered */
        last = end;
        if (lacks(at, !S_ISDIR(st->st_mode) ? R_OK : end < n ? X_OK : R_OK | X_OK))
            return 1;
    }
    if (last) {
        memcpy(at, path, last);
        at[last] = 0;
    } else {
        strcpy(at, *path == '/' ? "/" : ".");
    }
    return !stat(at, st) && lacks(at, S_ISDIR(st->st_mode) ? W_OK | X_OK : W_OK);
}

static void name_of(uid_t uid, char *out, size_t cap)
{
    struct passwd pw, *found = NULL;
    char room[1024];
    if (!getpwuid_r(uid, &pw, room, sizeof room, &found) && found)
        snprintf(out, cap, "%s", pw.pw_name);
    else
        snprintf(out, cap, "user %ld", (long)uid);
}

static void explain(struct saikai_error *err, const char *path)
{
    char at[PATH_MAX], who[64];
    struct stat st;
    if (!find(path, at, &st))
        return;
    if (st.st_uid == geteuid()) {
        sk_error_append(err, ": %.200s is yours, but has mode %04o (chmod u+rwX opens it)", at, (unsigned)st.st_mode & 07777);
        return;
    }
    name_of(st.st_uid, who, sizeof who);
    sk_error_append(err, ": %.200s belongs to %s and has mode %04o (go there as %s, or ask %s for the right)", at, who,
                    (unsigned)st.st_mode & 07777, who, who);
}

int sk_fail_at(struct saikai_error *err, int sys_errno, const char *path, const char *fmt, ...)
{
    char text[sizeof err->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    int rc = sk_fail_errno(err, sys_errno, "%s", text);
    if (err && sk_denied(err))
        explain(err, path);
    return rc;
}
