/* Encodes and decodes header, index and trailer. An index is checked until nothing in it can
 * mislead a reader. */
#include "format/skc.h"

#include "base/hash.h"
#include "base/types.h"

#include <stdlib.h>
#include <string.h>

static const char header_magic[8] = "SAIKAI\x1a\x01", trailer_magic[8] = "SAIKAI\x1a\x02";

enum {
    var_fixed_bytes = 4 + 8 + 8 + 8 + 8 + 8,
    max_vars = 1 << 20,
    scope_shift = 4, /* kind and scope share a byte */
};

void sk_skc_encode_header(const struct sk_skc_header *h, uint8_t out[SK_SKC_HEADER_BYTES])
{
    struct sk_buf b = {out, 0, SK_SKC_HEADER_BYTES, 0}; /* never grows: all of it fits */
    sk_buf_put(&b, header_magic, sizeof header_magic);
    int says_store = !sk_id_none(h->store);
    sk_buf_put_u32(&b, says_store ? SK_SKC_VERSION_STORE : h->version ? h->version : SK_SKC_VERSION);
    sk_buf_put_u32(&b, h->flags);
    sk_buf_put_u64(&b, h->run_id);
    sk_buf_put_u64(&b, (uint64_t)h->iteration);
    sk_buf_put_u32(&b, h->place);
    sk_buf_put_u32(&b, h->incarnation);
    sk_buf_put_u32(&b, h->rank);
    sk_buf_put_u32(&b, h->nranks);
    sk_buf_put_u64(&b, (uint64_t)h->created_ms);
    sk_buf_put_u64(&b, (uint64_t)h->base_iteration);
    sk_buf_put_u32(&b, h->base_place);
    sk_buf_put_u32(&b, h->base_incarnation);
    if (says_store)
        sk_buf_put(&b, h->store.b, SK_ID_BYTES);
    memset(out + b.len, 0, SK_SKC_HEADER_BYTES - b.len);
    uint64_t hash = sk_hash64(out, SK_SKC_HEADER_BYTES - 8);
    memcpy(out + SK_SKC_HEADER_BYTES - 8, &hash, 8);
}

static int check_block(const uint8_t *p, size_t bytes, const char *magic, const char *what,
                       struct saikai_error *err)
{
    uint64_t hash;
    if (memcmp(p, magic, 8))
        return sk_fail(err, SAIKAI_EFORMAT, "%s of a Saikai container is not there", what);
    memcpy(&hash, p + bytes - 8, 8);
    if (hash != sk_hash64(p, bytes - 8))
        return sk_fail(err, SAIKAI_EDAMAGED, "%s is damaged", what);
    return 0;
}

int sk_skc_decode_header(const void *in, size_t n, struct sk_skc_header *h, struct saikai_error *err)
{
    if (n < SK_SKC_HEADER_BYTES)
        return sk_fail(err, SAIKAI_EDAMAGED, "only %zu bytes: too short for a header", n);
    int rc = check_block(in, SK_SKC_HEADER_BYTES, header_magic, "the header", err);
    if (rc)
        return rc;
    struct sk_rd r = sk_rd_init((const uint8_t *)in + 8, SK_SKC_HEADER_BYTES - 16);
    uint32_t version = sk_rd_u32(&r);
    if (version != SK_SKC_VERSION && version != SK_SKC_VERSION_SCOPE && version != SK_SKC_VERSION_STORE)
        return sk_fail(err, SAIKAI_EFORMAT, "container version %u; this Saikai reads versions %d, %d and %d", version,
                       SK_SKC_VERSION, SK_SKC_VERSION_SCOPE, SK_SKC_VERSION_STORE);
    struct sk_skc_header x = {.version = version};
    x.flags = sk_rd_u32(&r);
    x.run_id = sk_rd_u64(&r);
    x.iteration = (int64_t)sk_rd_u64(&r);
    x.place = sk_rd_u32(&r);
    x.incarnation = sk_rd_u32(&r);
    x.rank = sk_rd_u32(&r);
    x.nranks = sk_rd_u32(&r);
    x.created_ms = (int64_t)sk_rd_u64(&r);
    x.base_iteration = (int64_t)sk_rd_u64(&r);
    x.base_place = sk_rd_u32(&r);
    x.base_incarnation = sk_rd_u32(&r);
    const void *store = version == SK_SKC_VERSION_STORE ? sk_rd_bytes(&r, SK_ID_BYTES) : NULL;
    if (store)
        memcpy(x.store.b, store, SK_ID_BYTES);
    if (store && sk_id_none(x.store))
        return sk_fail(err, SAIKAI_EDAMAGED, "the header names no store");
    if (x.rank >= x.nranks)
        return sk_fail(err, SAIKAI_EDAMAGED, "rank %u of %u ranks", x.rank, x.nranks);
    *h = x;
    return 0;
}

