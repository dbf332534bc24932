/* The part of lift.h that depends on the element type: included by lift_f32.c and lift_f64.c with T
 * and NAME(x). All arithmetic is in double, element by element in a fixed order, so that any vector
 * width gives the same bits. */

#include "codec/entropy/each.h"
#include "codec/wavelet/kernel/lift_filter.h"

#include <math.h>
#include <string.h>

/* NAME(x) also tells apart the variants of one type for different instruction sets. */
#define KERNEL static inline __attribute__((always_inline)) void

/* Where a box lies in memory. */
struct box {
    size_t stride[LIFT_AXES], origin, sb;
    const size_t *b_offset; /* NULL: b sb */
};

static struct box whole(const struct lift *l)
{
    struct box x = {.b_offset = l->shape.b_offset};
    memcpy(x.stride, l->shape.stride, sizeof x.stride);
    return x;
}

static struct box inside(const struct lift_level *v)
{
    return (struct box){{v->sz, v->sy, 1}, v->origin, v->sb, NULL};
}

static size_t row_of(const struct box *x, size_t b, size_t z, size_t y)
{
    return (x->b_offset ? x->b_offset[b] : x->origin + b * x->sb) + z * x->stride[0] +
           y * x->stride[1];
}

/* Visit the rows of the box of level v: `even` and `odd` are where its columns go in the classes.
 */
#define EACH_ROW(v, nb, b, z, y)                                                                   \
    for (size_t b = 0; b < (nb); b++)                                                              \
        for (size_t z = 0; z < (v)->n[0]; z++)                                                     \
            for (size_t y = 0; y < (v)->n[1]; y++)

static size_t half_row(const struct lift_level *v, size_t b, size_t z, size_t y, unsigned *c)
{
    unsigned az = v->active & 1, ay = v->active >> 1 & 1;
    *c = (az & z) | (ay & y) << 1;
    return v->origin + b * v->sb + (z >> az) * v->sz + (y >> ay) * v->sy;
}

#define DEFINE_SPLIT(E, SUFFIX)                                                                    \
    static void split_##SUFFIX(const struct lift_level *v, size_t nb, const struct box *x,         \
                               const E *from, void *const *to)                                     \
    {                                                                                              \
        EACH_ROW(v, nb, b, z, y)                                                                   \
        {                                                                                          \
            unsigned c;                                                                            \
            size_t at = half_row(v, b, z, y, &c), s = x->stride[2], n = v->n[2];                   \
            const E *p = from + row_of(x, b, z, y);                                                \
            E *even = (E *)to[c] + at;                                                             \
            if (!(v->active & 4)) {                                                                \
                for (size_t i = 0; i < n; i++)                                                     \
                    even[i] = p[i * s];                                                            \
                continue;                                                                          \
            }                                                                                      \
            E *odd = (E *)to[c | 4] + at;                                                          \
            if (s == 1) {                                                                          \
                for (size_t i = 0; i < n / 2; i++) {                                               \
                    even[i] = p[2 * i];                                                            \
                    odd[i] = p[2 * i + 1];                                                         \
                }                                                                                  \
            } else {                                                                               \
                for (size_t i = 0; i < n / 2; i++) {                                               \
                    even[i] = p[2 * i * s];                                                        \
                    odd[i] = p[(2 * i + 1) * s];                                                   \
                }                                                                                  \
            }                                                                                      \
            if (n & 1)                                                                             \
                even[n / 2] = p[(n - 1) * s];                                                      \
        }                                                                                          \
    }                                                                                              \
    static void merge_##SUFFIX(const struct lift_level *v, size_t nb, const struct box *x,         \
                               void *const *from, E *to)                                           \
    {                                                                                              \
        EACH_ROW(v, nb, b, z, y)                                                                   \
        {                                                                                          \
            unsigned c;                                                                            \
            size_t at = half_row(v, b, z, y, &c), s = x->stride[2], n = v->n[2];                   \
            E *p = to + row_of(x, b, z, y);                                                        \
            const E *even = (const E *)from[c] + at;                                               \
            if (!(v->active & 4)) {                                                                \
                for (size_t i = 0; i < n; i++)                                                     \
                    p[i * s] = even[i];                                                            \
                continue;                                                                          \
            }                                                                                      \
            const E *odd = (const E *)from[c | 4] + at;                                            \
            if (s == 1) {                                                                          \
                for (size_t i = 0; i < n / 2; i++) {                                               \
                    p[2 * i] = even[i];                                                            \
                    p[2 * i + 1] = odd[i];                                                         \
                }                                                                                  \
            } else {                                                                               \
                for (size_t i = 0; i < n / 2; i++) {                                               \
                    p[2 * i * s] = even[i];                                                        \
                    p[(2 * i + 1) * s] = odd[i];                                                   \
                }                                                                                  \
            }                                                                                      \
            if (n & 1)                                                                             \
                p[(n - 1) * s] = even[n / 2];                                                      \
        }                                                                                          \
    }

