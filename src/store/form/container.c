/* Lays out, seals, opens, reads, verifies and copies containers. Every chunk is compared with its
 * checksum unless a frame's own cover it. */
#include "store/form/container.h"

#include "base/hash.h"
#include "base/file/io.h"
#include "base/own/own.h"
#include "base/types.h"
#include "store/form/lineage.h"
#include "codec/chain.h"
#include "store/form/container_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t sk_container_align(uint64_t v)
{
    return (v + SK_SKC_ALIGN - 1) / SK_SKC_ALIGN * SK_SKC_ALIGN;
}

void sk_container_describe(const struct sk_piece *p, struct sk_skc_var *v)
{
    memcpy(v->name, p->name, sizeof v->name);
    v->type = (uint8_t)p->type;
    v->ndims = (uint8_t)p->ndims;
    v->kind = (uint8_t)p->kind;
    for (int d = 0; d < p->ndims; d++)
        v->dims[d] = p->dims[d];
    v->raw_bytes = p->size_bytes;
    v->scope = (uint8_t)p->scope;
    v->tile = p->tile;
    if (p->changes_only)
        strcpy(v->codec, SK_LINEAGE_CODEC);
}

int sk_container_layout(const struct sk_piece *p, size_t count, struct sk_skc_index **index,
                        uint64_t *file_bytes, struct saikai_error *err)
{
    struct sk_skc_index *x = calloc(1, sizeof *x);
    uint64_t at = SK_SKC_HEADER_BYTES, chunks = 0;
    for (size_t i = 0; i < count; i++)
        if (!p[i].changes_only)
            chunks += (p[i].size_bytes + SK_SKC_CHUNK_BYTES - 1) / SK_SKC_CHUNK_BYTES;
    if (x) {
        x->vars = calloc(count ? count : 1, sizeof *x->vars);
        x->chunks = calloc(chunks ? chunks : 1, sizeof *x->chunks);
    }
    if (!x || !x->vars || !x->chunks) {
        sk_skc_index_free(x);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the index of %zu variables", count);
    }
    x->var_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        struct sk_skc_var *v = &x->vars[i];
        sk_container_describe(&p[i], v);
        v->first_chunk = x->chunk_count;
        at = sk_container_align(at);
        for (uint64_t left = p[i].changes_only ? 0 : v->raw_bytes; left;) {
            uint64_t n = left < SK_SKC_CHUNK_BYTES ? left : SK_SKC_CHUNK_BYTES;
            x->chunks[x->chunk_count++] = (struct sk_skc_chunk){at, n, n, 0};
            v->chunk_count++;
            at += n;
            left -= n;
        }
    }
    *file_bytes = sk_container_align(at) + sk_skc_index_bytes(x) + SK_SKC_TRAILER_BYTES;
    *index = x;
    return 0;
}

/* NULL: nothing is to be added up. */
static void add(struct sk_hasher *whole, const uint8_t *p, uint64_t n)
{
    if (whole)
        sk_hasher_add(whole, p, n);
}

/* All but the header. */
static int seal(uint8_t *map, uint64_t file_bytes, struct sk_skc_index *index, struct sk_hasher *whole,
                struct saikai_error *err)
{
    uint64_t end = SK_SKC_HEADER_BYTES;
    for (uint64_t i = 0; i < index->chunk_count; i++) {
        struct sk_skc_chunk *c = &index->chunks[i];
        memset(map + end, 0, c->offset - end); /* a reused file must not leak old bytes between chunks */
        c->hash = sk_hash64(map + c->offset, c->stored_bytes);
        add(whole, map + end, c->offset + c->stored_bytes - end);
        end = c->offset + c->stored_bytes;
    }
    uint64_t index_offset = sk_container_align(end);
    memset(map + end, 0, index_offset - end);
    struct sk_buf b = {0};
    sk_skc_encode_index(index, &b);
    if (!sk_buf_ok(&b) || index_offset + b.len + SK_SKC_TRAILER_BYTES != file_bytes) {
        int ok = sk_buf_ok(&b);
        sk_buf_free(&b);
        return ok ? sk_fail(err, SAIKAI_EINTERNAL, "a container does not have the length it was laid out for")
                  : sk_fail(err, SAIKAI_ENOMEM, "no memory for the index of a container");
    }
    memcpy(map + index_offset, b.data, b.len);
    struct sk_skc_trailer t = {file_bytes, index_offset, b.len, sk_hash64(b.data, b.len)};
    sk_buf_free(&b);
    sk_skc_encode_trailer(&t, map + file_bytes - SK_SKC_TRAILER_BYTES);
    add(whole, map + end, file_bytes - end);
    return 0;
}