uint32_t sk_skc_version(const struct sk_skc_index *x)
{
    for (uint32_t i = 0; i < x->var_count; i++)
        if (x->vars[i].scope != SK_SKC_OWN)
            return SK_SKC_VERSION_SCOPE;
    return SK_SKC_VERSION;
}

size_t sk_skc_index_bytes(const struct sk_skc_index *x)
{
    size_t n = 4 + 8;
    for (uint32_t i = 0; i < x->var_count; i++)
        n += 2 + strlen(x->vars[i].name) + 2 + strlen(x->vars[i].codec) + var_fixed_bytes +
             (x->vars[i].scope == SK_SKC_GLOBAL ? 24u : 8u) * x->vars[i].ndims;
    return n + x->chunk_count * 32;
}

void sk_skc_encode_index(const struct sk_skc_index *x, struct sk_buf *out)
{
    sk_buf_put_u32(out, x->var_count);
    sk_buf_put_u64(out, x->chunk_count);
    for (uint32_t i = 0; i < x->var_count; i++) {
        const struct sk_skc_var *v = &x->vars[i];
        sk_buf_put_str(out, v->name);
        sk_buf_put_str(out, v->codec);
        sk_buf_put_u8(out, v->type);
        sk_buf_put_u8(out, v->ndims);
        sk_buf_put_u8(out, (uint8_t)(v->kind | v->scope << scope_shift));
        sk_buf_put_u8(out, v->bound_kind);
        sk_buf_put_f64(out, v->bound);
        sk_buf_put_f64(out, v->max_error);
        for (int d = 0; d < v->ndims; d++)
            sk_buf_put_u64(out, v->dims[d]);
        for (int d = 0; v->scope == SK_SKC_GLOBAL && d < 2 * v->ndims; d++)
            sk_buf_put_u64(out, d < v->ndims ? v->tile.global[d] : v->tile.offset[d - v->ndims]);
        sk_buf_put_u64(out, v->raw_bytes);
        sk_buf_put_u64(out, v->first_chunk);
        sk_buf_put_u64(out, v->chunk_count);
    }
    for (uint64_t i = 0; i < x->chunk_count; i++) {
        sk_buf_put_u64(out, x->chunks[i].offset);
        sk_buf_put_u64(out, x->chunks[i].stored_bytes);
        sk_buf_put_u64(out, x->chunks[i].raw_bytes);
        sk_buf_put_u64(out, x->chunks[i].hash);
    }
}

static void decode_var(struct sk_rd *r, struct sk_skc_var *v)
{
    sk_rd_str(r, v->name, sizeof v->name);
    sk_rd_str(r, v->codec, sizeof v->codec);
    v->type = sk_rd_u8(r);
    v->ndims = sk_rd_u8(r);
    uint8_t kind = sk_rd_u8(r);
    v->kind = kind & ((1 << scope_shift) - 1);
    v->scope = kind >> scope_shift;
    v->bound_kind = sk_rd_u8(r);
    v->bound = sk_rd_f64(r);
    v->max_error = sk_rd_f64(r);
    if (v->ndims > SAIKAI_MAX_DIMS || v->scope > SK_SKC_GLOBAL)
        r->bad = 1;
    for (int d = 0; !r->bad && d < v->ndims; d++)
        v->dims[d] = sk_rd_u64(r);
    for (int d = 0; !r->bad && v->scope == SK_SKC_GLOBAL && d < 2 * v->ndims; d++)
        *(d < v->ndims ? &v->tile.global[d] : &v->tile.offset[d - v->ndims]) = sk_rd_u64(r);
    v->raw_bytes = sk_rd_u64(r);
    v->first_chunk = sk_rd_u64(r);
    v->chunk_count = sk_rd_u64(r);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct sk_skc_var *const *)a)->name,
                  (*(const struct sk_skc_var *const *)b)->name);
}

