/* The ends of an archive's file: its header, and its index with a trailer, both there twice. One of
 * each is enough to read the archive. */
#include "archive/file/ska.h"

#include "codec/general/general.h"
#include "base/hash.h"
#include "base/file/io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint8_t magic[8] = {0x93, 'S', 'K', 'A', '\r', '\n', 0x1a, '\n'};
static const uint8_t end_magic_1[8] = {'S', 'K', 'A', 'e', 'n', 'd', '.', '\n'}; /* of trailers, by the version */
static const uint8_t end_magic_2[8] = {'S', 'K', 'A', 'e', 'n', 'd', '2', '\n'};
static const uint8_t end_magic_3[8] = {'S', 'K', 'A', 'e', 'n', 'd', '3', '\n'};
static const uint8_t end_magic_4[8] = {'S', 'K', 'A', 'e', 'n', 'd', '4', '\n'};
static const uint8_t end_magic_5[8] = {'S', 'K', 'A', 'e', 'n', 'd', '5', '\n'};
static const uint8_t end_magic_6[8] = {'S', 'K', 'A', 'e', 'n', 'd', '6', '\n'};
static const uint8_t end_magic_7[8] = {'S', 'K', 'A', 'e', 'n', 'd', '7', '\n'};
static const uint8_t end_magic_8[8] = {'S', 'K', 'A', 'e', 'n', 'd', '8', '\n'};
static const uint8_t end_magic_9[8] = {'S', 'K', 'A', 'e', 'n', 'd', '9', '\n'};
static const uint8_t end_magic_10[8] = {'S', 'K', 'A', 'e', 'n', '1', '0', '\n'};
static const uint8_t end_magic_11[8] = {'S', 'K', 'A', 'e', 'n', '1', '1', '\n'};
static const uint8_t *const end_magic[SK_SKA_VERSION] = {end_magic_1, end_magic_2, end_magic_3, end_magic_4, end_magic_5,
                                                         end_magic_6, end_magic_7, end_magic_8, end_magic_9, end_magic_10,
                                                         end_magic_11};

enum { INDEX_LEVEL = 3 };

int sk_ska_begins(const void *data, size_t n)
{
    return n >= sizeof magic && !memcmp(data, magic, sizeof magic);
}

/* By the last bytes of a trailer; 0: it is none. */
static int version_of(const uint8_t end[8])
{
    for (int v = SK_SKA_VERSION; v > 0; v--)
        if (!memcmp(end, end_magic[v - 1], 8))
            return v;
    return 0;
}

void sk_ska_put_header(struct sk_buf *out, int version)
{
    sk_buf_put(out, magic, sizeof magic);
    sk_buf_put_u32(out, (uint32_t)version);
    sk_buf_put_u32(out, 0);
}

/* Both trailers are the same bytes: the offset is that of the first index, and the second one
 * follows the first trailer. */
static void put_trailer(struct sk_buf *out, int version, uint64_t offset, uint64_t stored, uint64_t raw,
                        uint64_t hash)
{
    size_t start = out->len;
    sk_buf_put_u64(out, offset);
    sk_buf_put_u64(out, stored);
    sk_buf_put_u64(out, raw);
    sk_buf_put_u64(out, hash);
    sk_buf_put_u64(out, sk_buf_ok(out) ? sk_hash64(out->data + start, 32) : 0);
    sk_buf_put(out, end_magic[version - 1], 8);
}

/* One copy of an index as it was before it was packed. */
struct raw_index {
    uint8_t *data;
    size_t n;
    int version, damage;
    uint64_t at, hash; /* where the first copy lies, and the hash of the stored bytes */
};

static int read_raw(const char *path, int depth, struct raw_index *out, struct saikai_error *err);

/* ---- writing ---- */

/* The raw index packed, behind what is in `out`; after: the one of the archive that it builds on, NULL: alone. */
static int pack_index(struct sk_packer *packer, const struct sk_buf *raw, const struct raw_index *after, struct sk_buf *out, int *backend, struct saikai_error *err)
{
    size_t start = out->len, stored = 0;
    uint8_t *to = sk_buf_extend(out, sk_pack_bound(raw->len));
    *backend = SK_BACKEND_ZSTD;
    if (!to)
        return SAIKAI_ENOMEM;
    if (after) {
        packer->before = after->data;
        packer->before_bytes = after->n;
    }
    int rc = sk_pack(packer, backend, INDEX_LEVEL, raw->data, raw->len, to, &stored, err);
    out->len = start + stored;
    return rc;
}

