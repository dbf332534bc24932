/* Finds the file that holds an offset, reads and writes it mapped or not, hashes bytes as they come
 * by, and gives written files their names when all are complete. */
#include "redundancy/set/files.h"

#include "base/host/guard.h"
#include "base/own/own.h"
#include "base/hash.h"
#include "base/file/io.h"
#include "redundancy/set/prefault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    char *path, *tmp; /* tmp: being created */
    uint8_t *map;
    uint64_t start, size_bytes, hash, mapped;
    uint32_t mode;
    int lent;       /* the mapping is the caller's */
    int hash_known; /* so is the checksum */
};

struct sk_files {
    struct file *file;
    int files, opened; /* opened: entries that own something */
    enum sk_files_mode mode;
    int writable, abandoned;
    /* files that are not mapped: the one used last */
    int fd, fd_of;
    /* checksums: file and offset in it that come next */
    struct sk_hasher *hasher;
    int hash_file;
    uint64_t hash_at;
};

static struct sk_files *stream_new(int files, struct saikai_error *err)
{
    struct sk_files *s = calloc(1, sizeof *s);
    if (s)
        s->fd = -1;
    if (s)
        s->file = calloc(files ? (size_t)files : 1, sizeof *s->file);
    if (s)
        s->hasher = sk_hasher_new();
    if (!s || !s->file || !s->hasher) {
        sk_files_free(s);
        sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %d files", files);
        return NULL;
    }
    s->files = files;
    return s;
}

void sk_files_abandon(struct sk_files *s)
{
    if (s)
        s->abandoned = 1;
}

void sk_files_free(struct sk_files *s)
{
    if (!s)
        return;
    for (int i = 0; s->file && i < s->files; i++) {
        struct file *f = &s->file[i];
        if (f->map && !f->lent && !s->abandoned) {
            sk_guard_remove(f->map);
            munmap(f->map, f->size_bytes);
        }
        if (f->tmp)
            sk_io_unlink(f->tmp, NULL);
        free(f->path);
        free(f->tmp);
    }
    sk_own_close(s->fd);
    sk_hasher_free(s->hasher);
    free(s->file);
    free(s);
}

/* Take the caller's mapping for the file's own. */
static int borrow(struct file *f, const struct sk_source *from, struct saikai_error *err)
{
    if (from->map && from->size_bytes != f->size_bytes)
        return sk_fail(err, SAIKAI_EINVAL, "%s has %llu bytes, %llu of them in memory", f->path,
                       (unsigned long long)f->size_bytes, (unsigned long long)from->size_bytes);
    if (from->map) {
        f->map = (uint8_t *)from->map;
        f->mapped = f->size_bytes; /* as far as whoever mapped it saw to that */
        f->lent = 1;
    }
    f->hash_known = from->hash_known;
    f->hash = from->hash;
    return 0;
}

static int open_file(struct sk_files *s, int i, const char *path, const struct sk_source *from,
                     struct saikai_error *err)
{
    struct file *f = &s->file[i];
    if (!(f->path = strdup(path)))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a file name");
    int fd = sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    struct stat st;
    off_t size = 0;
    int rc = sk_io_size(fd, path, &size, err);
    if (!rc && fstat(fd, &st))
        rc = sk_fail_errno(err, errno, "cannot stat %s", path);
    if (!rc) {
        f->size_bytes = (uint64_t)size;
        f->mode = st.st_mode & 07777;
        f->start = i ? s->file[i - 1].start + s->file[i - 1].size_bytes : 0;
        if (from)
            rc = borrow(f, from, err);
    }
    if (!rc && s->mode == SK_FILES_MAP && !f->map) {
        void *map = NULL;
        rc = sk_io_map(fd, path, (size_t)size, 0, &map, err);
        f->map = map;
        sk_guard_add(map, (size_t)size);
    }
    close(fd);
    return rc;
}

static int describe(struct sk_files *s, const char *const name[], struct sk_member *m,
                    struct saikai_error *err)
{
    if (s->files && !(m->part = calloc((size_t)s->files, sizeof *m->part)))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %d files", s->files);
    for (int i = 0; i < s->files; i++) {
        const struct file *f = &s->file[i];
        const char *slash = strrchr(f->path, '/');
        const char *shown = name && name[i] ? name[i] : slash ? slash + 1 : f->path;
        if (!sk_part_name_ok(shown) || strlen(shown) >= PATH_MAX)
            return sk_fail(
                err, SAIKAI_EINVAL,
                "'%.80s' cannot be protected: its name must be a relative path without '..'",
                shown);
        struct sk_parity_part *p = &m->part[i];
        *p = (struct sk_parity_part){strdup(shown), f->size_bytes, 0, f->mode};
        if (!p->name)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for a file name");
        m->parts++;
        m->size_bytes += f->size_bytes;
    }
    return 0;
}

