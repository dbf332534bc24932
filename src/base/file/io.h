/* Checked input and output: every call either does all of it or fills *err with the file's name and what to do.
 *
 * Before each operation the layer asks the test hook, which may let it fail or end the process: that is how the crash
 * sweeps die at the N-th operation. */
#ifndef SK_BASE_IO_H
#define SK_BASE_IO_H

#include "base/error.h"

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Test hook: op is "open", "write", "fsync", "rename", "unlink", "link", "mkdir", "truncate", "mmap", "read", "opendir"; returns 0 to go
 * on or an errno to fail with. NULL (the default) switches it off. */
extern int (*_Atomic sk_io_hook)(const char *op, const char *path);
/* For the files of this folder: count an operation that is about to begin, and ask the hook. */
int sk_io_begin(const char *op, const char *path);

/* Operations begun by this process so far: while it stands still, nothing moves. */
unsigned long sk_io_count(void);
/* What this thread does from now on does not count there: it goes on for ever, and is no progress. */
void sk_io_do_not_count(void);

/* A descriptor that is remembered (base/own/own.h) and was closed by the program since is SAIKAI_EIO in all that takes one.
 *
 * open(2) with O_CLOEXEC; a descriptor >= 0, or a negative code. What is created has the permissions of
 * base/file/modes.h, when such were set. What is no regular file (with O_DIRECTORY: no directory) is refused with
 * SAIKAI_EINVAL and never waited for. */
int sk_io_open(const char *path, int flags, int mode, struct saikai_error *err);
int sk_io_write(int fd, const char *path, const void *data, size_t n, struct saikai_error *err);
int sk_io_pwrite(int fd, const char *path, const void *data, size_t n, off_t at,
                 struct saikai_error *err);
/* Exactly n bytes, else SAIKAI_EDAMAGED ("is truncated"). */
int sk_io_pread(int fd, const char *path, void *data, size_t n, off_t at, struct saikai_error *err);
int sk_io_fsync(int fd, const char *path, struct saikai_error *err);
/* All of the file system that an open file is on. */
int sk_io_syncfs(int fd, const char *path, struct saikai_error *err);
/* What was stored through a mapping. */
int sk_io_msync(void *map, size_t n, const char *path, struct saikai_error *err);
/* fsync of the directory that holds path, so that a rename in it lasts. */
int sk_io_fsync_parent(const char *path, struct saikai_error *err);
/* opendir(3), with errno. */
DIR *sk_io_opendir(const char *path);
int sk_io_rename(const char *from, const char *to, struct saikai_error *err);
/* One more name for a file, SAIKAI_EEXIST when the name is taken; a link that leads to `target`, which need not be there. */
int sk_io_link(const char *target, const char *path, struct saikai_error *err);
int sk_io_symlink(const char *target, const char *path, struct saikai_error *err);
/* Missing is success. */
int sk_io_unlink(const char *path, struct saikai_error *err);
/* Create path and its parents, with the permissions of base/file/modes.h; an existing directory is success, but for a
 * guarded one that is another user's (SAIKAI_EAUTH). */
int sk_io_mkdirs(const char *path, struct saikai_error *err);
/* The same, and each directory that is made is synced into its parent: it is there after a power cut. */
int sk_io_mkdirs_lasting(const char *path, struct saikai_error *err);
/* One directory; SAIKAI_EEXIST when there is something of that name. */
int sk_io_mkdir(const char *path, int mode, struct saikai_error *err);
/* Missing, or not empty, is success. */
int sk_io_rmdir(const char *path, struct saikai_error *err);
/* Remove a tree; missing is success; symbolic links are removed, not followed. */
int sk_io_rmtree(const char *path, struct saikai_error *err);
/* Give the file this size with its blocks reserved (a full disk is found here, not at a later page fault). */
int sk_io_reserve(int fd, const char *path, off_t size, struct saikai_error *err);
/* Give the file this smaller size. */
int sk_io_truncate(int fd, const char *path, off_t size, struct saikai_error *err);
int sk_io_size(int fd, const char *path, off_t *size, struct saikai_error *err);

/* Read-only or shared read-write mapping of [0, n). Unmap with munmap. n 0 gives NULL. */
int sk_io_map(int fd, const char *path, size_t n, int writable, void **data,
              struct saikai_error *err);

/* The whole file, at most max bytes, in memory to be freed; a zero byte follows it. */
int sk_io_slurp(const char *path, size_t max, void **data, size_t *n, struct saikai_error *err);
/* Replace path with data: temporary name beside it, fsync, rename, fsync of the directory. */
int sk_io_replace(const char *path, const void *data, size_t n, struct saikai_error *err);

/* Format a path into out[cap]; SAIKAI_EINVAL when it does not fit. */
int sk_io_path(char *out, size_t cap, struct saikai_error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* How a thread does these operations where applies(path) says so, in place of doing them itself (patient_io.h); NULL: nowhere. */
struct sk_io_way {
    int (*applies)(const char *path);
    int (*open)(const char *path, int flags, int mode, struct saikai_error *err);
    int (*write)(int fd, const char *path, const void *data, size_t n, off_t at, struct saikai_error *err); /* at -1: on */
    int (*read)(int fd, const char *path, void *data, size_t n, off_t at, struct saikai_error *err);
    int (*fsync)(int fd, const char *path, struct saikai_error *err);
    int (*size)(int fd, const char *path, off_t *size, struct saikai_error *err);
    int (*truncate)(int fd, const char *path, off_t size, struct saikai_error *err);
    int (*rename)(const char *from, const char *to, struct saikai_error *err);
    int (*unlink)(const char *path, struct saikai_error *err);
    int (*mkdirs)(const char *path, struct saikai_error *err);
    int (*rmdir)(const char *path, struct saikai_error *err);
};
extern _Thread_local const struct sk_io_way *sk_io_way;

#endif
