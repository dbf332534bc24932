/* Writes restored files under temporary names, leaves holes where they are zero, and gives all
 * files, directories and links their names at the end. */
#include "archive/file/sink.h"

#include "archive/file/parts.h"
#include "base/file/below.h"
#include "base/file/io.h"
#include "base/hash.h"
#include "base/host/life.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int whole_path(const struct sk_sink *s, const char *name, char path[4096], struct saikai_error *err)
{
    return sk_io_path(path, 4096, err, "%s/%s", s->dir, name);
}

/* Two restores to one directory at once do not take each other's files: the end of temporary names is that of this sink alone. */
static void choose_end(struct sk_sink *s)
{
    static atomic_uint count;
    char text[SK_LIFE_TEXT + 16];
    struct sk_life own;
    sk_life_own(&own);
    sk_life_print(&own, text);
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, " %u", atomic_fetch_add(&count, 1));
    snprintf(s->end, sizeof s->end, ".%08x" SK_PARTS_END, (unsigned)sk_hash64(text, strlen(text)));
}

/* The name under which a file is written until it is complete. Where it would be too long for a
 * directory its end is cut, and a hash of it tells it from others. */
static int tmp_name(const struct sk_sink *s, uint32_t file, char *out, size_t cap,
                    struct saikai_error *err)
{
    const char *name = s->a->files[file].name, *slash = strrchr(name, '/');
    size_t before = slash ? (size_t)(slash - name) + 1 : 0, n = strlen(name + before), more = strlen(s->end);
    if (n + more <= NAME_MAX)
        return sk_io_path(out, cap, err, "%s%s", name, s->end);
    return sk_io_path(out, cap, err, "%.*s~%016llx%s", (int)before + NAME_MAX - (int)more - 17, name,
                      (unsigned long long)sk_hash64(name, strlen(name)), s->end);
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

/* Of what is in the way: what it is. */
static const char *kind_of(mode_t mode)
{
    return S_ISLNK(mode) ? "link" : S_ISDIR(mode) ? "directory" : S_ISFIFO(mode) ? "FIFO" : S_ISSOCK(mode) ? "socket" : "device";
}

int sk_sink_put(const struct sk_sink *s, struct sk_sink_file *o, uint32_t file, uint64_t offset,
                const void *data, size_t n, struct saikai_error *err)
{
    char tmp[4096], path[4096];
    if (!s->dir)
        return 0;
    int rc = tmp_name(s, file, tmp, sizeof tmp, err);
    if (!rc)
        rc = whole_path(s, tmp, path, err);
    if (!rc && (o->fd < 0 || o->file != file)) {
        struct sk_below at;
        sk_sink_close(o);
        sk_below_begin(&at, s->dir);
        o->fd = sk_below_open(&at, tmp, err);
        sk_below_end(&at);
        o->file = file;
        rc = o->fd < 0 ? o->fd : 0;
    }
    return rc ? rc : put_all(o->fd, path, data, n, offset, err);
}

/* What has the name already and is no file is not replaced: a rename would do so without a word. */
static int check_place(const struct sk_sink *s, struct sk_below *at, const char *name, struct saikai_error *err)
{
    struct stat st;
    if (sk_below_look(at, name, &st) || S_ISREG(st.st_mode))
        return 0;
    return sk_fail(err, SAIKAI_EEXIST, "%s/%s is not replaced: it is a %s; remove it, or restore elsewhere", s->dir, name, kind_of(st.st_mode));
}

static int make_file(const struct sk_sink *s, struct sk_below *at, uint32_t i, struct saikai_error *err)
{
    char tmp[4096], path[4096];
    int rc = check_place(s, at, s->a->files[i].name, err);
    if (!rc)
        rc = tmp_name(s, i, tmp, sizeof tmp, err);
    if (!rc)
        rc = whole_path(s, tmp, path, err);
    int fd = rc ? rc : sk_below_create(at, tmp, 0600, err);
    if (fd < 0)
        return fd;
    rc = sk_io_truncate(fd, path, (off_t)s->a->files[i].size_bytes, err);
    close(fd);
    return rc;
}

static void forget_note(struct sk_sink *s)
{
    if (*s->note)
        sk_io_unlink(s->note, NULL);
    *s->note = 0;
}

static void remove_parts(void *arg)
{
    struct sk_sink *s = arg;
    char tmp[4096];
    struct sk_below at;
    sk_below_begin(&at, s->dir);
    for (uint32_t i = 0; s->made && i < s->a->file_count; i++)
        if (s->wanted[i] && !tmp_name(s, i, tmp, sizeof tmp, NULL))
            sk_below_unlink(&at, tmp, NULL);
    sk_below_end(&at);
    forget_note(s);
}

/* Best effort: a directory in which we may make none may have others where files go. */
static void leave_note(struct sk_sink *s)
{
    struct sk_buf names = {0};
    char tmp[4096];
    for (uint32_t i = 0; i < s->a->file_count; i++)
        if (s->wanted[i] && !tmp_name(s, i, tmp, sizeof tmp, NULL))
            sk_buf_put(&names, tmp, strlen(tmp) + 1);
    if (!names.len || !sk_buf_ok(&names) || sk_parts_name(s->dir, s->note, NULL) || sk_parts_note(s->note, &names))
        *s->note = 0;
    sk_buf_free(&names);
}

int sk_sink_make(struct sk_sink *s, struct saikai_error *err)
{
    struct sk_below at;
    choose_end(s);
    sk_passing_hold(); /* it may be somebody's who lets go of it */
    int rc = s->dir ? sk_io_mkdirs(s->dir, err) : 0;
    sk_passing_release();
    s->made = s->dir && !rc;
    s->passing = (struct sk_passing){.drop = remove_parts, .arg = s};
    if (s->made && s->sweeps)
        sk_parts_sweep(s->dir);
    if (s->made) {
        sk_passing_hold();
        sk_passing_begin(&s->passing);
        if (s->sweeps)
            leave_note(s);
        sk_passing_release();
    }
    sk_below_begin(&at, s->dir);
    for (uint32_t i = 0; s->made && i < s->a->file_count && !rc; i++)
        if (s->wanted[i]) {
            sk_passing_hold();
            rc = make_file(s, &at, i, err);
            sk_passing_release();
        }
    sk_below_end(&at);
    return rc;
}

static void time_of(int64_t mtime_ns, struct timespec times[2])
{
    const int64_t second = 1000000000, past = mtime_ns % second; /* negative before 1970 */
    times[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
    times[1] = (struct timespec){(time_t)(mtime_ns / second - (past < 0)), (long)(past < 0 ? past + second : past)};
}

/* ---- what lasts ---- */

/* Each sync waits for the disk, and a tree of small files would do little else. From some files on whole file systems are synced in place of
 * each file: those that the files are on, which are few. What is on further ones is synced by itself. */
struct synced {
    dev_t dev[8];
    int fd[8], n; /* of one file on each */
    int together; /* 1: more than FEW files */
};
enum { FEW = 32, MOST_SYSTEMS = sizeof((struct synced *)0)->dev / sizeof(dev_t) };

/* The bytes of an open file are to last; they may not do so before sync_systems. */
static int sync_file(struct synced *y, int fd, const char *path, struct saikai_error *err)
{
    struct stat st;
    if (!y->together || fstat(fd, &st))
        return sk_io_fsync(fd, path, err);
    for (int i = 0; i < y->n; i++)
        if (y->dev[i] == st.st_dev)
            return 0;
    int kept = y->n < MOST_SYSTEMS ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (kept < 0)
        return sk_io_fsync(fd, path, err);
    y->dev[y->n] = st.st_dev;
    y->fd[y->n++] = kept;
    return 0;
}

static int sync_systems(struct synced *y, const char *path, struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; i < y->n && !rc; i++)
        rc = sk_io_syncfs(y->fd[i], path, err);
    return rc;
}

static void synced_free(struct synced *y)
{
    while (y->n)
        close(y->fd[--y->n]);
}

/* Mode and time, and its bytes on the disk. */
static int finish_file(const struct sk_sink *s, struct sk_below *at, struct synced *y, uint32_t i, struct saikai_error *err)
{
    char tmp[4096], path[4096];
    const struct sk_ska_file *f = &s->a->files[i];
    struct timespec times[2];
    int rc = tmp_name(s, i, tmp, sizeof tmp, err);
    if (!rc)
        rc = whole_path(s, tmp, path, err);
    int fd = rc ? rc : sk_below_open(at, tmp, err);
    if (fd < 0)
        return fd;
    time_of(f->mtime_ns, times);
    if (fchmod(fd, f->mode & 0777) || futimens(fd, times))
        rc = sk_fail_errno(err, errno, "cannot set mode and time of %s", path);
    if (!rc && y)
        rc = sync_file(y, fd, path, err);
    close(fd);
    return rc;
}

static int name_file(const struct sk_sink *s, struct sk_below *at, uint32_t i, struct saikai_error *err)
{
    char tmp[4096];
    int rc = tmp_name(s, i, tmp, sizeof tmp, err);
    return rc ? rc : sk_below_rename(at, tmp, s->a->files[i].name, err);
}

/* Files of one directory follow each other. */
static int same_directory(const char *a, const char *b)
{
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
    size_t n = x ? (size_t)(x - a) : 0, m = y ? (size_t)(y - b) : 0;
    return !x == !y && n == m && !memcmp(a, b, n);
}

/* The names of the files last, too. */
static int sync_names(const struct sk_sink *s, struct sk_below *at, struct synced *y, struct saikai_error *err)
{
    const char *synced = NULL;
    if (y->n)
        return sync_systems(y, s->dir, err);
    int rc = 0;
    for (uint32_t i = 0; i < s->a->file_count && !rc; i++)
        if (s->wanted[i] && (!synced || !same_directory(synced, s->a->files[i].name))) {
            synced = s->a->files[i].name;
            rc = sk_below_sync(at, synced, err);
        }
    return rc;
}

/* All files get their names when all are complete. */
static int finish_files(const struct sk_sink *s, struct sk_below *at, int sync, struct saikai_error *err)
{
    struct synced y = {.n = 0};
    int rc = 0;
    for (uint32_t i = 0, n = 0; i < s->a->file_count; i++)
        y.together = (n += s->wanted[i] != 0) > FEW;
    for (uint32_t i = 0; i < s->a->file_count && !rc; i++)
        if (s->wanted[i])
            rc = finish_file(s, at, sync ? &y : NULL, i, err);
    if (!rc && sync)
        rc = sync_systems(&y, s->dir, err);
    for (uint32_t i = 0; i < s->a->file_count && !rc; i++)
        if (s->wanted[i])
            rc = name_file(s, at, i, err);
    if (!rc && sync)
        rc = sync_names(s, at, &y, err);
    synced_free(&y);
    return rc;
}

/* ---- directories and links ---- */

/* A link takes the place of a link or file that has its name. */
static int make_link(struct sk_below *at, const struct sk_ska_entry *e, struct saikai_error *err)
{
    struct stat st;
    if (e->kind == SK_ENTRY_HARD_LINK && sk_below_look(at, e->target, &st))
        return 0; /* damaged, and told */
    int rc = !sk_below_look(at, e->name, &st) && !S_ISDIR(st.st_mode) ? sk_below_unlink(at, e->name, err) : 0;
    if (!rc)
        rc = e->kind == SK_ENTRY_HARD_LINK ? sk_below_link(at, e->target, e->name, err) : sk_below_symlink(at, e->target, e->name, err);
    if (rc)
        return rc;
    struct timespec times[2];
    time_of(e->mtime_ns, times);
    if (e->kind == SK_ENTRY_SYMLINK)
        sk_below_set_times(at, e->name, times, NULL); /* some file systems cannot */
    return 0;
}

/* Permissions last: a directory that we may not enter has its time by then. */
static int finish_directory(struct sk_below *at, const struct sk_ska_entry *e, struct saikai_error *err)
{
    struct timespec times[2];
    time_of(e->mtime_ns, times);
    int rc = sk_below_set_times(at, e->name, times, err);
    return rc ? rc : sk_below_set_mode(at, e->name, e->mode & 0777, err);
}

/* Files and directories first, then links: none of the archive leads these, nor others, elsewhere. A directory gets its time when all that
 * is in it is there. */
static int finish_entries(const struct sk_sink *s, struct sk_below *at, struct saikai_error *err)
{
    int rc = 0;
    for (int links = 0; links < 2; links++)
        for (size_t i = 0; i < s->a->entry_count && !rc; i++) {
            const struct sk_ska_entry *e = &s->a->entries[i];
            if (s->entries[i] && (e->kind != SK_ENTRY_DIRECTORY) == links)
                rc = links ? make_link(at, e, err) : sk_below_mkdirs(at, e->name, err);
        }
    for (size_t i = s->a->entry_count; i-- > 0 && !rc;)
        if (s->entries[i] && s->a->entries[i].kind == SK_ENTRY_DIRECTORY)
            rc = finish_directory(at, &s->a->entries[i], err);
    return rc;
}

int sk_sink_finish(struct sk_sink *s, int sync, struct saikai_error *err)
{
    struct sk_below at;
    int rc = 0;
    sk_below_begin(&at, s->dir);
    if (s->made)
        rc = finish_files(s, &at, sync, err);
    if (!rc && s->made && s->entries)
        rc = finish_entries(s, &at, err);
    sk_below_end(&at);
    if (!rc) {
        forget_note(s);
        sk_passing_end(&s->passing);
    }
    return rc;
}

void sk_sink_drop(struct sk_sink *s)
{
    remove_parts(s);
    sk_passing_end(&s->passing);
}
