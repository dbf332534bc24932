/* Makes a predicted piece: takes out what is not a number of the field, scales, tries the plans
 * that may be best, and appends the shortest. */
#include "codec/wavelet/piece.h"

#include "codec/entropy/scratch.h"
#include "codec/wavelet/series/piece_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Codes of which at most this part is not zero are tried as sparse ones, or when they are few. */
enum { FINE_BOUND = 1 << 13, THOROUGH_BOUND = 1 << 14, SPARSE_PART = 10, SPARSE_LEAST = 2048 };
/* Static codes that are longer than another plan's by more than one part in so many lose as adaptive
 * ones, too. */
enum { FAR = 4 };

/* All of the piece with a plan, before it is coded. */
struct made {
    struct plan plan;
    struct lift lift;
    struct causal causal;
    struct sk_buf head;
    struct sk_plane_writer *codes;
    double bits; /* that it needs at least */
};

static size_t exceptions_of(const struct made *m)
{
    return m->plan.causal ? m->causal.n_exceptions : m->lift.n_exceptions;
}

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

static int out_of_memory(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
}

/* Exponents that a sample of the values has, without the rarest. */
static void find_exponents(struct piece *j)
{
    enum { SAMPLE = 512, BIAS = 1100 };
    uint16_t seen[2 * BIAS] = {0};
    size_t count = j->n < SAMPLE ? j->n : SAMPLE;
    for (size_t k = 0; k < count; k++) {
        size_t i = (size_t)(((double)k + 0.5) * (double)j->n / (double)count);
        double x = j->size == sizeof(float) ? ((const float *)j->source)[i]
                                            : ((const double *)j->source)[i];
        int e = 0;
        if (isfinite(x) && x != 0 && !(j->mask && j->mask[i])) {
            frexp(x, &e);
            seen[e + BIAS]++;
        }
    }
    j->lowest = 1;
    j->highest = 0;
    for (int e = -BIAS; e < BIAS; e++)
        if (seen[e + BIAS] > count / 128) {
            j->lowest = j->lowest > j->highest ? e : j->lowest;
            j->highest = e;
        }
}

/* Is element i masked, but not the fill value? */
static int is_stranger(const struct piece *j, size_t i)
{
    uint64_t bits = 0;
    if (!j->mask || !j->mask[i])
        return 0;
    memcpy(&bits, (const uint8_t *)j->in + i * j->size, j->size);
    return !j->special.has_fill || bits != j->special.fill;
}

/* Exceptions of the transform, and masked values that are not the fill value. */
static int put_exact(const struct piece *j, const struct made *m, struct sk_buf *out)
{
    const size_t *found = m->plan.causal ? m->causal.exception : m->lift.exception;
    size_t n = exceptions_of(m);
    size_t strangers = j->special.n_masked - j->special.n_filled, all = n + strangers;
    size_t *list = malloc((all + 1) * sizeof *list);
    if (!list)
        return -1;
    if (n)
        memcpy(list, found, n * sizeof *list);
    for (size_t i = 0; n < all && i < j->n; i++)
        if (is_stranger(j, i))
            list[n++] = i;
    qsort(list, all, sizeof *list, by_place);
    sk_special_put_exact(out, list, all, j->in, j->size);
    free(list);
    return 0;
}

static unsigned options_of(const struct piece *j)
{
    unsigned options = PIECE_FILTERS | (j->scale ? PIECE_SCALED : 0) | (j->sparse ? PIECE_SPARSE : 0) |
                       (j->mask ? PIECE_BILEVEL : 0) |
                       (j->mask && j->mask_form == MASK_REPEATS ? PIECE_REPEATS : 0);
    if (j->plan.causal)
        return options | (j->step > 0 || j->plan.hold ? PIECE_STEP : 0);
    return options | (j->fine ? PIECE_FINE : 0) | (unsigned)(j->plan.reach - LIFT_LEAST_REACH);
}

