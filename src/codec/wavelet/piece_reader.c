/* Reads a predicted piece: its header and options, its mask, the values by whichever prediction
 * made it, and last the exact ones. */
#include "codec/wavelet/piece.h"

#include "codec/entropy/scratch.h"
#include "codec/wavelet/exact.h"
#include "codec/wavelet/series/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int damaged(struct saikai_error *err, const char *what)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "%s of a wavelet piece is damaged", what);
}

typedef uint32_t __attribute__((may_alias)) bits32;
typedef uint64_t __attribute__((may_alias)) bits64;

/* Written so that loops become vectors. */
static void put_fills(void *out, const uint8_t *mask, size_t n, size_t size, uint64_t fill)
{
    bits32 *narrow = out, few = (uint32_t)fill;
    bits64 *wide = out;
    for (size_t i = 0; size == sizeof *narrow && i < n; i++) {
        uint32_t m = 0u - (uint32_t)(mask[i] != 0);
        narrow[i] = (few & m) | (narrow[i] & ~m);
    }
    for (size_t i = 0; size == sizeof *wide && i < n; i++) {
        uint64_t m = (uint64_t)0 - (uint64_t)(mask[i] != 0);
        wide[i] = (fill & m) | (wide[i] & ~m);
    }
}

/* Most of an array may have no fill value. */
static void put_fill(void *out, const uint8_t *mask, size_t n, size_t size, uint64_t fill)
{
    enum { PART = 512 };
    for (size_t i = 0; i < n; i += PART) {
        size_t m = n - i < PART ? n - i : PART;
        if (memchr(mask + i, 1, m))
            put_fills((uint8_t *)out + i * size, mask + i, m, size, fill);
    }
}

void sk_piece_free(struct piece *p)
{
    sk_lift_free(&p->lift);
    sk_causal_free(&p->causal);
    free(p->b_offset);
    sk_scratch_give(p->mask);
    sk_scratch_give(p->scaled);
    p->b_offset = NULL;
    p->mask = NULL;
    p->scaled = NULL;
}

double sk_piece_step(const struct piece *p)
{
    return p->step > 0 ? p->step : sk_lift_step(p->limit, p->size, p->lowest, p->highest);
}

static int read_header(struct piece *j, unsigned flags, double *mean, struct sk_rd *in)
{
    if (flags > (PIECE_HAS_MASK | PIECE_HAS_FILL | PIECE_IS_CAUSAL) ||
        sk_shape_get(&j->shape, j->n, in))
        return -1;
    j->plan.causal = (flags & PIECE_IS_CAUSAL) != 0;
    j->limit = sk_rd_f64(in);
    j->lowest = (int16_t)sk_rd_u16(in);
    j->highest = (int16_t)sk_rd_u16(in);
    *mean = sk_rd_f64(in);
    j->plan.alpha = j->plan.causal ? 1 : sk_rd_u8(in) / 32.0;
    j->plan.beta = j->plan.causal ? 1 : sk_rd_u8(in) / 8.0;
    return in->bad || !(j->limit > 0) || !isfinite(j->limit) || !isfinite(*mean) ||
                   j->plan.alpha <= 0 || j->plan.beta <= 0 || j->lowest < -1200 || j->highest > 1200
               ? -1
               : 0;
}

static int read_options(struct piece *j, struct sk_rd *in)
{
    unsigned options = sk_rd_u16(in);
    j->plan.reach = LIFT_LEAST_REACH + (int)(options & PIECE_REACH);
    j->sparse = (options & PIECE_SPARSE) != 0;
    j->packed = (options & PIECE_FILTERS) != 0;
    j->fine = (options & PIECE_FINE) != 0;
    j->mask_form = options & PIECE_REPEATS ? MASK_REPEATS : options & PIECE_BILEVEL ? MASK_BILEVEL : MASK_PLANE;
    if (options & PIECE_SCALED)
        j->scale = (int16_t)sk_rd_u16(in);
    if (options & PIECE_STEP)
        j->step = sk_rd_f64(in);
    return in->bad || options > PIECE_OPTIONS || (j->fine && !j->packed) || (options & PIECE_REPEATS && !(options & PIECE_BILEVEL)) || j->plan.reach > LIFT_MOST_REACH ||
                   abs(j->scale) > 2200 || !isfinite(j->step) ||
                   (options & PIECE_STEP && !(j->step > 0))
               ? -1
               : 0;
}

/* Undo the scale. */
static void unscale(const struct piece *j, void *out)
{
    /* in two steps: the power may be none of the type's */
    double first = ldexp(1, -j->scale / 2), second = ldexp(1, -j->scale - -j->scale / 2);
    for (size_t i = 0; j->scale && i < j->n; i++) {
        if (j->size == sizeof(float))
            ((float *)out)[i] = (float)((double)((float *)out)[i] * first * second);
        else
            ((double *)out)[i] = ((double *)out)[i] * first * second;
    }
}

static int read_mask(struct piece *j, uint64_t *fill, struct sk_rd *in, struct saikai_error *err)
{
    *fill = sk_rd_u64(in);
    size_t m = sk_special_get_number(in);
    const void *p = sk_rd_bytes(in, m);
    if (!p)
        return damaged(err, "the mask");
    j->mask = sk_scratch_take(j->n);
    if (!j->mask)
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
    return sk_piece_mask_get(&j->lift_shape, j->mask_form, p, m, j->mask, err);
}

