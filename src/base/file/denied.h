/* Whose a file or directory is that this process is not let into, and what to do about it: "Permission denied" alone does not say
 * which part of a path stands in the way. */
#ifndef SK_BASE_DENIED_H
#define SK_BASE_DENIED_H

#include "base/error.h"

/* As sk_fail_errno. Behind the sentence about missing rights (EACCES, EPERM) stands what is in the way of path: the outermost directory on
 * it that cannot be entered, or path itself, or the directory in which it would have to be made; to whom that belongs, its mode, and
 * what to do. Nothing is added where nothing is found, as when a file server thinks otherwise than the permissions say. Local; asks
 * the file system, and may hang where that does. */
int sk_fail_at(struct saikai_error *err, int sys_errno, const char *path, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* 1: the reason is missing rights. */
int sk_denied(const struct saikai_error *err);

#endif
