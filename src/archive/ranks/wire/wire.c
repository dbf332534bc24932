/* Lists of files and requests for bytes as messages. What is decoded is checked against what can
 * be. */
#include "archive/plan/listing.h"
#include "archive/ranks/wire/wire.h"

#include "base/types.h"
#include "reader/scan.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists of files ---- */

static void put_extent(struct sk_buf *out, const struct sk_extent *e)
{
    sk_buf_put_u64(out, e->offset);
    sk_buf_put_u64(out, e->length);
    sk_buf_put_u8(out, (uint8_t)e->type);
    sk_buf_put_u8(out, (uint8_t)((e->big_endian != 0) | (e->fields != 0) << 1));
    sk_buf_put_u8(out, (uint8_t)e->ndims);
    for (int i = 0; i < e->ndims; i++)
        sk_buf_put_u64(out, e->dims[i]);
    sk_buf_put_str(out, e->name);
}

enum { CHUNK_BYTES = 8 + 4 };
#define PLAIN ((uint32_t)1 << 31)

static void put_chunks(struct sk_buf *out, const struct sk_chunks *c)
{
    sk_buf_put_u64(out, c->count);
    for (size_t i = 0; i < c->count; i++) {
        sk_buf_put_u64(out, c->list[i].hash);
        sk_buf_put_u32(out, c->list[i].bytes | (c->list[i].plain ? PLAIN : 0));
    }
}

void sk_wire_put_list(struct sk_buf *out, const struct sk_listed *list, size_t count)
{
    sk_buf_put_u64(out, count);
    for (size_t i = 0; i < count; i++) {
        const struct sk_listed *l = &list[i];
        sk_buf_put_str(out, l->name);
        sk_buf_put_u64(out, l->size_bytes);
        sk_buf_put_u32(out, l->mode);
        sk_buf_put_u32(out, l->origin);
        sk_buf_put_u64(out, (uint64_t)l->mtime_ns);
        sk_buf_put_str(out, l->scan.form ? l->scan.form : "");
        sk_buf_put_u64(out, l->scan.count);
        for (size_t k = 0; k < l->scan.count; k++)
            put_extent(out, &l->scan.extents[k]);
        put_chunks(out, &l->chunks);
    }
}

static int get_extent(struct sk_rd *r, struct sk_listed *l)
{
    char name[SAIKAI_MAX_NAME + 1];
    struct sk_extent e = {.offset = sk_rd_u64(r), .length = sk_rd_u64(r), .type = sk_rd_u8(r)};
    unsigned flags = sk_rd_u8(r);
    uint64_t bytes = sk_type_size(e.type);
    e.big_endian = flags & 1;
    e.fields = flags >> 1 & 1;
    e.ndims = sk_rd_u8(r);
    if (r->bad || !bytes || e.ndims > SAIKAI_MAX_DIMS)
        return SAIKAI_EDAMAGED;
    for (int i = 0; i < e.ndims; i++) {
        e.dims[i] = (size_t)sk_rd_u64(r);
        if (__builtin_mul_overflow(bytes, e.dims[i], &bytes))
            return SAIKAI_EDAMAGED;
    }
    sk_rd_str(r, name, sizeof name);
    if (r->bad || !bytes || bytes != e.length || e.length > l->size_bytes ||
        e.offset > l->size_bytes - e.length)
        return SAIKAI_EDAMAGED;
    return sk_scan_add(&l->scan, &e, name);
}

/* None, or those of the whole file. */
static int get_chunks(struct sk_rd *r, struct sk_listed *l)
{
    uint64_t count = sk_rd_u64(r), at = 0;
    if (r->bad || count > sk_rd_left(r) / CHUNK_BYTES)
        return SAIKAI_EDAMAGED;
    for (uint64_t i = 0; i < count; i++) {
        struct sk_file_chunk x = {.hash = sk_rd_u64(r), .bytes = sk_rd_u32(r)};
        x.plain = x.bytes / PLAIN;
        x.bytes &= PLAIN - 1;
        if (!x.bytes || x.bytes > SK_CHUNK_MOST || x.bytes > l->size_bytes - at)
            return SAIKAI_EDAMAGED;
        if (sk_chunks_add(&l->chunks, &x))
            return SAIKAI_ENOMEM;
        at += x.bytes;
    }
    return count && at != l->size_bytes ? SAIKAI_EDAMAGED : 0;
}

