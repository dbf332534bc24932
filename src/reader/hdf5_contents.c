/* Lists of what is in an HDF5 file, and how they go from one process to another. */
#include "reader/hdf5.h"

#include <stdlib.h>
#include <string.h>

void sk_hdf5_free(struct sk_hdf5 *contents)
{
    if (!contents)
        return;
    for (size_t i = 0; i < contents->count; i++) {
        free(contents->sets[i].name);
        free(contents->sets[i].pieces);
    }
    free(contents->sets);
    *contents = (struct sk_hdf5){0};
}

struct sk_hdf5_dataset *sk_hdf5_add(struct sk_hdf5 *contents, const struct sk_hdf5_dataset *d, const char *name)
{
    if (contents->count == contents->cap) {
        size_t cap = contents->cap ? 2 * contents->cap : 32;
        struct sk_hdf5_dataset *more = realloc(contents->sets, cap * sizeof *more);
        if (!more)
            return NULL;
        contents->sets = more;
        contents->cap = cap;
    }
    struct sk_hdf5_dataset *to = &contents->sets[contents->count];
    *to = *d;
    to->pieces = NULL;
    to->piece_count = to->piece_cap = 0;
    to->name = strdup(name);
    contents->count += to->name != NULL;
    return to->name ? to : NULL;
}

int sk_hdf5_add_piece(struct sk_hdf5_dataset *d, uint64_t offset, uint64_t length)
{
    if (d->piece_count == d->piece_cap) {
        size_t cap = d->piece_cap ? 2 * d->piece_cap : 1;
        struct sk_hdf5_piece *more = realloc(d->pieces, cap * sizeof *more);
        if (!more)
            return SAIKAI_ENOMEM;
        d->pieces = more;
        d->piece_cap = cap;
    }
    d->pieces[d->piece_count++] = (struct sk_hdf5_piece){offset, length};
    return 0;
}

static int told_dims(int ndims)
{
    return ndims < SAIKAI_MAX_DIMS ? ndims : SAIKAI_MAX_DIMS;
}

void sk_hdf5_encode(const struct sk_hdf5 *contents, struct sk_buf *out)
{
    for (size_t i = 0; i < contents->count; i++) {
        const struct sk_hdf5_dataset *d = &contents->sets[i];
        sk_buf_put_u32(out, (uint32_t)strlen(d->name));
        sk_buf_put(out, d->name, strlen(d->name));
        sk_buf_put_u8(out, (uint8_t)d->type);
        sk_buf_put_u8(out, (uint8_t)d->big_endian);
        sk_buf_put_u8(out, (uint8_t)d->layout);
        sk_buf_put_u8(out, (uint8_t)d->filtered);
        sk_buf_put_u8(out, (uint8_t)d->ndims);
        for (int k = 0; k < told_dims(d->ndims); k++) {
            sk_buf_put_u64(out, d->dims[k]);
            sk_buf_put_u64(out, d->chunk[k]);
        }
        sk_buf_put_u64(out, d->piece_count);
        for (size_t k = 0; k < d->piece_count; k++) {
            sk_buf_put_u64(out, d->pieces[k].offset);
            sk_buf_put_u64(out, d->pieces[k].length);
        }
    }
}

static int decode_one(struct sk_rd *r, struct sk_hdf5 *out)
{
    struct sk_hdf5_dataset d = {0};
    size_t n = sk_rd_u32(r);
    const char *at = n <= sk_rd_left(r) ? sk_rd_bytes(r, n) : NULL;
    char *name = at && !memchr(at, 0, n) ? strndup(at, n) : NULL;
    d.type = sk_rd_u8(r);
    d.big_endian = sk_rd_u8(r);
    unsigned layout = sk_rd_u8(r);
    d.layout = layout;
    d.filtered = sk_rd_u8(r);
    d.ndims = sk_rd_u8(r);
    for (int k = 0; k < told_dims(d.ndims); k++) {
        d.dims[k] = (size_t)sk_rd_u64(r);
        d.chunk[k] = (size_t)sk_rd_u64(r);
    }
    uint64_t pieces = sk_rd_u64(r);
    if (r->bad || !name || layout > SK_HDF5_CHUNKS || pieces > sk_rd_left(r) / 16) {
        free(name);
        return SAIKAI_EDAMAGED;
    }
    struct sk_hdf5_dataset *to = sk_hdf5_add(out, &d, name);
    int rc = to ? 0 : SAIKAI_ENOMEM;
    for (uint64_t k = 0; k < pieces && !rc; k++) {
        uint64_t offset = sk_rd_u64(r);
        rc = sk_hdf5_add_piece(to, offset, sk_rd_u64(r));
    }
    free(name);
    return rc;
}

int sk_hdf5_decode(const void *data, size_t n, struct sk_hdf5 *out)
{
    struct sk_rd r = sk_rd_init(data, n);
    int rc = 0;
    while (!rc && sk_rd_left(&r))
        rc = decode_one(&r, out);
    return rc;
}
