/* The part of causal.h that is compiled once for each instruction set, with NAME(x). */

#include "codec/entropy/each.h"
#include "codec/wavelet/kernel/causal.h"
#include "codec/wavelet/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAD = CAUSAL_PAD, SPAN = 256, WEIGHT_BITS = 12 };
#define MAGIC 6755399441055744.0         /* 1.5 2^52: adding it rounds to an integer */
#define UP    (1.0 / (2 << WEIGHT_BITS)) /* added to a sum before: no halves are left, they go up */

#include "codec/wavelet/kernel/causal_lattice.h"
#include "codec/wavelet/kernel/causal_taps.h"

/* ---- residuals and back ---- */

/* Contributions of all taps from `first` on, at n points; a few too many, which the room behind the
 * arrays allows. */
static void sum_taps(const struct causal *c, const struct taps *t, int first, size_t at, size_t n,
                     double *sum)
{
    const int32_t *base = c->n + at;
    for (size_t i = 0; i < n; i += 8) {
        four s0 = {0, 0, 0, 0}, s1 = s0;
        for (int k = first; k < t->n; k++) {
            const int32_t *p = base + i + t->offset[k];
            four_q q0, q1;
            memcpy(&q0, p, sizeof q0);
            memcpy(&q1, p + 4, sizeof q1);
            s0 += t->weight[k] * (four){SK_EACH_4(q0, double)};
            s1 += t->weight[k] * (four){SK_EACH_4(q1, double)};
        }
        memcpy(sum + i, &s0, sizeof s0);
        memcpy(sum + i + 4, &s1, sizeof s1);
    }
}

typedef uint32_t eight_u __attribute__((vector_size(32)));
typedef int32_t eight_q __attribute__((vector_size(32)));

/* The same in 32 bits, from the first half unit on; overflow, which only damaged data cause, wraps
 * round. */
static void sum_narrow(const struct causal *c, const struct taps *t, int first, size_t at, size_t n,
                       int32_t *sum)
{
    const int32_t *base = c->n + at;
    const uint32_t half = 1u << (WEIGHT_BITS - 1);
    for (size_t i = 0; i < n; i += 16) {
        eight_u s0 = {half, half, half, half, half, half, half, half}, s1 = s0, p0, p1;
        for (int k = first; k < t->n; k++) {
            const int32_t *p = base + i + t->offset[k];
            uint32_t w = (uint32_t)t->scaled[k];
            memcpy(&p0, p, sizeof p0);
            memcpy(&p1, p + 8, sizeof p1);
            s0 += w * p0;
            s1 += w * p1;
        }
        memcpy(sum + i, &s0, sizeof s0);
        memcpy(sum + i + 8, &s1, sizeof s1);
    }
}

/* The predictor that a row uses: the chosen one where its neighbours exist, Lorenzo's of fewer
 * dimensions elsewhere. */
static const struct taps *taps_of(const struct taps set[CAUSAL_KINDS], int kind, int most,
                                  int within)
{
    if (kind == CAUSAL_FITTED)
        return within >= most ? &set[CAUSAL_FITTED]
                              : &set[within < 2 ? CAUSAL_LORENZO1 : CAUSAL_LORENZO2];
    return &set[kind < within ? kind : within];
}

static int most_reach(const struct causal *c)
{
    return c->shape.n[0] > 1 ? 3 : c->shape.n[1] > 1 ? 2 : 1;
}

static void drop_masked(struct causal *c, size_t at)
{
    for (size_t x = 0; x < c->shape.n[2]; x++)
        c->q[at + x] = c->mask[at + x] ? 0 : c->q[at + x];
}

static void residuals_narrow(struct causal *c, const struct taps *t, size_t at)
{
    const int32_t *base = c->n + at;
    const uint32_t half = 1u << (WEIGHT_BITS - 1);
    for (size_t i = 0; i < c->shape.n[2]; i += 16) { /* what is too many goes beside the row: 2 PAD elements */
        eight_u s0 = {half, half, half, half, half, half, half, half}, s1 = s0, p0, p1;
        for (int k = 0; k < t->n; k++) {
            const int32_t *p = base + i + t->offset[k];
            uint32_t w = (uint32_t)t->scaled[k];
            memcpy(&p0, p, sizeof p0);
            memcpy(&p1, p + 8, sizeof p1);
            s0 += w * p0;
            s1 += w * p1;
        }
        memcpy(&p0, base + i, sizeof p0);
        memcpy(&p1, base + i + 8, sizeof p1);
        p0 -= (eight_u)((eight_q)s0 >> WEIGHT_BITS);
        p1 -= (eight_u)((eight_q)s1 >> WEIGHT_BITS);
        memcpy(c->q + at + i, &p0, sizeof p0);
        memcpy(c->q + at + i + 8, &p1, sizeof p1);
    }
    if (has_holes(c, at))
        drop_masked(c, at);
}