static int check_names(const struct sk_skc_index *x, struct saikai_error *err)
{
    const struct sk_skc_var **v = calloc(x->var_count ? x->var_count : 1, sizeof *v);
    if (!v)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for an index of %u variables", x->var_count);
    for (uint32_t i = 0; i < x->var_count; i++)
        v[i] = &x->vars[i];
    qsort(v, x->var_count, sizeof *v, by_name);
    int rc = 0;
    for (uint32_t i = 1; !rc && i < x->var_count; i++)
        if (!strcmp(v[i - 1]->name, v[i]->name))
            rc = sk_fail(err, SAIKAI_EDAMAGED, "the index names '%.60s' twice", v[i]->name);
    free(v);
    return rc;
}

static int check_tile(const struct sk_skc_var *v, struct saikai_error *err)
{
    uint64_t end, n = sk_type_size(v->type);
    int bad = v->kind != SK_SKC_MEMORY || !v->ndims;
    for (int d = 0; !bad && d < v->ndims; d++) /* an array with a dimension of 0 has no large ones either */
        bad = __builtin_add_overflow(v->tile.offset[d], v->dims[d], &end) || end > v->tile.global[d] ||
              __builtin_mul_overflow(n, v->tile.global[d] ? v->tile.global[d] : 1, &n);
    if (!bad)
        return 0;
    return sk_fail(err, SAIKAI_EDAMAGED, "the index places variable '%.60s' outside of its global array", v->name);
}

static int check_var(const struct sk_skc_index *x, const struct sk_skc_var *v, uint64_t first,
                     struct saikai_error *err)
{
    uint64_t n = sk_type_size(v->type), sum = 0;
    for (int d = 0; d < v->ndims; d++)
        if (__builtin_mul_overflow(n, v->dims[d], &n))
            n = 0;
    if (!sk_type_size(v->type) || n != v->raw_bytes || !*v->name)
        return sk_fail(err, SAIKAI_EDAMAGED, "the index describes variable '%.60s' wrongly", v->name);
    int rc = v->scope == SK_SKC_GLOBAL ? check_tile(v, err) : 0;
    if (rc)
        return rc;
    if (!strcmp(v->codec, "delta")) /* its bytes are elsewhere */
        return v->first_chunk == first && !v->chunk_count && !v->kind &&
                       x->vars[x->var_count - 1].kind == SK_SKC_CHANGES
                   ? 0
                   : sk_fail(err, SAIKAI_EDAMAGED, "the index describes the changes of '%.60s' wrongly", v->name);
    if (v->first_chunk != first || v->chunk_count > x->chunk_count - first)
        return sk_fail(err, SAIKAI_EDAMAGED, "the index gives variable '%.60s' the wrong chunks", v->name);
    for (uint64_t i = first; i < first + v->chunk_count; i++)
        if (!x->chunks[i].raw_bytes || __builtin_add_overflow(sum, x->chunks[i].raw_bytes, &sum))
            return sk_fail(err, SAIKAI_EDAMAGED, "chunk %llu has an impossible size",
                           (unsigned long long)i);
    if (sum != v->raw_bytes)
        return sk_fail(err, SAIKAI_EDAMAGED, "the chunks of variable '%.60s' do not add up", v->name);
    return 0;
}

static int check_index(const struct sk_skc_index *x, uint64_t index_offset, struct saikai_error *err)
{
    uint64_t at = SK_SKC_HEADER_BYTES, first = 0;
    for (uint64_t i = 0; i < x->chunk_count; i++) {
        const struct sk_skc_chunk *c = &x->chunks[i];
        uint64_t end;
        if (c->offset < at || __builtin_add_overflow(c->offset, c->stored_bytes, &end) ||
            end > index_offset)
            return sk_fail(err, SAIKAI_EDAMAGED, "chunk %llu lies outside of the data",
                           (unsigned long long)i);
        at = end;
    }
    for (uint32_t i = 0; i < x->var_count; i++) {
        int rc = check_var(x, &x->vars[i], first, err);
        if (rc)
            return rc;
        first += x->vars[i].chunk_count;
    }
    if (first != x->chunk_count)
        return sk_fail(err, SAIKAI_EDAMAGED, "the index has chunks that belong to no variable");
    return check_names(x, err);
}

