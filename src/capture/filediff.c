/* The difference of two files by their names: opens them as sources, writes the result under a
 * temporary name, and renames it when it is complete. */
#include "base/io.h"
#include "capture/filediff_format.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_bytes(void *arg, uint64_t at, void *to, size_t n, struct saikai_error *err)
{
    memcpy(to, ((const struct sk_bytes *)arg)->data + at, n);
    return 0;
}

struct sk_source sk_source_memory(struct sk_bytes *b)
{
    return (struct sk_source){read_bytes, b, b->n};
}

struct file {
    int fd;
    const char *path;
};

static int read_file(void *arg, uint64_t at, void *to, size_t n, struct saikai_error *err)
{
    const struct file *f = arg;
    return sk_io_pread(f->fd, f->path, to, n, (off_t)at, err);
}

static int open_source(const char *path, struct file *f, struct sk_source *s,
                       struct saikai_error *err)
{
    off_t size;
    f->path = path;
    f->fd = sk_io_open(path, O_RDONLY, 0, err);
    if (f->fd < 0)
        return f->fd;
    int rc = sk_io_size(f->fd, path, &size, err);
    if (!rc)
        *s = (struct sk_source){read_file, f, (uint64_t)size};
    return rc;
}

/* What is written to a temporary name, buffered: operations can be of one byte. */
struct result {
    struct file f;
    char tmp[PATH_MAX];
    uint8_t *buffer;
    size_t n;
};

static int flush(struct result *r, struct saikai_error *err)
{
    int rc = r->n ? sk_io_write(r->f.fd, r->tmp, r->buffer, r->n, err) : 0;
    r->n = 0;
    return rc;
}

static int put_result(void *arg, const void *data, size_t n, struct saikai_error *err)
{
    struct result *r = arg;
    int rc = n > SK_FD_BUFFER - r->n ? flush(r, err) : 0;
    if (!rc && n > SK_FD_BUFFER)
        return sk_io_write(r->f.fd, r->tmp, data, n, err);
    if (!rc) {
        memcpy(r->buffer + r->n, data, n);
        r->n += n;
    }
    return rc;
}

static int open_result(const char *path, struct result *r, struct saikai_error *err)
{
    int rc = sk_io_path(r->tmp, sizeof r->tmp, err, "%s.tmp%ld", path, (long)getpid());
    if (rc)
        return rc;
    r->buffer = malloc(SK_FD_BUFFER);
    if (!r->buffer)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to write %s", path);
    r->f.path = path;
    r->f.fd = sk_io_open(r->tmp, O_WRONLY | O_CREAT | O_TRUNC, 0666, err);
    return r->f.fd < 0 ? r->f.fd : 0;
}

/* Give the finished file its name, or remove what there is of it. */
static int close_result(struct result *r, int rc, struct saikai_error *err)
{
    if (r->f.fd >= 0) {
        if (!rc)
            rc = flush(r, err);
        if (!rc)
            rc = sk_io_fsync(r->f.fd, r->tmp, err);
        close(r->f.fd);
        if (!rc)
            rc = sk_io_rename(r->tmp, r->f.path, err);
        if (rc)
            sk_io_unlink(r->tmp, NULL);
        else
            rc = sk_io_fsync_parent(r->f.path, err);
    }
    free(r->buffer);
    return rc;
}

static void close_file(const struct file *f)
{
    if (f->fd >= 0)
        close(f->fd);
}

int sk_filediff_create(const char *old_path, const char *new_path, const char *diff_path,
                       const struct sk_filediff_options *opt, struct sk_filediff_stats *stats,
                       struct saikai_error *err)
{
    struct file old = {-1, NULL}, fresh = {-1, NULL};
    struct result diff = {.f = {-1, NULL}};
    struct sk_source from, to;
    int rc = open_source(old_path, &old, &from, err);
    if (!rc)
        rc = open_source(new_path, &fresh, &to, err);
    if (!rc)
        rc = open_result(diff_path, &diff, err);
    if (!rc)
        rc = sk_filediff_encode(&from, &to, opt, put_result, &diff, stats, err);
    rc = close_result(&diff, rc, err);
    close_file(&old);
    close_file(&fresh);
    return rc;
}

int sk_filediff_apply(const char *old_path, const char *diff_path, const char *new_path,
                      struct saikai_error *err)
{
    struct file old = {-1, NULL}, diff = {-1, NULL};
    struct result fresh = {.f = {-1, NULL}};
    struct sk_source from, by;
    int rc = open_source(old_path, &old, &from, err);
    if (!rc)
        rc = open_source(diff_path, &diff, &by, err);
    if (!rc)
        rc = open_result(new_path, &fresh, err);
    if (!rc) {
        rc = sk_filediff_decode(&from, &by, put_result, &fresh, err);
        if (rc == SAIKAI_EFORMAT || rc == SAIKAI_EINVAL || rc == SAIKAI_EDAMAGED)
            sk_error_prefix(err, "%s on %s", diff_path, old_path);
    }
    rc = close_result(&fresh, rc, err);
    close_file(&old);
    close_file(&diff);
    return rc;
}
