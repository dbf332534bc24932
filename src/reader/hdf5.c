/* HDF5 files as a form that archives know, and which of the two ways a file takes. */
#include "reader/hdf5.h"
#include "reader/scan.h"

#include <string.h>

int (*sk_hdf5_asked)(const struct sk_view *src, int pieces, struct sk_hdf5 *out, struct saikai_error *err);

int sk_hdf5_look(const struct sk_view *src, int pieces, struct sk_hdf5 *out, struct saikai_error *err)
{
    struct sk_hdf5 contents = {0};
    int rc = sk_hdf5_parse(src, &contents, err);
    if (rc == SAIKAI_ENOTSUP) {
        sk_hdf5_free(&contents);
        rc = sk_hdf5_asked ? sk_hdf5_asked(src, pieces, &contents, err)
                           : sk_fail(err, SAIKAI_ENOTSUP, "%s: its structure is known to the HDF5 library only", src->path);
    }
    if (rc)
        sk_hdf5_free(&contents);
    else
        *out = contents;
    return rc;
}

/* Each piece of a dataset is an extent; chunks are arrays of their own. */
static int add_extents(const struct sk_hdf5_dataset *d, struct sk_scan *scan)
{
    struct sk_extent e = {.type = d->type, .big_endian = d->big_endian, .ndims = d->ndims};
    size_t n = strlen(d->name);
    const char *name = n > SAIKAI_MAX_NAME ? d->name + n - SAIKAI_MAX_NAME : d->name; /* the end tells variables apart */
    int rc = 0;
    if (!d->type || d->filtered || d->ndims > SAIKAI_MAX_DIMS)
        return 0;
    memcpy(e.dims, d->layout == SK_HDF5_CHUNKS ? d->chunk : d->dims, sizeof e.dims);
    for (size_t i = 0; i < d->piece_count && !rc; i++) {
        e.offset = d->pieces[i].offset;
        e.length = d->pieces[i].length;
        rc = sk_scan_add(scan, &e, name);
    }
    return rc;
}

static int probe(const struct sk_view *src)
{
    return sk_hdf5_signature(src) != UINT64_MAX;
}

static int scan_hdf5(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err)
{
    struct sk_hdf5 contents = {0};
    int rc = sk_hdf5_look(src, 1, &contents, err);
    for (size_t i = 0; i < contents.count && !rc; i++)
        rc = add_extents(&contents.sets[i], scan);
    sk_hdf5_free(&contents);
    return rc;
}

const struct sk_reader_ops sk_reader_hdf5 = {"hdf5", "HDF5, and netCDF-4", probe, scan_hdf5};
