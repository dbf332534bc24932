/* Lays out, seals, opens and checks parity files. A recycled one is filled through a mapping, since
 * its pages are there, a fresh one block by block. */
#include "redundancy/set/parity_file.h"

#include "base/host/guard.h"
#include "base/own/own.h"
#include "base/hash.h"
#include "base/file/io.h"
#include "redundancy/set/kept_maps.h"
#include "redundancy/set/prefault.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct sk_parity_file {
    struct sk_id store;
    char *path, *tmp; /* tmp: being created */
    int fd, member, abandoned;
    struct sk_kept_maps *kept; /* takes the mapping at the end, NULL: nobody */
    uint8_t *map;              /* NULL: fresh, written block by block */
    uint8_t *table;            /* of a created file, 8 bytes per block */
    uint8_t *good;             /* of an opened file: blocks that were checked */
    uint64_t size_bytes, blocks, table_hash, mapped, map_bytes;
    uint32_t header_bytes, block;
    struct sk_hasher *hasher; /* of the block that is appended to */
    uint64_t appended;
    int code; /* first failure to write */
    struct saikai_error why;
};

static uint64_t table_at(const struct sk_parity_file *f)
{
    return f->header_bytes + f->blocks * f->block;
}

static const uint8_t *table_of(const struct sk_parity_file *f)
{
    return f->table ? f->table : f->map + table_at(f);
}

uint8_t *sk_parity_block(struct sk_parity_file *f, uint64_t number)
{
    if (!f->map)
        return NULL;
    uint64_t at = f->header_bytes + number * f->block;
    sk_prefault(f->map, f->size_bytes, at + f->block, &f->mapped);
    return f->map + at;
}

const uint8_t *sk_parity_read(struct sk_parity_file *f, uint64_t number, uint8_t *scratch,
                              struct saikai_error *err)
{
    if (f->map)
        return sk_parity_block(f, number);
    off_t at = (off_t)(f->header_bytes + number * f->block);
    return sk_io_pread(f->fd, f->tmp, scratch, f->block, at, err) ? NULL : scratch;
}

/* n bytes at offset of the blocks. */
static void put(struct sk_parity_file *f, uint64_t offset, const uint8_t *data, size_t n)
{
    uint64_t at = f->header_bytes + offset;
    if (f->map && data != f->map + at)
        memcpy(f->map + at, data, n);
    else if (!f->map && !f->code)
        f->code = sk_io_pwrite(f->fd, f->tmp, data, n, (off_t)at, &f->why);
}

void sk_parity_stored(struct sk_parity_file *f, uint64_t number, const uint8_t *data)
{
    uint64_t hash = sk_hash64(data, f->block);
    memcpy(f->table + 8 * number, &hash, sizeof hash);
    put(f, number * f->block, data, f->block);
}

void sk_parity_append(struct sk_parity_file *f, const uint8_t *data, size_t n)
{
    put(f, f->appended, data, n);
    while (n) {
        size_t left = f->block - (size_t)(f->appended % f->block), part = n < left ? n : left;
        sk_hasher_add(f->hasher, data, part);
        f->appended += part;
        data += part;
        n -= part;
        if (part < left)
            continue;
        uint64_t hash = sk_hasher_value(f->hasher);
        memcpy(f->table + 8 * (f->appended / f->block - 1), &hash, sizeof hash);
        sk_hasher_reset(f->hasher);
    }
}

void sk_parity_abandon(struct sk_parity_file *f)
{
    if (f)
        f->abandoned = 1;
}

void sk_parity_file_free(struct sk_parity_file *f)
{
    if (!f)
        return;
    if (f->tmp)
        sk_io_unlink(f->tmp, NULL);
    else if (f->kept && f->map && !f->abandoned)
        sk_keep_map(f->kept, &f->fd, &f->map, f->map_bytes);
    if (f->map && !f->abandoned) {
        sk_guard_remove(f->map);
        munmap(f->map, f->map_bytes);
    }
    sk_own_close(f->fd);
    sk_hasher_free(f->hasher);
    free(f->table);
    free(f->good);
    free(f->path);
    free(f->tmp);
    free(f);
}

static struct sk_parity_file *file_new(const char *path, struct saikai_error *err)
{
    struct sk_parity_file *f = calloc(1, sizeof *f);
    if (f) {
        f->fd = -1;
        f->path = strdup(path);
    }
    if (!f || !f->path) {
        sk_parity_file_free(f);
        sk_fail(err, SAIKAI_ENOMEM, "no memory for a parity file");
        return NULL;
    }
    return f;
}

