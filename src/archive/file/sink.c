/* Writes restored files under temporary names, leaves holes where they are zero, and gives all
 * files, directories and links their names at the end. */
#include "archive/file/sink.h"

#include "base/hash.h"
#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The name under which a file is written until it is complete. Where it would be too long for a
 * directory its end is cut, and a hash of it tells it from others. */
static int tmp_name(const struct sk_sink *s, uint32_t file, char *out, size_t cap,
                    struct saikai_error *err)
{
    static const char mark[] = ".saikai-part";
    const char *name = s->a->files[file].name, *slash = strrchr(name, '/');
    size_t before = slash ? (size_t)(slash - name) + 1 : 0, n = strlen(name + before);
    if (n + sizeof mark - 1 <= NAME_MAX)
        return sk_io_path(out, cap, err, "%s/%s%s", s->dir, name, mark);
    return sk_io_path(out, cap, err, "%s/%.*s~%016llx%s", s->dir,
                      (int)before + NAME_MAX - (int)sizeof mark - 16, name,
                      (unsigned long long)sk_hash64(name, strlen(name)), mark);
}

void sk_sink_close(struct sk_sink_file *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
}

static int is_zero(const uint8_t *p, size_t n)
{
    return !*p && !memcmp(p, p + 1, n - 1);
}

/* What is zero stays a hole, in pieces of HOLE bytes: files with holes come back with them. */
static int put_all(int fd, const char *path, const uint8_t *data, size_t n, uint64_t offset,
                   struct saikai_error *err)
{
    enum { HOLE = 64 << 10 };
    int rc = 0;
    for (size_t at = 0, end; at < n && !rc; at = end) {
        size_t piece = n - at < HOLE ? n - at : HOLE;
        end = at + piece;
        if (is_zero(data + at, piece))
            continue;
        while (end < n && !is_zero(data + end, n - end < HOLE ? n - end : HOLE))
            end += n - end < HOLE ? n - end : HOLE;
        rc = sk_io_pwrite(fd, path, data + at, end - at, (off_t)(offset + at), err);
    }
    return rc;
}

int sk_sink_put(const struct sk_sink *s, struct sk_sink_file *o, uint32_t file, uint64_t offset,
                const void *data, size_t n, struct saikai_error *err)
{
    char path[4096];
    if (!s->dir)
        return 0;
    int rc = tmp_name(s, file, path, sizeof path, err);
    if (!rc && (o->fd < 0 || o->file != file)) {
        sk_sink_close(o);
        o->fd = sk_io_open(path, O_WRONLY, 0, err);
        o->file = file;
        rc = o->fd < 0 ? o->fd : 0;
    }
    return rc ? rc : put_all(o->fd, path, data, n, offset, err);
}

/* What has the name already and is no file is not replaced: a rename would do so without a word. */
static int check_place(const struct sk_sink *s, uint32_t i, struct saikai_error *err)
{
    char path[4096];
    struct stat st;
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", s->dir, s->a->files[i].name);
    if (rc || lstat(path, &st) || S_ISREG(st.st_mode))
        return rc;
    return sk_fail(err, SAIKAI_EEXIST, "%s is not replaced: it is a %s; remove it, or restore elsewhere", path,
                   S_ISLNK(st.st_mode)   ? "link"
                   : S_ISDIR(st.st_mode) ? "directory"
                   : S_ISFIFO(st.st_mode) ? "FIFO"
                   : S_ISSOCK(st.st_mode) ? "socket"
                                          : "device");
}

int sk_sink_make(struct sk_sink *s, struct saikai_error *err)
{
    int rc = s->dir ? sk_io_mkdirs(s->dir, err) : 0;
    s->made = s->dir && !rc;
    for (uint32_t i = 0; s->made && i < s->a->file_count && !rc; i++) {
        char path[4096];
        if (!s->wanted[i])
            continue;
        rc = check_place(s, i, err);
        if (!rc)
            rc = tmp_name(s, i, path, sizeof path, err);
        char *slash = rc ? NULL : strrchr(path, '/');
        if (slash) {
            *slash = 0;
            rc = sk_io_mkdirs(path, err);
            *slash = '/';
        }
        if (rc)
            break;
        int fd = sk_io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600, err);
        if (fd < 0)
            return fd;
        rc = sk_io_truncate(fd, path, (off_t)s->a->files[i].size_bytes, err);
        close(fd);
    }
    return rc;
}