static int get_file(struct sk_rd *r, struct sk_listed *l)
{
    char name[4096], form[64];
    sk_rd_str(r, name, sizeof name);
    l->size_bytes = sk_rd_u64(r);
    l->mode = sk_rd_u32(r) & 07777;
    l->origin = sk_rd_u32(r);
    l->mtime_ns = (int64_t)sk_rd_u64(r);
    sk_rd_str(r, form, sizeof form);
    uint64_t extents = sk_rd_u64(r);
    if (r->bad || l->size_bytes > INT64_MAX || l->origin > INT32_MAX)
        return SAIKAI_EDAMAGED;
    for (int i = 0; sk_reader_at(i); i++)
        if (!strcmp(form, sk_reader_at(i)->name))
            l->scan.form = sk_reader_at(i)->name;
    l->name = strdup(name);
    int rc = l->name ? 0 : SAIKAI_ENOMEM;
    uint64_t end = 0;
    for (uint64_t k = 0; k < extents && !rc; k++) {
        rc = get_extent(r, l);
        if (!rc && l->scan.extents[k].offset < end) /* a scan's extents are sorted and disjoint */
            rc = SAIKAI_EDAMAGED;
        if (!rc)
            end = l->scan.extents[k].offset + l->scan.extents[k].length;
    }
    return rc ? rc : get_chunks(r, l);
}

int sk_wire_get_list(const void *data, size_t n, struct sk_listed **list, size_t *count)
{
    struct sk_rd r = sk_rd_init(data, n);
    struct sk_listed *l = NULL;
    uint64_t files = sk_rd_u64(&r);
    size_t have = 0, cap = 0;
    int rc = r.bad ? SAIKAI_EDAMAGED : 0;
    while (have < files && !rc) {
        if (have == cap) {
            struct sk_listed *more = realloc(l, (cap = cap ? 2 * cap : 16) * sizeof *l);
            if (!more) {
                rc = SAIKAI_ENOMEM;
                break;
            }
            l = more;
        }
        l[have] = (struct sk_listed){0};
        rc = get_file(&r, &l[have++]);
    }
    if (!rc && sk_rd_left(&r))
        rc = SAIKAI_EDAMAGED;
    if (rc) {
        for (size_t i = 0; i < have; i++)
            sk_listed_free(&l[i]);
        free(l);
        return rc;
    }
    *list = l;
    *count = have;
    return 0;
}

/* ---- requests ---- */

enum { RANGE_BYTES = 4 + 8 + 8 };

void sk_wire_put_ranges(struct sk_buf *out, const struct sk_ska_range *r, size_t count,
                        uint32_t first)
{
    for (size_t i = 0; i < count; i++) {
        sk_buf_put_u32(out, r[i].file - first);
        sk_buf_put_u64(out, r[i].offset);
        sk_buf_put_u64(out, r[i].bytes);
    }
}

int sk_wire_get_ranges(const void *data, size_t n, const uint64_t *sizes, size_t files,
                       struct sk_ska_range **r, size_t *count, uint64_t *total)
{
    struct sk_rd in = sk_rd_init(data, n);
    uint64_t sum = 0;
    size_t k = n / RANGE_BYTES;
    if (n % RANGE_BYTES)
        return SAIKAI_EDAMAGED;
    struct sk_ska_range *out = calloc(k, sizeof *out);
    if (!out)
        return SAIKAI_ENOMEM;
    for (size_t i = 0; i < k; i++) {
        uint32_t file = sk_rd_u32(&in);
        uint64_t offset = sk_rd_u64(&in), bytes = sk_rd_u64(&in);
        if (in.bad || file >= files || !bytes || bytes > sizes[file] ||
            offset > sizes[file] - bytes || __builtin_add_overflow(sum, bytes, &sum) ||
            sum > SIZE_MAX / 2) {
            free(out);
            return SAIKAI_EDAMAGED;
        }
        out[i] = (struct sk_ska_range){file, offset, (size_t)bytes, NULL};
    }
    *r = out;
    *count = k;
    *total = sum;
    return 0;
}