/* Pack the index after the one of the archive at `previous`, to `out`: what has not changed is named once for both. 1: it is done, 0: it does
 * not pay, or that one cannot be read. */
static int pack_after(struct sk_packer *packer, const struct sk_ska *a, const struct sk_buf *raw, const char *previous, size_t alone, struct sk_buf *out)
{
    struct raw_index before = {0};
    int backend = SK_BACKEND_STORE;
    int ok = !read_raw(previous, SK_SKA_MAX_DEPTH, &before, NULL) && before.hash == a->previous_hash && before.n;
    sk_buf_put_str(out, a->previous);
    sk_buf_put_u64(out, a->previous_hash);
    ok = ok && !pack_index(packer, raw, &before, out, &backend, NULL) && sk_buf_ok(out) && backend == SK_BACKEND_ZSTD_AFTER;
    free(before.data);
    return ok && out->len < alone / 2;
}

/* The stored index to `out`. Where it takes much of the archive, which needs another one anyhow, it may come after the index of that. */
static int put_stored(struct sk_buf *out, struct sk_ska *a, uint64_t data_end, const char *previous, uint64_t *length, struct saikai_error *err)
{
    enum { LEAST = 2048, MUCH = 16 };
    struct sk_buf raw = {0}, after = {0};
    struct sk_packer packer = {0};
    size_t start = out->len;
    int backend;
    sk_ska_put_raw_index(&raw, a);
    int rc = sk_buf_ok(&raw) ? pack_index(&packer, &raw, NULL, out, &backend, err) : SAIKAI_ENOMEM;
    size_t alone = out->len - start;
    /* who has no memory for forms 10 to 12 has none for another index */
    if (!rc && previous && a->previous && a->needs >= SK_SKA_AFTER && alone > LEAST && alone > data_end / MUCH &&
        pack_after(&packer, a, &raw, previous, alone, &after)) {
        out->len = start;
        sk_buf_put(out, after.data, after.len);
        a->needs = a->needs > SK_SKA_INDEX_AFTER ? a->needs : SK_SKA_INDEX_AFTER;
        backend = SK_BACKEND_ZSTD_AFTER;
    }
    *length = (uint64_t)raw.len | (uint64_t)backend << 56;
    sk_packer_free(&packer);
    sk_buf_free(&after);
    sk_buf_free(&raw);
    return rc;
}

int sk_ska_put_index(struct sk_buf *out, struct sk_ska *a, uint64_t index_offset, const char *previous, struct saikai_error *err)
{
    size_t start = out->len;
    uint64_t length;
    int rc = put_stored(out, a, index_offset, previous, &length, err);
    if (!rc) {
        size_t stored = out->len - start;
        uint64_t hash = sk_hash64(out->data + start, stored);
        put_trailer(out, sk_ska_version(a), index_offset, stored, length, hash);
        uint8_t *again = sk_buf_extend(out, stored);
        if (again) {
            memcpy(again, out->data + start, stored);
            put_trailer(out, sk_ska_version(a), index_offset, stored, length, hash);
        }
        rc = again && sk_buf_ok(out) ? 0 : SAIKAI_ENOMEM;
    }
    return rc ? sk_fail(err, rc, "no memory for the archive's index") : 0;
}

/* ---- reading ---- */

/* What a trailer says. */
struct trailer {
    int version; /* 0: it is none */
    uint64_t at, stored, raw, hash;
    int backend;
};

static struct trailer parse_trailer(const uint8_t t[SK_SKA_TRAILER_BYTES])
{
    struct sk_rd r = sk_rd_init(t, SK_SKA_TRAILER_BYTES);
    struct trailer x = {0};
    x.at = sk_rd_u64(&r);
    x.stored = sk_rd_u64(&r);
    x.raw = sk_rd_u64(&r);
    x.hash = sk_rd_u64(&r);
    x.backend = (int)(x.raw >> 56);
    x.raw &= ((uint64_t)1 << 56) - 1;
    if (sk_hash64(t, 32) == sk_rd_u64(&r))
        x.version = version_of(t + 40);
    return x;
}