static int finish_file(const struct sk_sink *s, uint32_t i, int sync, struct saikai_error *err)
{
    char tmp[4096], path[4096];
    const struct sk_ska_file *f = &s->a->files[i];
    int rc = tmp_name(s, i, tmp, sizeof tmp, err);
    if (!rc)
        rc = sk_io_path(path, sizeof path, err, "%s/%s", s->dir, f->name);
    int fd = rc ? rc : sk_io_open(tmp, O_WRONLY, 0, err);
    if (fd < 0)
        return fd;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {0}};
    times[1].tv_sec = (time_t)(f->mtime_ns / 1000000000);
    times[1].tv_nsec = (long)(f->mtime_ns % 1000000000);
    if (times[1].tv_nsec < 0)
        times[1].tv_nsec = UTIME_OMIT;
    if (fchmod(fd, f->mode & 0777) || futimens(fd, times))
        rc = sk_fail_errno(err, errno, "cannot set mode and time of %s", tmp);
    if (!rc && sync)
        rc = sk_io_fsync(fd, tmp, err);
    close(fd);
    return rc ? rc : sk_io_rename(tmp, path, err);
}

/* ---- directories and links ---- */

/* A link takes the place of a link or file that has its name. */
static int make_link(const struct sk_sink *s, const struct sk_ska_entry *e, const char *path,
                     struct saikai_error *err)
{
    char target[4096];
    struct stat st;
    if (e->kind == SK_ENTRY_HARD_LINK) {
        int rc = sk_io_path(target, sizeof target, err, "%s/%s", s->dir, e->target);
        if (rc)
            return rc;
        if (lstat(target, &st))
            return 0; /* damaged, and told */
    }
    int rc = !lstat(path, &st) && !S_ISDIR(st.st_mode) ? sk_io_unlink(path, err) : 0;
    if (!rc)
        rc = e->kind == SK_ENTRY_HARD_LINK ? sk_io_link(target, path, err)
                                           : sk_io_symlink(e->target, path, err);
    if (rc)
        return rc;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {0}};
    times[1].tv_sec = (time_t)(e->mtime_ns / 1000000000);
    times[1].tv_nsec = (long)(e->mtime_ns % 1000000000);
    if (e->kind == SK_ENTRY_SYMLINK && times[1].tv_nsec >= 0)
        utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW); /* some file systems cannot */
    return 0;
}

static int finish_directory(const struct sk_ska_entry *e, const char *path,
                            struct saikai_error *err)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {0}};
    times[1].tv_sec = (time_t)(e->mtime_ns / 1000000000);
    times[1].tv_nsec = (long)(e->mtime_ns % 1000000000);
    if (times[1].tv_nsec < 0)
        times[1].tv_nsec = UTIME_OMIT;
    if (chmod(path, e->mode & 0777) || utimensat(AT_FDCWD, path, times, 0))
        return sk_fail_errno(err, errno, "cannot set mode and time of %s", path);
    return 0;
}

/* Files first: no link of the archive leads them elsewhere. A directory gets its time when all that
 * is in it is there. */
static int finish_entries(const struct sk_sink *s, struct saikai_error *err)
{
    char path[4096];
    int rc = 0;
    for (int links = 0; links < 2; links++)
        for (size_t i = 0; i < s->a->entry_count && !rc; i++) {
            const struct sk_ska_entry *e = &s->a->entries[i];
            if (!s->entries[i] || (e->kind != SK_ENTRY_DIRECTORY) != links)
                continue;
            rc = sk_io_path(path, sizeof path, err, "%s/%s", s->dir, e->name);
            char *slash = rc || !links ? NULL : strrchr(path, '/');
            if (slash) {
                *slash = 0;
                rc = sk_io_mkdirs(path, err);
                *slash = '/';
            }
            if (!rc)
                rc = links ? make_link(s, e, path, err) : sk_io_mkdirs(path, err);
        }
    for (size_t i = s->a->entry_count; i-- > 0 && !rc;)
        if (s->entries[i] && s->a->entries[i].kind == SK_ENTRY_DIRECTORY &&
            !(rc = sk_io_path(path, sizeof path, err, "%s/%s", s->dir, s->a->entries[i].name)))
            rc = finish_directory(&s->a->entries[i], path, err);
    return rc;
}

int sk_sink_finish(struct sk_sink *s, int sync, struct saikai_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; s->made && i < s->a->file_count && !rc; i++)
        if (s->wanted[i])
            rc = finish_file(s, i, sync, err);
    for (uint32_t i = 0; s->made && i < s->a->file_count && !rc && sync; i++) {
        char path[4096];
        if (s->wanted[i] &&
            !(rc = sk_io_path(path, sizeof path, err, "%s/%s", s->dir, s->a->files[i].name)))
            rc = sk_io_fsync_parent(path, err);
    }
    return rc || !s->made || !s->entries ? rc : finish_entries(s, err);
}

void sk_sink_drop(struct sk_sink *s)
{
    char path[4096];
    for (uint32_t i = 0; s->made && i < s->a->file_count; i++)
        if (s->wanted[i] && !tmp_name(s, i, path, sizeof path, NULL))
            sk_io_unlink(path, NULL);
}
