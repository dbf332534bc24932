/* Adds lines under a lock, begins a new file when one is full, and reads on over that. Plain calls for opening, writing and reading: they are
 * those of a thread beside the program, which the crash sweeps do not count. */
#include "store/event/kept.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/own/own.h"
#include "base/file/modes.h"
#include "store/owner/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often a writer looks for the lock, and for how long: it is held for milliseconds. */
static const double lock_look_s = 0.01;
enum { LOCK_LOOKS = 100, REOPENS = 8, READ_BYTES = 64 << 10 };

/* 0, or SAIKAI_EAUTH: somebody else could have written it. own: it must be this user's; else it may be the directory's. */
static int check_owner(const struct stat *file, const char *dir, int own, const char *path, struct saikai_error *err)
{
    struct stat d;
    uid_t self = geteuid();
    int of_directory = !stat(dir, &d) && d.st_uid == file->st_uid;
    if (!S_ISREG(file->st_mode) || file->st_nlink > 1)
        return sk_fail(err, SAIKAI_EAUTH, "%s is no file of its own: remove it", path);
    if (file->st_uid != self && !(of_directory && (!own || !self)))
        return sk_fail(err, SAIKAI_EAUTH, "%s is another user's: nothing is read or told there", path);
    if (file->st_mode & (S_IWGRP | S_IWOTH))
        return sk_fail(err, SAIKAI_EAUTH, "others may write to %s: nothing is read or told there; remove it", path);
    return 0;
}

/* ---- adding ---- */

/* Who may read it: those who may read the store's other files. Nobody but its user may write. */
static mode_t mode_of_events(const char *dir)
{
    char path[PATH_MAX];
    struct stat job;
    int mode = sk_modes_of_files();
    if (!mode && !sk_io_path(path, sizeof path, NULL, "%s/" SK_JOB_FILE, dir) && !lstat(path, &job) && S_ISREG(job.st_mode))
        mode = (int)job.st_mode; /* a tool's process, which keeps no store */
    return (mode & 0444) | 0600;
}

/* Open, and made if need be; root leaves it to whose the directory is. */
static int open_to_add(const char *dir, const char *path, struct saikai_error *err)
{
    struct stat d, f;
    int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    if (stat(dir, &d))
        return sk_fail_errno(err, errno, "%s", dir);
    int fd = sk_own_apart(open(path, flags));
    if (fd < 0 && errno == ENOENT) {
        fd = sk_own_apart(open(path, flags | O_CREAT | O_EXCL, 0600));
        if (fd >= 0 && (fchmod(fd, mode_of_events(dir)) || (!geteuid() && d.st_uid && fchown(fd, d.st_uid, d.st_gid)))) {
            int e = errno;
            close(fd);
            return sk_fail_errno(err, e, "cannot make %s", path);
        }
        if (fd < 0 && errno == EEXIST)
            fd = sk_own_apart(open(path, flags));
    }
    if (fd < 0 && errno == ELOOP)
        return sk_fail(err, SAIKAI_EAUTH, "%s is a symbolic link: remove it", path);
    if (fd < 0)
        return sk_fail_errno(err, errno, "cannot write %s", path);
    int rc = fstat(fd, &f) ? sk_fail_errno(err, errno, "cannot write %s", path) : check_owner(&f, dir, 1, path, err);
    if (rc) {
        close(fd);
        return rc;
    }
    return fd;
}

/* 1: locked; 0: it is held for long, or there are no locks: one write goes behind what is there all the same. */
static int lock(int fd)
{
    struct flock f = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    for (int i = 0; i < LOCK_LOOKS; i++) {
        if (!fcntl(fd, F_OFD_SETLK, &f))
            return 1;
        if (errno != EAGAIN && errno != EACCES)
            return 0;
        sk_sleep(lock_look_s);
    }
    return 0;
}