DEFINE_SPLIT(T, data)
DEFINE_SPLIT(uint8_t, bytes)

/* Zeros between the rows of the classes, which are coded along with them. Other padding is made
 * before anybody looks at it (pad). */
static void clear_margins(const struct lift_level *v, size_t nb)
{
    for (unsigned c = 0; c < LIFT_CLASSES; c++) {
        if (c & ~v->active)
            continue;
        size_t nx = sk_lift_points(v, c, 2);
        for (size_t b = 0; b < nb; b++)
            for (size_t z = 0; z < v->h[0]; z++)
                for (size_t y = 0; y < v->h[1]; y++) {
                    T *row = (T *)v->data[c] + v->origin + b * v->sb + z * v->sz + y * v->sy;
                    for (size_t x = 1; x <= v->pad[2]; x++)
                        *(row - x) = 0;
                    for (size_t x = nx; x < v->h[2] + v->pad[2]; x++)
                        row[x] = 0;
                }
    }
}

#include "codec/wavelet/kernel/lift_pad_impl.h"

/* ---- kernels ---- */

enum { WIDE = 16 };
typedef double four __attribute__((vector_size(32)));
typedef T four_of_type __attribute__((vector_size(4 * sizeof(T))));
typedef int32_t four_q __attribute__((vector_size(16)));

/* Four values from any place, as doubles. A macro, since functions that return vectors depend on
 * the instruction set. */
#define load(p)                                                                                    \
    __extension__({                                                                                \
        four_of_type v_;                                                                           \
        memcpy(&v_, (p), sizeof v_);                                                               \
        (four){SK_EACH_4(v_, double)};                                                             \
    })

#include "codec/wavelet/kernel/lift_sum_impl.h"

#define ROUND_MAGIC 6755399441055744.0 /* 1.5 2^52: adding it rounds to an integer */
#define Q_LIMIT     500000000.0

typedef int64_t four_bits __attribute__((vector_size(32)));

/* Quantise four points: q, and in d what the reader will see. What d held goes to `original`.
 * Places of *kept stay all ones while q is in range and the bound is kept; what is not a number
 * fails both. */
KERNEL quantise_four(T *d, const double *p, int32_t *q, T *original, double inverse, double step,
                     double bound, four_bits *kept)
{
    const int64_t no_sign = INT64_MAX;
    four guess, x = load(d);
    memcpy(original, d, 4 * sizeof *d);
    memcpy(&guess, p, sizeof guess);
    four r = ((x - guess) * inverse + ROUND_MAGIC) - ROUND_MAGIC;
    four_q whole_steps = __builtin_convertvector(r, four_q);
    four_of_type y = __builtin_convertvector(guess + r * step, four_of_type);
    four e = (four)((four_bits)(x - (four){SK_EACH_4(y, double)}) & no_sign);
    *kept &= (e <= bound) & ((four)((four_bits)r & no_sign) <= Q_LIMIT);
    memcpy(q, &whole_steps, sizeof whole_steps);
    memcpy(d, &y, sizeof y);
}

/* Nonzero when the bound is not kept somewhere: then the results are to be made again, with care.
 */
static inline __attribute__((always_inline)) int quantise(T *d, const double *p, int32_t *q,
                                                          T *original, size_t n, double inverse,
                                                          double step, double bound)
{
    four_bits kept = {-1, -1, -1, -1};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        quantise_four(d + i, p + i, q + i, original + i, inverse, step, bound, &kept);
    if (i < n) {
        T few[4] = {0};
        double guess[4] = {0};
        int32_t steps[4];
        T before[4];
        memcpy(few, d + i, (n - i) * sizeof *d);
        memcpy(guess, p + i, (n - i) * sizeof *p);
        quantise_four(few, guess, steps, before, inverse, step, bound, &kept);
        memcpy(d + i, few, (n - i) * sizeof *d);
        memcpy(q + i, steps, (n - i) * sizeof *q);
        memcpy(original + i, before, (n - i) * sizeof *d);
    }
    return (kept[0] & kept[1] & kept[2] & kept[3]) != -1;
}