static int layout(struct sk_parity_file *f, const struct sk_record *r, int member,
                  struct sk_buf *header, struct saikai_error *err)
{
    struct sk_parity_header h = {.record = *r, .member = member, .store = f->store, .table_hash = f->table_hash};
    int rc = sk_parity_encode(&h, header, err);
    if (rc)
        return rc;
    f->header_bytes = h.header_bytes;
    f->blocks = h.blocks;
    f->block = r->block;
    f->member = member;
    f->size_bytes = h.header_bytes + h.blocks * ((uint64_t)r->block + 8);
    return 0;
}

/* Under a temporary name; over an old parity file, if there is one, for its pages and its mapping. */
static int create(struct sk_parity_file *f, const char *recycle, struct saikai_error *err)
{
    char tmp[PATH_MAX];
    int rc = sk_io_path(tmp, sizeof tmp, err, "%s", f->path);
    char *slash = rc ? NULL : strrchr(tmp, '/');
    if (slash && slash > tmp) { /* a node that lost everything has no directory either */
        *slash = 0;
        rc = sk_io_mkdirs(tmp, err);
    }
    if (!rc)
        rc = sk_io_path(tmp, sizeof tmp, err, "%s.new", f->path);
    if (rc)
        return rc;
    if (!(f->tmp = strdup(tmp)))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a file name");
    int recycled = recycle && !access(recycle, F_OK);
    if (recycled && (rc = sk_io_rename(recycle, tmp, err)))
        return rc;
    /* not truncated: every block is written anew, and the pages are there already */
    f->fd = sk_own(sk_io_open(tmp, O_RDWR | O_CREAT, 0666, err), SK_OWN_STAYS);
    if (f->fd < 0)
        return f->fd;
    off_t had = 0;
    if (!recycled)
        return sk_io_truncate(f->fd, tmp, (off_t)f->size_bytes, err);
    rc = sk_io_size(f->fd, tmp, &had, err);
    if (!rc)
        rc = sk_io_reserve(f->fd, tmp, (off_t)f->size_bytes, err);
    if (rc || (uint64_t)had < f->size_bytes)
        return rc;
    f->map = sk_take_map(f->kept, f->fd, f->size_bytes, &f->map_bytes);
    if (f->map) {
        f->mapped = f->size_bytes;
        return 0;
    }
    void *map = NULL;
    f->map_bytes = f->size_bytes;
    rc = sk_io_map(f->fd, tmp, f->size_bytes, 1, &map, err);
    f->map = map;
    sk_guard_add(map, f->size_bytes);
    return rc;
}

int sk_parity_create(const char *path, const char *recycle, struct sk_kept_maps *kept,
                     const struct sk_record *r, int member, struct sk_parity_file **out,
                     struct saikai_error *err)
{
    struct sk_parity_file *f = file_new(path, err);
    if (!f)
        return SAIKAI_ENOMEM;
    f->kept = kept;
    struct sk_buf header = {0};
    int rc = layout(f, r, member, &header, err);
    sk_buf_free(&header);
    if (!rc) {
        f->table = calloc(f->blocks + 1, 8);
        f->hasher = sk_hasher_new();
        if (!f->table || !f->hasher)
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the checksums of a parity file");
    }
    if (!rc)
        rc = create(f, recycle, err);
    if (rc) {
        sk_parity_file_free(f);
        return rc;
    }
    *out = f;
    return 0;
}

void sk_parity_of_store(struct sk_parity_file *f, struct sk_id store)
{
    f->store = store;
}

int sk_parity_seal(struct sk_parity_file *f, const struct sk_record *r, int sync,
                   struct saikai_error *err)
{
    struct sk_buf header = {0};
    uint32_t header_bytes = f->header_bytes;
    uint64_t size = f->size_bytes;
    if (f->code) {
        if (err)
            *err = f->why;
        return f->code;
    }
    if (sk_guard_lost(f->map))
        return sk_fail(err, SAIKAI_EDAMAGED, "somebody else cut %s while it was written", f->tmp);
    f->table_hash = sk_hash64(f->table, 8 * f->blocks);
    int rc = layout(f, r, f->member, &header, err);
    if (!rc && (f->header_bytes != header_bytes || f->size_bytes != size))
        rc = sk_fail(err, SAIKAI_EINTERNAL, "%s: the record changed its size while it was coded",
                     f->path);
    if (!rc && f->blocks)
        rc = sk_io_pwrite(f->fd, f->tmp, f->table, 8 * f->blocks, (off_t)table_at(f), err);
    if (!rc)
        rc = sk_io_pwrite(f->fd, f->tmp, header.data, header.len, 0, err);
    if (!rc && sync)
        rc = sk_io_fsync(f->fd, f->tmp, err);
    sk_buf_free(&header);
    return rc;
}

