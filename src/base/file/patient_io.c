/* Operations of io.h that are done by threads of their own, with copies of all that they touch, so that their caller can give up. */
#include "base/file/patient_io.h"

#include "base/file/io.h"
#include "base/own/own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local struct sk_patient patient; /* below which root this thread does not wait for ever */

static int applies(const char *path)
{
    size_t n = patient.p ? strlen(patient.root) : 0;
    return n && !strncmp(path, patient.root, n) && (path[n] == '/' || !path[n]);
}

/* One operation, with all that it touches: it may go on when nobody waits for it any more. */
enum kind { OPEN, WRITE, READ, FSYNC, SIZE, TRUNCATE, RENAME, UNLINK, MKDIRS, RMDIR };

struct errand {
    enum kind kind;
    int fd; /* the errand's own, -1: none; of an open: what it gave */
    int flags, mode;
    off_t at;
    size_t n;
    char *data;
    char path[PATH_MAX], from[PATH_MAX];
};

static void drop(void *arg)
{
    struct errand *e = arg;
    sk_own_close(e->fd);
    free(e->data);
    free(e);
}

static int do_it(struct errand *e, struct saikai_error *err)
{
    switch (e->kind) {
    case OPEN: return (e->fd = sk_io_open(e->path, e->flags, e->mode, err)) < 0 ? e->fd : 0;
    case WRITE:
        return e->at < 0 ? sk_io_write(e->fd, e->path, e->data, e->n, err) : sk_io_pwrite(e->fd, e->path, e->data, e->n, e->at, err);
    case READ: return sk_io_pread(e->fd, e->path, e->data, e->n, e->at, err);
    case FSYNC: return sk_io_fsync(e->fd, e->path, err);
    case SIZE: return sk_io_size(e->fd, e->path, &e->at, err);
    case TRUNCATE: return sk_io_truncate(e->fd, e->path, e->at, err);
    case RENAME: return sk_io_rename(e->from, e->path, err);
    case UNLINK: return sk_io_unlink(e->path, err);
    case MKDIRS: return sk_io_mkdirs(e->path, err);
    case RMDIR: return sk_io_rmdir(e->path, err);
    }
    return SAIKAI_EINTERNAL;
}

/* By whichever thread: without a limit, and where there is no memory for another one, it is the one that asked, which must not ask again. */
static int run(void *arg, struct saikai_error *err)
{
    const struct sk_io_way *way = sk_io_way;
    sk_io_way = NULL;
    int rc = do_it(arg, err);
    sk_io_way = way;
    return rc;
}

/* fd -1: none; n: bytes to carry. */
static int make(enum kind kind, const char *path, int fd, size_t n, struct errand **out, struct saikai_error *err)
{
    struct errand *e = calloc(1, sizeof *e);
    int rc = e ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to wait for %s", path);
    if (!e)
        return rc;
    *e = (struct errand){.kind = kind, .fd = -1, .n = n};
    rc = sk_io_path(e->path, sizeof e->path, err, "%s", path);
    if (!rc && n && !(e->data = malloc(n)))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to wait for %s", path);
    if (!rc && fd >= 0 && !(rc = sk_own_check(fd, path, err)) &&
        (e->fd = sk_own(fcntl(fd, F_DUPFD_CLOEXEC, 0), SK_OWN_STAYS)) < 0) /* the caller closes its own, whatever becomes of this */
        rc = sk_fail_errno(err, errno, "cannot wait for %s", path);
    if (rc)
        drop(e);
    else
        *out = e;
    return rc;
}

/* *e stays the caller's unless the result is a time-out, or the call was not even begun. */
static int call(struct errand **e, struct saikai_error *err)
{
    struct saikai_error why = {0};
    if (sk_patience_hangs(patient.p)) {
        int rc = sk_fail(err, SAIKAI_ETIMEDOUT, "%s still does not answer", patient.root);
        drop(*e);
        *e = NULL;
        return rc;
    }
    int rc = sk_patience_call(patient.p, (*e)->path, run, drop, *e, &why);
    if (rc == SAIKAI_ETIMEDOUT)
        *e = NULL;
    if (rc && err)
        *err = why;
    return rc;
}