int sk_skc_decode_index(const void *in, size_t n, uint64_t index_offset, struct sk_skc_index **out,
                        struct saikai_error *err)
{
    struct sk_rd r = sk_rd_init(in, n);
    struct sk_skc_index *x = calloc(1, sizeof *x);
    if (!x)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for an index");
    int rc = 0;
    x->var_count = sk_rd_u32(&r);
    x->chunk_count = sk_rd_u64(&r);
    /* the counts must be possible for the bytes there are, before memory is asked for */
    if (r.bad || x->var_count > max_vars || x->var_count > sk_rd_left(&r) / var_fixed_bytes ||
        x->chunk_count > sk_rd_left(&r) / 32) {
        x->var_count = 0;
        rc = sk_fail(err, SAIKAI_EDAMAGED, "the index has impossible counts");
        goto out;
    }
    x->vars = calloc(x->var_count ? x->var_count : 1, sizeof *x->vars);
    x->chunks = calloc(x->chunk_count ? x->chunk_count : 1, sizeof *x->chunks);
    if (!x->vars || !x->chunks) {
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for an index of %u variables", x->var_count);
        goto out;
    }
    for (uint32_t i = 0; i < x->var_count && !r.bad; i++)
        decode_var(&r, &x->vars[i]);
    for (uint64_t i = 0; i < x->chunk_count && !r.bad; i++) {
        x->chunks[i].offset = sk_rd_u64(&r);
        x->chunks[i].stored_bytes = sk_rd_u64(&r);
        x->chunks[i].raw_bytes = sk_rd_u64(&r);
        x->chunks[i].hash = sk_rd_u64(&r);
    }
    if (r.bad || sk_rd_left(&r))
        rc = sk_fail(err, SAIKAI_EDAMAGED, "the index has the wrong length");
    else
        rc = check_index(x, index_offset, err);
    for (uint32_t i = 0; !rc && i < x->var_count; i++)
        sk_lookup_add(&x->names, x->vars, sizeof *x->vars);
out:
    if (rc)
        sk_skc_index_free(x);
    else
        *out = x;
    return rc;
}

void sk_skc_index_free(struct sk_skc_index *x)
{
    if (!x)
        return;
    free(x->vars);
    free(x->chunks);
    sk_lookup_forget(&x->names);
    free(x);
}

const struct sk_skc_var *sk_skc_find(const struct sk_skc_index *x, const char *name)
{
    ptrdiff_t i = sk_lookup_find(&x->names, x->vars, sizeof *x->vars, x->var_count, name);
    return i < 0 ? NULL : &x->vars[i];
}

void sk_skc_encode_trailer(const struct sk_skc_trailer *t, uint8_t out[SK_SKC_TRAILER_BYTES])
{
    struct sk_buf b = {out, 0, SK_SKC_TRAILER_BYTES, 0};
    sk_buf_put(&b, trailer_magic, sizeof trailer_magic);
    sk_buf_put_u64(&b, t->file_bytes);
    sk_buf_put_u64(&b, t->index_offset);
    sk_buf_put_u64(&b, t->index_bytes);
    sk_buf_put_u64(&b, t->index_hash);
    memset(out + b.len, 0, SK_SKC_TRAILER_BYTES - b.len);
    uint64_t hash = sk_hash64(out, SK_SKC_TRAILER_BYTES - 8);
    memcpy(out + SK_SKC_TRAILER_BYTES - 8, &hash, 8);
}

int sk_skc_decode_trailer(const void *in, size_t n, uint64_t file_bytes, struct sk_skc_trailer *t,
                          struct saikai_error *err)
{
    if (n < SK_SKC_TRAILER_BYTES)
        return sk_fail(err, SAIKAI_EDAMAGED, "only %zu bytes: too short for a trailer", n);
    int rc = check_block(in, SK_SKC_TRAILER_BYTES, trailer_magic, "the trailer", err);
    if (rc == SAIKAI_EFORMAT)
        return sk_fail(err, SAIKAI_EDAMAGED, "the trailer is not there: truncated, or never finished");
    if (rc)
        return rc;
    struct sk_rd r = sk_rd_init((const uint8_t *)in + 8, SK_SKC_TRAILER_BYTES - 16);
    struct sk_skc_trailer x;
    x.file_bytes = sk_rd_u64(&r);
    x.index_offset = sk_rd_u64(&r);
    x.index_bytes = sk_rd_u64(&r);
    x.index_hash = sk_rd_u64(&r);
    uint64_t end;
    if (x.file_bytes != file_bytes)
        return sk_fail(err, SAIKAI_EDAMAGED, "%llu bytes long instead of %llu",
                       (unsigned long long)file_bytes, (unsigned long long)x.file_bytes);
    if (x.index_offset < SK_SKC_HEADER_BYTES ||
        __builtin_add_overflow(x.index_offset, x.index_bytes, &end) ||
        end > file_bytes - SK_SKC_TRAILER_BYTES)
        return sk_fail(err, SAIKAI_EDAMAGED, "the trailer points outside of the file");
    *t = x;
    return 0;
}