/* The index of the archive that one builds on, which lies beside it. */
static int read_below(const char *path, const char *name, uint64_t hash, int depth, struct raw_index *out, struct saikai_error *err)
{
    char at[4096];
    const char *slash = strrchr(path, '/');
    if (!depth || !sk_ska_safe_name(name) || strchr(name, '/'))
        return sk_fail(err, SAIKAI_EDAMAGED, "its index is damaged");
    int rc = sk_io_path(at, sizeof at, err, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name);
    if (!rc && access(at, F_OK))
        return sk_fail(err, SAIKAI_ENOENT, "it builds on %s, which is missing: put it back beside it", at);
    if (!rc)
        rc = read_raw(at, depth - 1, out, err);
    if (!rc && out->hash != hash)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "it builds on another archive than the one that is called %s now: put that one back in its place", at);
    return rc;
}

/* Stored bytes of an index, unpacked to out->data; from version 9 on they say first after which other one they come. */
static int unpack_index(const char *path, const struct trailer *t, const uint8_t *stored, int depth, struct raw_index *out, struct saikai_error *err)
{
    char name[256];
    struct raw_index below = {0};
    struct sk_packer packer = {0};
    struct sk_rd r = sk_rd_init(stored, t->stored);
    int rc = 0;
    if (t->version == SK_SKA_INDEX_AFTER || (t->version > SK_SKA_INDEX_AFTER && t->backend == SK_BACKEND_ZSTD_AFTER)) {
        sk_rd_str(&r, name, sizeof name);
        uint64_t hash = sk_rd_u64(&r);
        rc = r.bad || t->backend != SK_BACKEND_ZSTD_AFTER ? sk_fail(err, SAIKAI_EDAMAGED, "its index is damaged")
                                                          : read_below(path, name, hash, depth, &below, err);
        packer.before = below.data;
        packer.before_bytes = below.n;
    }
    size_t left = sk_rd_left(&r);
    if (!rc)
        rc = sk_unpack(&packer, t->backend, sk_rd_bytes(&r, left), left, out->data, t->raw, err);
    sk_packer_free(&packer);
    free(below.data);
    return rc;
}

/* One copy of the index, read and unpacked. *whole: 1 if its stored bytes are what they should be, so that the other copy says nothing else. */
static int read_copy(int fd, const char *path, const struct trailer *t, uint64_t at, int depth, int *whole, struct raw_index *out, struct saikai_error *err)
{
    uint8_t *stored = malloc(t->stored);
    *out = (struct raw_index){.data = malloc(t->raw), .n = t->raw, .version = t->version, .at = t->at, .hash = t->hash};
    int rc = stored && out->data ? sk_io_pread(fd, path, stored, t->stored, (off_t)at, err)
                                 : sk_fail(err, SAIKAI_ENOMEM, "no memory for its index");
    if (!rc && sk_hash64(stored, t->stored) != t->hash)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "the checksum of its index is wrong");
    *whole = !rc;
    if (!rc)
        rc = unpack_index(path, t, stored, depth, out, err);
    free(stored);
    if (rc) {
        free(out->data);
        *out = (struct raw_index){0};
    }
    return rc;
}

/* The last whole trailer of a version with two of them that ends before `end`; its offset, or 0. */
static uint64_t find_trailer(int fd, const char *path, uint64_t end, struct trailer *out)
{
    enum { PIECE = 1 << 20 };
    uint8_t *buf = malloc(PIECE + SK_SKA_TRAILER_BYTES);
    uint64_t found = 0;
    for (uint64_t to = end; buf && !found && to > SK_SKA_HEADER_BYTES;) {
        uint64_t from = to > PIECE ? to - PIECE : 0;
        size_t n =
            (size_t)((end - from < PIECE + SK_SKA_TRAILER_BYTES) ? end - from
                                                                 : PIECE + SK_SKA_TRAILER_BYTES);
        if (sk_io_pread(fd, path, buf, n, (off_t)from, NULL))
            break;
        for (size_t i = n; i-- > SK_SKA_TRAILER_BYTES - 8 && !found;) {
            if (i + 8 > n || version_of(buf + i) < 2)
                continue;
            size_t start = i - (SK_SKA_TRAILER_BYTES - 8);
            struct trailer t = parse_trailer(buf + start);
            if (t.version >= 2 && t.at <= from + start && t.stored == from + start - t.at) {
                *out = t;
                found = from + start;
            }
        }
        to = from;
    }
    free(buf);
    return found;
}