int sk_container_seal(uint8_t *map, uint64_t file_bytes, const struct sk_skc_header *h, struct sk_skc_index *index,
                      uint64_t *file_hash, struct saikai_error *err)
{
    struct sk_hasher *whole = file_hash ? sk_hasher_new() : NULL;
    if (file_hash && !whole)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the checksum of a container");
    struct sk_skc_header head = *h;
    head.version = sk_skc_version(index);
    sk_skc_encode_header(&head, map);
    add(whole, map, SK_SKC_HEADER_BYTES);
    int rc = seal(map, file_bytes, index, whole, err);
    if (!rc && whole)
        *file_hash = sk_hasher_value(whole);
    sk_hasher_free(whole);
    return rc;
}

int sk_container_pread(const struct sk_container *c, uint64_t at, void *to, size_t n, struct saikai_error *err)
{
    return c->from.read ? c->from.read(c->from.arg, at, to, n, err)
                        : sk_io_pread(c->fd, c->path, to, n, (off_t)at, err);
}

static int size_of(const struct sk_container *c, uint64_t *size, struct saikai_error *err)
{
    off_t n;
    if (c->from.read) {
        *size = c->from.size_bytes;
        return 0;
    }
    int rc = sk_io_size(c->fd, c->path, &n, err);
    if (!rc)
        *size = (uint64_t)n;
    return rc;
}

static int open_parts(struct sk_container *c, struct saikai_error *err)
{
    uint8_t head[SK_SKC_HEADER_BYTES], tail[SK_SKC_TRAILER_BYTES], *index = NULL;
    uint64_t size = 0;
    int rc = size_of(c, &size, err);
    if (rc)
        return rc;
    if (size < SK_SKC_HEADER_BYTES + SK_SKC_TRAILER_BYTES)
        return sk_fail(err, SAIKAI_EDAMAGED, "only %llu bytes: truncated, or no container", (unsigned long long)size);
    rc = sk_container_pread(c, 0, head, sizeof head, err);
    if (!rc)
        rc = sk_skc_decode_header(head, sizeof head, &c->header, err);
    if (!rc)
        rc = sk_container_pread(c, size - sizeof tail, tail, sizeof tail, err);
    if (!rc)
        rc = sk_skc_decode_trailer(tail, sizeof tail, size, &c->trailer, err);
    if (rc)
        return rc;
    index = malloc(c->trailer.index_bytes ? c->trailer.index_bytes : 1);
    if (!index)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for an index of %llu bytes",
                       (unsigned long long)c->trailer.index_bytes);
    rc = sk_container_pread(c, c->trailer.index_offset, index, c->trailer.index_bytes, err);
    if (!rc && sk_hash64(index, c->trailer.index_bytes) != c->trailer.index_hash)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "the index is damaged");
    if (!rc)
        rc = sk_skc_decode_index(index, c->trailer.index_bytes, c->trailer.index_offset, &c->index, err);
    if (!rc && sk_skc_version(c->index) > c->header.version)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "the index is of a later version than the header");
    free(index);
    return rc;
}

/* from NULL: the file of this name. */
static int open_any(const char *path, const struct sk_container_source *from, struct sk_container **out,
                    struct saikai_error *err)
{
    struct sk_container *c = calloc(1, sizeof *c);
    if (!c || !(c->path = strdup(path))) {
        free(c);
        if (from)
            from->close(from->arg);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to open %s", path);
    }
    if (from)
        c->from = *from;
    c->fd = from ? -1 : sk_own(sk_io_open(path, O_RDONLY, 0, err), SK_OWN_STAYS);
    int rc = !from && c->fd < 0 ? c->fd : 0;
    if (!rc && (rc = open_parts(c, err)))
        sk_error_prefix(err, "%s", path);
    if (rc)
        sk_container_close(c);
    else
        *out = c;
    return rc;
}

int sk_container_open(const char *path, struct sk_container **out, struct saikai_error *err)
{
    return open_any(path, NULL, out, err);
}

int sk_container_open_from(const char *name, const struct sk_container_source *from, struct sk_container **out,
                           struct saikai_error *err)
{
    return open_any(name, from, out, err);
}

void sk_container_close(struct sk_container *c)
{
    if (!c)
        return;
    if (c->whole)
        c->whole->free(c->lineage);
    if (c->from.close)
        c->from.close(c->from.arg);
    sk_own_close(c->fd);
    sk_skc_index_free(c->index);
    free(c->path);
    free(c);
}