static void residuals(struct causal *c, const struct taps *t, size_t at)
{
    if (t->narrow) {
        residuals_narrow(c, t, at);
        return;
    }
    for (size_t x = 0; x < c->shape.n[2]; x += SPAN) {
        size_t n = c->shape.n[2] - x < SPAN ? c->shape.n[2] - x : SPAN;
        double row[SPAN];
        sum_taps(c, t, t->n_row, at + x, n, row);
        for (int k = t->n_row; k-- > 0;) {
            const int32_t *p = c->n + at + x + t->offset[k];
            double w = t->weight[k];
            for (size_t i = 0; i < n; i++)
                row[i] += w * (double)p[i];
        }
        for (size_t i = 0; i < n; i++)
            c->q[at + x + i] = c->n[at + x + i] - (int32_t)(((row[i] + UP) + MAGIC) - MAGIC);
    }
    if (c->masked)
        drop_masked(c, at);
}

#include "codec/wavelet/kernel/causal_back.h"

/* ---- choosing ---- */

/* Every so many rows, those that reach as far as any. */
static size_t sampled_row(const struct causal *c, size_t k, size_t take)
{
    size_t rows = c->shape.nb * c->shape.n[0] * c->shape.n[1];
    size_t r = (size_t)(((double)k + 0.5) * (double)rows / (double)take);
    size_t y = r % c->shape.n[1], z = r / c->shape.n[1] % c->shape.n[0];
    size_t b = r / c->shape.n[1] / c->shape.n[0];
    return reach(c, z, y) < most_reach(c) ? (size_t)-1 : place(c, b, z, y);
}

/* Points of a row as regressors, from place `to` of the columns on: differences to the first tap, the
 * target last. */
static void fit_columns(const struct causal *c, const struct taps *t, size_t at, size_t n,
                        fit_batch z, size_t to)
{
    const int32_t *d = c->n + at, *first = d + t->offset[0];
    for (int k = 1; k <= t->n; k++) {
        const int32_t *p = k < t->n ? d + t->offset[k] : d;
        double *column = z[k - 1] + to;
        for (size_t i = 0; i < n; i++)
            column[i] = (double)(p[i] - first[i]);
    }
}

/* Squares of what the weights x leave of the target. */
static void fit_misses(const struct taps *t, size_t n, const double *x, fit_batch z,
                       double *restrict square)
{
    memcpy(square, z[t->n - 1], n * sizeof *square);
    for (int k = 1; k < t->n; k++) {
        const double w = x[k - 1], *restrict column = z[k - 1];
        for (size_t i = 0; i < (w != 0 ? n : 0); i++)
            square[i] -= w * column[i];
    }
    for (size_t i = 0; i < n; i++)
        square[i] *= square[i];
}

/* A point counts the less, the farther the weights x miss it: see lift_fit_impl.h. */
static void fit_points(const struct taps *t, fit_batch z, size_t n, const uint8_t *mask,
                       const double *x, double usual, fit_gram gram)
{
    double weight[SPAN];
    fit_misses(t, n, x, z, weight);
    for (size_t i = 0; i < n; i++)
        weight[i] = sqrt(usual / (usual + weight[i]));
    for (size_t i = 0; mask && i < n; i++)
        weight[i] = mask[i] ? 0 : weight[i];
    for (int k = 0; k < t->n; k++)
        for (size_t i = 0; i < n; i++)
            z[k][i] *= weight[i];
    fit_add(z, t->n, n, gram);
}

