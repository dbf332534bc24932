/* What a writer keeps of planes until it is known whether they are to be coded so, and the two ends of the walk over them. */
#include "codec/entropy/adaptive/sparse.h"

#include "codec/entropy/adaptive/sparse_walk.h"
#include "codec/entropy/scratch.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 };

/* Is one of the first n not zero? There is room for a block. */
static int any(const uint8_t *p, size_t n)
{
    uint8_t all = 0;
    for (size_t i = 0; i < BLOCK; i++)
        all |= i < n ? p[i] : 0;
    return all;
}

/* ---- the writer ---- */

void sk_sparse_start(struct sk_sparse *s, size_t most)
{
    s->n_planes = s->n_values = 0;
    s->most = most;
    s->given_up = 0;
}

void sk_sparse_free(struct sk_sparse *s)
{
    free(s->plane);
    free(s->level);
    free(s->value);
    *s = (struct sk_sparse){.given_up = 1};
}

static int more_planes(struct sk_sparse *s)
{
    if (s->n_planes < s->cap_planes)
        return 0;
    size_t cap = 2 * s->cap_planes + 32;
    struct sk_plane *plane = realloc(s->plane, cap * sizeof *plane);
    s->plane = plane ? plane : s->plane;
    const uint8_t **level = plane ? realloc(s->level, cap * sizeof *level) : NULL;
    s->level = level ? level : s->level;
    s->cap_planes = level ? cap : s->cap_planes;
    return level ? 0 : -1;
}

static int more_values(struct sk_sparse *s)
{
    if (s->n_values + BLOCK <= s->cap_values)
        return 0;
    size_t cap = 2 * s->cap_values + 1024;
    int32_t *value = realloc(s->value, cap * sizeof *value);
    s->value = value ? value : s->value;
    s->cap_values = value ? cap : s->cap_values;
    return value ? 0 : -1;
}

/* The values of a row that are not zero. -1: too many, or memory is out. */
static int add_row(struct sk_sparse *s, const int32_t *q, const uint8_t *level, size_t width)
{
    for (size_t x = 0; x < width; x += BLOCK) {
        size_t n = width - x < BLOCK ? width - x : BLOCK;
        if (!any(level + x, n))
            continue;
        if (s->n_values + n > s->most || more_values(s))
            return -1;
        int32_t *value = s->value + s->n_values;
        for (size_t i = x; i < x + n; i++) {
            *value = q[i];
            value += level[i] != 0;
        }
        s->n_values = (size_t)(value - s->value);
    }
    return 0;
}

void sk_sparse_add(struct sk_sparse *s, const struct sk_plane *p, const int32_t *q,
                   const uint8_t *level)
{
    if (s->given_up)
        return;
    s->given_up = more_planes(s);
    if (s->given_up)
        return;
    s->plane[s->n_planes] = *p;
    s->level[s->n_planes++] = level;
    for (size_t b = 0; b < p->nb; b++)
        for (size_t z = 0; z < p->nz; z++)
            for (size_t y = 0; y < p->ny && !s->given_up; y++) {
                size_t at = p->origin + b * p->sb + z * p->sz + y * p->sy;
                s->given_up = add_row(s, q + at, level + at, p->width);
            }
}

int sk_sparse_put(const struct sk_sparse *s, size_t most, struct sk_buf *out)
{
    size_t room = SIZE_MAX - out->len;
    struct sk_sparse_walk w = {.most = out->len + (most < room ? most : room)};
    const int32_t *next = s->value;
    if (s->given_up || sk_sparse_models_new(&w))
        return -1;
    sk_adaptive_encoder(&w.coder, out);
    int rc = 0;
    for (size_t k = 0; !rc && k < s->n_planes; k++)
        rc = sk_sparse_kernel()->write(&w, &s->plane[k], s->level[k], &next);
    sk_adaptive_flush(&w.coder);
    sk_scratch_give(w.m);
    return rc || out->len > w.most ? -1 : 0;
}

/* ---- the reader ---- */

struct sk_sparse_reader {
    struct sk_sparse_walk walk;
};

struct sk_sparse_reader *sk_sparse_reader_new(const void *in, size_t n)
{
    struct sk_sparse_reader *r = calloc(1, sizeof *r);
    if (r && sk_sparse_models_new(&r->walk)) {
        free(r);
        return NULL;
    }
    if (r)
        sk_adaptive_decoder(&r->walk.coder, in, n);
    return r;
}

void sk_sparse_reader_free(struct sk_sparse_reader *r)
{
    if (r)
        sk_scratch_give(r->walk.m);
    free(r);
}

int sk_sparse_read(struct sk_sparse_reader *r, const struct sk_plane *p, int32_t *q, uint8_t *level)
{
    return sk_sparse_kernel()->read(&r->walk, p, q, level);
}

int sk_sparse_reader_ended(const struct sk_sparse_reader *r)
{
    return sk_adaptive_ended(&r->walk.coder);
}