static int damaged_chunk(struct sk_container *c, uint64_t i, struct saikai_error *err)
{
    const char *name = "?";
    for (uint32_t k = 0; k < c->index->var_count; k++) {
        const struct sk_skc_var *v = &c->index->vars[k];
        if (i >= v->first_chunk && i - v->first_chunk < v->chunk_count)
            name = v->name;
    }
    return sk_fail(err, SAIKAI_EDAMAGED, "%s: chunk %llu (variable '%.60s', offset %llu) is damaged",
                   c->path, (unsigned long long)i, name, (unsigned long long)c->index->chunks[i].offset);
}

/* Read and hash in steps that stay in the processor's cache between the two. */
enum { step_bytes = 128 << 10 };

int sk_container_read_chunk(struct sk_container *c, uint64_t i, uint8_t *to, struct sk_hasher *hasher,
                            struct saikai_error *err)
{
    const struct sk_skc_chunk *k = &c->index->chunks[i];
    if (k->stored_bytes != k->raw_bytes)
        return damaged_chunk(c, i, err);
    sk_hasher_reset(hasher);
    for (uint64_t at = 0, n; at < k->stored_bytes; at += n) {
        n = k->stored_bytes - at < step_bytes ? k->stored_bytes - at : step_bytes;
        int rc = sk_container_pread(c, k->offset + at, to + at, n, err);
        if (rc)
            return rc;
        sk_hasher_add(hasher, to + at, n);
    }
    return sk_hasher_value(hasher) == k->hash ? 0 : damaged_chunk(c, i, err);
}

static int read_plain(struct sk_container *c, const struct sk_skc_var *v, uint8_t *to, struct saikai_error *err)
{
    struct sk_hasher *hasher = sk_hasher_new();
    int rc = hasher ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", c->path);
    for (uint64_t i = v->first_chunk; !rc && i < v->first_chunk + v->chunk_count; i++) {
        rc = sk_container_read_chunk(c, i, to, hasher, err);
        to += c->index->chunks[i].raw_bytes;
    }
    sk_hasher_free(hasher);
    return rc;
}

int sk_container_from_frame(void *arg, uint64_t at, void *data, size_t n, struct saikai_error *err)
{
    const struct sk_container_frame *f = arg;
    if (at > f->chunk->stored_bytes || n > f->chunk->stored_bytes - at)
        return sk_fail(err, SAIKAI_EDAMAGED, "the frame ends early");
    return sk_container_pread(f->c, f->chunk->offset + at, data, n, err);
}

int sk_container_frame(struct sk_container *c, const struct sk_skc_var *v, struct sk_container_frame *f,
                       struct saikai_error *err)
{
    if (v->chunk_count != 1)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: variable '%.60s' is coded and has %llu chunks instead of one",
                       c->path, v->name, (unsigned long long)v->chunk_count);
    *f = (struct sk_container_frame){
        c, &c->index->chunks[v->first_chunk], {.type = v->type, .ndims = v->ndims ? v->ndims : 1, .dims = {1}}};
    for (int d = 0; d < v->ndims; d++)
        f->array.dims[d] = (size_t)v->dims[d];
    return 0;
}

int sk_container_frame_error(struct sk_container *c, int rc, const struct saikai_error *why, struct saikai_error *err)
{
    if (rc != SAIKAI_ENOMEM && rc != SAIKAI_ENOTSUP && rc != SAIKAI_EIO)
        rc = SAIKAI_EDAMAGED; /* a frame that is none, or of another variable */
    if (err) {
        *err = *why;
        err->code = rc;
        sk_error_prefix(err, "%s", c->path);
    }
    return rc;
}

/* The chunk's checksum is not looked at: every byte of a frame is covered by a checksum of its own, and reading it once
 * is what a restart waits for. */
static int read_coded(struct sk_container *c, const struct sk_skc_var *v, void *out, struct saikai_error *err)
{
    struct sk_container_frame f;
    struct saikai_error why = {0};
    if (!v->chunk_count && !v->raw_bytes)
        return 0;
    int rc = sk_container_frame(c, v, &f, err);
    if (rc)
        return rc;
    rc = sk_stream_decode(sk_container_from_frame, &f, f.chunk->stored_bytes, &f.array, out, 0, v->name, &why);
    return rc ? sk_container_frame_error(c, rc, &why, err) : 0;
}

int sk_container_read(struct sk_container *c, const struct sk_skc_var *v, void *out,
                      struct saikai_error *err)
{
    if (!strcmp(v->codec, SK_LINEAGE_CODEC))
        return c->whole ? c->whole->read(c, v, out, err)
                        : sk_fail(err, SAIKAI_EINVAL, "%s holds only the changes of variable '%.60s': open its generation", c->path,
                                  v->name);
    return *v->codec ? read_coded(c, v, out, err) : read_plain(c, v, out, err);
}

