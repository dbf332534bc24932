#include "archive/earlier.h"

#include "archive/unpack.h"
#include "base/io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_SHARE = 20 };

struct sk_earlier {
    int fd;
    char path[4096];
    struct sk_ska a;
    struct sk_unpacked block;
    size_t held; /* number + 1 of the block that is decoded */
    const struct sk_part **parts;
};

void sk_earlier_free(struct sk_earlier *e)
{
    if (!e)
        return;
    if (e->fd >= 0)
        close(e->fd);
    sk_ska_free(&e->a);
    sk_unpacked_free(&e->block);
    free(e->parts);
    free(e);
}

int sk_earlier_open(struct sk_earlier **out, const char *path, const struct sk_ska *a,
                    struct saikai_error *err)
{
    const char *slash = strrchr(path, '/');
    struct sk_earlier *e = calloc(1, sizeof *e);
    if (!e)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to open %s", a->earlier);
    e->fd = -1;
    int rc = sk_io_path(e->path, sizeof e->path, err, "%.*s%s", slash ? (int)(slash - path) + 1 : 0,
                        path, a->earlier);
    if (!rc && access(e->path, F_OK))
        rc = sk_fail(err, SAIKAI_ENOENT, "%s builds on %s, which is missing: put it back beside it",
                     path, e->path);
    if (!rc && (e->fd = sk_io_open(e->path, O_RDONLY, 0, err)) < 0)
        rc = e->fd;
    if (!rc)
        rc = sk_ska_read(e->fd, e->path, &e->a, err);
    /* fewer archives below each one: there is an end to them */
    if (!rc && (e->a.hash != a->earlier_hash || e->a.depth >= a->depth))
        rc = sk_fail(err, SAIKAI_EDAMAGED,
                     "%s builds on another archive than the one that is called %s now", path,
                     e->path);
    if (rc) {
        sk_earlier_free(e);
        return rc;
    }
    *out = e;
    return 0;
}

static const struct sk_part *part_of_class(const struct sk_earlier *e, const struct sk_ska_block *b,
                                           const char *key)
{
    for (uint32_t k = 0; k < b->count; k++)
        if (!strcmp(e->a.classes[e->a.parts[b->first + k].class].key, key))
            return &e->block.parts[k];
    return NULL;
}

int sk_earlier_parts(struct sk_earlier *e, const struct sk_ska *a, size_t i,
                     const struct sk_part *const **parts, struct saikai_error *err)
{
    const struct sk_ska_block *b = &a->blocks[i];
    size_t k = b->earlier;
    if (!k || k > e->a.block_count)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s has no block that a newer archive builds on",
                       e->path);
    const struct sk_part **more = realloc(e->parts, (b->count + 1) * sizeof *more);
    if (!more)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block's parts");
    e->parts = more;
    if (e->held != k) {
        e->held = 0;
        int rc = sk_unpack_block(&e->block, e->fd, e->path, &e->a, k - 1, err);
        if (rc)
            return rc;
        e->held = k;
    }
    for (uint32_t n = 0; n < b->count; n++)
        e->parts[n] =
            part_of_class(e, &e->a.blocks[k - 1], a->classes[a->parts[b->first + n].class].key);
    *parts = e->parts;
    return 0;
}

/* ---- making one ---- */

/* The class of a block's largest part, NULL: it holds more than bytes. */
static const char *key_of(const struct sk_ska *a, const struct sk_ska_block *b)
{
    uint64_t most = 0;
    const char *key = NULL;
    for (uint32_t k = 0; k < b->count; k++) {
        const struct sk_ska_part *p = &a->parts[b->first + k];
        if (a->classes[p->class].type != SAIKAI_U8)
            return NULL;
        if (p->size_bytes > most) {
            most = p->size_bytes;
            key = a->classes[p->class].key;
        }
    }
    return key;
}

void sk_earlier_match(struct sk_ska *a, const struct sk_ska *earlier)
{
    uint64_t all = 0;
    for (size_t i = 0; i < a->block_count; i++)
        all += a->blocks[i].size_bytes;
    for (size_t i = 0; i < a->block_count; i++) {
        const char *key = key_of(a, &a->blocks[i]), *other;
        size_t nth = 0, seen = 0;
        a->blocks[i].earlier = 0;
        if (a->blocks[i].size_bytes < all / LEAST_SHARE)
            continue; /* not worth needing another archive for */
        for (size_t k = 0; key && k < i; k++)
            nth += (other = key_of(a, &a->blocks[k])) && !strcmp(other, key);
        for (size_t k = 0; key && k < earlier->block_count; k++) {
            other = key_of(earlier, &earlier->blocks[k]);
            if (other && !strcmp(other, key) && seen++ <= nth)
                a->blocks[i].earlier = (uint32_t)k + 1; /* else the last there is */
        }
    }
}