/* Pass over exact values, which are put in place last. */
static void skip_exact(const struct piece *j, struct sk_rd *in)
{
    uint64_t n = sk_special_get_number(in);
    for (uint64_t i = 0; i < n && !in->bad; i++) {
        sk_special_get_number(in);
        sk_rd_bytes(in, j->size);
    }
}

static int restore(struct piece *j, double mean, void *out, struct sk_rd *head,
                   struct sk_plane_reader *codes, struct saikai_error *err)
{
    int masked = j->mask != NULL, rc;
    if (j->plan.causal) {
        if ((rc = sk_causal_init(&j->causal, &j->lift_shape, j->size, masked, err)))
            return rc;
        j->causal.base = mean;
        j->causal.step = sk_piece_step(j);
        j->causal.bytes = !j->packed;
        return sk_causal_decode(&j->causal, out, j->mask, head, codes, err);
    }
    if ((rc = sk_lift_init(&j->lift, &j->lift_shape, j->size, masked, j->plan.reach, err)))
        return rc;
    sk_lift_set_bounds(&j->lift, j->limit, j->plan.alpha, j->plan.beta, j->lowest, j->highest);
    j->lift.mean = mean;
    j->lift.fine = j->fine;
    j->lift.bytes = !j->packed;
    return sk_lift_decode(&j->lift, out, j->mask, head, codes, err);
}

/* Hostile input. Values that are kept exactly stand before the codes, and are put in at the end, over what was predicted there. */
static int read_predicted(struct piece *j, int extended, struct sk_rd *in, void *out,
                          struct saikai_error *err)
{
    double mean;
    uint64_t fill = 0;
    j->plan.reach = LIFT_LEAST_REACH;
    if (extended && read_options(j, in))
        return damaged(err, "the header");
    unsigned flags = sk_rd_u8(in);
    if (read_header(j, flags, &mean, in))
        return damaged(err, "the header");
    int rc = sk_shape_make(&j->shape, &j->lift_shape, &j->b_offset, err);
    if (!rc && flags & PIECE_HAS_MASK)
        rc = read_mask(j, &fill, in, err);
    if (rc)
        return rc;
    struct sk_rd exact = *in;
    skip_exact(j, in);
    size_t head_size = sk_special_get_number(in);
    const void *p = sk_rd_bytes(in, head_size);
    if (!p)
        return damaged(err, "the header");
    struct sk_rd head = sk_rd_init(p, head_size);
    struct sk_plane_reader *codes = NULL;
    if (j->sparse && sk_special_get_number(in) != sk_rd_left(in))
        return damaged(err, "the end");
    rc = (j->sparse ? sk_plane_reader_sparse : sk_plane_reader_new)(&codes, in->p, sk_rd_left(in), err);
    if (rc)
        return rc;
    rc = restore(j, mean, out, &head, codes, err);
    if (!rc)
        rc = sk_plane_reader_finish(codes, err);
    sk_plane_reader_free(codes);
    if (!rc)
        unscale(j, out);
    if (!rc && flags & PIECE_HAS_FILL && j->mask)
        put_fill(out, j->mask, j->n, j->size, fill);
    return rc ? rc : sk_special_get_exact(&exact, out, j->n, j->size, err);
}

/* The values of a lattice, before they are scaled back, by their numbers in in[0, size). */
static int series_values(const struct piece *j, double base, double step, const void *in, size_t size, void *out, struct saikai_error *err)
{
    int32_t *k = sk_scratch_take(j->n * sizeof *k);
    int rc = k ? sk_series_get(in, size, k, j->n, err) : sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
    for (size_t i = 0; !rc && i < j->n; i++) {
        if (j->size == sizeof(float))
            ((float *)out)[i] = (float)(base + step * k[i]);
        else
            ((double *)out)[i] = base + step * k[i];
    }
    sk_scratch_give(k);
    return rc;
}

/* Hostile input. */
static int read_series(struct piece *j, struct sk_rd *in, void *out, struct saikai_error *err)
{
    j->scale = (int16_t)sk_rd_u16(in);
    double base = sk_rd_f64(in), step = sk_rd_f64(in);
    if (in->bad || abs(j->scale) > 2200 || !isfinite(base) || !isfinite(step) || !(step > 0))
        return damaged(err, "the header");
    struct sk_rd exact = *in;
    skip_exact(j, in);
    if (in->bad)
        return damaged(err, "an exact value");
    int rc = series_values(j, base, step, in->p, sk_rd_left(in), out, err);
    if (!rc)
        unscale(j, out);
    return rc ? rc : sk_special_get_exact(&exact, out, j->n, j->size, err);
}

int sk_piece_read(struct piece *j, struct sk_rd *in, void *out, struct saikai_error *err)
{
    unsigned form = sk_rd_u8(in);
    size_t left = sk_rd_left(in);
    if (form == PIECE_EMPTY && !in->bad && !j->n && !left)
        return 0;
    if (form == PIECE_CONSTANT && j->n && left == j->size) {
        for (size_t i = 0; i < j->n; i++)
            memcpy((uint8_t *)out + i * j->size, in->p, j->size);
        return 0;
    }
    if (form == PIECE_EXACT && j->n)
        return sk_exact_get(in->p, left, out, j->n, j->size, err);
    if ((form == PIECE_PREDICTED || form == PIECE_EXTENDED) && j->n)
        return read_predicted(j, form == PIECE_EXTENDED, in, out, err);
    if (form == PIECE_SERIES && j->n)
        return read_series(j, in, out, err);
    return damaged(err, "the form");
}