int sk_container_decodable(const struct sk_container *c, const struct sk_skc_var *v, struct saikai_error *err)
{
    struct sk_chain chain;
    if (!*v->codec || !strcmp(v->codec, SK_LINEAGE_CODEC) || !sk_chain_parse(v->codec, &chain, NULL))
        return 0;
    return sk_fail(err, SAIKAI_ENOTSUP,
                   "%s: variable '%.60s' needs the codecs '%s', and this build lacks one of them; if a component has it, name that in "
                   "components.load",
                   c->path, v->name, v->codec);
}

/* A pass over chunks by parts of this size, however large a chunk is. */
enum { part_bytes = SK_SKC_CHUNK_BYTES };

struct pass {
    uint8_t *buf;
    struct sk_hasher *hasher;
    int to_fd; /* >= 0: parts are also written to the same offset there */
    const char *to_path;
    sk_container_progress *progress;
    void *arg;
};

static int pass_begin(struct sk_container *c, struct pass *p, struct saikai_error *err)
{
    p->buf = malloc(part_bytes);
    p->hasher = sk_hasher_new();
    return p->buf && p->hasher ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", c->path);
}

static void pass_end(struct pass *p)
{
    free(p->buf);
    sk_hasher_free(p->hasher);
}

static int pass_chunk(struct sk_container *c, struct pass *p, uint64_t i, struct saikai_error *err)
{
    const struct sk_skc_chunk *k = &c->index->chunks[i];
    sk_hasher_reset(p->hasher);
    for (uint64_t at = 0, n; at < k->stored_bytes; at += n) {
        n = k->stored_bytes - at < part_bytes ? k->stored_bytes - at : part_bytes;
        int rc = sk_container_pread(c, k->offset + at, p->buf, n, err);
        if (!rc && p->to_fd >= 0)
            rc = sk_io_pwrite(p->to_fd, p->to_path, p->buf, n, (off_t)(k->offset + at), err);
        if (rc)
            return rc;
        sk_hasher_add(p->hasher, p->buf, n);
        if (p->progress)
            p->progress(p->arg, n);
    }
    return sk_hasher_value(p->hasher) == k->hash ? 0 : damaged_chunk(c, i, err);
}

static int pass_chunks(struct sk_container *c, struct pass *p, uint64_t first, uint64_t count,
                       struct saikai_error *err)
{
    int rc = pass_begin(c, p, err);
    for (uint64_t i = first; !rc && i < first + count; i++)
        rc = pass_chunk(c, p, i, err);
    pass_end(p);
    return rc;
}

int sk_container_verify(struct sk_container *c, struct saikai_error *err)
{
    struct pass p = {.to_fd = -1};
    int rc = pass_chunks(c, &p, 0, c->index->chunk_count, err);
    return rc || !c->whole ? rc : c->whole->verify(c, err);
}

int sk_container_verify_var(struct sk_container *c, const struct sk_skc_var *v,
                            sk_container_progress *progress, void *arg, struct saikai_error *err)
{
    struct pass p = {.to_fd = -1, .progress = progress, .arg = arg};
    return pass_chunks(c, &p, v->first_chunk, v->chunk_count, err);
}

static int copy_frame(struct sk_container *c, int fd, const char *to_path, struct saikai_error *err)
{
    uint8_t head[SK_SKC_HEADER_BYTES];
    uint64_t from = c->trailer.index_offset, n = c->trailer.file_bytes - from;
    sk_skc_encode_header(&c->header, head);
    int rc = sk_io_pwrite(fd, to_path, head, sizeof head, 0, err);
    void *tail = rc ? NULL : malloc(n);
    if (!rc && !tail)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to copy %s", c->path);
    if (!rc)
        rc = sk_container_pread(c, from, tail, n, err);
    if (!rc)
        rc = sk_io_pwrite(fd, to_path, tail, n, (off_t)from, err);
    free(tail);
    return rc;
}

int sk_container_copy(struct sk_container *c, const char *to_path, int sync, struct saikai_error *err)
{
    if (c->whole)
        return c->whole->copy(c, to_path, sync, err);
    int fd = sk_own(sk_io_open(to_path, O_RDWR | O_CREAT | O_TRUNC, 0666, err), SK_OWN_STAYS);
    if (fd < 0)
        return fd;
    int rc = sk_io_reserve(fd, to_path, (off_t)c->trailer.file_bytes, err);
    if (!rc)
        rc = pass_chunks(c, &(struct pass){.to_fd = fd, .to_path = to_path}, 0, c->index->chunk_count, err);
    if (!rc)
        rc = copy_frame(c, fd, to_path, err);
    if (!rc && sync)
        rc = sk_io_fsync(fd, to_path, err);
    sk_own_close(fd);
    if (rc)
        sk_io_unlink(to_path, NULL);
    return rc;
}