static int limits(const struct trailer *t, uint64_t at, uint64_t end)
{
    return at <= end && t->at <= at && t->stored <= end - at && t->raw <= SK_SKA_MAX_INDEX;
}

/* The second index and, where that is damaged, the first one. */
static int read_twice(int fd, const char *path, uint64_t size, struct trailer t, int depth, struct raw_index *out,
                      struct saikai_error *err)
{
    struct saikai_error why = {0};
    uint64_t end = size - SK_SKA_TRAILER_BYTES, first = 0;
    int rc = SAIKAI_EDAMAGED, damage = 0, whole = 0;
    sk_fail(err, SAIKAI_EDAMAGED, "its trailer is damaged");
    if (t.version >= 2) {
        uint64_t second = t.at + t.stored + SK_SKA_TRAILER_BYTES;
        if (limits(&t, second, end) && t.stored == end - second)
            rc = read_copy(fd, path, &t, second, depth, &whole, out, err);
    } else {
        damage = SK_SKA_TRAILER_DAMAGED;
        if (!(first = find_trailer(fd, path, end, &t)))
            return sk_fail(err, SAIKAI_EDAMAGED,
                           "its end is missing or damaged: it was cut short or never finished");
    }
    if (rc == SAIKAI_EDAMAGED && !whole && limits(&t, t.at, end)) {
        rc = read_copy(fd, path, &t, t.at, depth, &whole, out, &why);
        if (rc && err)
            *err = why;
        damage |= SK_SKA_INDEX_DAMAGED;
    }
    out->damage = damage;
    return rc;
}

static int read_index(int fd, const char *path, uint64_t size, int version, int depth, struct raw_index *out,
                      struct saikai_error *err)
{
    uint8_t bytes[SK_SKA_TRAILER_BYTES];
    uint64_t end = size - sizeof bytes;
    int rc = sk_io_pread(fd, path, bytes, sizeof bytes, (off_t)end, err);
    if (rc)
        return rc;
    struct trailer t = parse_trailer(bytes);
    int whole;
    if (version != 1)
        return read_twice(fd, path, size, t, depth, out, err);
    if (t.version != 1)
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "its end is missing or damaged: it was cut short or never finished");
    if (!limits(&t, t.at, end) || t.stored != end - t.at)
        return sk_fail(err, SAIKAI_EDAMAGED, "its trailer is damaged");
    return read_copy(fd, path, &t, t.at, depth, &whole, out, err);
}

/* The raw index of an open archive, of which at most `depth` more below are read for that. */
static int read_open(int fd, const char *path, int depth, struct raw_index *out, struct saikai_error *err)
{
    off_t size;
    uint8_t head[SK_SKA_HEADER_BYTES];
    int rc = sk_io_size(fd, path, &size, err);
    if (rc)
        return rc;
    if (size < (off_t)sizeof head)
        return sk_fail(err, SAIKAI_EFORMAT, "%s: not an archive of Saikai", path);
    rc = sk_io_pread(fd, path, head, sizeof head, 0, err);
    if (rc)
        return rc;
    struct sk_rd r = sk_rd_init(head + 8, 8);
    uint32_t version = sk_rd_u32(&r);
    int named = !memcmp(head, magic, sizeof magic), known = version >= 1 && version <= SK_SKA_VERSION;
    if (size < SK_SKA_HEADER_BYTES + SK_SKA_TRAILER_BYTES)
        return named ? sk_fail(err, SAIKAI_EDAMAGED, "%s: it is cut short", path)
                     : sk_fail(err, SAIKAI_EFORMAT, "%s: not an archive of Saikai", path);
    /* a damaged header is made good by what stands at the end */
    rc = read_index(fd, path, (uint64_t)size, named && version == 1 ? 1 : SK_SKA_VERSION, depth, out, err);
    if (rc && !named)
        return sk_fail(err, SAIKAI_EFORMAT, "%s: not an archive of Saikai", path);
    if (rc && !known)
        return sk_fail(err, SAIKAI_EFORMAT,
                       "%s: archive format version %u; this program reads versions 1 to %d", path,
                       version, SK_SKA_VERSION);
    if (rc)
        sk_error_prefix(err, "%s", path);
    else if (!named || !known)
        out->damage |= SK_SKA_HEADER_DAMAGED;
    return rc;
}