static void put_header(struct piece *j, const struct made *m, struct sk_buf *out)
{
    unsigned options = options_of(j);
    int flags = (j->mask ? PIECE_HAS_MASK : 0) | (j->special.has_fill ? PIECE_HAS_FILL : 0) |
                (j->plan.causal ? PIECE_IS_CAUSAL : 0);
    sk_buf_put_u8(out, options ? PIECE_EXTENDED : PIECE_PREDICTED);
    if (options)
        sk_buf_put_u16(out, (uint16_t)options);
    if (options & PIECE_SCALED)
        sk_buf_put_u16(out, (uint16_t)j->scale);
    if (options & PIECE_STEP)
        sk_buf_put_f64(out, sk_piece_plan_step(j, &j->plan));
    sk_buf_put_u8(out, (uint8_t)flags);
    j->shape.active = j->plan.active;
    sk_shape_put(&j->shape, out);
    sk_buf_put_f64(out, j->limit);
    sk_buf_put_u16(out, (uint16_t)j->lowest);
    sk_buf_put_u16(out, (uint16_t)j->highest);
    sk_buf_put_f64(out, j->plan.causal ? m->causal.base : m->lift.mean);
    if (!j->plan.causal) {
        sk_buf_put_u8(out, (uint8_t)lrint(j->plan.alpha * 32));
        sk_buf_put_u8(out, (uint8_t)lrint(j->plan.beta * 8));
    }
}

/* What adaptive codes may take at most to be worth it, when static ones take so many bytes at least: tables come to these. */
static size_t most_sparse(const struct piece *j, size_t least, double worth)
{
    size_t most = least + least / 16 + 512;
    return (size_t)((double)(most < j->most ? most : j->most) / worth);
}

/* How much longer than adaptive codes static ones may be; 0: adaptive ones are not tried. By default that is left to small codes of small pieces, whose tables weigh
 * as much as what they save, and which do not take long. */
static double worth_of(const struct piece *j, size_t least)
{
    enum { SMALL_PIECE = 1 << 17, SMALL_CODES = 1 << 13 };
    const double swift = 1.2;
    if (j->effort == PIECE_SWIFT)
        return j->n <= SMALL_PIECE && least <= SMALL_CODES ? swift : 0;
    return j->effort == PIECE_THRIFTY ? PIECE_WORTH : 1;
}

/* The codes in the form that is shorter. The adaptive one ends early where it is longer, or where another plan is better anyway; it is left
 * out where the static one, which takes `bits` at least, is far longer than another plan's. The static one is left out where the adaptive one
 * takes no more than that, or another plan; nothing is appended where neither is worth it. */
static int put_codes(struct piece *j, struct sk_plane_writer *codes, double bits, struct sk_buf *out,
                     struct saikai_error *err)
{
    struct sk_buf sparse = {0};
    size_t least = (size_t)(bits / 8);
    double worth = worth_of(j, least);
    int is_far = least / (FAR + 1) * FAR > j->least_static, rc = 0;
    j->least_static = least < j->least_static ? least : j->least_static;
    j->sparse = !is_far && worth > 0 && !sk_plane_writer_sparse(codes, most_sparse(j, least, worth), &sparse) && sk_buf_ok(&sparse);
    double priced = worth * (double)sparse.len;
    if (j->sparse ? priced > (double)least : least < j->most) {
        rc = sk_plane_writer_finish(codes, out, err);
        j->sparse = j->sparse && !rc && priced < (double)out->len;
    }
    if (j->sparse) { /* which end anywhere, as far as they tell: hence the length */
        out->len = 0;
        sk_special_put_number(out, sparse.len);
        sk_buf_put(out, sparse.data, sparse.len);
    }
    sk_buf_free(&sparse);
    return rc;
}

/* Are the `bits` that a plan needs at least too many to be worth coding, since another plan needs fewer? */
static int is_lost(struct piece *j, double bits)
{
    int lost = bits > sk_piece_close(j) * j->least_bits;
    j->least_bits = bits < j->least_bits ? bits : j->least_bits;
    return lost;
}

static void unmake(struct made *m)
{
    sk_lift_free(&m->lift);
    sk_causal_free(&m->causal);
    sk_buf_free(&m->head);
}

/* Predict the piece with m->plan. */
static int predict_whole(struct piece *j, struct made *m, struct saikai_error *err)
{
    sk_plane_writer_reset(m->codes);
    if (worth_of(j, 0) > 0)
        sk_plane_writer_keep(m->codes, j->n / SPARSE_PART + SPARSE_LEAST);
    int rc = sk_piece_transform(j, &j->lift_shape, &m->plan, 0, &m->lift, &m->causal, &m->head, m->codes, err);
    m->bits = rc ? 0 : sk_plane_writer_least_bits(m->codes);
    return rc;
}