int sk_files_open(const char *const path[], const char *const name[],
                  const struct sk_source source[], int n, enum sk_files_mode mode,
                  struct sk_member *m, struct sk_files **out, struct saikai_error *err)
{
    struct sk_files *s = stream_new(n, err);
    if (!s)
        return SAIKAI_ENOMEM;
    s->mode = mode;
    struct sk_member v = {0};
    int rc = 0;
    for (int i = 0; !rc && i < n; i++)
        rc = open_file(s, i, path[i], source ? &source[i] : NULL, err);
    if (!rc)
        rc = describe(s, name, &v, err);
    if (rc) {
        sk_member_free(&v);
        sk_files_free(s);
        return rc;
    }
    v.rank = m->rank;
    memcpy(v.host, m->host, sizeof v.host);
    *m = v;
    *out = s;
    return 0;
}

int sk_files_open_member(const char *dir, const struct sk_member *m, enum sk_files_mode mode,
                         struct sk_files **out, struct saikai_error *err)
{
    struct sk_files *s = stream_new((int)m->parts, err);
    if (!s)
        return SAIKAI_ENOMEM;
    s->mode = mode;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < m->parts; i++) {
        char path[PATH_MAX];
        rc = sk_io_path(path, sizeof path, err, "%s/%s", dir, m->part[i].name);
        if (!rc)
            rc = open_file(s, (int)i, path, NULL, err);
        if (!rc && s->file[i].size_bytes != m->part[i].size_bytes)
            rc = sk_fail(err, SAIKAI_EDAMAGED, "%s has %llu bytes instead of %llu", path,
                         (unsigned long long)s->file[i].size_bytes,
                         (unsigned long long)m->part[i].size_bytes);
    }
    if (rc) {
        sk_files_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

static int create_file(struct sk_files *s, int i, const char *dir, const struct sk_parity_part *p,
                       struct saikai_error *err)
{
    struct file *f = &s->file[i];
    char path[PATH_MAX], tmp[PATH_MAX];
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", dir, p->name);
    if (!rc)
        rc = sk_io_path(tmp, sizeof tmp, err, "%s.rebuilding", path);
    if (rc)
        return rc;
    char *slash = strrchr(path, '/');
    *slash = 0;
    if ((rc = sk_io_mkdirs(path, err)))
        return rc;
    *slash = '/';
    int fd = sk_io_open(tmp, O_RDWR | O_CREAT | O_TRUNC, 0600, err);
    if (fd < 0)
        return fd;
    f->path = strdup(path);
    f->tmp = strdup(tmp);
    f->size_bytes = p->size_bytes;
    f->mode = p->mode;
    f->start = i ? s->file[i - 1].start + s->file[i - 1].size_bytes : 0;
    rc = f->path && f->tmp ? sk_io_truncate(fd, tmp, (off_t)p->size_bytes, err)
                           : sk_fail(err, SAIKAI_ENOMEM, "no memory for a file name");
    if (!f->tmp)
        sk_io_unlink(tmp, NULL);
    close(fd);
    return rc;
}

int sk_files_create(const char *dir, const struct sk_member *m, struct sk_files **out,
                    struct saikai_error *err)
{
    struct sk_files *s = stream_new((int)m->parts, err);
    if (!s)
        return SAIKAI_ENOMEM;
    s->writable = 1;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < m->parts; i++)
        rc = create_file(s, (int)i, dir, &m->part[i], err);
    if (rc) {
        sk_files_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

/* The file that holds this offset. */
static int find(const struct sk_files *s, uint64_t offset)
{
    int low = 0, high = s->files - 1;
    while (low < high) {
        int mid = (low + high + 1) / 2;
        if (s->file[mid].start <= offset)
            low = mid;
        else
            high = mid - 1;
    }
    return low; /* of several that start here, empty ones first, the last one */
}

/* One file is open at a time: a member may have more of them than a process may open. */
static int use_file(struct sk_files *s, int i, struct saikai_error *err)
{
    if (s->fd >= 0 && s->fd_of == i)
        return 0;
    sk_own_close(s->fd);
    const char *path = s->writable ? s->file[i].tmp : s->file[i].path;
    int fd = sk_own(sk_io_open(path, s->writable ? O_RDWR : O_RDONLY, 0, err), SK_OWN_STAYS);
    s->fd = fd < 0 ? -1 : fd;
    s->fd_of = i;
    return fd < 0 ? fd : 0;
}

static int read_part(struct sk_files *s, int i, uint64_t at, uint32_t len, uint8_t *out,
                     struct saikai_error *err)
{
    struct file *f = &s->file[i];
    if (f->map) {
        memcpy(out, f->map + at, len);
        return 0;
    }
    int rc = use_file(s, i, err);
    return rc ? rc : sk_io_pread(s->fd, s->writable ? f->tmp : f->path, out, len, (off_t)at, err);
}

const uint8_t *sk_files_read(struct sk_files *s, uint64_t offset, uint32_t len, uint8_t *scratch,
                             struct saikai_error *err)
{
    int i = find(s, offset);
    uint64_t at = offset - s->file[i].start;
    if (s->file[i].map && at + len <= s->file[i].size_bytes) {
        sk_prefault(s->file[i].map, s->file[i].size_bytes, at + len, &s->file[i].mapped);
        return s->file[i].map + at;
    }
    for (uint32_t done = 0; done < len; i++, at = 0) {
        uint64_t left = s->file[i].size_bytes - at;
        uint32_t n = left < len - done ? (uint32_t)left : len - done;
        if (n && read_part(s, i, at, n, scratch + done, err))
            return NULL;
        done += n;
    }
    return scratch;
}

int sk_files_write(struct sk_files *s, uint64_t offset, uint32_t len, const uint8_t *data,
                   struct saikai_error *err)
{
    int i = find(s, offset), rc = 0;
    uint64_t at = offset - s->file[i].start;
    for (uint32_t done = 0; !rc && done < len; i++, at = 0) {
        uint64_t left = s->file[i].size_bytes - at;
        uint32_t n = left < len - done ? (uint32_t)left : len - done;
        if (n && !(rc = use_file(s, i, err)))
            rc = sk_io_pwrite(s->fd, s->file[i].tmp, data + done, n, (off_t)at, err);
        done += n;
    }
    return rc;
}

/* Close the checksums of files that are complete, empty ones among them. */
static void finish_hashes(struct sk_files *s)
{
    while (s->hash_file < s->files && s->hash_at == s->file[s->hash_file].size_bytes) {
        struct file *f = &s->file[s->hash_file];
        if (!f->hash_known) {
            f->hash = sk_hasher_value(s->hasher);
            sk_hasher_reset(s->hasher);
        }
        s->hash_file++;
        s->hash_at = 0;
    }
}

void sk_files_hash(struct sk_files *s, const uint8_t *data, uint32_t len)
{
    finish_hashes(s);
    while (len && s->hash_file < s->files) {
        uint64_t left = s->file[s->hash_file].size_bytes - s->hash_at;
        uint32_t n = left < len ? (uint32_t)left : len;
        if (!s->file[s->hash_file].hash_known)
            sk_hasher_add(s->hasher, data, n);
        s->hash_at += n;
        data += n;
        len -= n;
        finish_hashes(s);
    }
}

static uint64_t total_bytes(const struct sk_files *s)
{
    return s->files ? s->file[s->files - 1].start + s->file[s->files - 1].size_bytes : 0;
}

/* Bytes that were added so far. */
static uint64_t hashed(const struct sk_files *s)
{
    if (s->hash_file < s->files)
        return s->file[s->hash_file].start + s->hash_at;
    return total_bytes(s);
}

/* Add up to this offset by reading. */
static int hash_until(struct sk_files *s, uint64_t end, struct saikai_error *err)
{
    enum { CHUNK = 256 << 10 };
    end = end < total_bytes(s) ? end : total_bytes(s);
    if (hashed(s) >= end)
        return 0;
    uint8_t *scratch = malloc(CHUNK);
    int rc = scratch ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to read files");
    for (uint64_t at; !rc && (at = hashed(s)) < end;) {
        uint32_t n = end - at < CHUNK ? (uint32_t)(end - at) : CHUNK;
        const uint8_t *p = sk_files_read(s, at, n, scratch, err);
        if (p)
            sk_files_hash(s, p, n);
        else
            rc = SAIKAI_EIO;
    }
    free(scratch);
    return rc;
}

int sk_files_hash_at(struct sk_files *s, uint64_t offset, const uint8_t *data, uint32_t len,
                     struct saikai_error *err)
{
    int rc = hash_until(s, offset, err);
    if (!rc && hashed(s) == offset)
        sk_files_hash(s, data, len);
    return rc;
}

int sk_files_hash_rest(struct sk_files *s, struct saikai_error *err)
{
    int rc = hash_until(s, UINT64_MAX, err);
    finish_hashes(s);
    return rc;
}

void sk_files_hashes(struct sk_files *s, struct sk_member *m)
{
    finish_hashes(s);
    for (int i = 0; i < s->files; i++)
        m->part[i].hash = s->file[i].hash;
}

int sk_files_check(struct sk_files *s, const struct sk_member *m, struct saikai_error *err)
{
    finish_hashes(s);
    for (int i = 0; i < s->files; i++)
        if (i >= s->hash_file || s->file[i].hash != m->part[i].hash)
            return sk_fail(
                err, SAIKAI_EDAMAGED,
                "%s is damaged: its checksum differs from the one taken when it was protected",
                s->file[i].path);
    return 0;
}

static int sync_file(const struct file *f, int sync, struct saikai_error *err)
{
    int fd = sk_io_open(f->tmp, O_RDWR, 0, err);
    if (fd < 0)
        return fd;
    int rc = fchmod(fd, f->mode) ? sk_fail_errno(err, errno, "cannot set the mode of %s", f->tmp)
             : sync              ? sk_io_fsync(fd, f->tmp, err)
                                 : 0;
    close(fd);
    return rc;
}

int sk_files_commit(struct sk_files *s, int sync, struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; !rc && i < s->files; i++)
        rc = sync_file(&s->file[i], sync, err);
    for (int i = 0; !rc && i < s->files; i++) {
        struct file *f = &s->file[i];
        rc = sk_io_rename(f->tmp, f->path, err);
        if (rc)
            break;
        free(f->tmp);
        f->tmp = NULL;
        if (sync)
            rc = sk_io_fsync_parent(f->path, err);
    }
    return rc;
}