static int read_raw(const char *path, int depth, struct raw_index *out, struct saikai_error *err)
{
    int fd = sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    int rc = read_open(fd, path, depth, out, err);
    close(fd);
    return rc;
}

int sk_ska_read(int fd, const char *path, struct sk_ska *a, struct saikai_error *err)
{
    struct raw_index raw = {0};
    int rc = read_open(fd, path, SK_SKA_MAX_DEPTH, &raw, err);
    if (rc)
        return rc;
    rc = sk_ska_parse(raw.data, raw.n, raw.version, raw.at, a, err);
    if (rc)
        sk_error_prefix(err, "%s", path);
    if (!rc) {
        a->damage = raw.damage;
        a->hash = raw.hash;
        a->needs = raw.version > SK_SKA_PLAIN ? raw.version : 0;
    }
    free(raw.data);
    return rc;
}

int sk_archive_open(const char *path, struct sk_ska *a, struct saikai_error *err)
{
    int fd = sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    int rc = sk_ska_read(fd, path, a, err);
    close(fd);
    return rc;
}

/* ---- checking ---- */

int sk_ska_check_store(const struct sk_ska *a, const char *path, const struct sk_id *stores, int count,
                       struct saikai_error *err)
{
    char theirs[SK_ID_TEXT], ours[SK_ID_TEXT];
    int ok = !count || sk_id_none(a->store);
    for (int i = 0; i < count; i++)
        ok |= sk_id_same(a->store, stores[i]);
    return ok ? 0
              : sk_fail(err, SAIKAI_EDAMAGED, "%s is of the store %s, not of %s: it is not used", path,
                        sk_id_print(a->store, theirs), sk_id_print(stores[0], ours));
}

/* Whether the n bytes at both places are the same ones. */
static int same_bytes(int fd, const char *path, uint64_t x, uint64_t y, uint64_t n, int *same,
                      struct saikai_error *err)
{
    enum { PIECE = 64 << 10 };
    uint8_t a[PIECE], b[PIECE];
    int rc = 0;
    for (*same = 1; n && *same && !rc;) {
        size_t k = n < PIECE ? (size_t)n : PIECE;
        rc = sk_io_pread(fd, path, a, k, (off_t)x, err);
        if (!rc)
            rc = sk_io_pread(fd, path, b, k, (off_t)y, err);
        *same = !rc && !memcmp(a, b, k);
        x += k;
        y += k;
        n -= k;
    }
    return rc;
}

int sk_ska_check_ends(int fd, const char *path, const struct sk_ska *a, struct saikai_error *err)
{
    struct sk_buf head = {0};
    uint8_t bytes[SK_SKA_TRAILER_BYTES], read[SK_SKA_HEADER_BYTES];
    off_t size;
    int same = 1, rc = sk_io_size(fd, path, &size, err);
    uint64_t end = rc ? 0 : (uint64_t)size - sizeof bytes;
    if (!rc)
        rc = sk_io_pread(fd, path, bytes, sizeof bytes, (off_t)end, err);
    struct trailer t = rc ? (struct trailer){0} : parse_trailer(bytes);
    if (rc || (!a->damage && t.version < 2)) /* the first version has one of each */
        return rc;
    rc = sk_io_pread(fd, path, read, sizeof read, 0, err);
    /* where the last trailer is damaged, the header says the version, and the damage is told anyway */
    sk_ska_put_header(&head, t.version >= 2 ? t.version : read[8]);
    if (!rc && sk_buf_ok(&head))
        same = !memcmp(read, head.data, sizeof read);
    sk_buf_free(&head);
    if (!rc && !same)
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "%s: its header is damaged; nothing is lost by that alone", path);
    if (!rc && !a->damage)
        rc = same_bytes(fd, path, t.at, t.at + t.stored + sizeof bytes, t.stored + sizeof bytes,
                        &same, err);
    if (!rc && (a->damage || !same))
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "%s: one of the two copies of its index is damaged; nothing is lost by that "
                       "alone",
                       path);
    return rc;
}
