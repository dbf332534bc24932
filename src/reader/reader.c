/* The table of readers, and the checks that no reader can skip. */
#include "reader/reader.h"
#include "reader/view.h"
#include "reader/scan.h"

#include "base/types.h"

#include <stdlib.h>
#include <string.h>

/* Described forms come first: who describes a format knows better than a guess. */
static const struct sk_reader_ops *const readers[] = {
    &sk_reader_raw, &sk_reader_skc, &sk_reader_netcdf3, &sk_reader_hdf5, &sk_reader_fortran,
};

const struct sk_reader_ops *sk_reader_at(int i)
{
    return i >= 0 && i < (int)(sizeof readers / sizeof *readers) ? readers[i] : NULL;
}

SK_KIND(sk_reader_kind, "reader", "reader of files", struct sk_reader_ops, sk_reader_at, description);

static int by_offset(const void *a, const void *b)
{
    const struct sk_extent *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->length < y->length ? -1 : x->length > y->length;
}

/* 1: the extent is what it says it is and lies inside the file. */
static int sound(const struct sk_extent *e, uint64_t size)
{
    size_t n, bytes;
    if (!sk_type_size(e->type) || e->ndims < 0 || e->ndims > SAIKAI_MAX_DIMS ||
        sk_dims_count(e->ndims, e->dims, &n) ||
        __builtin_mul_overflow(n, sk_type_size(e->type), &bytes))
        return 0;
    return e->length && e->length == bytes && e->offset <= size && e->length <= size - e->offset;
}

static void keep_sound(struct sk_scan *scan, uint64_t size)
{
    if (scan->count)
        qsort(scan->extents, scan->count, sizeof *scan->extents, by_offset);
    uint64_t end = 0;
    size_t kept = 0;
    for (size_t i = 0; i < scan->count; i++) {
        struct sk_extent e = scan->extents[i];
        if (!sound(&e, size) || e.offset < end) {
            free(e.name);
            continue;
        }
        end = e.offset + e.length;
        scan->extents[kept++] = e;
    }
    scan->count = kept;
}

int sk_scan_source(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *why)
{
    sk_error_clear(why);
    *scan = (struct sk_scan){.scan_inner = sk_scan_source};
    for (int i = 0; sk_reader_at(i); i++) {
        const struct sk_reader_ops *r = sk_reader_at(i);
        if (!r->probe(src))
            continue;
        int rc = r->scan(src, scan, why);
        if (rc == SAIKAI_ENOMEM) {
            sk_scan_free(scan);
            return rc;
        }
        scan->form = r->name;
        if (rc) {
            sk_scan_free(scan); /* all of it becomes skeleton */
            return 0;
        }
        keep_sound(scan, src->size);
        return 0;
    }
    return 0;
}

int sk_scan_file(const char *path, struct sk_scan *scan, uint64_t *size_bytes,
                 struct saikai_error *why, struct saikai_error *err)
{
    struct sk_view v;
    struct saikai_error e = {0};
    int rc = sk_view_open(&v, path, err);
    if (rc)
        return rc;
    uint64_t size = v.size;
    rc = sk_scan_source(&v, scan, why);
    int read = sk_view_close(&v, &e);
    if (rc)
        return sk_fail(err, rc, "%s: no memory to list its variables", path);
    if (read) {
        sk_scan_free(scan);
        if (read == SAIKAI_EDAMAGED)
            return sk_fail(err, SAIKAI_ECHANGED,
                           "%s became shorter while it was read: archive it when it is finished",
                           path);
        if (err)
            *err = e;
        return read;
    }
    *size_bytes = size;
    return 0;
}
