/* Decodes blocks and those that they build on, from the oldest archive up, in the memory of two
 * blocks. */
#include "archive/coding/block.h"
#include "archive/coding/unpack.h"

#include "codec/copies/copies.h"
#include "codec/residual/residual.h"
#include "base/hash.h"
#include "base/file/io.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sk_unpacked_free(struct sk_unpacked *u)
{
    sk_buf_free(&u->raw);
    free(u->parts);
    *u = (struct sk_unpacked){0};
}

void sk_unpacker_free(struct sk_unpacker *w)
{
    sk_coder_free(&w->coder);
    sk_buf_free(&w->stored);
    sk_unpacked_free(&w->below);
    sk_unpacked_free(&w->spare);
    free(w->alike);
    *w = (struct sk_unpacker){0};
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

/* ---- one block ---- */

/* A block of an archive, and where its bytes are when they are decoded. */
struct place {
    struct sk_opened *o;
    size_t block;
    struct sk_unpacked *u;
};

static const struct sk_part *part_of_class(const struct place *e, const char *key)
{
    const struct sk_ska *a = e->o->a;
    const struct sk_ska_block *b = &a->blocks[e->block];
    for (uint32_t k = 0; k < b->count; k++)
        if (!strcmp(a->classes[a->parts[b->first + k].class].key, key))
            return &e->u->parts[k];
    return NULL;
}

/* Per part of block i of `a` the part of the same class in a decoded block. */
static int set_alike(struct sk_unpacker *w, const struct sk_ska *a, size_t i,
                     const struct place *below, struct saikai_error *err)
{
    const struct sk_ska_block *b = &a->blocks[i];
    const struct sk_part **more = realloc(w->alike, (b->count + 1) * sizeof *more);
    if (!more)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block's parts");
    w->alike = more;
    for (uint32_t n = 0; n < b->count; n++)
        w->alike[n] = part_of_class(below, a->classes[a->parts[b->first + n].class].key);
    return 0;
}

static int check_stored(const struct place *p, const uint8_t *stored, struct saikai_error *err)
{
    const struct sk_ska *a = p->o->a;
    const struct sk_ska_block *b = &a->blocks[p->block];
    if (sk_hash64(stored, b->stored_bytes) == b->hash)
        return 0;
    return sk_fail(err, SAIKAI_EDAMAGED, "%s: the checksum of block %zu (with %s) is wrong",
                   p->o->path, p->block, a->files[a->segments[a->parts[b->first].first].file].name);
}

static int read_stored(struct sk_unpacker *w, const struct place *p, struct saikai_error *err)
{
    const struct sk_ska_block *b = &p->o->a->blocks[p->block];
    uint8_t *stored = sk_coder_room(&w->stored, b->stored_bytes + SK_BITS_SLACK);
    if (!stored)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block of %llu bytes",
                       (unsigned long long)b->stored_bytes);
    memset(stored + b->stored_bytes, 0, SK_BITS_SLACK);
    int rc = sk_io_pread(p->o->fd, p->o->path, stored, b->stored_bytes, (off_t)b->offset, err);
    return rc ? rc : check_stored(p, stored, err);
}

/* Decoders bear any bytes: a checksum that turns out to be wrong is told in place of what they
 * said.
 */
static int decode(struct sk_unpacker *w, const struct place *p, const struct sk_arriving *ready,
                  struct saikai_error *err)
{
    const struct sk_ska_block *b = &p->o->a->blocks[p->block];
    const uint8_t *stored = ready ? ready->data : w->stored.data;
    w->coder.arriving = ready;
    int rc = sk_block_decode(&w->coder, stored, b->stored_bytes, p->u->parts, (int)b->count, err);
    w->coder.arriving = NULL;
    if (rc)
        sk_error_prefix(err, "%s: block %zu", p->o->path, p->block);
    if (!ready)
        return rc;
    int read = ready->wait(ready->arg, b->stored_bytes, err);
    if (!read)
        read = check_stored(p, stored, err);
    return read ? read : rc;
}

/* below: decoded already; NULL: it stands alone. ready: the stored bytes; NULL: they are read. */
static int unpack_one(struct sk_unpacker *w, const struct place *p, const struct place *below,
                      const struct sk_arriving *ready, struct saikai_error *err)
{
    const struct sk_ska *a = p->o->a;
    int rc = ready ? 0 : read_stored(w, p, err);
    if (!rc)
        rc = fill_parts(p->u, a, &a->blocks[p->block], err);
    if (!rc && below)
        rc = set_alike(w, a, p->block, below, err);
    if (rc)
        return rc;
    w->coder.previous = below ? (const struct sk_part *const *)w->alike : NULL;
    w->coder.below = below ? below->u->parts : NULL;
    w->coder.below_count = below ? (int)below->o->a->blocks[below->block].count : 0;
    rc = decode(w, p, ready, err);
    w->coder.previous = NULL;
    w->coder.below = NULL;
    w->coder.below_count = 0;
    return rc;
}

/* ---- with those that it builds on ---- */

enum { MOST_PLACES = 2 * (SK_SKA_MAX_DEPTH + 1) };

/* The block and those below it, the oldest last; their number, or a code. Depths fall from archive
 * to archive, and in each at most one block takes from another, so that there are at most MOST_PLACES. */
