/* Goes from directory to directory by descriptors, each opened without following links, and works on names in the last one. Where this
 * thread works on a path in another way (sk_io_way) it does that in place of all this: such places are a store's own. */
#include "base/file/below.h"

#include "base/file/io.h"
#include "base/file/modes.h"
#include "base/own/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A name: its whole path, for messages and the hook, and the directory that holds it with its name there. */
struct place {
    int otherwise; /* 1: this thread does it in another way */
    int fd;
    const char *name;
    char path[4096];
};

void sk_below_begin(struct sk_below *b, const char *root)
{
    b->root = root;
    b->root_fd = b->fd = -1;
    b->n = 0;
}

static void leave(struct sk_below *b)
{
    if (b->fd >= 0 && b->fd != b->root_fd)
        close(b->fd);
    b->fd = -1;
}

void sk_below_end(struct sk_below *b)
{
    leave(b);
    if (b->root_fd >= 0)
        close(b->root_fd);
    b->root_fd = -1;
}

static int open_directory(int fd, const char *name, int flags)
{
    return sk_own_apart(openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags));
}

/* What has the place of a directory and is none. */
static int no_directory(int fd, const char *name, const char *path, int e, struct saikai_error *err)
{
    struct stat st;
    if (!fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
        return sk_fail(err, SAIKAI_EEXIST,
                       "%s is a link, and nothing is written through a link that is below the directory that is restored to: remove "
                       "it, or restore elsewhere",
                       path);
    return sk_fail_errno(err, e, "cannot open directory %s", path);
}

/* One level: name in the directory fd, which is called `path`. Its descriptor, or a code. */
static int enter(int fd, const char *name, const char *path, int make, struct saikai_error *err)
{
    int mode = sk_modes_of_directories(), made = 0, rc = make ? sk_modes_check(path, err) : 0;
    if (rc)
        return rc;
    if (make)
        made = !mkdirat(fd, name, mode ? (mode_t)mode : 0777);
    int failed = errno, to = open_directory(fd, name, O_NOFOLLOW); /* one that is there is as good */
    if (to < 0 && make && !made && errno == ENOENT)
        return sk_fail_errno(err, failed, "cannot make directory %s", path);
    if (to < 0)
        return no_directory(fd, name, path, errno, err);
    struct stat st;
    if (made && mode && !fstat(to, &st)) {
        mode_t want = (mode_t)mode | (st.st_mode & S_ISGID); /* the group that a parent hands down */
        if ((st.st_mode & 07777) != want && fchmodat(to, ".", want, 0)) {
            rc = sk_fail_errno(err, errno, "cannot set the permissions of %s (store.mode)", path);
            close(to);
            return rc;
        }
    }
    return to;
}

/* Make the directory name[0, n) the one that is used. */
static int go(struct sk_below *b, const char *name, size_t n, int make, struct saikai_error *err)
{
    char path[4096], part[256];
    int e, rc = 0;
    if (b->fd >= 0 && b->n == n && !memcmp(b->last, name, n))
        return 0;
    leave(b);
    if (b->root_fd < 0 && (b->root_fd = open_directory(AT_FDCWD, b->root, 0)) < 0)
        return sk_fail_errno(err, errno, "cannot open directory %s", b->root);
    rc = sk_io_path(path, sizeof path, err, "%s/%.*s", b->root, (int)n, name);
    if (!rc && make && n && (e = sk_io_begin("mkdir", path)))
        rc = sk_fail_errno(err, e, "cannot make directory %s", path);
    b->fd = b->root_fd;
    for (size_t at = 0, k; !rc && at < n; at += k + 1) {
        k = strcspn(name + at, "/");
        k = k < n - at ? k : n - at;
        rc = sk_io_path(part, sizeof part, err, "%.*s", (int)k, name + at);
        if (!rc)
            rc = sk_io_path(path, sizeof path, err, "%s/%.*s", b->root, (int)(at + k), name);
        int to = rc ? rc : enter(b->fd, part, path, make, err);
        rc = to < 0 ? to : 0;
        leave(b);
        b->fd = to >= 0 ? to : -1;
    }
    if (rc) {
        leave(b);
        return rc;
    }
    b->n = n;
    memcpy(b->last, name, n);
    return 0;
}

/* Where a name is; make: those above it are made. */
static int find(struct sk_below *b, const char *name, int make, struct place *p, struct saikai_error *err)
{
    const char *slash = strrchr(name, '/');
    size_t n = slash ? (size_t)(slash - name) : 0;
    int rc = sk_io_path(p->path, sizeof p->path, err, "%s/%s", b->root, name);
    p->name = slash ? slash + 1 : name;
    p->otherwise = !rc && sk_io_way && sk_io_way->applies(p->path);
    if (rc || !p->otherwise) {
        rc = rc ? rc : go(b, name, n, make, err);
        p->fd = b->fd;
        return rc;
    }
    char above[4096];
    if (make && n && !(rc = sk_io_path(above, sizeof above, err, "%s/%.*s", b->root, (int)n, name)))
        rc = sk_io_mkdirs(above, err);
    return rc;
}

int sk_below_mkdirs(struct sk_below *b, const char *name, struct saikai_error *err)
{
    char path[4096];
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", b->root, name);
    if (!rc && sk_io_way && sk_io_way->applies(path))
        return sk_io_mkdirs(path, err);
    return rc ? rc : go(b, name, strlen(name), 1, err);
}

/* Permissions of a file of a store, whatever the umask thought. */
static int settle(int fd, const char *path, struct saikai_error *err)
{
    if (!sk_modes_of_directories() || !fchmod(fd, (mode_t)sk_modes_of_files()))
        return fd;
    int rc = sk_fail_errno(err, errno, "cannot set the permissions of %s (store.mode)", path);
    close(fd);
    return rc;
}

int sk_below_create(struct sk_below *b, const char *name, int mode, struct saikai_error *err)
{
    enum { TRIES = 3, FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
    struct place p;
    int rc = find(b, name, 1, &p, err), fd = -1;
    if (rc)
        return rc;
    if (p.otherwise)
        return sk_io_open(p.path, O_WRONLY | O_CREAT | O_TRUNC, mode, err);
    int e = sk_io_begin("open", p.path);
    for (int k = 0; !e && fd < 0 && k < TRIES; k++) {
        fd = sk_own_apart(openat(p.fd, p.name, FLAGS, (mode_t)mode));
        if (fd < 0 && (errno != EEXIST || k == TRIES - 1))
            e = errno;
        else if (fd < 0 && (rc = sk_below_unlink(b, name, err)))
            return rc;
    }
    return e ? sk_fail_errno(err, e, "cannot create %s", p.path) : settle(fd, p.path, err);
}

int sk_below_open(struct sk_below *b, const char *name, struct saikai_error *err)
{
    struct place p;
    struct stat st;
    int rc = find(b, name, 0, &p, err);
    if (rc)
        return rc;
    if (p.otherwise)
        return sk_io_open(p.path, O_WRONLY, 0, err);
    int e = sk_io_begin("open", p.path);
    int fd = e ? -1 : sk_own_apart(openat(p.fd, p.name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (fd < 0)
        return sk_fail_errno(err, e ? e : errno, "cannot open %s", p.path);
    if (!fstat(fd, &st) && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    return sk_fail(err, SAIKAI_EINVAL, "%s is not a file", p.path);
}

int sk_below_look(struct sk_below *b, const char *name, struct stat *st)
{
    struct place p;
    int rc = find(b, name, 0, &p, NULL);
    if (rc) /* what is above it is not there, or no directory */
        return ENOENT;
    return (p.otherwise ? lstat(p.path, st) : fstatat(p.fd, p.name, st, AT_SYMLINK_NOFOLLOW)) ? errno : 0;
}

int sk_below_rename(struct sk_below *b, const char *from, const char *to, struct saikai_error *err)
{
    struct place p, q;
    int rc = find(b, from, 0, &q, err);
    if (!rc)
        rc = find(b, to, 0, &p, err);
    if (rc)
        return rc;
    if (p.otherwise)
        return sk_io_rename(q.path, p.path, err);
    int e = sk_io_begin("rename", p.path);
    if (!e && renameat(p.fd, q.name, p.fd, p.name))
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot rename %s to %s", q.path, p.path) : 0;
}

int sk_below_unlink(struct sk_below *b, const char *name, struct saikai_error *err)
{
    struct place p;
    int rc = find(b, name, 0, &p, err);
    if (rc)
        return rc;
    if (p.otherwise)
        return sk_io_unlink(p.path, err);
    int e = sk_io_begin("unlink", p.path);
    if (!e && unlinkat(p.fd, p.name, 0) && errno != ENOENT)
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot remove %s", p.path) : 0;
}

int sk_below_symlink(struct sk_below *b, const char *target, const char *name, struct saikai_error *err)
{
    struct place p;
    int rc = find(b, name, 1, &p, err);
    if (rc)
        return rc;
    if (p.otherwise)
        return sk_io_symlink(target, p.path, err);
    int e = sk_io_begin("link", p.path);
    if (!e && symlinkat(target, p.fd, p.name))
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot make the link %s", p.path) : 0;
}

int sk_below_link(struct sk_below *b, const char *target, const char *name, struct saikai_error *err)
{
    struct sk_below other;
    struct place from, p;
    sk_below_begin(&other, b->root);
    int rc = find(&other, target, 0, &from, err);
    if (!rc)
        rc = find(b, name, 1, &p, err);
    if (!rc && p.otherwise)
        rc = sk_io_link(from.path, p.path, err);
    else if (!rc) {
        int e = sk_io_begin("link", p.path);
        if (!e && linkat(from.fd, from.name, p.fd, p.name, 0))
            e = errno;
        rc = e ? sk_fail_errno(err, e, "cannot make %s another name of %s", p.path, from.path) : 0;
    }
    sk_below_end(&other);
    return rc;
}

int sk_below_set_times(struct sk_below *b, const char *name, const struct timespec times[2], struct saikai_error *err)
{
    struct place p;
    int rc = find(b, name, 0, &p, err);
    if (!rc && utimensat(p.otherwise ? AT_FDCWD : p.fd, p.otherwise ? p.path : p.name, times, AT_SYMLINK_NOFOLLOW))
        rc = sk_fail_errno(err, errno, "cannot set the time of %s", p.path);
    return rc;
}

/* By a descriptor that needs no permission to read or enter the directory; older kernels know no way to say "not a link" with its name. */
int sk_below_set_mode(struct sk_below *b, const char *name, int mode, struct saikai_error *err)
{
    struct place p;
    char own[64];
    int rc = find(b, name, 0, &p, err), fd;
    if (rc)
        return rc;
    if (p.otherwise)
        return chmod(p.path, (mode_t)mode) ? sk_fail_errno(err, errno, "cannot set the mode of %s", p.path) : 0;
    if ((fd = open_directory(p.fd, p.name, O_NOFOLLOW)) < 0)
        return no_directory(p.fd, p.name, p.path, errno, err);
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    if (chmod(own, (mode_t)mode) && (errno != ENOENT || fchmodat(fd, ".", (mode_t)mode, 0)))
        rc = sk_fail_errno(err, errno, "cannot set the mode of %s", p.path);
    close(fd);
    return rc;
}

int sk_below_sync(struct sk_below *b, const char *name, struct saikai_error *err)
{
    struct place p;
    int rc = find(b, name, 0, &p, err);
    if (rc)
        return rc;
    if (p.otherwise)
        return sk_io_fsync_parent(p.path, err);
    *strrchr(p.path, '/') = 0;
    int fd = openat(p.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sk_fail_errno(err, errno, "cannot open %s", p.path);
    rc = sk_io_fsync(fd, p.path, err);
    close(fd);
    return rc;
}
