/* Writing a container whose variables go through codecs: sizes are known only when they have been
 * written. */
#include "store/form/coded.h"
#include "store/form/container.h"

#include "base/hash.h"
#include "base/file/io.h"
#include "base/own/own.h"
#include "store/form/container_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct writer {
    int fd;
    const char *path;
    uint64_t at; /* end of what is written */
    struct sk_skc_index *index;
    struct sk_hasher *hasher; /* over the chunk that is being written */
};

static int put(struct writer *w, const void *data, size_t n, struct saikai_error *err)
{
    int rc = sk_io_pwrite(w->fd, w->path, data, n, (off_t)w->at, err);
    if (!rc)
        w->at += n;
    return rc;
}

/* Zeros up to where the next chunk may begin: what an overwritten file held there must not stay. */
static int pad(struct writer *w, struct saikai_error *err)
{
    static const uint8_t zeros[SK_SKC_ALIGN];
    return put(w, zeros, sk_container_align(w->at) - w->at, err);
}

static int write_plain(struct writer *w, const struct sk_piece *p, struct sk_skc_var *v,
                       struct saikai_error *err)
{
    uint8_t *gathered = p->strides ? malloc(SK_SKC_CHUNK_BYTES) : NULL;
    int rc = p->strides && !gathered ? sk_fail(err, SAIKAI_ENOMEM, "no memory for a chunk of '%.60s'", p->name) : 0;
    for (uint64_t at = 0, n; !rc && at < v->raw_bytes; at += n) {
        n = v->raw_bytes - at < SK_SKC_CHUNK_BYTES ? v->raw_bytes - at : SK_SKC_CHUNK_BYTES;
        if (gathered)
            sk_container_gather_part(p, at, gathered, n);
        const uint8_t *from = gathered ? gathered : (const uint8_t *)p->data + at;
        w->index->chunks[w->index->chunk_count++] =
            (struct sk_skc_chunk){w->at, n, n, sk_hash64(from, n)};
        v->chunk_count++;
        rc = put(w, from, n, err);
    }
    free(gathered);
    return rc;
}

static int to_frame(void *arg, const void *data, size_t n, struct saikai_error *err)
{
    struct writer *w = arg;
    sk_hasher_add(w->hasher, data, n);
    return put(w, data, n, err);
}

static int write_coded(struct writer *w, const struct sk_piece *p, const struct sk_coding *coding,
                       struct sk_skc_var *v, struct saikai_error *err)
{
    struct sk_stream_options opt = coding->opt;
    struct sk_stream_info info;
    struct sk_array a = {.type = p->type, .ndims = p->ndims ? p->ndims : 1, .dims = {1}};
    uint64_t begin = w->at;
    for (int d = 0; d < p->ndims; d++)
        a.dims[d] = p->dims[d];
    if (!opt.what)
        opt.what = p->name;
    sk_hasher_reset(w->hasher);
    int rc = sk_stream_encode(coding->chain, &a, p->data, &opt, to_frame, w, &info, err);
    if (rc)
        return rc;
    w->index->chunks[w->index->chunk_count++] =
        (struct sk_skc_chunk){begin, w->at - begin, v->raw_bytes, sk_hasher_value(w->hasher)};
    v->chunk_count = 1;
    v->bound_kind = (uint8_t)info.bound.kind;
    v->bound = info.bound.value;
    v->max_error = info.max_error;
    strcpy(v->codec, info.chain); /* its length was checked before anything was written */
    return 0;
}

/* 1: the piece goes through its chain, 0: it is stored plain, negative: the chain cannot be. */
static int is_coded(const struct sk_piece *p, const struct sk_coding *coding,
                    struct saikai_error *err)
{
    struct sk_chain chain;
    if (!coding || !coding->chain || !*coding->chain || p->changes_only)
        return 0;
    int rc = sk_chain_parse(coding->chain, &chain, err);
    if (!rc && strlen(chain.name) >= sizeof((struct sk_skc_var *)0)->codec)
        rc = sk_fail(err, SAIKAI_EINVAL, "codec '%s': its name is too long", chain.name);
    if (rc) {
        sk_error_prefix(err, "variable '%.60s'", p->name);
        return rc;
    }
    return p->size_bytes && sk_chain_takes(&chain, p->type);
}

