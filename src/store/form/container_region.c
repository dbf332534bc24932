/* Parts of a container's variables: gathering a piece that has gaps in memory, and reading a box of
 * a variable. */
#include "store/form/container.h"

#include "base/box.h"
#include "base/types.h"
#include "store/form/lineage.h"
#include "store/form/container_parts.h"

#include <stdlib.h>
#include <string.h>

void sk_container_gather(const struct sk_piece *p, void *to)
{
    sk_container_gather_part(p, 0, to, p->size_bytes);
}

void sk_container_gather_part(const struct sk_piece *p, uint64_t at, void *to, size_t n)
{
    if (!n)
        return;
    if (!p->strides) {
        memcpy(to, (const uint8_t *)p->data + at, n);
        return;
    }
    struct sk_box all = {.ndims = p->ndims};
    struct sk_box_map m;
    for (int d = 0; d < p->ndims; d++)
        all.size[d] = p->dims[d];
    sk_box_map(&m, &all, all.size, sk_type_size(p->type), (void *)p->data,
               p->strides); /* only read from */
    sk_box_get(&m, at, to, n);
}

static int read_plain_part(struct sk_container *c, const struct sk_skc_var *v,
                           const struct sk_box_map *m, struct saikai_error *err)
{
    const struct sk_skc_chunk *k = c->index->chunks + v->first_chunk;
    struct sk_hasher *hasher = sk_hasher_new();
    uint8_t *buf = NULL;
    uint64_t at = 0, cap = 0;
    int rc = hasher ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", c->path);
    for (uint64_t i = 0; !rc && i < v->chunk_count; at += k[i++].raw_bytes) {
        if (!sk_box_wants(m, at, k[i].raw_bytes))
            continue;
        if (k[i].raw_bytes > cap && k[i].raw_bytes == k[i].stored_bytes) { /* else it is damaged */
            free(buf);
            cap = k[i].raw_bytes;
            buf = malloc(cap);
        }
        if (cap && !buf)
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for a chunk of %llu bytes of %s",
                         (unsigned long long)cap, c->path);
        if (!rc)
            rc = sk_container_read_chunk(c, v->first_chunk + i, buf, hasher, err);
        if (!rc)
            sk_box_put(m, at, buf, k[i].raw_bytes);
    }
    free(buf);
    sk_hasher_free(hasher);
    return rc;
}

static int wants(void *arg, uint64_t at, uint64_t n)
{
    return sk_box_wants(arg, at, n);
}

static void take(void *arg, uint64_t at, const void *data, uint64_t n)
{
    sk_box_put(arg, at, data, n);
}

static int read_coded_part(struct sk_container *c, const struct sk_skc_var *v,
                           const struct sk_stream_parts *parts, struct saikai_error *err)
{
    struct sk_container_frame f;
    struct saikai_error why = {0};
    int rc = sk_container_frame(c, v, &f, err);
    if (rc)
        return rc;
    rc = sk_stream_decode_parts(sk_container_from_frame, &f, f.chunk->stored_bytes, &f.array, parts,
                                0, v->name, &why);
    return rc ? sk_container_frame_error(c, rc, &why, err) : 0;
}

int sk_container_read_box(struct sk_container *c, const struct sk_skc_var *v, const uint64_t *low,
                          const uint64_t *size, void *to, const ptrdiff_t *strides,
                          struct saikai_error *err)
{
    struct sk_box box = {.ndims = v->ndims};
    struct sk_box_map m;
    int empty = 0, outside = !v->ndims;
    for (int d = 0; d < v->ndims; d++) {
        box.low[d] = low[d];
        box.size[d] = size[d];
        empty |= !size[d];
        outside |= low[d] > v->dims[d] || size[d] > v->dims[d] - low[d];
    }
    if (outside)
        return sk_fail(err, SAIKAI_EINVAL, "%s: that is no part of variable '%.60s'", c->path,
                       v->name);
    if (empty)
        return 0;
    sk_box_map(&m, &box, v->dims, sk_type_size(v->type), to, strides);
    if (m.row_bytes == v->raw_bytes && sk_box_is_plain(&m))
        return sk_container_read(c, v, to, err); /* all of it */
    const struct sk_stream_parts parts = {wants, take, &m};
    if (!strcmp(v->codec, SK_LINEAGE_CODEC))
        return sk_lineage_read_parts(c, v, &parts, err);
    return *v->codec ? read_coded_part(c, v, &parts, err) : read_plain_part(c, v, &m, err);
}
