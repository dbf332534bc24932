/* Codes masks: where the same planes come again, as levels of several fields of an ocean do, they are named, and the others alone are coded. */
#include "codec/wavelet/mask/mask.h"

#include "base/hash.h"
#include "codec/entropy/adaptive/bilevel.h"
#include "codec/entropy/scratch.h"
#include "codec/wavelet/special.h"

#include <string.h>

enum { MASK_PAD = 2 };

static int out_of_memory(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOMEM, "out of memory for a mask");
}

static int damaged(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "the mask of a wavelet piece is damaged");
}

static size_t shape_row(const struct lift_shape *shape, size_t r)
{
    size_t y = r % shape->n[1], z = r / shape->n[1] % shape->n[0];
    return shape->b_offset[r / shape->n[1] / shape->n[0]] + z * shape->stride[0] +
           y * shape->stride[1];
}

/* A mask of so many planes seen in this shape, without its values; NULL bit: memory is out. */
static struct sk_bilevel bilevel_of(const struct lift_shape *shape, size_t planes)
{
    struct sk_bilevel b = {.nb = 1, .nz = planes, .ny = shape->n[1], .width = shape->n[2]};
    b.bit = sk_scratch_take_zeros(sk_bilevel_bytes(&b));
    return b;
}

static size_t planes_of(const struct lift_shape *shape)
{
    return shape->nb * shape->n[0];
}

static size_t plane_bytes(const struct sk_bilevel *b)
{
    return b->ny * sk_bilevel_row_bytes(b);
}

/* A row of a mask from one place to another, elements so far apart. */
static void copy_row(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride, size_t n)
{
    if (to_stride == 1 && from_stride == 1)
        memcpy(to, from, n);
    else
        for (size_t x = 0; x < n; x++)
            to[x * to_stride] = from[x * from_stride];
}

/* ---- which planes come again ---- */

enum { SMALLEST = 1024, MOST_PLANES = 1 << 16, WINDOW = 256 };

/* The earliest plane that each is the same as, through ones that are at most WINDOW apart; -1: memory is out. */
static int same_planes(const struct sk_bilevel *b, uint32_t *same)
{
    size_t n = plane_bytes(b);
    uint64_t *sum = sk_scratch_take(b->nz * sizeof *sum);
    for (size_t p = 0; sum && p < b->nz; p++) {
        const uint8_t *here = b->bit + p * n;
        sum[p] = sk_hash64(here, n);
        same[p] = (uint32_t)p;
        for (size_t d = 1; d <= p && d <= WINDOW && same[p] == p; d++)
            if (sum[p - d] == sum[p] && !memcmp(here - d * n, here, n))
                same[p] = same[p - d];
    }
    sk_scratch_give(sum);
    return sum ? 0 : -1;
}

/* So many planes are new, and so many after them the same as those so far before. */
struct run {
    size_t fresh, again, distance;
};

/* The longest run of planes from p that are the same as those some planes before (J. Ziv, A. Lempel, "A universal algorithm for sequential data
 * compression", IEEE Trans. Inf. Theory 23, 1977). */
static size_t longest(const uint32_t *same, size_t planes, size_t p, size_t *distance)
{
    size_t best = 0;
    for (size_t d = 1; same[p] != p && d <= p && d <= WINDOW; d++) {
        size_t n = 0;
        while (p + n < planes && same[p + n] == same[p + n - d])
            n++;
        if (n > best) {
            best = n;
            *distance = d;
        }
    }
    return best;
}

/* Moves planes that are new to the front, and appends the runs. Returns how many are new. */
static size_t put_runs(struct sk_bilevel *b, const uint32_t *same, struct sk_buf *out)
{
    size_t n = plane_bytes(b), kept = 0;
    for (size_t p = 0; p < b->nz;) {
        struct run r = {0, 0, 0};
        for (; p < b->nz && !(r.again = longest(same, b->nz, p, &r.distance)); p++, r.fresh++, kept++)
            if (kept < p)
                memcpy(b->bit + kept * n, b->bit + p * n, n);
        sk_special_put_number(out, r.fresh);
        sk_special_put_number(out, r.again);
        if (r.again)
            sk_special_put_number(out, r.distance);
        p += r.again;
    }
    return kept;
}

/* For each plane, which of those that are new it is; *fresh: how many these are. */
static int get_runs(struct sk_rd *in, size_t planes, uint32_t *which, size_t *fresh)
{
    *fresh = 0;
    for (size_t p = 0; p < planes;) {
        struct run r;
        r.fresh = sk_special_get_number(in);
        r.again = sk_special_get_number(in);
        r.distance = r.again ? sk_special_get_number(in) : 1;
        if (in->bad || r.fresh > planes - p || r.again > planes - p - r.fresh || !(r.fresh + r.again) || !r.distance ||
            (r.again && r.distance > p + r.fresh))
            return -1;
        for (; r.fresh; r.fresh--)
            which[p++] = (uint32_t)(*fresh)++;
        for (; r.again; r.again--, p++)
            which[p] = which[p - r.distance];
    }
    return 0;
}