/* Sums over `some` rows, or over the first `want` points of the only one. */
static void fit_sums(const struct causal *c, const struct taps *t, size_t some, size_t want,
                     const double *x, double usual, fit_gram gram)
{
    size_t nx = c->shape.n[2], rows = c->shape.nb * c->shape.n[0] * c->shape.n[1], n = 0;
    fit_batch z;
    uint8_t mask[SPAN];
    memset(gram, 0, sizeof(fit_gram));
    for (size_t k = 0; k < some; k++) {
        size_t at = sampled_row(c, k, some);
        for (size_t i = 0; at != (size_t)-1 && i < nx && (rows > 1 || i < want); i += SPAN) {
            size_t m = nx - i < SPAN ? nx - i : SPAN;
            if (n + m > SPAN) {
                fit_points(t, z, n, c->masked ? mask : NULL, x, usual, gram);
                n = 0;
            }
            fit_columns(c, t, at + i, m, z, n);
            if (c->masked)
                memcpy(mask + n, c->mask + at + i, m);
            n += m;
        }
    }
    fit_points(t, z, n, c->masked ? mask : NULL, x, usual, gram);
    for (int g = 0; g < t->n; g++)
        for (int h = 0; h < g; h++)
            gram[h][g] = gram[g][h];
}

/* The usual square of a miss: a geometric mean, which spikes do not change much. */
static double fit_usual(const struct causal *c, const struct taps *t, size_t take, const double *x)
{
    enum { FEW = 12, STEP = 3 };
    fit_batch z;
    double square[SPAN], logs = 0, used = 0;
    size_t few = take < FEW ? take : FEW, n = c->shape.n[2] < SPAN ? c->shape.n[2] : SPAN;
    for (size_t k = 0; k < few; k++) {
        size_t at = sampled_row(c, k, few);
        if (at == (size_t)-1)
            continue;
        fit_columns(c, t, at, n, z, 0);
        fit_misses(t, n, x, z, square);
        for (size_t i = 0; i < n; i += STEP)
            if (!(c->masked && c->mask[at + i])) {
                logs += log(square[i] + 0.25);
                used++;
            }
    }
    return used > 0 ? exp(logs / used) : 1;
}

/* Lorenzo's weights for the taps of t but the first. */
static void prior_of(const struct causal *c, const struct taps *t, double *x)
{
    struct taps l;
    lorenzo(c, most_reach(c), &l);
    for (int k = 1; k < t->n; k++) {
        x[k - 1] = 0;
        for (int i = 0; i < l.n; i++)
            if (l.offset[i] == t->offset[k])
                x[k - 1] = l.weight[i];
    }
}

/* Fit the weights x to `want` points of `take` rows; 0 when there are some. */
static int fit(const struct causal *c, const struct taps *t, size_t take, size_t want, double *x)
{
    const double width = 8, prior[CAUSAL_TAPS] = {0};
    prior_of(c, t, x);
    for (int pass = 0; pass < 2; pass++) {
        fit_gram gram;
        fit_sums(c, t, pass || take < 2 ? take : take / 2, want, x, width * fit_usual(c, t, take, x), gram);
        if (sk_fit_solve(t->n - 1, gram, prior, 1e-9, x))
            return -1;
    }
    return 0;
}

/* The sum of levels, as sk_level_of gives them: whole numbers, so that their order is all one. */
static double sum_levels(const int32_t *q, size_t n)
{
    typedef float eight_f __attribute__((vector_size(32)));
    eight_u sum = {0};
    double bits = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        eight_q v, sign;
        memcpy(&v, q + i, sizeof v);
        sign = v >> 31;
        v = (v ^ sign) - sign;
        v &= ~(v >> 4);
        eight_u level = ((eight_u)__builtin_convertvector(v, eight_f) >> 22) - 252;
        sum += level & (eight_u)(v != 0);
    }
    for (int k = 0; k < 8; k++)
        bits += sum[k];
    for (; i < n; i++)
        bits += sk_level_of(q[i]);
    return bits;
}

/* Bits that a sample of rows would take. */
static double cost(struct causal *c, const struct taps *t, size_t take)
{
    double bits = 0;
    size_t n = c->shape.n[2];
    for (size_t k = 0; k < take; k++) {
        size_t at = sampled_row(c, k, take);
        if (at == (size_t)-1)
            continue;
        residuals(c, t, at);
        bits += sum_levels(c->q + at, n);
    }
    return bits;
}