KERNEL dequantise(T *restrict d, const double *restrict p, const int32_t *restrict q, size_t n,
                  double step)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        four_q steps;
        four guess;
        memcpy(&steps, q + i, sizeof steps);
        memcpy(&guess, p + i, sizeof guess);
        guess += (four){SK_EACH_4(steps, double)} * step;
        four_of_type y = __builtin_convertvector(guess, four_of_type);
        memcpy(d + i, &y, sizeof y);
    }
    for (; i < n; i++)
        d[i] = (T)(p[i] + (double)q[i] * step);
}

/* Once more, one by one: masked points are free, and points whose bound is not kept become
 * exceptions. */
static void mend(struct lift *l, const struct lift_level *v, unsigned c, size_t at, size_t n,
                 const T *original, const double *p, int masked)
{
    T *d = (T *)v->data[c] + at;
    for (size_t i = 0; i < n; i++) {
        double x = (double)original[i], r = (x - p[i]) * (1 / v->step);
        if ((masked && v->mask[c][at + i]) || r != r)
            r = 0;
        r = r < Q_LIMIT ? r : Q_LIMIT;
        r = r > -Q_LIMIT ? r : -Q_LIMIT;
        r = (r + ROUND_MAGIC) - ROUND_MAGIC;
        l->q[at + i] = (int32_t)r;
        d[i] = (T)(p[i] + r * v->step);
        if (!(masked && v->mask[c][at + i]) && !(fabs(x - (double)d[i]) <= v->bound))
            sk_lift_exception(l, v, c, at + i);
    }
}

/* Masked points become what the reader will see, their predictions (a sum with no steps has no negative zero). */
KERNEL free_masked(T *restrict d, const double *restrict p, const uint8_t *restrict mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        d[i] = mask[i] ? (T)(p[i] + 0.0) : d[i];
}

KERNEL drop_masked(int32_t *restrict q, const uint8_t *restrict mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        q[i] = mask[i] ? 0 : q[i];
}

static void encode_span(struct lift *l, const struct lift_level *v, unsigned c, const double *w,
                        double constant, size_t at, size_t n, int masked)
{
    double p[LIFT_CHUNK], step = v->step;
    T original[LIFT_CHUNK];
    T *d = (T *)v->data[c] + at;
    const uint8_t *mask = masked ? v->mask[c] + at : NULL;
    predict(v, &v->filter[c], w, constant, at, n, p);
    if (mask)
        free_masked(d, p, mask, n);
    if (quantise(d, p, l->q + at, original, n, 1 / step, step, v->bound)) {
        mend(l, v, c, at, n, original, p, masked);
    } else if (mask) {
        drop_masked(l->q + at, mask, n);
        free_masked(d, p, mask, n);
    }
}

static void decode_span(struct lift *l, const struct lift_level *v, unsigned c, const double *w,
                        double constant, size_t at, size_t n)
{
    restore(v, &v->filter[c], w, constant, at, n, (T *)v->data[c] + at, l->q + at, v->step);
}

/* All points of a class, plane by plane, rows with the padding between them. */
static void run_class(struct lift *l, const struct lift_level *v, unsigned c, int masked)
{
    double w[LIFT_GROUPS + 1];
    sk_lift_weights(l, &v->filter[c], w);
    double constant = w[v->filter[c].n] * l->mean;
    size_t ny = sk_lift_points(v, c, 1), nx = sk_lift_points(v, c, 2);
    for (size_t b = 0; b < l->shape.nb; b++)
        for (size_t z = 0; z < sk_lift_points(v, c, 0); z++) {
            size_t at = v->origin + b * v->sb + z * v->sz, end = at + (ny - 1) * v->sy + nx;
            if (!l->is_encoder)
                decode_span(l, v, c, w, constant, at, end - at);
            for (; l->is_encoder && at < end; at += LIFT_CHUNK)
                encode_span(l, v, c, w, constant, at, end - at < LIFT_CHUNK ? end - at : LIFT_CHUNK, masked);
        }
}

#include "codec/wavelet/kernel/lift_fit_impl.h"

/* ---- the base ---- */