static int finish(struct errand *e, int rc)
{
    if (e)
        drop(e);
    return rc;
}

static int patient_open(const char *path, int flags, int mode, struct saikai_error *err)
{
    struct errand *e;
    int rc = make(OPEN, path, -1, 0, &e, err);
    if (rc)
        return rc;
    e->flags = flags;
    e->mode = mode;
    rc = call(&e, err);
    if (!rc) {
        rc = e->fd;
        e->fd = -1;
    }
    return finish(e, rc);
}

static int patient_write(int fd, const char *path, const void *data, size_t n, off_t at, struct saikai_error *err)
{
    enum { PART = 4 << 20 };
    int rc = 0;
    for (size_t done = 0; !rc && done < n;) {
        size_t part = n - done < PART ? n - done : PART;
        struct errand *e;
        if ((rc = make(WRITE, path, fd, part, &e, err)))
            return rc;
        memcpy(e->data, (const char *)data + done, part);
        e->at = at < 0 ? -1 : at + (off_t)done;
        rc = finish(e, call(&e, err));
        done += part;
    }
    return rc;
}

static int patient_read(int fd, const char *path, void *data, size_t n, off_t at, struct saikai_error *err)
{
    enum { PART = 4 << 20 };
    int rc = 0;
    for (size_t done = 0; !rc && done < n;) {
        size_t part = n - done < PART ? n - done : PART;
        struct errand *e;
        if ((rc = make(READ, path, fd, part, &e, err)))
            return rc;
        e->at = at + (off_t)done;
        if (!(rc = call(&e, err)))
            memcpy((char *)data + done, e->data, part);
        rc = finish(e, rc);
        done += part;
    }
    return rc;
}

static int patient_fsync(int fd, const char *path, struct saikai_error *err)
{
    struct errand *e;
    int rc = make(FSYNC, path, fd, 0, &e, err);
    if (rc)
        return rc;
    rc = call(&e, err);
    return finish(e, rc);
}

static int patient_size(int fd, const char *path, off_t *size, struct saikai_error *err)
{
    struct errand *e;
    int rc = make(SIZE, path, fd, 0, &e, err);
    if (rc)
        return rc;
    if (!(rc = call(&e, err)))
        *size = e->at;
    return finish(e, rc);
}

static int patient_truncate(int fd, const char *path, off_t size, struct saikai_error *err)
{
    struct errand *e;
    int rc = make(TRUNCATE, path, fd, 0, &e, err);
    if (rc)
        return rc;
    e->at = size;
    rc = call(&e, err);
    return finish(e, rc);
}

static int on_path(enum kind kind, const char *from, const char *path, struct saikai_error *err)
{
    struct errand *e;
    int rc = make(kind, path, -1, 0, &e, err);
    if (rc)
        return rc;
    if (from && (rc = sk_io_path(e->from, sizeof e->from, err, "%s", from)))
        return finish(e, rc);
    rc = call(&e, err);
    return finish(e, rc);
}

static int patient_rename(const char *from, const char *to, struct saikai_error *err)
{
    return on_path(RENAME, from, to, err);
}

static int patient_unlink(const char *path, struct saikai_error *err)
{
    return on_path(UNLINK, NULL, path, err);
}

static int patient_mkdirs(const char *path, struct saikai_error *err)
{
    return on_path(MKDIRS, NULL, path, err);
}

static int patient_rmdir(const char *path, struct saikai_error *err)
{
    return on_path(RMDIR, NULL, path, err);
}

void sk_patient_io(struct sk_patience *p, const char *root)
{
    static const struct sk_io_way way = {applies,          patient_open,   patient_write,  patient_read,   patient_fsync, patient_size,
                                         patient_truncate, patient_rename, patient_unlink, patient_mkdirs, patient_rmdir};
    patient.p = p;
    patient.root = root;
    sk_io_way = p ? &way : NULL;
}

struct sk_patient sk_patient_now(void)
{
    return patient;
}

int sk_patient_call(const char *path, int (*fn)(void *arg, struct saikai_error *err), void (*give_up)(void *arg), void *arg,
                    struct saikai_error *err)
{
    return applies(path) ? sk_patience_call(patient.p, path, fn, give_up, arg, err) : fn(arg, err);
}