static int trace(struct sk_opened *o, size_t i, struct place *list, struct saikai_error *err)
{
    int n = 0;
    while (o && n < MOST_PLACES) {
        struct sk_opened *below;
        size_t k;
        list[n++] = (struct place){o, i, NULL};
        int rc = sk_opened_below(o, i, &below, &k, err);
        if (rc)
            return rc;
        o = below;
        i = k;
    }
    return n;
}

/* Decode block i of o into `to`, those below in turn into `other` and `to`. What is left in `below`
 * is remembered. */
static int unpack(struct sk_unpacker *w, struct sk_unpacked *to, struct sk_unpacked *other,
                  struct sk_opened *o, size_t i, const struct sk_arriving *ready,
                  struct saikai_error *err)
{
    struct place list[MOST_PLACES];
    int n = trace(o, i, list, err), rc = n < 0 ? n : 0, from = n - 1;
    for (int k = 0; k < n; k++)
        list[k].u = k % 2 ? other : to;
    /* `below` is the place of every second one: of these, the first can be there already */
    int held = to == &w->below ? 0 : 1;
    int found = held < n && w->held == list[held].o && w->held_block == list[held].block;
    if (found)
        from = held - 1;
    else
        w->held = NULL;
    for (int k = from; k >= 0 && !rc; k--)
        rc = unpack_one(w, &list[k], k + 1 < n ? &list[k + 1] : NULL, k ? NULL : ready, err);
    if (!rc && held < n) {
        w->held = list[held].o;
        w->held_block = list[held].block;
    }
    return rc;
}

int sk_unpack_block(struct sk_unpacker *w, struct sk_unpacked *u, struct sk_opened *o, size_t i,
                    struct saikai_error *err)
{
    return unpack(w, u, &w->below, o, i, NULL, err);
}

int sk_unpack_ready(struct sk_unpacker *w, struct sk_unpacked *u, struct sk_opened *o, size_t i,
                    const struct sk_arriving *ready, struct saikai_error *err)
{
    return unpack(w, u, &w->below, o, i, ready, err);
}

int sk_unpack_alike(struct sk_unpacker *w, struct sk_opened *o, const struct sk_ska *a, size_t i,
                    const struct sk_part *const **parts, struct saikai_error *err)
{
    struct place below = {o, a->blocks[i].previous - 1, &w->below};
    int rc = unpack(w, &w->below, &w->spare, o, below.block, NULL, err);
    if (!rc)
        rc = set_alike(w, a, i, &below, err);
    if (!rc)
        *parts = (const struct sk_part *const *)w->alike;
    return rc;
}

int sk_unpack_check(struct sk_unpacker *w, struct sk_opened *o, size_t i, struct saikai_error *err)
{
    struct place list[MOST_PLACES];
    int there = (w->held == o && w->held_block == i) || (w->sound == o && w->sound_block == i);
    int n = there ? 0 : trace(o, i, list, err), rc = n < 0 ? n : 0;
    for (int k = 0; k < n && !rc; k++)
        rc = read_stored(w, &list[k], err);
    if (!rc) {
        w->sound = o;
        w->sound_block = i;
    }
    return rc;
}

int sk_unpack_need(struct sk_opened *o, size_t i, struct sk_unpack_need *need,
                   struct saikai_error *err)
{
    struct place list[MOST_PLACES];
    uint64_t stored = 0, most[2] = {0, 0};
    int n = trace(o, i, list, err);
    if (n < 0)
        return n;
    for (int k = 0; k < n; k++) {
        const struct sk_ska_block *b = &list[k].o->a->blocks[list[k].block];
        if (b->stored_bytes > stored)
            stored = b->stored_bytes;
        if (b->size_bytes > most[k % 2])
            most[k % 2] = b->size_bytes;
    }
    /* bytes in the order of a filter: of the block, and of what is below it */
    uint64_t largest = most[0] > most[1] ? most[0] : most[1];
    uint64_t window = largest < SK_PACK_STRONG_WINDOW ? largest : SK_PACK_STRONG_WINDOW;
    uint64_t more = (o->a->needs >= SK_SKA_AFTER ? 2 * SK_TEXT_MEMORY : o->a->needs >= SK_SKA_TEXT ? SK_TEXT_MEMORY : 0) + (o->a->needs >= SK_SKA_ROWS ? SK_ROWS_MEMORY : 0) +
                    (o->a->needs >= SK_SKA_FRAMES ? SK_FRAMES_MEMORY : 0) + (o->a->needs >= SK_SKA_COPIES ? SK_COPIES_UNDO_MEMORY : 0);
    *need = (struct sk_unpack_need){stored + most[1] + (n > 1 ? 2 : 1) * largest + window + more, most[0]};
    return 0;
}

void sk_unpack_most(struct sk_unpack_need *most, const struct sk_unpack_need *n)
{
    most->work_bytes = n->work_bytes > most->work_bytes ? n->work_bytes : most->work_bytes;
    most->raw_bytes = n->raw_bytes > most->raw_bytes ? n->raw_bytes : most->raw_bytes;
}

int sk_unpack_threads(int wanted, int most, const struct sk_unpack_need *each, uint64_t memory)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int n = wanted > 0 ? wanted : cpus > 0 ? (int)cpus : 1;
    n = n > most ? most : n;
    while (n > 1 && (uint64_t)n * (each->work_bytes + each->raw_bytes) > memory)
        n--;
    return n;
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