/* An empty index with room for all chunks there can be. */
static int make_index(const struct sk_piece *p, size_t count, struct sk_skc_index **out,
                      struct saikai_error *err)
{
    struct sk_skc_index *x = calloc(1, sizeof *x);
    uint64_t chunks = 1;
    for (size_t i = 0; i < count; i++)
        chunks += (p[i].size_bytes + SK_SKC_CHUNK_BYTES - 1) / SK_SKC_CHUNK_BYTES;
    if (x) {
        x->vars = calloc(count ? count : 1, sizeof *x->vars);
        x->chunks = calloc(chunks, sizeof *x->chunks);
    }
    if (!x || !x->vars || !x->chunks) {
        sk_skc_index_free(x);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the index of %zu variables", count);
    }
    x->var_count = (uint32_t)count;
    *out = x;
    return 0;
}

/* Index, trailer and, when all else is there, the header. */
static int finish(struct writer *w, const struct sk_skc_header *h, struct saikai_error *err)
{
    uint8_t head[SK_SKC_HEADER_BYTES], tail[SK_SKC_TRAILER_BYTES];
    struct sk_buf b = {0};
    int rc = pad(w, err);
    if (rc)
        return rc;
    sk_skc_encode_index(w->index, &b);
    if (!sk_buf_ok(&b)) {
        sk_buf_free(&b);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the index of %s", w->path);
    }
    struct sk_skc_trailer t = {w->at + b.len + sizeof tail, w->at, b.len, sk_hash64(b.data, b.len)};
    rc = put(w, b.data, b.len, err);
    sk_buf_free(&b);
    sk_skc_encode_trailer(&t, tail);
    if (!rc)
        rc = put(w, tail, sizeof tail, err);
    struct sk_skc_header with_version = *h;
    with_version.version = sk_skc_version(w->index);
    sk_skc_encode_header(&with_version, head);
    if (!rc)
        rc = sk_io_pwrite(w->fd, w->path, head, sizeof head, 0, err);
    off_t size = 0;
    if (!rc)
        rc = sk_io_size(w->fd, w->path, &size, err);
    if (!rc && size != (off_t)w->at) /* the file was longer before */
        rc = sk_io_reserve(w->fd, w->path, (off_t)w->at, err);
    return rc;
}

static int write_pieces(struct writer *w, const struct sk_piece *p, const struct sk_coding *coding,
                        size_t count, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++) {
        struct sk_skc_var *v = &w->index->vars[i];
        const struct sk_coding *how = coding ? &coding[i] : NULL;
        int coded = is_coded(&p[i], how, err);
        sk_container_describe(&p[i], v);
        v->first_chunk = w->index->chunk_count;
        rc = coded < 0 ? coded : pad(w, err);
        if (!rc && !p[i].changes_only)
            rc = coded ? write_coded(w, &p[i], how, v, err) : write_plain(w, &p[i], v, err);
    }
    return rc;
}

int sk_container_write(const char *to_path, const struct sk_skc_header *h, const struct sk_piece *p,
                       const struct sk_coding *coding, size_t count, int sync,
                       struct sk_skc_index **index, uint64_t *file_bytes, struct saikai_error *err)
{
    struct writer w = {.path = to_path, .at = SK_SKC_HEADER_BYTES};
    int rc = make_index(p, count, &w.index, err);
    if (rc)
        return rc;
    w.fd = sk_own(sk_io_open(to_path, O_RDWR | O_CREAT, 0666, err), SK_OWN_STAYS);
    if (w.fd < 0) {
        sk_skc_index_free(w.index);
        return w.fd;
    }
    w.hasher = sk_hasher_new();
    rc = w.hasher ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to write %s", to_path);
    if (!rc && (rc = write_pieces(&w, p, coding, count, err)) && err && !strstr(err->text, to_path))
        sk_error_prefix(err, "%s", to_path);
    if (!rc)
        rc = finish(&w, h, err);
    if (!rc && sync)
        rc = sk_io_fsync(w.fd, to_path, err);
    sk_own_close(w.fd);
    sk_hasher_free(w.hasher);
    if (rc)
        sk_io_unlink(to_path, NULL);
    if (!rc && file_bytes)
        *file_bytes = w.at;
    if (!rc && index)
        *index = w.index;
    else
        sk_skc_index_free(w.index);
    return rc;
}