/* Append the piece as it was predicted, mask being the coded mask. Nothing is appended where another plan is shorter. */
static int put_made(struct piece *j, struct made *m, const struct sk_buf *mask, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_buf coded = {0};
    j->plan = m->plan;
    int rc = put_codes(j, m->codes, m->bits, &coded, err);
    if (!rc && coded.len) {
        put_header(j, m, out);
        if (j->mask) {
            sk_buf_put_u64(out, j->special.fill);
            sk_special_put_number(out, mask->len);
            sk_buf_put(out, mask->data, mask->len);
        }
        if (put_exact(j, m, out))
            rc = out_of_memory(err);
        sk_special_put_number(out, m->head.len);
        sk_buf_put(out, m->head.data, m->head.len);
    }
    sk_buf_put(out, coded.data, coded.len);
    if (!rc && !sk_buf_ok(out))
        rc = out_of_memory(err);
    sk_buf_free(&coded);
    return rc;
}

/* The whole piece with a plan, one of so many. */
static int make(struct piece *j, const struct plan *plan, int n_plans, const struct sk_buf *mask, struct sk_plane_writer *codes,
                struct sk_buf *out, struct saikai_error *err)
{
    struct made m = {.plan = *plan, .codes = codes};
    int rc = predict_whole(j, &m, err);
    if (!rc && !(n_plans > 1 && is_lost(j, m.bits)))
        rc = put_made(j, &m, mask, out, err);
    unmake(&m);
    return rc;
}

/* Choose a plan, by making the piece with each that may be the best, and append it to out. */
static int make_best(struct piece *j, const struct sk_buf *mask, struct sk_plane_writer *codes, struct sk_buf *out, struct saikai_error *err)
{
    struct plan plan[PIECE_FINALISTS];
    struct sk_buf best = {0}, next = {0};
    int rc = 0, n = 1, best_plan = 0;
    plan[0] = j->plan;
    if (!j->keep_plan)
        n = sk_piece_choose(j, codes, plan);
    for (int k = 0; !rc && k < n; k++) {
        j->most = k ? best.len : SIZE_MAX;
        next.len = 0;
        rc = make(j, &plan[k], n, mask, codes, &next, err);
        if (!rc && next.len && (!k || next.len < best.len)) {
            struct sk_buf swap = best;
            best = next;
            next = swap;
            best_plan = k;
        }
    }
    j->plan = plan[best_plan];
    sk_buf_put(out, best.data, best.len);
    sk_buf_free(&best);
    sk_buf_free(&next);
    return rc;
}

/* The best of a few plans so far: as it was predicted, or, where it takes so few bits that adaptive codes may tell another one, coded. */
struct best {
    struct made made, next;
    struct sk_buf coded;
    struct plan plan; /* of what was coded */
};

/* Predict the piece with one more plan, and keep what was made where it needs fewer bits than the best so far; where it needs few and hardly more than that, code it. *bits:
 * how many it needs. */
static int predict_better(struct piece *j, const struct plan *plan, const struct sk_buf *mask, struct best *best, double *bits, struct saikai_error *err)
{
    struct made *next = &best->next, swap = best->made;
    struct sk_buf coded = {0};
    next->plan = *plan;
    int rc = predict_whole(j, next, err);
    *bits = next->bits + 8.0 * (double)(next->head.len + exceptions_of(next) * (j->size + 1));
    int is_few = !rc && worth_of(j, (size_t)(next->bits / 8)) > 0;
    if (is_few && *bits < sk_piece_close(j) * j->least_bits) /* beyond that a part may have been left out */
        rc = put_made(j, next, mask, &coded, err);
    if (!rc && *bits < j->least_bits) {
        j->least_bits = *bits;
        best->made = *next;
        *next = swap;
    }
    if (coded.len && (!best->coded.len || coded.len < best->coded.len)) {
        struct sk_buf old = best->coded;
        best->coded = coded;
        best->plan = *plan;
        coded = old;
    }
    sk_buf_free(&coded);
    unmake(next);
    *next = (struct made){.codes = next->codes};
    return rc;
}

/* Of a tiny piece all is predicted with each plan, which takes little longer than boxes of it would, and tells more; so is the best that interpolates with
 * the longer reach. What was made with the best is coded. */
