/* The predicted body: scales, plain bits, classes.
 *
 * Bytes: u8 1 when chunks have scales | (then the scales, one for each chunk) | u64 size of the
 * plain bits | the plain bits | classes. */
#include "codec/lossless/predict/predict.h"

#include <stdlib.h>

/* Plain bits below a class: none for 0, the sign for 1, else sign and what is below the leading
 * two. */
static inline unsigned extra_bits(unsigned class)
{
    return (class + (class == 1)) / 2;
}

struct sk_class_plane sk_class_plane_of(const struct sk_plan *p, const uint8_t *skip)
{
    const struct sk_shape *s = &p->shape;
    struct sk_class_plane c = {.n = s->total, .skip = skip, .wide = p->wide};
    sk_class_lags(&c, s->axes > 1 && !s->segments ? s->stride[1] : 0, s->axes > 2 ? s->stride[2] : 0);
    return c;
}

/* 1 when the eight bytes from p on are zero. */
static inline int eight_zeros(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return !v;
}

#define PUT_EXTRA(NAME, W, I)                                                                      \
    static void NAME(struct sk_bits_out *out, const W *r, const uint8_t *class,                    \
                     const uint8_t *skip, size_t n)                                                \
    {                                                                                              \
        struct sk_bits_out b = *out;                                                               \
        for (size_t i = 0; i < n; i++) {                                                           \
            if (!class[i]) { /* zeros come in droves */                                            \
                i += n - i >= 8 && eight_zeros(class + i) ? 7 : 0;                                 \
                continue;                                                                          \
            }                                                                                      \
            W s = (W)((I)r[i] >> (8 * sizeof(W) - 1)), z = (r[i] ^ s) - s;                         \
            unsigned e = extra_bits(class[i]);                                                     \
            uint64_t v = ((uint64_t)z << 1 | (s & 1)) & (((uint64_t)1 << e) - 1);                  \
            if (skip && skip[i])                                                                   \
                continue;                                                                          \
            if (sizeof(W) == 4)                                                                    \
                sk_bits_put_some(&b, v, e);                                                        \
            else                                                                                   \
                sk_bits_put(&b, v, e);                                                             \
        }                                                                                          \
        *out = b;                                                                                  \
    }

PUT_EXTRA(put_extra4, uint32_t, int32_t)
PUT_EXTRA(put_extra8, uint64_t, int64_t)

/* Scales of all chunks; only when one of them has a grid are they written. */
static int find_scales(const struct sk_plan *p, const void *x, struct sk_scale **scales,
                       struct sk_buf *out)
{
    struct sk_chunk c = {0};
    size_t n = 0, gridded = 0, cap = 0;
    while (sk_chunk_next(&c, &p->shape)) {
        if (n == cap) {
            cap = cap ? 2 * cap : 64;
            struct sk_scale *more = realloc(*scales, cap * sizeof *more);
            if (!more)
                return -1;
            *scales = more;
        }
        sk_grid_find(p, (const uint8_t *)x + c.first * p->word, sk_chunk_values(&c), &(*scales)[n]);
        gridded += (*scales)[n++].step != 0;
    }
    sk_buf_put_u8(out, gridded != 0);
    for (size_t i = 0; gridded && i < n; i++)
        sk_grid_put(out, &(*scales)[i], i ? &(*scales)[i - 1] : NULL);
    return 0;
}

int sk_body_encode(const struct sk_plan *p, const void *x, const uint8_t *skip, struct sk_buf *out)
{
    uint64_t r[SK_CHUNK_VALUES];
    struct sk_scale *scales = NULL;
    struct sk_chunk c = {0};
    size_t n = p->shape.total, at;
    uint8_t *class = malloc(n + 1), *raw = NULL;
    if (!class || find_scales(p, x, &scales, out))
        goto out;
    at = out->len;
    raw = sk_buf_extend(out, 8 + n * p->word + 16);
    if (!raw)
        goto out;
    struct sk_bits_out bits = {.p = raw + 8};
    struct sk_predictor predictor;
    sk_predictor_init(&predictor, p);
    for (size_t k = 0; sk_chunk_next(&c, &p->shape); k++) {
        size_t m = sk_chunk_values(&c);
        const uint8_t *s = skip ? skip + c.first : NULL;
        sk_predict_chunk(&predictor, &c, x, &scales[k], r);
        p->kernel->classes(r, m, class + c.first);
        if (p->word == 4)
            put_extra4(&bits, (const uint32_t *)r, class + c.first, s, m);
        else
            put_extra8(&bits, r, class + c.first, s, m);
    }
    uint64_t bytes = (uint64_t)(sk_bits_end(&bits) - raw - 8);
    memcpy(raw, &bytes, 8);
    out->len = at + 8 + (size_t)bytes;
    struct sk_class_plane plane = sk_class_plane_of(p, skip);
    sk_classes_encode(&plane, class, out);
out:
    if (!raw)
        out->failed = 1;
    free(class);
    free(scales);
    return sk_buf_ok(out) ? 0 : -1;
}