static int is_still(int fd, const char *path)
{
    struct stat here, there;
    return !fstat(fd, &here) && !stat(path, &there) && here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

/* The open file with room for n bytes more. */
static int open_locked(const char *dir, const char *path, size_t n, struct saikai_error *err)
{
    char before[PATH_MAX];
    struct stat f;
    int rc = sk_io_path(before, sizeof before, err, "%s/" SK_EVENTS_BEFORE, dir);
    for (int i = 0; !rc; i++) {
        int fd = open_to_add(dir, path, err);
        if (fd < 0)
            return fd;
        int locked = lock(fd);
        if (i >= REOPENS || !locked || fstat(fd, &f))
            return fd;
        if (is_still(fd, path)) {
            if (f.st_size + (off_t)n <= SK_EVENTS_MOST || sk_io_rename(path, before, NULL))
                return fd;
        }
        close(fd); /* it is the one before by now */
    }
    return rc;
}

/* All in one write, with the end of a line that was cut off before it. */
static int write_lines(int fd, const char *path, const void *lines, size_t n, struct saikai_error *err)
{
    char last = '\n', *text = malloc(n + 1);
    off_t size = lseek(fd, 0, SEEK_END);
    if (!text)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for events");
    int cut = size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
    *text = '\n';
    memcpy(text + cut, lines, n);
    n += (size_t)cut;
    ssize_t got = write(fd, text, n);
    int e = got < 0 ? errno : ENOSPC;
    free(text);
    return got == (ssize_t)n ? 0 : sk_fail_errno(err, e, "cannot write %s", path);
}

int sk_events_add(const char *dir, const void *lines, size_t n, int lasting, struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = sk_io_path(path, sizeof path, err, "%s/" SK_EVENTS_FILE, dir);
    int fd = rc ? rc : open_locked(dir, path, n, err);
    if (fd < 0)
        return fd;
    rc = write_lines(fd, path, lines, n, err);
    if (!rc && lasting)
        rc = sk_io_fsync(fd, path, err);
    close(fd);
    return rc;
}

/* ---- reading ---- */

int sk_events_open(struct sk_events_reader *r, const char *dir, int own, struct saikai_error *err)
{
    *r = (struct sk_events_reader){.own = own};
    return sk_io_path(r->dir, sizeof r->dir, err, "%s", dir);
}

/* A descriptor or a negative code; SAIKAI_ENOENT has no sentence. */
static int open_to_read(const struct sk_events_reader *r, const char *name, struct stat *f, struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", r->dir, name);
    int fd = rc ? rc : sk_own_apart(open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (rc)
        return rc;
    if (fd < 0 && errno == ELOOP)
        return sk_fail(err, SAIKAI_EAUTH, "%s is a symbolic link: remove it", path);
    if (fd < 0)
        return errno == ENOENT ? SAIKAI_ENOENT : sk_fail_errno(err, errno, "cannot read %s", path);
    rc = fstat(fd, f) ? sk_fail_errno(err, errno, "cannot read %s", path) : check_owner(f, r->dir, r->own, path, err);
    if (rc) {
        close(fd);
        return rc;
    }
    return fd;
}

/* Whole lines of what is there; returns how many bytes they are. */
static size_t take_lines(struct sk_events_reader *r, const char *text, size_t n, sk_events_each *each, void *arg)
{
    size_t done = 0;
    for (const char *end; (end = memchr(text + done, '\n', n - done)); done = (size_t)(end - text) + 1) {
        struct saikai_event e;
        if (!sk_event_parse(text + done, (size_t)(end - text) - done, &e))
            each(arg, &e);
        else if (end > text + done)
            r->bad++;
    }
    return done;
}

/* From r->at on. A line that is longer than one can be is none: it is passed over. */
static int read_on(struct sk_events_reader *r, int fd, sk_events_each *each, void *arg, struct saikai_error *err)
{
    char *text = malloc(READ_BYTES);
    ssize_t n;
    if (!text)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for events");
    while ((n = pread(fd, text, READ_BYTES, r->at)) > 0) {
        size_t done = take_lines(r, text, (size_t)n, each, arg);
        if (!done && n < READ_BYTES)
            break;
        if (!done) { /* its rest will count as one more */
            r->bad++;
            done = (size_t)n;
        }
        r->at += (off_t)done;
    }
    free(text);
    return 0;
}

/* What came before the present file: the rest of the one that was read, or all of it. */
static int read_before(struct sk_events_reader *r, sk_events_each *each, void *arg, struct saikai_error *err)
{
    struct stat f;
    int fd = open_to_read(r, SK_EVENTS_BEFORE, &f, err);
    if (fd < 0)
        return fd == SAIKAI_ENOENT ? 0 : fd;
    if (f.st_ino != r->file || r->at > f.st_size)
        r->at = 0;
    int rc = read_on(r, fd, each, arg, err);
    close(fd);
    return rc;
}

int sk_events_read(struct sk_events_reader *r, sk_events_each *each, void *arg, struct saikai_error *err)
{
    struct stat f;
    int fd = open_to_read(r, SK_EVENTS_FILE, &f, err);
    if (fd == SAIKAI_ENOENT) /* another one is about to be made, or there was never one */
        return 0;
    if (fd < 0)
        return fd;
    int rc = 0;
    if (f.st_ino != r->file || r->at > f.st_size) {
        rc = read_before(r, each, arg, err);
        if (!rc) {
            r->file = f.st_ino;
            r->at = 0;
        }
    }
    if (!rc)
        rc = read_on(r, fd, each, arg, err);
    close(fd);
    return rc;
}