int sk_parity_commit(struct sk_parity_file *f, int sync, struct saikai_error *err)
{
    int rc = sk_io_rename(f->tmp, f->path, err);
    if (rc)
        return rc;
    free(f->tmp);
    f->tmp = NULL;
    return sync ? sk_io_fsync_parent(f->path, err) : 0;
}

/* The header of an open file: read what the first bytes say it is long. */
static int read_header(struct sk_parity_file *f, struct sk_parity_header *h,
                       struct saikai_error *err)
{
    enum { FIRST = 4096 };
    size_t n = f->size_bytes < FIRST ? f->size_bytes : FIRST, need = 0;
    uint8_t *p = malloc(FIRST);
    int rc = p ? sk_io_pread(f->fd, f->path, p, n, 0, err)
               : sk_fail(err, SAIKAI_ENOMEM, "no memory for a header");
    if (!rc)
        rc = sk_parity_decode(p, n, f->size_bytes, h, &need, err);
    if (rc && need > n && need <= f->size_bytes) {
        uint8_t *more = realloc(p, need);
        if (more) {
            p = more;
            rc = sk_io_pread(f->fd, f->path, p, need, 0, err);
            if (!rc)
                rc = sk_parity_decode(p, need, f->size_bytes, h, NULL, err);
        } else {
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for a header");
        }
    }
    free(p);
    return rc;
}

int sk_parity_open(const char *path, struct sk_parity_header *h, struct sk_parity_file **out,
                   struct saikai_error *err)
{
    struct sk_parity_file *f = file_new(path, err);
    if (!f)
        return SAIKAI_ENOMEM;
    off_t size = 0;
    struct sk_parity_header v = {0};
    f->fd = sk_own(sk_io_open(path, O_RDONLY, 0, err), SK_OWN_STAYS);
    int rc = f->fd < 0 ? f->fd : sk_io_size(f->fd, path, &size, err);
    f->size_bytes = (uint64_t)size;
    if (!rc && (rc = read_header(f, &v, err)) && rc != SAIKAI_EIO)
        sk_error_prefix(err, "%s: ", path);
    void *map = NULL;
    if (!rc && !(f->good = calloc(v.blocks + 1, 1)))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the checksums of a parity file");
    if (!rc)
        rc = sk_io_map(f->fd, path, f->size_bytes, 0, &map, err);
    if (rc) {
        sk_parity_header_free(&v);
        sk_parity_file_free(f);
        return rc;
    }
    f->map = map;
    sk_guard_add(map, f->size_bytes);
    f->map_bytes = f->size_bytes;
    f->header_bytes = v.header_bytes;
    f->blocks = v.blocks;
    f->block = v.record.block;
    f->member = v.member;
    f->table_hash = v.table_hash;
    *h = v;
    *out = f;
    return 0;
}

int sk_parity_check_table(struct sk_parity_file *f, struct saikai_error *err)
{
    if (sk_hash64(table_of(f), 8 * f->blocks) != f->table_hash)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s is damaged: its table of checksums", f->path);
    return 0;
}

int sk_parity_check_block(struct sk_parity_file *f, uint64_t number, struct saikai_error *err)
{
    uint64_t hash;
    if (f->good[number])
        return 0;
    memcpy(&hash, table_of(f) + 8 * number, sizeof hash);
    if (hash != sk_hash64(sk_parity_block(f, number), f->block))
        return sk_fail(err, SAIKAI_EDAMAGED, "%s is damaged: parity block %llu", f->path,
                       (unsigned long long)number);
    f->good[number] = 1;
    return 0;
}

int sk_parity_check(struct sk_parity_file *f, struct saikai_error *err)
{
    int rc = sk_parity_check_table(f, err);
    for (uint64_t i = 0; !rc && i < f->blocks; i++)
        rc = sk_parity_check_block(f, i, err);
    return rc;
}