/* Names planes that come again, where some do; -1: memory is out. */
static int leave_out_repeats(struct sk_bilevel *b, struct sk_buf *out, enum mask_form *form)
{
    if (b->ny * b->width < SMALLEST || b->nz < 2 || b->nz > MOST_PLANES)
        return 0;
    uint32_t *same = sk_scratch_take(b->nz * sizeof *same);
    int rc = same ? same_planes(b, same) : -1, some = 0;
    for (size_t p = 0; !rc && p < b->nz && !some; p++)
        some = same[p] != p;
    if (some) {
        b->nz = put_runs(b, same, out);
        *form = MASK_REPEATS;
    }
    sk_scratch_give(same);
    return rc;
}

/* ---- a mask ---- */

int sk_piece_mask_put(const struct lift_shape *shape, const uint8_t *mask, struct sk_buf *out, enum mask_form *form, struct saikai_error *err)
{
    struct sk_bilevel b = bilevel_of(shape, planes_of(shape));
    size_t rows = b.nz * b.ny;
    for (size_t r = 0; b.bit && r < rows; r++)
        copy_row(b.bit + r * sk_bilevel_row_bytes(&b) + SK_BILEVEL_EDGE, 1, mask + shape_row(shape, r), shape->stride[2], b.width);
    *form = MASK_BILEVEL;
    int rc = !b.bit || leave_out_repeats(&b, out, form) || sk_bilevel_put(&b, out) ? out_of_memory(err) : 0;
    sk_scratch_give(b.bit);
    return rc;
}

/* The planes that which[] names (NULL: all, one after the other) from what was coded of them. */
static void put_in_place(const struct lift_shape *shape, const struct sk_bilevel *b, const uint32_t *which, uint8_t *mask)
{
    size_t row = sk_bilevel_row_bytes(b);
    for (size_t p = 0; p < planes_of(shape); p++) {
        const uint8_t *from = b->bit + (which ? which[p] : p) * plane_bytes(b) + SK_BILEVEL_EDGE;
        for (size_t y = 0; y < b->ny; y++, from += row)
            copy_row(mask + shape_row(shape, p * b->ny + y), shape->stride[2], from, 1, b->width);
    }
}

static int get_bilevel(const struct lift_shape *shape, int repeats, struct sk_rd in, uint8_t *mask, struct saikai_error *err)
{
    size_t planes = planes_of(shape), fresh = planes;
    uint32_t *which = repeats && planes <= UINT32_MAX ? sk_scratch_take(planes * sizeof *which) : NULL;
    if (repeats && !which)
        return out_of_memory(err);
    int rc = repeats && get_runs(&in, planes, which, &fresh) ? damaged(err) : 0;
    struct sk_bilevel b = {0};
    if (!rc) {
        b = bilevel_of(shape, fresh);
        rc = !b.bit ? out_of_memory(err) : sk_bilevel_get(&b, in.p, sk_rd_left(&in)) ? damaged(err) : 0;
    }
    if (!rc)
        put_in_place(shape, &b, which, mask);
    sk_scratch_give(b.bit);
    sk_scratch_give(which);
    return rc;
}

/* A mask as a plane, each row with room at both ends. */
static void mask_plane(const struct lift_shape *shape, struct sk_plane *p)
{
    memset(p, 0, sizeof *p);
    p->nb = shape->nb;
    p->nz = shape->n[0];
    p->ny = shape->n[1];
    p->width = shape->n[2];
    p->sy = p->width + 2 * MASK_PAD;
    p->sz = p->sy * p->ny;
    p->sb = p->sz * p->nz;
    p->origin = MASK_PAD;
    /* powers of two: each combination of neighbours is a context of its own */
    p->weights = (struct sk_plane_weights){.left = 1, .up = 2, .back = 4, .up_right = 8};
}

static size_t mask_row(const struct sk_plane *p, size_t r)
{
    return p->origin + r * p->sy;
}

static int get_plane(const struct lift_shape *shape, const void *in, size_t size, uint8_t *mask, struct saikai_error *err)
{
    struct sk_plane p;
    mask_plane(shape, &p);
    size_t rows = p.nb * p.nz * p.ny, count = rows * p.sy;
    int32_t *q = sk_scratch_take_zeros((count + 64) * sizeof *q);
    uint8_t *level = sk_scratch_take_zeros(count + 128);
    struct sk_plane_reader *reader = NULL;
    int rc = !q || !level ? out_of_memory(err) : 0;
    if (!rc)
        rc = sk_plane_reader_new(&reader, in, size, err);
    if (!rc)
        rc = sk_plane_read(reader, &p, q, level, err);
    if (!rc)
        rc = sk_plane_reader_finish(reader, err);
    for (size_t r = 0; !rc && r < rows; r++)
        for (size_t x = 0, to = shape_row(shape, r), from = mask_row(&p, r); x < p.width; x++)
            mask[to + x * shape->stride[2]] = q[from + x] != 0;
    sk_scratch_give(q);
    sk_scratch_give(level);
    sk_plane_reader_free(reader);
    return rc;
}

int sk_piece_mask_get(const struct lift_shape *shape, enum mask_form form, const void *in, size_t size, uint8_t *mask,
                struct saikai_error *err)
{
    return form == MASK_PLANE ? get_plane(shape, in, size, mask, err)
                              : get_bilevel(shape, form == MASK_REPEATS, sk_rd_init(in, size), mask, err);
}
