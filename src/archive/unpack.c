#include "archive/unpack.h"

#include "archive/earlier.h"
#include "archive/residual.h"
#include "base/hash.h"
#include "base/io.h"

#include <stdlib.h>
#include <string.h>

void sk_unpacked_free(struct sk_unpacked *u)
{
    sk_earlier_free(u->earlier);
    sk_coder_free(&u->coder);
    sk_buf_free(&u->stored);
    sk_buf_free(&u->raw);
    free(u->parts);
    *u = (struct sk_unpacked){0};
}

static size_t aligned(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static int fill_parts(struct sk_unpacked *u, const struct sk_ska *a, const struct sk_ska_block *b,
                      struct saikai_error *err)
{
    size_t room = 0;
    for (uint32_t i = 0; i < b->count; i++)
        room += aligned(a->parts[b->first + i].size_bytes);
    struct sk_part *more = realloc(u->parts, (b->count + 1) * sizeof *more);
    if (more)
        u->parts = more;
    uint8_t *at = more ? sk_coder_room(&u->raw, room) : NULL;
    if (!at)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block of %llu bytes",
                       (unsigned long long)b->size_bytes);
    for (uint32_t i = 0; i < b->count; i++) {
        const struct sk_ska_part *p = &a->parts[b->first + i];
        const struct sk_ska_class *c = &a->classes[p->class];
        u->parts[i] = (struct sk_part){.type = c->type,
                                       .big_endian = c->big_endian,
                                       .fields = c->fields,
                                       .segments = &a->segments[p->first],
                                       .count = p->count,
                                       .raw = at,
                                       .size_bytes = p->size_bytes};
        at += aligned(p->size_bytes);
    }
    return 0;
}

/* What block i builds on, ready for the coder. */
static int set_earlier(struct sk_unpacked *u, const char *path, const struct sk_ska *a, size_t i,
                       struct saikai_error *err)
{
    u->coder.earlier = NULL;
    if (!a->blocks[i].earlier)
        return 0;
    if (!a->earlier)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: block %zu builds on no archive", path, i);
    int rc = u->earlier ? 0 : sk_earlier_open(&u->earlier, path, a, err);
    return rc ? rc : sk_earlier_parts(u->earlier, a, i, &u->coder.earlier, err);
}

int sk_unpack_block(struct sk_unpacked *u, int fd, const char *path, const struct sk_ska *a,
                    size_t i, struct saikai_error *err)
{
    const struct sk_ska_block *b = &a->blocks[i];
    uint8_t *stored = sk_coder_room(&u->stored, b->stored_bytes + SK_BITS_SLACK);
    if (!stored)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block of %llu bytes",
                       (unsigned long long)b->stored_bytes);
    memset(stored + b->stored_bytes, 0, SK_BITS_SLACK);
    int rc = sk_io_pread(fd, path, stored, b->stored_bytes, (off_t)b->offset, err);
    if (!rc && sk_hash64(stored, b->stored_bytes) != b->hash)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: the checksum of block %zu (with %s) is wrong", path,
                     i, a->files[a->segments[a->parts[b->first].first].file].name);
    if (!rc)
        rc = fill_parts(u, a, b, err);
    if (!rc)
        rc = set_earlier(u, path, a, i, err);
    if (!rc) {
        rc = sk_block_decode(&u->coder, stored, b->stored_bytes, u->parts, (int)b->count, err);
        if (rc)
            sk_error_prefix(err, "%s: block %zu", path, i);
    }
    return rc;
}

int sk_unpack_each(const struct sk_unpacked *u, const char *path, const struct sk_ska *a, size_t i,
                   const uint8_t *wanted, const uint8_t *classes,
                   int (*take)(void *arg, const struct sk_ska_segment *s, const uint8_t *data,
                               size_t n, struct saikai_error *err),
                   void *arg, struct saikai_error *err)
{
    const struct sk_ska_block *b = &a->blocks[i];
    int rc = 0;
    for (uint32_t k = 0; k < b->count && !rc; k++) {
        const struct sk_ska_part *p = &a->parts[b->first + k];
        const uint8_t *at = u->parts[k].raw;
        for (uint32_t s = 0; s < p->count && !rc; s++) {
            const struct sk_ska_segment *seg = &a->segments[p->first + s];
            size_t n = (size_t)sk_ska_segment_bytes(a, p, seg);
            if ((!wanted || wanted[seg->file]) && (!classes || classes[p->class]))
                rc = sk_hash64(at, n) == seg->hash
                         ? take(arg, seg, at, n, err)
                         : sk_fail(err, SAIKAI_EDAMAGED,
                                   "%s: bytes %llu to %llu of %s are not what was archived", path,
                                   (unsigned long long)seg->offset,
                                   (unsigned long long)(seg->offset + n), a->files[seg->file].name);
            at += n;
        }
    }
    return rc;
}