static void run_base(struct lift *l, struct lift_level *v, int masked)
{
    T *d = v->data[0];
    double step = v->step, inverse = 1 / step;
    for (size_t b = 0; b < l->shape.nb; b++)
        for (size_t z = 0; z < v->n[0]; z++)
            for (size_t y = 0; y < v->n[1]; y++) {
                size_t at = v->origin + b * v->sb + z * v->sz + y * v->sy;
                for (size_t x = 0; x < v->n[2]; x++, at++) {
                    double p = x   ? (double)d[at - 1]
                               : y ? (double)d[at - v->sy]
                               : z ? (double)d[at - v->sz]
                               : b ? (double)d[at - v->sb]
                                   : l->mean;
                    if (!l->is_encoder) {
                        dequantise(d + at, &p, l->q + at, 1, step);
                        continue;
                    }
                    T original;
                    if (quantise(d + at, &p, l->q + at, &original, 1, inverse, step, v->bound) ||
                        masked)
                        mend(l, v, 0, at, 1, &original, &p, masked);
                }
            }
}

/* ---- weights in the stream ---- */

/* As older versions wrote them. */
static int get_bytes(struct lift_filter *f, struct sk_rd *head)
{
    unsigned fitted = sk_rd_u8(head);
    if (fitted > 1)
        return -1;
    f->fitted = fitted ? LIFT_FITTED : LIFT_STANDARD;
    for (int g = 1; fitted && g <= f->n; g++) {
        uint32_t z = 0, k = 0, byte;
        do {
            byte = sk_rd_u8(head);
            z |= (byte & 127) << k;
            k += 7;
        } while (byte & 128 && k < 28);
        f->stored[g] = (int32_t)(z >> 1 ^ (0u - (z & 1)));
    }
    return head->bad ? -1 : 0;
}

/* What stands of a level's filters. */
static int get_filters(const struct lift *l, struct lift_level *v, struct sk_rd *head, struct sk_rans_bits_in *bits)
{
    unsigned c;
    if (v->active && l->fine && get_orders(v, bits))
        return -1;
    for (int k = 0; (c = sk_lift_class_at(v, k)); k++)
        if (l->bytes ? get_bytes(&v->filter[c], head) : sk_lift_filter_get(&v->filter[c], sk_lift_filter_before(v, c), l->fine, bits))
            return -1;
    return 0;
}

static void pad_all(const struct lift *l, const struct lift_level *v, unsigned c)
{
    const struct rooms all = all_rooms(l, v, c);
    pad(l, v, c, &all);
}

/* ---- all levels ---- */

static int set_of(int i)
{
    return i == 0 ? 0 : 1;
}

/* Code one class, of a trial only what lies well inside the box; returns how many values. */
static size_t put_class(struct lift *l, struct lift_level *v, unsigned c, int set, int masked,
                        struct sk_plane_writer *codes)
{
    struct sk_plane p;
    size_t *const n[LIFT_AXES] = {&p.nz, &p.ny, &p.width};
    const size_t step[LIFT_AXES] = {v->sz, v->sy, 1};
    if (l->trial && (!v->active || v > &l->level[1]))
        return 0;
    sk_lift_plane(v, c, set, masked, &p);
    for (int a = 0; l->trial && a < LIFT_AXES; a++)
        if (v->active >> a & 1 && *n[a] > 3) {
            p.origin += step[a];
            *n[a] -= 2;
        }
    sk_plane_write(codes, &p, l->q, v->level[c]);
    return p.nb * p.nz * p.ny * p.width;
}

