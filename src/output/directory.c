/* The method `directory`: another file system, such as an archive or a project's space. */
#include "output/method.h"

#include "base/file/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART = 1 << 20 };

static int told(const struct saikai_error *err, char *why, size_t cap)
{
    snprintf(why, cap, "%s", err->text);
    return -1;
}

static int path_of(const char *place, const char *name, char *path, struct saikai_error *err)
{
    if (*place != '/')
        return sk_fail(err, SAIKAI_ECONFIG, "%.200s is no absolute path", place);
    return sk_io_path(path, PATH_MAX, err, "%s/%s", place, name);
}

/* All of it, into a new file that is on the disk when this returns. */
static int copy(const char *from, const char *to, struct saikai_error *err)
{
    uint8_t *part = malloc(PART);
    off_t size = 0;
    int out = -1, in = sk_io_open(from, O_RDONLY, 0, err), rc = in < 0 ? in : sk_io_size(in, from, &size, err);
    if (!rc && !part)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to copy %.200s", from);
    if (!rc && (out = sk_io_open(to, O_WRONLY | O_CREAT | O_EXCL, 0666, err)) < 0)
        rc = out;
    for (off_t at = 0; !rc && at < size;) {
        size_t n = size - at < PART ? (size_t)(size - at) : PART;
        rc = sk_io_pread(in, from, part, n, at, err);
        if (!rc)
            rc = sk_io_write(out, to, part, n, err);
        at += (off_t)n;
    }
    if (!rc)
        rc = sk_io_fsync(out, to, err);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    free(part);
    return rc;
}

static int put(const char *place, const char *name, const char *path, char *why, size_t cap)
{
    struct saikai_error err = {0};
    char to[PATH_MAX], above[PATH_MAX], tmp[PATH_MAX];
    struct stat st;
    int rc = path_of(place, name, to, &err);
    if (!rc && stat(place, &st)) /* a file system that is not mounted is not to be made a directory of this one */
        rc = sk_fail_errno(&err, errno, "%.200s", place);
    if (!rc)
        rc = sk_io_path(above, sizeof above, &err, "%.*s", (int)(strrchr(to, '/') - to), to);
    if (!rc)
        rc = sk_io_mkdirs_lasting(above, &err);
    if (!rc)
        rc = sk_io_path(tmp, sizeof tmp, &err, "%s/.put-%ld.tmp", above, (long)getpid());
    if (!rc)
        rc = sk_io_unlink(tmp, &err);
    if (!rc && (rc = copy(path, tmp, &err)))
        sk_io_unlink(tmp, NULL);
    if (!rc && (rc = sk_io_rename(tmp, to, &err)))
        sk_io_unlink(tmp, NULL);
    if (!rc)
        rc = sk_io_fsync_parent(to, &err);
    return rc ? told(&err, why, cap) : 0;
}

static int get(const char *place, const char *name, const char *path, char *why, size_t cap)
{
    struct saikai_error err = {0};
    char from[PATH_MAX];
    int rc = path_of(place, name, from, &err);
    if (!rc && access(from, F_OK) && errno == ENOENT)
        return 1;
    if (!rc)
        rc = copy(from, path, &err);
    return rc ? told(&err, why, cap) : 0;
}

/* Below dir, whose name at the output is `name` ("": the place itself). */
static int walk(const char *dir, const char *name, const char *begins, saikai_take_name *take, void *to, struct saikai_error *err)
{
    char path[PATH_MAX], full[PATH_MAX];
    struct stat st;
    int rc = 0;
    DIR *d = sk_io_opendir(dir);
    if (!d)
        return errno == ENOENT ? 0 : sk_fail_errno(err, errno, "%.200s", dir);
    for (struct dirent *e; !rc && (e = readdir(d));) {
        if (*e->d_name == '.') /* a copy that was not finished, too */
            continue;
        rc = sk_io_path(path, sizeof path, err, "%s/%s", dir, e->d_name);
        if (!rc)
            rc = sk_io_path(full, sizeof full, err, "%s%s%s", name, *name ? "/" : "", e->d_name);
        size_t n = rc ? 0 : strlen(full), least = strlen(begins);
        if (rc || strncmp(full, begins, n < least ? n : least) || lstat(path, &st))
            continue;
        if (S_ISDIR(st.st_mode))
            rc = walk(path, full, begins, take, to, err);
        else if (S_ISREG(st.st_mode) && n >= least)
            rc = take(to, full, (uint64_t)st.st_size);
    }
    closedir(d);
    return rc;
}

static int list(const char *place, const char *begins, saikai_take_name *take, void *to, char *why, size_t cap)
{
    struct saikai_error err = {0};
    char root[PATH_MAX];
    struct stat st;
    int rc = path_of(place, "", root, &err);
    if (!rc && stat(place, &st))
        rc = sk_fail_errno(&err, errno, "%.200s", place);
    if (!rc)
        rc = walk(place, "", begins, take, to, &err);
    return !rc ? 0 : *err.text ? told(&err, why, cap) : rc;
}

static int take_away(const char *place, const char *name, char *why, size_t cap)
{
    struct saikai_error err = {0};
    char path[PATH_MAX];
    int rc = path_of(place, name, path, &err);
    if (!rc)
        rc = sk_io_unlink(path, &err);
    for (char *slash; !rc && (slash = strrchr(path, '/')) && slash > path + strlen(place);) { /* and the directories that are empty now */
        *slash = 0;
        if (sk_io_rmdir(path, NULL) || !access(path, F_OK))
            break;
    }
    return rc ? told(&err, why, cap) : 0;
}

const struct sk_method_ops sk_method_directory = {"directory", "a directory that is there, as an absolute path", {put, get, list, take_away}};
