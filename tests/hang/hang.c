/* A file system that does not answer, for whole processes and without root: to be preloaded. Calls for paths below HANG_BELOW wait
 * as long as the file HANG_FLAG is there, but no longer than HANG_SECONDS from when it was made (0: for as long as it is there).
 *
 * HANG_AT=OP:TEXT makes the file, once, when the first call OP (the function's name) for a path with TEXT in it is made; HANG_RANK=R:
 * all this only in the process of that rank. HANG_SLOW=MILLISECONDS: a write to a file whose name holds HANG_SLOW_IN takes so long. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int concerns(const char *path)
{
    const char *below = getenv("HANG_BELOW"), *only = getenv("HANG_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    size_t n = below ? strlen(below) : 0;
    if (!n || !path || strncmp(path, below, n) || (path[n] && path[n] != '/'))
        return 0;
    rank = rank ? rank : getenv("PMI_RANK");
    return !only || (rank && !strcmp(only, rank));
}

/* 1: the file is there, and its time is not over. */
static int hangs(const char *flag)
{
    const char *text = getenv("HANG_SECONDS");
    double seconds = text ? atof(text) : 0;
    struct stat st;
    struct timespec now;
    if (!flag || syscall(SYS_newfstatat, AT_FDCWD, flag, &st, 0))
        return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    double since = (double)(now.tv_sec - st.st_mtim.tv_sec) + (double)(now.tv_nsec - st.st_mtim.tv_nsec) * 1e-9;
    return seconds <= 0 || since < seconds;
}

static void pause_for(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* 1: it was not there. */
static int make_file(const char *path)
{
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd >= 0)
        syscall(SYS_close, (int)fd);
    return fd >= 0;
}

static void reach(const char *op, const char *path)
{
    const char *at = getenv("HANG_AT"), *flag = getenv("HANG_FLAG"), *slow = getenv("HANG_SLOW"), *in = getenv("HANG_SLOW_IN");
    if (!concerns(path))
        return;
    size_t n = strlen(op);
    if (at && flag && !strncmp(at, op, n) && at[n] == ':' && strstr(path, at + n + 1)) {
        char once[PATH_MAX];
        snprintf(once, sizeof once, "%s.once", flag);
        if (make_file(once))
            make_file(flag);
    }
    while (hangs(flag))
        pause_for(5);
    if (slow && (!strcmp(op, "write") || !strcmp(op, "pwrite")) && (!in || strstr(path, in)))
        pause_for(atol(slow));
}

static void reach_fd(const char *op, int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    reach(op, path);
}

/* The function itself. */
#define NEXT(result, name, ...)                                                                    \
    static result (*next)(__VA_ARGS__);                                                            \
    if (!next)                                                                                     \
        *(void **)&next = dlsym(RTLD_NEXT, #name)

/* A function of a path, or of a descriptor. */
#define WITH_PATH(result, name, path, args, ...)                                                   \
    EXPORT result name(__VA_ARGS__)                                                                \
    {                                                                                              \
        NEXT(result, name, __VA_ARGS__);                                                           \
        reach(#name, path);                                                                        \
        return next args;                                                                          \
    }
#define WITH_FD(result, name, fd, args, ...)                                                       \
    EXPORT result name(__VA_ARGS__)                                                                \
    {                                                                                              \
        NEXT(result, name, __VA_ARGS__);                                                           \
        reach_fd(#name, fd);                                                                       \
        return next args;                                                                          \
    }

WITH_PATH(int, access, path, (path, mode), const char *path, int mode)
WITH_PATH(int, stat, path, (path, st), const char *path, struct stat *st)
WITH_PATH(int, lstat, path, (path, st), const char *path, struct stat *st)
WITH_PATH(int, statfs, path, (path, st), const char *path, struct statfs *st)
WITH_PATH(int, statvfs, path, (path, st), const char *path, struct statvfs *st)
WITH_PATH(int, mkdir, path, (path, mode), const char *path, mode_t mode)
WITH_PATH(int, rmdir, path, (path), const char *path)
WITH_PATH(int, unlink, path, (path), const char *path)
WITH_PATH(int, rename, to, (from, to), const char *from, const char *to)
WITH_PATH(int, link, to, (from, to), const char *from, const char *to)
WITH_PATH(int, symlink, to, (from, to), const char *from, const char *to)
WITH_PATH(DIR *, opendir, path, (path), const char *path)
WITH_PATH(FILE *, fopen, path, (path, mode), const char *path, const char *mode)
WITH_PATH(char *, realpath, path, (path, out), const char *path, char *out)
WITH_PATH(ssize_t, readlink, path, (path, out, n), const char *path, char *out, size_t n)
WITH_FD(ssize_t, read, fd, (fd, data, n), int fd, void *data, size_t n)
WITH_FD(ssize_t, write, fd, (fd, data, n), int fd, const void *data, size_t n)
WITH_FD(ssize_t, pread, fd, (fd, data, n, at), int fd, void *data, size_t n, off_t at)
WITH_FD(ssize_t, pwrite, fd, (fd, data, n, at), int fd, const void *data, size_t n, off_t at)
WITH_FD(int, fsync, fd, (fd), int fd)
WITH_FD(int, fstat, fd, (fd, st), int fd, struct stat *st)
WITH_FD(int, ftruncate, fd, (fd, size), int fd, off_t size)
WITH_FD(int, posix_fallocate, fd, (fd, at, n), int fd, off_t at, off_t n)
WITH_FD(DIR *, fdopendir, fd, (fd), int fd)
WITH_FD(int, unlinkat, fd, (fd, path, flags), int fd, const char *path, int flags)
WITH_FD(int, fstatat, fd, (fd, path, st, flags), int fd, const char *restrict path, struct stat *restrict st, int flags)
WITH_FD(struct dirent *, readdir, dirfd(d), (d), DIR *d)

static mode_t mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...)
{
    NEXT(int, open, const char *, int, ...);
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    reach("open", path);
    return next(path, flags, mode);
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
    NEXT(int, openat, int, const char *, int, ...);
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    if (*path == '/')
        reach("openat", path);
    else
        reach_fd("openat", dir);
    return next(dir, path, flags, mode);
}