static void choose(struct causal *c)
{
    struct taps t;
    size_t nx = c->shape.n[2], rows = c->shape.nb * c->shape.n[0] * c->shape.n[1];
    size_t want = (2000 + rows * nx / 128) * (c->thorough ? 4 : 1), take = want / nx + 1;
    take = take < rows ? take : rows;
    double x[CAUSAL_TAPS];
    fitted(c, &t);
    int kinds[CAUSAL_KINDS] = {CAUSAL_LORENZO1, CAUSAL_LORENZO2, CAUSAL_LORENZO3, CAUSAL_FITTED};
    double size = 1;
    int fits = !fit(c, &t, take, want, x);
    for (int k = 1; fits && k < t.n; k++) {
        c->stored[k] = (int32_t)lrint(x[k - 1] * (1 << WEIGHT_BITS));
        size += 2 * fabs(x[k - 1]);
    }
    if (!fits || size > 12) /* residuals must stay tokens */
        kinds[3] = CAUSAL_LORENZO1;
    double least = INFINITY;
    for (int k = 0; k < CAUSAL_KINDS; k++) {
        if (kinds[k] != CAUSAL_FITTED && kinds[k] > most_reach(c))
            continue;
        predictor(c, kinds[k], &t);
        double bits = cost(c, &t, take);
        if (bits < least) {
            least = bits;
            c->kind = kinds[k];
        }
    }
}

/* ---- both ways ---- */

/* Weights of n taps but the first: how many bits each takes, and these. */
static void put_weights(const struct causal *c, int n, struct sk_buf *head)
{
    struct sk_rans_bits_out bits = {.out = head};
    uint32_t all = 0;
    for (int k = 1; k < n; k++)
        all |= (uint32_t)c->stored[k] << 1 ^ (uint32_t)(c->stored[k] >> 31);
    unsigned width = all ? 32u - (unsigned)__builtin_clz(all) : 0;
    sk_bits_put(&bits, width, 6);
    for (int k = 1; k < n; k++)
        sk_bits_put(&bits, (uint32_t)c->stored[k] << 1 ^ (uint32_t)(c->stored[k] >> 31), width);
    sk_bits_flush(&bits);
}

static void get_weights(struct causal *c, int n, struct sk_rd *head)
{
    if (c->bytes) {
        for (int k = 1; k < n; k++)
            c->stored[k] = (int32_t)sk_rd_u32(head);
        return;
    }
    struct sk_rans_bits_in bits = {.p = head->p, .size_bits = 8 * sk_rd_left(head)};
    unsigned width = sk_bits_get(&bits, 6);
    for (int k = 1; k < n; k++) {
        uint32_t z = sk_bits_get(&bits, width < 32 ? width : 32);
        c->stored[k] = (int32_t)(z >> 1 ^ (0u - (z & 1)));
    }
    head->bad |= bits.bad || width > 32;
}

static void plane_of(const struct causal *c, struct sk_plane *p)
{
    memset(p, 0, sizeof *p);
    p->nb = c->shape.nb;
    p->nz = c->shape.n[0];
    p->ny = c->shape.n[1];
    p->width = c->shape.n[2];
    p->origin = c->origin;
    p->sb = c->sb;
    p->sz = c->sz;
    p->sy = c->sy;
    p->mask = c->mask;
    p->weights = (struct sk_plane_weights){4, 2, 3, 1, 2, 4};
    if (p->ny == 1 && p->nz == 1)
        p->weights = (struct sk_plane_weights){.left = 6, .left2 = 5};
    else if (p->nz == 1)
        p->weights = (struct sk_plane_weights){5, 2, 5, 1, 3, 0};
}

/* Without the points whose neighbours lie outside the box. */
static void leave_edges(struct sk_plane *p)
{
    if (p->width < 5)
        return;
    p->origin += 2;
    p->width -= 2;
    if (p->ny > 3) {
        p->origin += 2 * p->sy;
        p->ny -= 2;
    }
    if (p->nz > 2) {
        p->origin += p->sz;
        p->nz--;
    }
}