/* 0, SAIKAI_ENOMEM, or -1: damaged. */
static int get_scales(const struct sk_plan *p, struct sk_rd *in, struct sk_scale **scales)
{
    struct sk_chunk c = {0};
    size_t n = 0, cap = 0;
    int any = sk_rd_u8(in);
    if (any > 1)
        return -1;
    while (any && sk_chunk_next(&c, &p->shape)) {
        if (n == cap) {
            cap = cap ? 2 * cap : 64;
            struct sk_scale *more = realloc(*scales, cap * sizeof *more);
            if (!more)
                return SAIKAI_ENOMEM;
            *scales = more;
        }
        (*scales)[n] = n ? (*scales)[n - 1] : (struct sk_scale){.shift = p->shift};
        if (sk_grid_get(in, &(*scales)[n++]))
            return -1;
    }
    return 0;
}

static uint64_t total_extra(const struct sk_plan *p, const uint8_t *class, const uint8_t *skip)
{
    size_t n = p->shape.total;
    uint64_t sum = 0;
    if (!skip)
        return p->kernel->extra(class, n);
    for (size_t i = 0; i < n; i++)
        sum += skip[i] ? 0 : extra_bits(class[i]);
    return sum;
}

/* How many whole rows from chunk c (of number *k) on can be restored side by side; c and *k are then the last chunk of them. 0: too few.
 * Of segments with a filter along them: all or none. */
static size_t rows_alike(const struct sk_plan *p, const struct sk_scale *scales, struct sk_chunk *c, size_t *k)
{
    enum { FEWEST_ROWS = 4, SHORTEST_ROW = 16 };
    const size_t nx = p->shape.n[0], before = c->next_row - c->rows, left = p->shape.n[1] - c->at[1], first = *k;
    const size_t fewest = p->along.weights ? SK_SEGMENTS : FEWEST_ROWS;
    struct sk_chunk next = *c, last = *c;
    size_t rows = 0, at_last = first;
    if (!p->kernel->restore_rows || c->from || 2 * c->at[1] < sk_orders_at(p, c->at)->half[1] || (p->shape.axes == 2 && p->apart && !c->at[1]) || left < fewest || nx < SHORTEST_ROW)
        return 0;
    for (size_t n = first;;) {
        if (next.to >= nx) { /* the last one may have what is behind the segments, too */
            rows = next.next_row - before;
            last = next;
            at_last = n;
        }
        if (rows == left || !sk_chunk_next(&next, &p->shape) || (scales && !sk_grid_same(&scales[++n], &scales[first])))
            break;
    }
    if (rows < fewest)
        return 0;
    *c = last;
    *k = at_last;
    return rows;
}

static void restore(const struct sk_plan *p, const struct sk_scale *scales, const uint8_t *raw,
                    const uint8_t *class, const uint8_t *skip, void *x)
{
    const struct sk_scale plain = {.shift = p->shift};
    struct sk_bits_in bits = {.p = raw};
    struct sk_predictor predictor;
    struct sk_chunk c = {0};
    sk_predictor_init(&predictor, p);
    for (size_t k = 0; sk_chunk_next(&c, &p->shape); k++) {
        const struct sk_chunk first = c;
        const struct sk_scale *scale = scales ? &scales[k] : &plain;
        size_t rows = skip ? 0 : rows_alike(p, scales, &c, &k);
        if (rows)
            sk_restore_rows(&predictor, &first, rows, x, scale, &bits, class);
        if (rows && c.to > p->shape.n[0]) { /* behind the last segment */
            c.first += p->shape.n[0] - c.from;
            c.from = p->shape.n[0];
        }
        if (!rows || c.from == p->shape.n[0])
            sk_restore_chunk(&predictor, &c, x, scale, &bits, class, skip);
    }
}

static unsigned most_class(const uint8_t *class, size_t n)
{
    uint8_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = class[i] > most ? class[i] : most;
    return most;
}

int sk_body_decode(const struct sk_plan *p, struct sk_rd *in, const uint8_t *skip, void *x)
{
    size_t n = p->shape.total;
    struct sk_scale *scales = NULL;
    uint8_t *class = malloc(n + 1);
    int rc = class ? get_scales(p, in, &scales) : SAIKAI_ENOMEM;
    if (rc)
        goto out;
    uint64_t bytes = sk_rd_u64(in);
    const uint8_t *raw = bytes <= sk_rd_left(in) ? sk_rd_bytes(in, (size_t)bytes) : NULL;
    struct sk_class_plane plane = sk_class_plane_of(p, skip);
    rc = raw ? sk_classes_decode(&plane, in, class) : -1;
    if (rc)
        goto out;
    rc = -1;
    if ((total_extra(p, class, skip) + 7) / 8 != bytes)
        goto out;
    if (most_class(class, n) > 16 * p->word - 1) /* longer than a word */
        goto out;
    /* the reader looks up to 15 bytes ahead: the classes behind the bits are longer than that */
    restore(p, scales, raw, class, skip, x);
    rc = 0;
out:
    free(class);
    free(scales);
    return rc;
}