int NAME(sk_lift_encode)(struct lift *l, const T *in, const uint8_t *mask, struct sk_buf *head,
                      struct sk_plane_writer *codes, struct saikai_error *err)
{
    size_t nb = l->shape.nb;
    int masked = mask != NULL;
    size_t coded[2] = {0}; /* of the finest level, of the next */
    double bits[2] = {0};
    struct sk_rans_bits_out filters = {.out = head};
    l->is_encoder = 1;
    for (int i = 0; i < l->n_levels; i++) {
        struct lift_level *v = &l->level[i];
        struct box x = i ? inside(v - 1) : whole(l);
        split_data(v, nb, &x, i ? v[-1].data[0] : in, v->data);
        clear_margins(v, nb);
        if (masked)
            split_bytes(v, nb, &x, i ? v[-1].mask[0] : mask, (void *const *)v->mask);
    }
    for (int i = l->n_levels - 1; i >= 0; i--) {
        struct lift_level *v = &l->level[i];
        if (!i && l->most_bits > 0 && isfinite(l->most_bits) && sk_plane_writer_least_bits(codes) > l->most_bits)
            break;
        if (!v->active) {
            run_base(l, v, masked);
            put_class(l, v, 0, 2, masked, codes);
        } else {
            if (l->fine) {
                choose_orders(l, v, masked);
                put_orders(v, &filters);
            }
            pad_all(l, v, 0);
        }
        unsigned c;
        for (int k = 0; (c = sk_lift_class_at(v, k)); k++) {
            if (l->fit)
                fit_class(l, v, c, masked);
            sk_lift_filter_put(&v->filter[c], l->fine, &filters);
            run_class(l, v, c, masked);
            coded[i > 0] += put_class(l, v, c, set_of(i), masked, codes);
            if (sk_lift_class_at(v, k + 1)) /* nothing is predicted from the last */
                pad_all(l, v, c);
        }
        if (l->trial && i < 2)
            bits[i] = sk_plane_writer_bits(codes);
        if (i > 0) {
            struct box x = inside(v - 1);
            merge_data(v, nb, &x, v->data, v[-1].data[0]);
            merge_bytes(v, nb, &x, (void *const *)v->level, v[-1].level[0]);
        }
    }
    sk_bits_flush(&filters);
    if (l->trial)
        l->trial_bits = sk_lift_trial_bits(&l->level[0], bits, coded);
    return l->failed ? sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec") : 0;
}

/* What is known of l->q while planes are read into it. */
struct room_of_steps {
    int is_clear; /* all of it is zeros */
    double busy;  /* of the last plane */
};

/* Read a class. Where planes are mostly zeros these are put there for all of a class at once, which takes less than block by block, and nothing where there are no others. */
static int get_class(struct lift *l, struct lift_level *v, unsigned c, int set, int masked, struct sk_plane_reader *codes, struct room_of_steps *room,
                     struct saikai_error *err)
{
    const double many = 0.15;
    struct sk_plane p;
    int rc;
    sk_lift_plane(v, c, set, masked, &p);
    if (room->busy > many) {
        room->is_clear = 0;
        rc = sk_plane_read(codes, &p, l->q, v->level[c], err);
    } else {
        if (!room->is_clear)
            memset(l->q, 0, v->count * sizeof *l->q);
        rc = sk_plane_read_onto_zeros(codes, &p, l->q, v->level[c], err);
        room->is_clear = sk_plane_reader_busy(codes) == 0;
    }
    room->busy = sk_plane_reader_busy(codes);
    return rc;
}

int NAME(sk_lift_decode)(struct lift *l, T *out, const uint8_t *mask, struct sk_rd *head,
                      struct sk_plane_reader *codes, struct saikai_error *err)
{
    size_t nb = l->shape.nb;
    int masked = mask != NULL, rc;
    struct room_of_steps steps = {.is_clear = 1};
    struct sk_rans_bits_in filters = {.p = head->p, .size_bits = 8 * sk_rd_left(head)};
    l->is_encoder = 0;
    for (int i = 0; masked && i < l->n_levels; i++) {
        struct lift_level *v = &l->level[i];
        struct box x = i ? inside(v - 1) : whole(l);
        split_bytes(v, nb, &x, i ? v[-1].mask[0] : mask, (void *const *)v->mask);
    }
    for (int i = l->n_levels - 1; i >= 0; i--) {
        struct lift_level *v = &l->level[i];
        struct rooms room[LIFT_CLASSES];
        if (get_filters(l, v, head, &filters))
            return sk_fail(err, SAIKAI_EDAMAGED, "the filters of a wavelet piece are damaged");
        needed_rooms(l, v, room);
        if (!v->active) {
            if ((rc = get_class(l, v, 0, 2, masked, codes, &steps, err)))
                return rc;
            run_base(l, v, masked);
        } else {
            pad(l, v, 0, &room[0]);
        }
        unsigned c;
        for (int k = 0; (c = sk_lift_class_at(v, k)); k++) {
            if ((rc = get_class(l, v, c, set_of(i), masked, codes, &steps, err)))
                return rc;
            run_class(l, v, c, masked);
            if (sk_lift_class_at(v, k + 1))
                pad(l, v, c, &room[c]);
        }
        struct box x = i ? inside(v - 1) : whole(l);
        merge_data(v, nb, &x, v->data, i ? v[-1].data[0] : out);
        if (i)
            merge_bytes(v, nb, &x, (void *const *)v->level, v[-1].level[0]);
    }
    return 0;
}