int NAME(sk_causal_encode)(struct causal *c, const void *in, const uint8_t *mask, struct sk_buf *head,
                        struct sk_plane_writer *codes, struct saikai_error *err)
{
    struct taps set[CAUSAL_KINDS];
    struct sk_plane p;
    get_mask(c, mask);
    to_lattice(c, in);
    EACH_ROW(c)
    {
        pad_left(c, place(c, b, z, y), y > 0);
        pad_right(c, place(c, b, z, y));
        pad_rows(c, b, z, y);
    }
    c->bits = bits_of_lattice(c);
    if (c->hold)
        c->kind = CAUSAL_LORENZO1;
    else
        choose(c);
    for (int k = 0; k < CAUSAL_KINDS; k++)
        predictor(c, k, &set[k]);
    EACH_ROW(c)
    {
        residuals(c, taps_of(set, c->kind, most_reach(c), reach(c, z, y)), place(c, b, z, y));
    }
    sk_buf_put_u8(head, (uint8_t)(c->kind | c->bits << 2));
    if (c->kind == CAUSAL_FITTED)
        put_weights(c, set[0].n, head);
    plane_of(c, &p);
    if (c->trial)
        leave_edges(&p);
    c->coded = p.nb * p.nz * p.ny * p.width;
    sk_plane_write(codes, &p, c->q, c->level);
    return c->failed ? sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec") : 0;
}

/* A row whose residuals are known, as far as others see it. */
static void finish_row(struct causal *c, size_t b, size_t z, size_t y, void *out)
{
    size_t at = place(c, b, z, y);
    pad_right(c, at);
    pad_rows(c, b, z, y);
    from_lattice(c, at, out, element(c, b, z, y));
}

/* The rows of plane z, and with `two` those of the next plane: each LAG rows behind, which is as far as it looks at plane z. Points of a
 * row wait for each other, those of two rows do not. */
static void restore_planes(struct causal *c, const struct taps set[CAUSAL_KINDS], size_t b, size_t z, int two, void *out)
{
    enum { LAG = 2 };
    size_t ny = c->shape.n[1], nx = c->shape.n[2];
    for (size_t y = 0; y < ny + (two ? LAG : 0); y++) {
        size_t y2 = y - LAG, at = place(c, b, z, y), at2 = two && y >= LAG ? place(c, b, z + 1, y2) : 0;
        const struct taps *t = y < ny ? taps_of(set, c->kind, most_reach(c), reach(c, z, y)) : NULL,
                          *t2 = at2 ? taps_of(set, c->kind, most_reach(c), reach(c, z + 1, y2)) : NULL;
        if (t)
            pad_left(c, at, y > 0);
        if (t2)
            pad_left(c, at2, y2 > 0);
        if (t && t == t2 && t->narrow && t->n_row == 2 && !has_holes(c, at) && !has_holes(c, at2)) {
            rebuild_both(c, t, at, at2);
        } else {
            if (t)
                rebuild(c, t, at, nx, y > 0);
            if (t2)
                rebuild(c, t2, at2, nx, y2 > 0);
        }
        if (t)
            finish_row(c, b, z, y, out);
        if (t2)
            finish_row(c, b, z + 1, y2, out);
    }
}

int NAME(sk_causal_decode)(struct causal *c, void *out, const uint8_t *mask, struct sk_rd *head,
                        struct sk_plane_reader *codes, struct saikai_error *err)
{
    struct taps set[CAUSAL_KINDS];
    struct sk_plane p;
    get_mask(c, mask);
    unsigned first = sk_rd_u8(head);
    c->kind = (int)(first & 3);
    c->bits = (int)(first >> 2);
    fitted(c, &set[0]);
    if (c->kind == CAUSAL_FITTED)
        get_weights(c, set[0].n, head);
    if (head->bad || c->bits > 31)
        return sk_fail(err, SAIKAI_EDAMAGED, "the predictor of a wavelet piece is damaged");
    for (int k = 0; k < CAUSAL_KINDS; k++)
        predictor(c, k, &set[k]);
    plane_of(c, &p);
    int rc = sk_plane_read(codes, &p, c->q, c->level, err);
    if (rc)
        return rc;
    for (size_t b = 0; b < c->shape.nb; b++)
        for (size_t z = 0, planes; z < c->shape.n[0]; z += planes) {
            planes = z && z + 1 < c->shape.n[0] ? 2 : 1; /* the first one looks at none */
            restore_planes(c, set, b, z, planes == 2, out);
        }
    return 0;
}
