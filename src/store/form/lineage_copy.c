/* Writes a container that is full from one that builds on others. */
#include "store/form/lineage_copy.h"

#include "base/file/io.h"
#include "base/own/own.h"
#include "store/form/lineage_read.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct copy {
    struct sk_container *from;
    int fd;
    const char *path;
    uint8_t *buf;
    struct sk_skc_index *index;
    uint64_t at;
};

static uint64_t chunks_of(uint64_t bytes)
{
    return (bytes + SK_SKC_CHUNK_BYTES - 1) / SK_SKC_CHUNK_BYTES;
}

static int copy_begin(struct copy *k, struct saikai_error *err)
{
    const struct sk_skc_index *x = k->from->index;
    struct sk_skc_index *y = k->index = calloc(1, sizeof *y);
    uint64_t chunks = 0;
    for (uint32_t i = 0; i < x->var_count; i++)
        chunks += sk_lineage_is_changed(&x->vars[i]) ? chunks_of(x->vars[i].raw_bytes) : x->vars[i].chunk_count;
    if (y) {
        y->vars = calloc(x->var_count ? x->var_count : 1, sizeof *y->vars);
        y->chunks = calloc(chunks ? chunks : 1, sizeof *y->chunks);
    }
    k->buf = malloc(SK_LINEAGE_WINDOW);
    if (!y || !y->vars || !y->chunks || !k->buf)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to copy %s", k->from->path);
    k->at = SK_SKC_HEADER_BYTES;
    return 0;
}

/* Zeros up to where the next chunk may begin. */
static int copy_pad(struct copy *k, struct saikai_error *err)
{
    static const uint8_t zeros[SK_SKC_ALIGN];
    uint64_t to = sk_container_align(k->at);
    int rc = sk_io_pwrite(k->fd, k->path, zeros, to - k->at, (off_t)k->at, err);
    k->at = to;
    return rc;
}

/* A variable that is in the file as a whole: its chunks, as they are stored. */
static int copy_stored(struct copy *k, const struct sk_skc_var *v, struct saikai_error *err)
{
    struct sk_hasher *hasher = k->from->lineage->hasher;
    int rc = 0;
    for (uint64_t i = v->first_chunk; !rc && i < v->first_chunk + v->chunk_count; i++) {
        struct sk_skc_chunk x = k->from->index->chunks[i];
        uint64_t end = k->at + x.stored_bytes;
        sk_hasher_reset(hasher);
        for (uint64_t at = x.offset, n; !rc && k->at < end; at += n, k->at += n) {
            n = end - k->at < SK_LINEAGE_WINDOW ? end - k->at : SK_LINEAGE_WINDOW;
            rc = sk_container_pread(k->from, at, k->buf, n, err);
            if (!rc)
                rc = sk_io_pwrite(k->fd, k->path, k->buf, n, (off_t)k->at, err);
            sk_hasher_add(hasher, k->buf, n);
        }
        if (!rc && sk_hasher_value(hasher) != x.hash)
            rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: chunk %llu (variable '%.60s', offset %llu) is damaged",
                         k->from->path, (unsigned long long)i, v->name, (unsigned long long)x.offset);
        x.offset = end - x.stored_bytes;
        k->index->chunks[k->index->chunk_count++] = x;
    }
    return rc;
}

/* A variable of which the file holds changes: put together, in plain chunks. */
static int copy_changed(struct copy *k, const struct sk_skc_var *v, struct saikai_error *err)
{
    struct sk_lineage_trace t;
    uint8_t *buf = k->buf;
    uint64_t window = SK_LINEAGE_WINDOW;
    int rc = sk_lineage_follow(k->from->lineage, v, &t, err);
    if (!rc && *t.base->codec) {
        window = v->raw_bytes;
        buf = malloc(window);
        rc = buf ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for variable '%.60s' of %s", v->name, k->from->path);
    }
    for (uint64_t lo = 0, n; !rc && lo < v->raw_bytes; lo += n) {
        n = v->raw_bytes - lo < window ? v->raw_bytes - lo : window;
        rc = sk_lineage_read_part(k->from->lineage, &t, lo, lo + n, buf, err);
        if (!rc)
            rc = sk_io_pwrite(k->fd, k->path, buf, n, (off_t)k->at, err);
        for (uint64_t i = 0, m; !rc && i < n; i += m, k->at += m) {
            m = n - i < SK_SKC_CHUNK_BYTES ? n - i : SK_SKC_CHUNK_BYTES;
            k->index->chunks[k->index->chunk_count++] =
                (struct sk_skc_chunk){k->at, m, m, sk_hash64(buf + i, m)};
        }
    }
    if (buf != k->buf)
        free(buf);
    free(t.region);
    return rc;
}

static int copy_end(struct copy *k, struct saikai_error *err)
{
    struct sk_skc_header h = k->from->header;
    struct sk_skc_trailer t;
    uint8_t head[SK_SKC_HEADER_BYTES], tail[SK_SKC_TRAILER_BYTES];
    struct sk_buf b = {0};
    int rc = copy_pad(k, err);
    sk_skc_encode_index(k->index, &b);
    if (!rc && !sk_buf_ok(&b))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the index of %s", k->path);
    if (!rc) {
        t = (struct sk_skc_trailer){k->at + b.len + sizeof tail, k->at, b.len, sk_hash64(b.data, b.len)};
        h.base_iteration = h.base_place = h.base_incarnation = 0;
        sk_skc_encode_trailer(&t, tail);
        sk_skc_encode_header(&h, head);
        rc = sk_io_pwrite(k->fd, k->path, b.data, b.len, (off_t)k->at, err);
    }
    if (!rc)
        rc = sk_io_pwrite(k->fd, k->path, tail, sizeof tail, (off_t)(k->at + b.len), err);
    if (!rc)
        rc = sk_io_pwrite(k->fd, k->path, head, sizeof head, 0, err);
    sk_buf_free(&b);
    return rc;
}

int sk_lineage_copy(struct sk_container *c, const char *to_path, int sync, struct saikai_error *err)
{
    struct copy k = {.from = c, .path = to_path};
    k.fd = sk_own(sk_io_open(to_path, O_RDWR | O_CREAT | O_TRUNC, 0666, err), SK_OWN_STAYS);
    if (k.fd < 0)
        return k.fd;
    int rc = copy_begin(&k, err);
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++) {
        const struct sk_skc_var *v = &c->index->vars[i];
        struct sk_skc_var *to = &k.index->vars[k.index->var_count++];
        uint64_t first = k.index->chunk_count;
        *to = *v;
        rc = copy_pad(&k, err);
        if (!rc)
            rc = sk_lineage_is_changed(v) ? copy_changed(&k, v, err) : copy_stored(&k, v, err);
        if (sk_lineage_is_changed(v))
            *to->codec = 0;
        to->first_chunk = first;
        to->chunk_count = k.index->chunk_count - first;
    }
    if (!rc)
        rc = copy_end(&k, err);
    if (!rc && sync)
        rc = sk_io_fsync(k.fd, to_path, err);
    sk_own_close(k.fd);
    free(k.buf);
    sk_skc_index_free(k.index);
    if (rc)
        sk_io_unlink(to_path, NULL);
    return rc;
}
