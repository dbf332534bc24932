/* Opens a temporary file beside the archive's place, renames it when it is complete, and removes
 * those that dead processes left. */
#include "archive/file/target.h"

#include "base/file/io.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* PREFIX….DIGITS.tmp; the point before the digits may be the prefix's last. */
static int is_leftover(const char *name, const char *prefix)
{
    const char *end = strrchr(name, '.'), *at = end;
    if (!end || strcmp(end, ".tmp") || strncmp(name, prefix, strlen(prefix)))
        return 0;
    while (at > name + strlen(prefix) && strchr("0123456789", at[-1]))
        at--;
    return at < end && at[-1] == '.';
}

void sk_target_sweep(const char *dir, const char *prefix)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4096];
        if (!is_leftover(e->d_name, prefix) ||
            sk_io_path(path, sizeof path, NULL, "%s/%s", dir, e->d_name))
            continue;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
            continue;
        /* removed while it is locked: who has just made it sees that and makes another */
        if (!flock(fd, LOCK_EX | LOCK_NB) && !sk_io_unlink(path, NULL))
            sk_log(SK_LOG_INFO, "removed %s, which a process that died had left", path);
        close(fd);
    }
    if (d)
        closedir(d);
}

static void sweep_beside(const char *out)
{
    const char *slash = strrchr(out, '/');
    char dir[4096], name[4096];
    if (sk_io_path(dir, sizeof dir, NULL, "%.*s", slash ? (int)(slash - out) : 1,
                   slash ? out : ".") ||
        sk_io_path(name, sizeof name, NULL, "%s.", slash ? slash + 1 : out))
        return;
    sk_target_sweep(*dir ? dir : "/", name);
}

static void drop(void *arg)
{
    struct sk_target *t = arg;
    sk_io_unlink(t->tmp, NULL);
}

/* Held: nobody lets go of what there is before it is known. */
static int open_held(struct sk_target *t, struct saikai_error *err)
{
    for (;;) {
        struct stat st;
        int fd = sk_io_open(t->tmp, O_RDWR | O_CREAT, 0666, err);
        if (fd < 0)
            return fd;
        int locked = flock(fd, LOCK_EX | LOCK_NB);
        if (locked && errno == EWOULDBLOCK) { /* the same number on another machine */
            close(fd);
            return sk_fail(err, SAIKAI_EEXIST, "%s is being written by another process", t->tmp);
        }
        t->fd = fd;
        if (fstat(fd, &st) || st.st_nlink) {
            t->passing = (struct sk_passing){.drop = drop, .arg = t};
            sk_passing_begin(&t->passing);
            return sk_io_truncate(fd, t->tmp, 0, err);
        }
        close(fd); /* taken for a leftover between the two calls */
    }
}

int sk_target_open(struct sk_target *t, const char *out, struct saikai_error *err)
{
    t->fd = -1;
    int rc = sk_io_path(t->tmp, sizeof t->tmp, err, "%s.%ld.tmp", out, (long)getpid());
    if (rc)
        return rc;
    sweep_beside(out);
    sk_passing_hold();
    rc = open_held(t, err);
    sk_passing_release();
    return rc;
}

int sk_target_commit(struct sk_target *t, const char *out, int sync, struct saikai_error *err)
{
    int rc = sk_io_rename(t->tmp, out, err);
    if (rc)
        return rc;
    sk_passing_end(&t->passing);
    close(t->fd);
    t->fd = -1;
    return sync ? sk_io_fsync_parent(out, err) : 0;
}

void sk_target_drop(struct sk_target *t)
{
    if (t->fd < 0)
        return;
    sk_io_unlink(t->tmp, NULL);
    sk_passing_end(&t->passing);
    close(t->fd);
    t->fd = -1;
}
