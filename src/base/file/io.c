/* The system's file calls with short reads and writes, interruptions, permissions and the test hook
 * dealt with in one place. */
#include "base/file/io.h"

#include "base/file/denied.h"
#include "base/file/modes.h"
#include "base/file/passing.h"
#include "base/own/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Thread_local const struct sk_io_way *sk_io_way;

/* 1: this thread does what it does with this path in another way. */
static int redirected(const char *path)
{
    return sk_io_way && sk_io_way->applies(path);
}

int (*_Atomic sk_io_hook)(const char *op, const char *path);

static atomic_ulong count; /* of all operations so far: somebody who waits sees whether anything moves */
static _Thread_local int uncounted; /* those of this thread are not in it */

void sk_io_do_not_count(void)
{
    uncounted = 1;
}

unsigned long sk_io_count(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}

int sk_io_begin(const char *op, const char *path)
{
    if (!uncounted)
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    int (*hook)(const char *op, const char *path) = sk_io_hook; /* a test may change it meanwhile */
    return hook ? hook(op, path) : 0;
}

/* A file of a store has the store's permissions, whatever the umask, or who had made it, thought. */
static int settle(int fd)
{
    struct stat st;
    mode_t mode = (mode_t)sk_modes_of_files();
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 07777) == mode)
        return 0;
    return fchmod(fd, mode) ? errno : 0;
}

static int not_a_file(const char *path, mode_t mode, struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EINVAL, "%s is a %s, not a file", path,
                   S_ISDIR(mode)    ? "directory"
                   : S_ISFIFO(mode) ? "FIFO"
                   : S_ISSOCK(mode) ? "socket"
                                    : "device");
}

/* A FIFO would wait for its other side, and a terminal would become ours. */
int sk_io_open(const char *path, int flags, int mode, struct saikai_error *err)
{
    if (redirected(path))
        return sk_io_way->open(path, flags, mode, err);
    struct stat st;
    int e = sk_io_begin("open", path);
    if (e)
        return sk_fail_errno(err, e, "cannot open %s", path);
    int fd, ours = flags & O_CREAT && sk_modes_of_directories();
    if (flags & O_CREAT)
        sk_passing_make_begin();
    do
        fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, ours ? sk_modes_of_files() : mode);
    while (fd < 0 && errno == EINTR);
    fd = sk_own_apart(fd);
    e = errno;
    if (flags & O_CREAT)
        sk_passing_make_end();
    if (fd < 0 && (e == EISDIR || e == ENXIO) && !stat(path, &st))
        return not_a_file(path, st.st_mode, err);
    if (fd < 0)
        return sk_fail_at(err, e, path, "cannot %s %s", flags & O_CREAT ? "create" : "open", path);
    if (!(flags & O_DIRECTORY) && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
        close(fd);
        return not_a_file(path, st.st_mode, err);
    }
    if (ours && (e = settle(fd))) {
        close(fd);
        return sk_fail_errno(err, e, "cannot set the permissions of %s (store.mode)", path);
    }
    return fd;
}

