#include "codec/wavelet/piece.h"

#include "codec/entropy/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLANS = 3, FINE_BOUND = 1 << 14 };

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

double piece_parameter(const struct piece *p, const char *key, double standard)
{
    const char *text = p->opt->parameter, *at = text ? strstr(text, key) : NULL;
    return at ? strtod(at + strlen(key), NULL) : standard;
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
        double x =
            j->size == sizeof(float) ? ((const float *)j->in)[i] : ((const double *)j->in)[i];
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
static int put_exact(const struct piece *j, struct sk_buf *out)
{
    const size_t *found = j->plan.causal ? j->causal.exception : j->lift.exception;
    size_t n = j->plan.causal ? j->causal.n_exceptions : j->lift.n_exceptions;
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
    special_put_exact(out, list, all, j->in, j->size);
    free(list);
    return 0;
}

/* Transform in this shape with this plan; what was made is left in lift or causal. */
static int transform(const struct piece *j, const struct lift_shape *shape, const struct plan *plan,
                     int trial, struct lift *lift, struct causal *causal, struct sk_buf *head,
                     struct sk_plane_writer *codes, struct saikai_error *err)
{
    struct lift_shape seen = *shape;
    int masked = j->mask != NULL, rc;
    seen.active = plan->active;
    if (plan->causal) {
        if ((rc = causal_init(causal, &seen, j->size, masked, err)))
            return rc;
        causal->bound = j->bound;
        causal->base = j->special.low;
        causal->step = lift_step(j->bound, j->size, j->lowest, j->highest);
        causal->trial = trial;
        causal->thorough = j->thorough;
        return causal_encode(causal, j->in, j->mask, head, codes, err);
    }
    if ((rc = lift_init(lift, &seen, j->size, masked, err)))
        return rc;
    lift_set_bounds(lift, j->bound, plan->alpha, plan->beta, j->lowest, j->highest);
    lift->mean = j->special.mean;
    lift->weight_bits = PIECE_WEIGHT_BITS;
    lift->fit = 1;
    lift->trial = trial;
    lift->thorough = j->thorough;
    return lift_encode(lift, j->in, j->mask, head, codes, err);
}

/* Bits per sampled value that a plan would take. */
static double try_plan(const struct piece *j, const struct lift_shape *sample,
                       const struct plan *plan, struct sk_plane_writer *codes)
{
    double n = (double)(sample->nb * sample->n[0] * sample->n[1] * sample->n[2]);
    struct sk_buf head = {0};
    struct lift lift = {0};
    struct causal causal = {0};
    double bits = INFINITY;
    sk_plane_writer_reset(codes);
    if (!transform(j, sample, plan, 1, &lift, &causal, &head, codes, NULL)) {
        size_t exact = plan->causal ? causal.n_exceptions : lift.n_exceptions;
        bits = plan->causal ? sk_plane_writer_bits(codes) / (double)causal.coded : lift.trial_bits;
        bits +=
            8.0 * (double)head.len / (double)j->n + 8.0 * (double)(j->size + 1) * (double)exact / n;
    }
    lift_free(&lift);
    causal_free(&causal);
    sk_buf_free(&head);
    return bits;
}

/* A factor between bounds, within what a piece can hold: never coarser than asked for. */
static double factor(const struct piece *j, const char *key, double standard)
{
    double f = piece_parameter(j, key, standard);
    return f >= 1 ? (f < 7 ? f : 7) : 1;
}

/* Plans that the data do not rule out; returns how many. */
static int make_plans(const struct piece *j, struct plan plan[MOST_PLANS])
{
    double alpha = factor(j, "alpha=", 1.25), beta = factor(j, "beta=", 4);
    double step = lift_step(j->bound, j->size, j->lowest, j->highest);
    int n = 0;
    plan[n++] = (struct plan){0, j->shape.active, lrint(alpha * 32) / 32.0, lrint(beta * 8) / 8.0};
    if ((j->special.high - j->special.low) / step < CAUSAL_LIMIT) {
        plan[n] = plan[0];
        plan[n++].causal = 1;
    }
    if (j->shape.doubtful) {
        plan[n] = plan[0];
        plan[n++].active &= ~j->shape.doubtful;
    }
    return n;
}

/* Can plan k be left untried, when those before it took so many bits? Leaving out an axis helps
 * interpolation only, which may be beaten already. */
static int is_hopeless(const struct plan *plan, int k, const double *bits)
{
    return !plan[k].causal && k == 2 && bits[0] > 2 && bits[0] > 1.3 * bits[1];
}

/* Choose a plan by trying them on some small boxes. Many places matter more than large boxes: a
 * field is seldom alike everywhere. */
static void choose_plan(struct piece *j, struct sk_plane_writer *codes)
{
    enum { BOXES = 6, FEWEST = 1728, MOST = 4096, THOROUGH = 6144 };
    struct plan plan[MOST_PLANS];
    struct lift_shape sample;
    size_t b_offset[BOXES];
    double bits[MOST_PLANS], least = INFINITY;
    int n = make_plans(j, plan), given = (int)piece_parameter(j, "plan=", -1);
    j->plan = plan[given >= 0 && given < n ? given : 0];
    if (given >= 0 || n < 2)
        return;
    size_t most = j->n / 128 < FEWEST ? FEWEST : j->n / 128 > MOST ? MOST : j->n / 128;
    most = j->thorough ? THOROUGH : most;
    shape_sample(&j->lift_shape, most, BOXES, &sample, b_offset);
    for (int k = 0; k < n; k++) {
        if (is_hopeless(plan, k, bits))
            continue;
        bits[k] = try_plan(j, &sample, &plan[k], codes);
        if (bits[k] < least) {
            least = bits[k];
            j->plan = plan[k];
        }
    }
    sk_plane_writer_reset(codes);
}

static int put_mask(struct piece *j, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_buf m = {0};
    int rc = special_put_mask(&j->lift_shape, j->mask, &m, err);
    sk_buf_put_u64(out, j->special.fill);
    special_put_number(out, m.len);
    sk_buf_put(out, m.data, m.len);
    sk_buf_free(&m);
    return rc;
}

static void put_header(struct piece *j, struct sk_buf *out)
{
    int flags = (j->mask ? PIECE_HAS_MASK : 0) | (j->special.has_fill ? PIECE_HAS_FILL : 0) |
                (j->plan.causal ? PIECE_IS_CAUSAL : 0);
    sk_buf_put_u8(out, PIECE_PREDICTED);
    sk_buf_put_u8(out, (uint8_t)flags);
    j->shape.active = j->plan.active;
    shape_put(&j->shape, out);
    sk_buf_put_f64(out, j->bound);
    sk_buf_put_u16(out, (uint16_t)j->lowest);
    sk_buf_put_u16(out, (uint16_t)j->highest);
    sk_buf_put_f64(out, j->plan.causal ? j->causal.base : j->lift.mean);
    if (!j->plan.causal) {
        sk_buf_put_u8(out, (uint8_t)lrint(j->plan.alpha * 32));
        sk_buf_put_u8(out, (uint8_t)lrint(j->plan.beta * 8));
    }
}

int piece_predict(struct piece *j, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_buf head = {0}, codes_buf = {0};
    struct sk_plane_writer *codes = NULL;
    int rc = shape_make(&j->shape, &j->lift_shape, &j->b_offset, err);
    if (rc)
        return rc;
    if (j->special.n_masked) {
        j->mask = sk_scratch_take(j->n);
        if (!j->mask)
            return out_of_memory(err);
        special_mask(&j->special, j->in, j->n, j->size, j->mask);
    }
    find_exponents(j);
    j->thorough = (j->special.high - j->special.low) / j->bound > FINE_BOUND;
    codes = sk_plane_writer_new(j->n);
    if (!codes)
        return out_of_memory(err);
    choose_plan(j, codes);
    rc = transform(j, &j->lift_shape, &j->plan, 0, &j->lift, &j->causal, &head, codes, err);
    if (rc || (rc = sk_plane_writer_finish(codes, &codes_buf, err)))
        goto out;
    put_header(j, out);
    if (j->mask && (rc = put_mask(j, out, err)))
        goto out;
    if (put_exact(j, out))
        rc = out_of_memory(err);
    special_put_number(out, head.len);
    sk_buf_put(out, head.data, head.len);
    sk_buf_put(out, codes_buf.data, codes_buf.len);
    if (!rc && !sk_buf_ok(out))
        rc = out_of_memory(err);
out:
    sk_plane_writer_free(codes);
    sk_buf_free(&head);
    sk_buf_free(&codes_buf);
    return rc;
}
