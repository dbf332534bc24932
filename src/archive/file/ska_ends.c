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
static const uint8_t *const end_magic[SK_SKA_VERSION] = {end_magic_1, end_magic_2, end_magic_3, end_magic_4, end_magic_5, end_magic_6, end_magic_7, end_magic_8};

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

int sk_ska_put_index(struct sk_buf *out, const struct sk_ska *a, uint64_t index_offset,
                     struct saikai_error *err)
{
    struct sk_buf raw = {0};
    struct sk_packer packer = {0};
    size_t start = out->len, stored = 0;
    int backend = SK_BACKEND_ZSTD, rc = SAIKAI_ENOMEM;
    sk_ska_put_raw_index(&raw, a);
    uint8_t *to = sk_buf_ok(&raw) ? sk_buf_extend(out, sk_pack_bound(raw.len)) : NULL;
    if (to)
        rc = sk_pack(&packer, &backend, 3, raw.data, raw.len, to, &stored, err);
    if (!rc) {
        uint64_t hash = sk_hash64(out->data + start, stored),
                 length = (uint64_t)raw.len | (uint64_t)backend << 56;
        out->len = start + stored;
        put_trailer(out, sk_ska_version(a), index_offset, stored, length, hash);
        uint8_t *again = sk_buf_extend(out, stored);
        if (again) {
            memcpy(again, out->data + start, stored);
            put_trailer(out, sk_ska_version(a), index_offset, stored, length, hash);
        }
        rc = again && sk_buf_ok(out) ? 0 : SAIKAI_ENOMEM;
    }
    sk_packer_free(&packer);
    sk_buf_free(&raw);
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

/* One copy of the index, read and unpacked. */
static int read_copy(int fd, const char *path, const struct trailer *t, uint64_t at,
                     struct sk_ska *a, struct saikai_error *err)
{
    struct sk_packer packer = {0};
    uint8_t *stored = malloc(t->stored + 1), *raw = malloc(t->raw + 1);
    int rc = stored && raw ? sk_io_pread(fd, path, stored, t->stored, (off_t)at, err)
                           : sk_fail(err, SAIKAI_ENOMEM, "no memory for its index");
    if (!rc && sk_hash64(stored, t->stored) != t->hash)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "the checksum of its index is wrong");
    if (!rc)
        rc = sk_unpack(&packer, t->backend, stored, t->stored, raw, t->raw, err);
    if (!rc)
        rc = sk_ska_parse(raw, t->raw, t->version, t->at, a, err);
    if (!rc) {
        a->hash = t->hash;
        a->needs = t->version > SK_SKA_PLAIN ? t->version : 0;
    }
    sk_packer_free(&packer);
    free(stored);
    free(raw);
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
static int read_twice(int fd, const char *path, uint64_t size, struct trailer t, struct sk_ska *a,
                      struct saikai_error *err)
{
    struct saikai_error why = {0};
    uint64_t end = size - SK_SKA_TRAILER_BYTES, first = 0;
    int rc = SAIKAI_EDAMAGED, damage = 0;
    sk_fail(err, SAIKAI_EDAMAGED, "its trailer is damaged");
    if (t.version >= 2) {
        uint64_t second = t.at + t.stored + SK_SKA_TRAILER_BYTES;
        if (limits(&t, second, end) && t.stored == end - second)
            rc = read_copy(fd, path, &t, second, a, err);
    } else {
        damage = SK_SKA_TRAILER_DAMAGED;
        if (!(first = find_trailer(fd, path, end, &t)))
            return sk_fail(err, SAIKAI_EDAMAGED,
                           "its end is missing or damaged: it was cut short or never finished");
    }
    if (rc == SAIKAI_EDAMAGED && limits(&t, t.at, end)) {
        rc = read_copy(fd, path, &t, t.at, a, &why);
        if (rc && err)
            *err = why;
        damage |= SK_SKA_INDEX_DAMAGED;
    }
    if (!rc)
        a->damage = damage;
    return rc;
}

static int read_index(int fd, const char *path, uint64_t size, int version, struct sk_ska *a,
                      struct saikai_error *err)
{
    uint8_t bytes[SK_SKA_TRAILER_BYTES];
    uint64_t end = size - sizeof bytes;
    int rc = sk_io_pread(fd, path, bytes, sizeof bytes, (off_t)end, err);
    if (rc)
        return rc;
    struct trailer t = parse_trailer(bytes);
    if (version != 1)
        return read_twice(fd, path, size, t, a, err);
    if (t.version != 1)
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "its end is missing or damaged: it was cut short or never finished");
    if (!limits(&t, t.at, end) || t.stored != end - t.at)
        return sk_fail(err, SAIKAI_EDAMAGED, "its trailer is damaged");
    return read_copy(fd, path, &t, t.at, a, err);
}

int sk_ska_read(int fd, const char *path, struct sk_ska *a, struct saikai_error *err)
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
    rc = read_index(fd, path, (uint64_t)size, named && version == 1 ? 1 : SK_SKA_VERSION, a, err);
    if (rc && !named)
        return sk_fail(err, SAIKAI_EFORMAT, "%s: not an archive of Saikai", path);
    if (rc && !known)
        return sk_fail(err, SAIKAI_EFORMAT,
                       "%s: archive format version %u; this program reads versions 1 to %d", path,
                       version, SK_SKA_VERSION);
    if (rc)
        sk_error_prefix(err, "%s", path);
    else if (!named || !known)
        a->damage |= SK_SKA_HEADER_DAMAGED;
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
