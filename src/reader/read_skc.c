/* Saikai's own containers (format/skc.h): each plain variable is one extent. Coded ones and changes
 * since another generation stay closed; a file of the program that is kept in the container is
 * looked into as if it lay alone. */
#include "reader/reader.h"
#include "reader/view.h"
#include "reader/scan.h"

#include "base/hash.h"
#include "format/skc.h"

#include <stdio.h>
#include <string.h>

static int probe(const struct sk_view *src)
{
    struct sk_skc_header h;
    size_t n = src->size < SK_SKC_HEADER_BYTES ? (size_t)src->size : SK_SKC_HEADER_BYTES;
    const uint8_t *p = sk_view_at(src, 0, n);
    return p && !sk_skc_decode_header(p, n, &h, NULL);
}

/* Where a plain variable's bytes lie, if they lie together; else 0. */
static uint64_t whole(const struct sk_skc_index *x, const struct sk_skc_var *v)
{
    if (v->codec[0] || !v->chunk_count || !v->raw_bytes)
        return 0;
    const struct sk_skc_chunk *c = &x->chunks[v->first_chunk];
    for (uint64_t i = 0; i < v->chunk_count; i++)
        if (c[i].stored_bytes != c[i].raw_bytes ||
            (i && c[i].offset != c[i - 1].offset + c[i - 1].stored_bytes))
            return 0;
    return c->offset;
}

/* A file in the container: its variables, named below its own name. */
static int scan_file(const struct sk_view *src, const struct sk_skc_var *v, uint64_t offset,
                     struct sk_scan *scan)
{
    char path[4096], name[SAIKAI_MAX_NAME + 1];
    struct sk_scan inner;
    struct saikai_error why = {0};
    if (offset > src->size || v->raw_bytes > src->size - offset)
        return 0;
    /* no file has this name: readers are to look at the bytes alone */
    snprintf(path, sizeof path, "%s//%s", src->path, v->name);
    struct sk_view file = sk_view_part(src, path, offset, v->raw_bytes);
    if (probe(&file)) /* a container in a container is not looked into */
        return 0;
    int rc = scan->scan_inner(&file, &inner, &why);
    for (size_t i = 0; i < inner.count && !rc; i++) {
        struct sk_extent e = inner.extents[i];
        e.offset += offset;
        if (snprintf(name, sizeof name, "%s/%s", v->name, e.name) < (int)sizeof name)
            rc = sk_scan_add(scan, &e, name);
    }
    sk_scan_free(&inner);
    return rc;
}

static int scan_var(const struct sk_view *src, const struct sk_skc_index *x,
                    const struct sk_skc_var *v, struct sk_scan *scan)
{
    struct sk_extent e = {
        .offset = whole(x, v), .length = v->raw_bytes, .type = v->type, .ndims = v->ndims};
    if (!e.offset)
        return 0;
    if (v->kind == SK_SKC_FILE)
        return scan_file(src, v, e.offset, scan);
    if (v->kind != SK_SKC_MEMORY)
        return 0;
    for (int i = 0; i < e.ndims; i++)
        e.dims[i] = (size_t)v->dims[i];
    return sk_scan_add(scan, &e, v->name);
}

static int scan_skc(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err)
{
    struct sk_skc_trailer t;
    struct sk_skc_index *x = NULL;
    if (src->size < SK_SKC_HEADER_BYTES + SK_SKC_TRAILER_BYTES)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: the container is cut short", src->path);
    const uint8_t *p = sk_view_at(src, src->size - SK_SKC_TRAILER_BYTES, SK_SKC_TRAILER_BYTES);
    int rc = p ? sk_skc_decode_trailer(p, SK_SKC_TRAILER_BYTES, src->size, &t, err)
               : sk_fail(err, SAIKAI_EDAMAGED, "%s: the container is cut short", src->path);
    if (!rc && !(p = sk_view_at(src, t.index_offset, t.index_bytes)))
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: the container's index lies outside it", src->path);
    if (!rc && sk_hash64(p, (size_t)t.index_bytes) != t.index_hash)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: the container's index is damaged", src->path);
    if (!rc)
        rc = sk_skc_decode_index(p, (size_t)t.index_bytes, t.index_offset, &x, err);
    for (uint32_t i = 0; !rc && i < x->var_count; i++)
        rc = scan_var(src, x, &x->vars[i], scan);
    sk_skc_index_free(x);
    return rc;
}

const struct sk_reader_ops sk_reader_skc = {"skc", "containers of this library", probe, scan_skc};