static int make_tiny(struct piece *j, const struct sk_buf *mask, struct sk_plane_writer *codes, struct sk_buf *out, struct saikai_error *err)
{
    struct plan plan[PIECE_PLANS], far = {0};
    struct best best = {.made.codes = codes, .next.codes = sk_plane_writer_new(j->n)};
    double bits, fewest = INFINITY;
    int rc = best.next.codes ? 0 : out_of_memory(err), n = sk_piece_plans(j, plan);
    for (int k = 0; !rc && k < n; k++) {
        rc = predict_better(j, &plan[k], mask, &best, &bits, err);
        if (!plan[k].causal && bits < fewest) {
            far = plan[k];
            fewest = bits;
        }
    }
    if (!rc && sk_piece_reach_further(j, &far, fewest))
        rc = predict_better(j, &far, mask, &best, &bits, err);
    if (!rc && best.coded.len) {
        j->plan = best.plan;
        sk_buf_put(out, best.coded.data, best.coded.len);
    } else if (!rc) {
        rc = put_made(j, &best.made, mask, out, err);
    }
    unmake(&best.made);
    sk_buf_free(&best.coded);
    sk_plane_writer_free(best.made.codes == codes ? best.next.codes : best.made.codes);
    return rc;
}

/* Append the piece with the plan that suits it, or the one that it has. */
static int make_one(struct piece *j, const struct sk_buf *mask, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_plane_writer *codes = sk_plane_writer_new(j->n);
    j->most = j->least_static = SIZE_MAX;
    j->least_bits = INFINITY;
    int rc = !codes ? out_of_memory(err) : sk_piece_is_tiny(j) ? make_tiny(j, mask, codes, out, err) : make_best(j, mask, codes, out, err);
    sk_plane_writer_free(codes);
    return rc ? rc : sk_buf_ok(out) ? 0 : out_of_memory(err);
}

/* Values that arithmetic in their type may not hold are multiplied by a power of two. */
static int set_scale(struct piece *j, struct saikai_error *err)
{
    const struct special *s = &j->special;
    int none = s->n_masked == j->n;
    double most = none ? 0 : fmax(fabs(s->low), fabs(s->high));
    double large = j->size == sizeof(float) ? 1e34 : 1e280,
           small = j->size == sizeof(float) ? 1e-28 : 1e-280;
    int e = 0;
    if (most > large || (most > 0 && j->bound < small))
        frexp(most, &e);
    j->scale = -e;
    double unit = ldexp(1, j->scale / 2), rest = ldexp(1, j->scale - j->scale / 2);
    /* what comes back may be rounded where the type is at its end */
    double rounding = e ? (j->size == sizeof(float) ? 0x1p-149 : 0x1p-1074) : 0;
    j->limit = (j->bound - rounding) * unit * rest;
    j->low = none ? 0 : s->low * unit * rest;
    j->high = none ? 0 : s->high * unit * rest;
    j->mean = s->mean * unit * rest;
    j->source = j->in;
    if (!e)
        return 0;
    sk_scratch_give(j->scaled);
    j->source = j->scaled = sk_scratch_take(j->n * j->size);
    if (!j->scaled)
        return out_of_memory(err);
    for (size_t i = 0; i < j->n; i++) {
        int free_place = j->mask && j->mask[i];
        if (j->size == sizeof(float))
            ((float *)j->scaled)[i] =
                free_place ? 0 : (float)((double)((const float *)j->in)[i] * unit * rest);
        else
            ((double *)j->scaled)[i] = free_place ? 0 : ((const double *)j->in)[i] * unit * rest;
    }
    return 0;
}

int sk_piece_predict(struct piece *j, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_buf mask = {0};
    size_t from = out->len;
    int rc = sk_shape_make(&j->shape, &j->lift_shape, &j->b_offset, err);
    if (rc)
        return rc;
    if (j->special.n_masked) {
        j->mask = sk_scratch_take(j->n);
        if (!j->mask)
            return out_of_memory(err);
        sk_special_mask(&j->special, j->in, j->n, j->size, j->mask);
        rc = sk_piece_mask_put(&j->lift_shape, j->mask, &mask, &j->mask_form, err);
    }
    if (!rc)
        rc = set_scale(j, err);
    if (!rc) {
        find_exponents(j);
        j->thorough = (j->high - j->low) / j->limit > THOROUGH_BOUND;
        j->fine = (j->high - j->low) / j->limit > FINE_BOUND;
        rc = make_one(j, &mask, out, err);
    }
    if (!rc)
        sk_piece_series_try(j, out, from);
    sk_buf_free(&mask);
    return rc;
}
