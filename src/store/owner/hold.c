/* Takes, shares and leaves the lock of a directory, also while somebody else removes and makes it
 * anew. */
#include "store/owner/hold.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/own/own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Byte 0 is the first one's, byte 1 is shared by all. Locks of the open file, not of the process: several ranks may be one
 * process, and what a program closes is not ours. A forked process would share it, and hold it for as long as it lives: it closes it. */
struct sk_hold {
    char dir[PATH_MAX];
    int fd;
};

static int lock(int fd, short type, off_t at, off_t n)
{
    struct flock f = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = n};
    return fcntl(fd, F_OFD_SETLK, &f);
}

static int open_lock(const char *dir, int create, char path[PATH_MAX], struct saikai_error *err)
{
    int rc = sk_io_path(path, PATH_MAX, err, "%s/" SK_HOLD_FILE, dir);
    return rc ? rc : sk_own(sk_io_open(path, O_RDWR | (create ? O_CREAT : 0) | O_NOFOLLOW, 0600, err), SK_OWN_GOES);
}

/* 1: the file is still the one of this name: whoever held the directory before may have removed it meanwhile. */
static int is_there(int fd, const char *path)
{
    struct stat a, b;
    return !fstat(fd, &a) && !stat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int make(const char *dir, int fd, struct sk_hold **out, struct saikai_error *err)
{
    struct sk_hold *h = calloc(1, sizeof *h);
    if (!h) {
        sk_own_close(fd);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a lock");
    }
    snprintf(h->dir, sizeof h->dir, "%s", dir);
    h->fd = fd;
    *out = h;
    return 0;
}

/* 0, SAIKAI_EBUSY, or SAIKAI_ENOENT: the directory is being removed. */
static int try_alone(const char *dir, int *fd, struct saikai_error *err)
{
    char path[PATH_MAX];
    *fd = open_lock(dir, 1, path, err);
    if (*fd < 0)
        return *fd;
    int rc = 0;
    if (lock(*fd, F_WRLCK, 0, 2)) /* without locks there, at least nothing that works is refused */
        rc = errno == EAGAIN || errno == EACCES ? SAIKAI_EBUSY : 0;
    else if (!is_there(*fd, path))
        rc = sk_fail(err, SAIKAI_ENOENT, "%s is gone: somebody removes it at this moment", dir);
    if (rc)
        sk_own_close(*fd);
    return rc;
}

int sk_hold_first(const char *dir, double wait_s, struct sk_hold **out, struct saikai_error *err)
{
    double end = sk_now() + wait_s;
    for (int gone = 0;;) {
        int fd, rc = sk_io_mkdirs(dir, err);
        if (!rc)
            rc = try_alone(dir, &fd, err);
        if (!rc) {
            lock(fd, F_RDLCK, 1, 1);
            return make(dir, fd, out, err);
        }
        if (rc == SAIKAI_ENOENT && gone++ < 100)
            continue;
        if (rc != SAIKAI_EBUSY)
            return rc;
        if (sk_now() >= end)
            return sk_fail(err, rc,
                           "%s is in use by living processes of another start of this job on this host: wait for their "
                           "end, give this job another name (job.name), or start it in another directory",
                           dir);
        sk_sleep(0.01);
    }
}

int sk_hold_join(const char *dir, struct sk_hold **out, struct saikai_error *err)
{
    char path[PATH_MAX];
    int fd = open_lock(dir, 0, path, err);
    if (fd < 0)
        return fd;
    if (lock(fd, F_RDLCK, 1, 1) && (errno == EAGAIN || errno == EACCES)) {
        sk_own_close(fd);
        return sk_fail(err, SAIKAI_EBUSY, "%s is in use by another job", dir);
    }
    return make(dir, fd, out, err);
}

int sk_hold_alone(const char *dir, struct sk_hold **out, struct saikai_error *err)
{
    int fd, rc = try_alone(dir, &fd, err);
    if (rc == SAIKAI_EBUSY)
        return sk_fail(err, rc, "%s is in use", dir);
    return rc ? rc : make(dir, fd, out, err);
}

int sk_hold_later(const char *dir, struct sk_hold **out, struct saikai_error *err)
{
    return make(dir, -1, out, err);
}

/* Whoever is first makes it. A place that still takes nothing says so by itself to whoever writes there. */
static int take_late(struct sk_hold *h, struct saikai_error *err)
{
    char path[PATH_MAX];
    int fd = sk_io_mkdirs(h->dir, NULL) ? -1 : open_lock(h->dir, 1, path, NULL);
    if (fd >= 0 && lock(fd, F_RDLCK, 1, 1) && (errno == EAGAIN || errno == EACCES)) {
        sk_own_close(fd);
        return sk_fail(err, SAIKAI_EBUSY, "%s is in use by another job", h->dir);
    }
    h->fd = fd < 0 ? -1 : fd;
    return 0;
}

int sk_hold_renew(struct sk_hold *h, struct saikai_error *err)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* of several threads one takes it */
    struct sk_hold *again = NULL;
    int rc = 0;
    pthread_mutex_lock(&one);
    if (h->fd < 0) {
        rc = take_late(h, err);
    } else if (!sk_own_is(h->fd) && !(rc = sk_hold_join(h->dir, &again, err))) {
        sk_own_close(h->fd);
        h->fd = again->fd;
        free(again);
    }
    pthread_mutex_unlock(&one);
    return rc;
}

void sk_hold_release(struct sk_hold *h, const char *const last[])
{
    char path[PATH_MAX];
    if (!h)
        return;
    /* Each one lets go before it tries: so the last one succeeds. */
    if (last && h->fd >= 0 && !sk_hold_renew(h, NULL) && !lock(h->fd, F_UNLCK, 0, 2) && !lock(h->fd, F_WRLCK, 0, 2)) {
        for (int i = 0; last[i]; i++)
            if (!sk_io_path(path, sizeof path, NULL, "%s/%s", h->dir, last[i]))
                sk_io_unlink(path, NULL);
        if (!sk_io_path(path, sizeof path, NULL, "%s/" SK_HOLD_FILE, h->dir) && is_there(h->fd, path))
            sk_io_unlink(path, NULL);
        sk_io_rmdir(h->dir, NULL);
    }
    sk_own_close(h->fd);
    free(h);
}