static int write_all(int fd, const char *path, const void *data, size_t n, off_t at, int positioned,
                     struct saikai_error *err)
{
    int e = sk_io_begin("write", path);
    if (e)
        return sk_fail_errno(err, e, "cannot write %s", path);
    int rc = sk_own_check(fd, path, err);
    if (rc)
        return rc;
    const char *p = data;
    while (n) {
        size_t part = n < (1u << 30) ? n : 1u << 30;
        ssize_t k = positioned ? pwrite(fd, p, part, at) : write(fd, p, part);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return sk_fail_errno(err, errno, "cannot write %s", path);
        p += k;
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

int sk_io_write(int fd, const char *path, const void *data, size_t n, struct saikai_error *err)
{
    if (redirected(path))
        return sk_io_way->write(fd, path, data, n, -1, err);
    return write_all(fd, path, data, n, 0, 0, err);
}

int sk_io_pwrite(int fd, const char *path, const void *data, size_t n, off_t at,
                 struct saikai_error *err)
{
    if (redirected(path))
        return sk_io_way->write(fd, path, data, n, at, err);
    return write_all(fd, path, data, n, at, 1, err);
}

int sk_io_pread(int fd, const char *path, void *data, size_t n, off_t at, struct saikai_error *err)
{
    if (redirected(path))
        return sk_io_way->read(fd, path, data, n, at, err);
    int e = sk_io_begin("read", path);
    if (e)
        return sk_fail_errno(err, e, "cannot read %s", path);
    int rc = sk_own_check(fd, path, err);
    if (rc)
        return rc;
    char *p = data;
    while (n) {
        ssize_t k = pread(fd, p, n < (1u << 30) ? n : 1u << 30, at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return sk_fail_errno(err, errno, "cannot read %s", path);
        if (!k)
            return sk_fail(err, SAIKAI_EDAMAGED, "%s is truncated: %zu bytes missing at offset %lld",
                           path, n, (long long)at);
        p += k;
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

int sk_io_fsync(int fd, const char *path, struct saikai_error *err)
{
    if (redirected(path))
        return sk_io_way->fsync(fd, path, err);
    int e = sk_io_begin("fsync", path), rc = e ? 0 : sk_own_check(fd, path, err);
    if (rc)
        return rc;
    if (!e && fsync(fd))
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot sync %s", path) : 0;
}

int sk_io_syncfs(int fd, const char *path, struct saikai_error *err)
{
    int e = sk_io_begin("fsync", path);
    if (!e && syncfs(fd))
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot sync the file system of %s", path) : 0;
}

int sk_io_msync(void *map, size_t n, const char *path, struct saikai_error *err)
{
    int e = sk_io_begin("fsync", path);
    if (!e && msync(map, n, MS_SYNC))
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot sync %s", path) : 0;
}

int sk_io_fsync_parent(const char *path, struct saikai_error *err)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int rc = slash ? sk_io_path(dir, sizeof dir, err, "%.*s", (int)(slash == path ? 1 : slash - path),
                                path)
                   : sk_io_path(dir, sizeof dir, err, ".");
    if (rc)
        return rc;
    int fd = sk_io_open(dir, O_RDONLY | O_DIRECTORY, 0, err);
    if (fd < 0)
        return fd;
    rc = sk_io_fsync(fd, dir, err);
    close(fd);
    return rc;
}

DIR *sk_io_opendir(const char *path)
{
    int e = sk_io_begin("opendir", path);
    if (e) {
        errno = e;
        return NULL;
    }
    return opendir(path);
}

int sk_io_rename(const char *from, const char *to, struct saikai_error *err)
{
    if (redirected(to))
        return sk_io_way->rename(from, to, err);
    int e = sk_io_begin("rename", to);
    if (!e && rename(from, to))
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot rename %s to %s", from, to) : 0;
}

int sk_io_link(const char *target, const char *path, struct saikai_error *err)
{
    int e = sk_io_begin("link", path);
    if (!e && link(target, path))
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot make %s another name of %s", path, target) : 0;
}

int sk_io_symlink(const char *target, const char *path, struct saikai_error *err)
{
    int e = sk_io_begin("link", path);
    if (!e && symlink(target, path))
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot make the link %s", path) : 0;
}

int sk_io_unlink(const char *path, struct saikai_error *err)
{
    if (redirected(path))
        return sk_io_way->unlink(path, err);
    int e = sk_io_begin("unlink", path);
    if (!e && unlink(path) && errno != ENOENT)
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot remove %s", path) : 0;
}

/* A new directory is only there for good when its parent is synced. A parent that we may write in but
 * not read, or whose file system knows no such sync, has to do without. */
static int sync_new(const char *path, struct saikai_error *err)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int rc = slash ? sk_io_path(dir, sizeof dir, err, "%.*s", (int)(slash == path ? 1 : slash - path),
                                path)
                   : sk_io_path(dir, sizeof dir, err, ".");
    int fd = rc ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return rc;
    int e = sk_io_begin("fsync", dir);
    if (!e && fsync(fd) && errno == EIO)
        e = errno;
    close(fd);
    return e ? sk_fail_errno(err, e, "cannot sync %s", dir) : 0;
}

/* Something of that name is there, which is no directory: what it is, and what to do about it. */
static int taken(const char *path, struct saikai_error *err)
{
    char to[300];
    struct stat st;
    ssize_t n = readlink(path, to, sizeof to - 1);
    int e = stat(path, &st) ? errno : 0;
    if (e == EACCES || e == EPERM) /* behind a link */
        return sk_fail_at(err, e, path, "cannot make directory %s", path);
    int rc = sk_fail_errno(err, ENOTDIR, "cannot make directory %s", path);
    if (err && n > 0 && e)
        sk_error_append(err, ": %s is a symbolic link to %.*s, which is not there: make that directory, or remove the link", path, (int)n, to);
    else if (err)
        sk_error_append(err, ": a file of that name is there: remove it, or choose another directory");
    return rc;
}

/* One level; 0 also when it is there. */
static int make_level(const char *path, int lasting, struct saikai_error *err)
{
    struct stat st;
    int mode = sk_modes_of_directories(), rc = sk_modes_check(path, err);
    if (rc)
        return rc;
    sk_passing_make_begin();
    int made = !mkdir(path, mode ? (mode_t)mode : 0777), e = errno;
    sk_passing_make_end();
    if (!made) { /* a parent on a read-only disk says EROFS although it exists */
        if (stat(path, &st) || !S_ISDIR(st.st_mode))
            return e == EEXIST ? taken(path, err) : sk_fail_at(err, e, path, "cannot make directory %s", path);
        return e == EEXIST ? sk_modes_check(path, err) : 0;
    }
    if (mode && !stat(path, &st)) {
        mode_t want = (mode_t)mode | (st.st_mode & S_ISGID); /* the group that a parent hands down */
        if ((st.st_mode & 07777) != want && chmod(path, want))
            return sk_fail_errno(err, errno, "cannot set the permissions of %s (store.mode)", path);
    }
    return lasting ? sync_new(path, err) : 0;
}

static int make_directories(const char *path, int lasting, struct saikai_error *err)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    int rc = 0;
    if (!n || n >= sizeof part)
        return sk_fail(err, SAIKAI_EINVAL, "directory name of %zu bytes", n);
    int e = sk_io_begin("mkdir", path);
    if (e)
        return sk_fail_errno(err, e, "cannot make directory %s", path);
    for (size_t i = 1; !rc && i <= n; i++) {
        if ((path[i] && path[i] != '/') || path[i - 1] == '/')
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        rc = make_level(part, lasting, err);
    }
    return rc;
}

int sk_io_mkdirs(const char *path, struct saikai_error *err)
{
    if (redirected(path))
        return sk_io_way->mkdirs(path, err);
    return make_directories(path, 0, err);
}

int sk_io_mkdirs_lasting(const char *path, struct saikai_error *err)
{
    return make_directories(path, 1, err);
}

int sk_io_mkdir(const char *path, int mode, struct saikai_error *err)
{
    int e = sk_io_begin("mkdir", path);
    if (!e && mkdir(path, (mode_t)mode))
        e = errno;
    return e ? sk_fail_at(err, e, path, "cannot make directory %s", path) : 0;
}

int sk_io_rmdir(const char *path, struct saikai_error *err)
{
    if (redirected(path))
        return sk_io_way->rmdir(path, err);
    int e = sk_io_begin("unlink", path);
    if (!e && rmdir(path) && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot remove directory %s", path) : 0;
}

static int remove_at(int dir_fd, const char *name, const char *shown, struct saikai_error *err)
{
    int e = sk_io_begin("unlink", shown);
    if (e)
        return sk_fail_errno(err, e, "cannot remove %s", shown);
    if (!unlinkat(dir_fd, name, 0) || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return sk_fail_errno(err, errno, "cannot remove %s", shown);
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : sk_fail_errno(err, errno, "cannot open %s", shown);
    DIR *d = fdopendir(fd);
    if (!d) {
        e = errno;
        close(fd);
        return sk_fail_errno(err, e, "cannot read directory %s", shown);
    }
    int rc = 0;
    for (struct dirent *x; !rc && (x = readdir(d));) {
        if (!strcmp(x->d_name, ".") || !strcmp(x->d_name, ".."))
            continue;
        char sub[PATH_MAX];
        rc = sk_io_path(sub, sizeof sub, err, "%s/%s", shown, x->d_name);
        if (!rc)
            rc = remove_at(dirfd(d), x->d_name, sub, err);
    }
    closedir(d);
    if (!rc && unlinkat(dir_fd, name, AT_REMOVEDIR) && errno != ENOENT)
        rc = sk_fail_errno(err, errno, "cannot remove %s", shown);
    return rc;
}

int sk_io_rmtree(const char *path, struct saikai_error *err)
{
    return remove_at(AT_FDCWD, path, path, err);
}

int sk_io_reserve(int fd, const char *path, off_t size, struct saikai_error *err)
{
    int e = sk_io_begin("truncate", path);
    if (e)
        return sk_fail_errno(err, e, "cannot reserve %lld bytes for %s", (long long)size, path);
    int rc = sk_own_check(fd, path, err);
    if (rc)
        return rc;
    if (ftruncate(fd, size))
        return sk_fail_errno(err, errno, "cannot resize %s", path);
    if (!size)
        return 0;
    int r;
    do
        r = posix_fallocate(fd, 0, size);
    while (r == EINTR);
    if (r && r != EOPNOTSUPP && r != EINVAL)
        return sk_fail_errno(err, r, "cannot reserve %lld bytes for %s", (long long)size, path);
    return 0;
}

int sk_io_truncate(int fd, const char *path, off_t size, struct saikai_error *err)
{
    if (redirected(path))
        return sk_io_way->truncate(fd, path, size, err);
    int e = sk_io_begin("truncate", path), rc = e ? 0 : sk_own_check(fd, path, err);
    if (rc)
        return rc;
    if (!e && ftruncate(fd, size))
        e = errno;
    return e ? sk_fail_errno(err, e, "cannot shorten %s", path) : 0;
}

int sk_io_size(int fd, const char *path, off_t *size, struct saikai_error *err)
{
    if (redirected(path))
        return sk_io_way->size(fd, path, size, err);
    struct stat st;
    int rc = sk_own_check(fd, path, err);
    if (rc)
        return rc;
    if (fstat(fd, &st))
        return sk_fail_errno(err, errno, "cannot stat %s", path);
    if (!S_ISREG(st.st_mode))
        return sk_fail(err, SAIKAI_EINVAL, "%s is not a regular file", path);
    *size = st.st_size;
    return 0;
}

int sk_io_map(int fd, const char *path, size_t n, int writable, void **data,
              struct saikai_error *err)
{
    int e = sk_io_begin("mmap", path);
    if (e)
        return sk_fail_errno(err, e, "cannot map %s", path);
    int rc = sk_own_check(fd, path, err);
    if (rc)
        return rc;
    if (!n) {
        *data = NULL;
        return 0;
    }
    void *p = mmap(NULL, n, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return sk_fail_errno(err, errno, "cannot map %s", path);
    *data = p;
    return 0;
}

int sk_io_slurp(const char *path, size_t max, void **data, size_t *n, struct saikai_error *err)
{
    int fd = sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    off_t size = 0;
    char *p = NULL;
    int rc = sk_io_size(fd, path, &size, err);
    if (!rc && (uint64_t)size > max)
        rc = sk_fail(err, SAIKAI_EFORMAT, "%s has %lld bytes, more than the %zu expected at most", path,
                     (long long)size, max);
    if (!rc && !(p = malloc((size_t)size + 1)))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the %lld bytes of %s", (long long)size, path);
    if (!rc)
        rc = sk_io_pread(fd, path, p, (size_t)size, 0, err);
    close(fd);
    if (rc) {
        free(p);
        return rc;
    }
    p[size] = 0;
    *data = p;
    *n = (size_t)size;
    return 0;
}

int sk_io_replace(const char *path, const void *data, size_t n, struct saikai_error *err)
{
    char tmp[PATH_MAX];
    struct stat st;
    int rc = sk_io_path(tmp, sizeof tmp, err, "%s.tmp%ld", path, (long)getpid());
    if (rc)
        return rc;
    int fd = sk_io_open(tmp, O_WRONLY | O_CREAT | O_TRUNC, 0666, err);
    if (fd < 0)
        return fd;
    /* a tool that changes a file of a store leaves it as private as it was */
    if (!sk_modes_of_directories() && !lstat(path, &st) && S_ISREG(st.st_mode) &&
        fchmod(fd, st.st_mode & 0777))
        rc = sk_fail_errno(err, errno, "cannot set the permissions of %s", tmp);
    if (!rc)
        rc = sk_io_write(fd, tmp, data, n, err);
    if (!rc)
        rc = sk_io_fsync(fd, tmp, err);
    if (close(fd) && !rc)
        rc = sk_fail_errno(err, errno, "cannot close %s", tmp);
    if (!rc)
        rc = sk_io_rename(tmp, path, err);
    if (rc) {
        sk_io_unlink(tmp, NULL);
        return rc;
    }
    return sk_io_fsync_parent(path, err);
}

int sk_io_path(char *out, size_t cap, struct saikai_error *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(out, cap, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= cap)
        return sk_fail(err, SAIKAI_EINVAL, "path is longer than %zu bytes: %.80s…", cap - 1, out);
    return 0;
}
