/* The levels of a box, the classes of their points, and the filters that predict them: what does
 * not depend on the element type. */
#include "codec/wavelet/kernel/lift.h"

#include "codec/entropy/scratch.h"
#include "codec/wavelet/kernel/lift_filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST_SPLIT = 5 };

static void lay_out(struct lift_level *v, size_t nb, int reach)
{
    for (int a = 0; a < LIFT_AXES; a++) {
        int on = v->active >> a & 1;
        v->h[a] = on ? (v->n[a] + 1) / 2 : v->n[a];
        v->pad[a] = on || a == 2 ? (size_t)reach : 0;
    }
    v->sy = v->h[2] + 2 * v->pad[2];
    v->sz = (v->h[1] + 2 * v->pad[1]) * v->sy;
    v->sb = (v->h[0] + 2 * v->pad[0]) * v->sz;
    v->origin = v->pad[0] * v->sz + v->pad[1] * v->sy + v->pad[2];
    v->count = nb * v->sb;
}

static unsigned splittable(const struct lift_level *v, unsigned active)
{
    unsigned s = 0;
    for (int a = 0; a < LIFT_AXES; a++)
        if (active >> a & 1 && v->n[a] >= SMALLEST_SPLIT)
            s |= 1u << a;
    return s;
}

static size_t rounded(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* Where the arrays of each level are: values from p on, levels and masks from `of_level` on. */
static void place(struct lift *l, uint8_t *p, uint8_t *of_level, int masked)
{
    for (int i = 0; i < l->n_levels; i++) {
        struct lift_level *v = &l->level[i];
        for (unsigned c = 0; c < LIFT_CLASSES; c++) {
            if (c & ~v->active)
                continue;
            v->data[c] = p + 64;
            p += rounded(v->count * l->element_size) + 128;
            v->level[c] = of_level + 64;
            of_level += rounded(v->count) + 128;
            if (masked) {
                v->mask[c] = of_level + 64;
                of_level += rounded(v->count) + 128;
            }
        }
    }
}

static int out_of_memory(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
}

int sk_lift_init(struct lift *l, const struct lift_shape *shape, size_t element_size, int masked,
              int reach, struct saikai_error *err)
{
    memset(l, 0, sizeof *l);
    l->reach = reach;
    l->shape = *shape;
    l->element_size = element_size;
    size_t bytes = 128, level_bytes = 64, most = 0;
    l->level = sk_scratch_take(LIFT_LEVELS * sizeof *l->level);
    if (!l->level)
        return out_of_memory(err);
    for (int i = 0; i < LIFT_LEVELS; i++) {
        struct lift_level *v = &l->level[i];
        memset(v, 0, offsetof(struct lift_level, filter));
        for (int a = 0; a < LIFT_AXES; a++) {
            v->n[a] = i ? v[-1].h[a] : shape->n[a];
            v->order[a] = 1;
            v->scale[a] = i ? v[-1].scale[a] << (v[-1].active >> a & 1) : 1;
        }
        v->active = i + 1 < LIFT_LEVELS ? splittable(v, shape->active) : 0;
        lay_out(v, shape->nb, reach);
        size_t arrays = (size_t)1 << __builtin_popcount(v->active);
        bytes += arrays * (rounded(v->count * element_size) + 128);
        level_bytes += arrays * (1 + (size_t) !!masked) * (rounded(v->count) + 128);
        most = v->count > most ? v->count : most;
        l->n_levels = i + 1;
        if (!v->active)
            break;
    }
    l->memory = sk_scratch_take(bytes);
    l->levels = sk_scratch_take_zeros(level_bytes);
    l->q = sk_scratch_take_zeros((most + LIFT_CHUNK) * sizeof *l->q);
    if (!l->memory || !l->levels || !l->q) {
        sk_lift_free(l);
        return out_of_memory(err);
    }
    place(l, l->memory, l->levels, masked);
    for (int i = 0; i < l->n_levels; i++)
        for (unsigned c = 1; c < LIFT_CLASSES; c++)
            if (!(c & ~l->level[i].active))
                sk_lift_filter_init(l, &l->level[i], c, &l->level[i].filter[c]);
    return 0;
}

void sk_lift_free(struct lift *l)
{
    sk_scratch_give(l->level);
    sk_scratch_give(l->memory);
    sk_scratch_give(l->levels);
    sk_scratch_give(l->q);
    free(l->exception);
    l->level = NULL;
    l->memory = NULL;
    l->levels = NULL;
    l->q = NULL;
    l->exception = NULL;
}

double sk_lift_step(double bound, size_t element_size, int lowest, int highest)
{
    double half = bound;
    int digits = element_size == sizeof(float) ? 24 : 53;
    for (int e = highest; e >= lowest; e--) {
        double unit = ldexp(1, e - digits), units = floor(bound / unit);
        if (units > 256)
            break;
        half = (units + 0.5) * unit < half || e == highest ? (units + 0.5) * unit : half;
    }
    return 2 * half;
}

void sk_lift_set_bounds(struct lift *l, double bound, double alpha, double beta, int lowest,
                     int highest)
{
    double f = 1;
    for (int i = 0; i < l->n_levels; i++) {
        struct lift_level *v = &l->level[i];
        v->bound = bound / f;
        v->step = sk_lift_step(v->bound, l->element_size, lowest, highest);
        f = f * alpha < beta ? f * alpha : beta;
    }
}

size_t sk_lift_points(const struct lift_level *v, unsigned c, int a)
{
    if (!(v->active >> a & 1))
        return v->n[a];
    return c >> a & 1 ? v->n[a] / 2 : (v->n[a] + 1) / 2;
}

unsigned sk_lift_class_at(const struct lift_level *v, int i)
{
    static const unsigned order[] = {1, 2, 4, 3, 5, 6, 7};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        if (!(order[k] & ~v->active) && i-- == 0)
            return order[k];
    return 0;
}

/* Add the neighbours in class b of a point of class c at distance `far` (0: the nearest) along each
 * axis where the parities differ. */
static void add_group(const struct lift_level *v, struct lift_filter *f, unsigned c, unsigned b,
                      int far)
{
    const size_t step[LIFT_AXES] = {v->sz, v->sy, 1};
    struct lift_group *g = &f->group[f->n++];
    g->source = (int)b;
    g->n = 1;
    g->offset[0] = 0;
    for (int a = 0; a < LIFT_AXES; a++) {
        if (!((c ^ b) >> a & 1))
            continue;
        int odd = c >> a & 1;
        ptrdiff_t before = (odd ? 0 : -1) - far, after = (odd ? 1 : 0) + far;
        for (int k = 0; k < g->n; k++) {
            g->offset[g->n + k] = g->offset[k] + after * (ptrdiff_t)step[a];
            g->offset[k] += before * (ptrdiff_t)step[a];
        }
        g->n *= 2;
    }
}

/* Is array b known when class c is coded? */
static int known(const struct lift_level *v, unsigned c, unsigned b)
{
    if (!b)
        return 1;
    for (int i = 0; sk_lift_class_at(v, i); i++) {
        if (sk_lift_class_at(v, i) == b)
            return 1;
        if (sk_lift_class_at(v, i) == c)
            return 0;
    }
    return 0;
}

void sk_lift_filter_init(const struct lift *l, const struct lift_level *v, unsigned c,
                      struct lift_filter *f)
{
    memset(f, 0, sizeof *f);
    f->axes = __builtin_popcount(c);
    f->reach = l->reach;
    /* near and far along each odd axis: between them the interpolation proper */
    for (int far = 0; far < f->reach; far++)
        for (int a = 0; a < LIFT_AXES; a++)
            if (c >> a & 1)
                add_group(v, f, c, c ^ 1u << a, far);
    for (int apart = 2; apart <= LIFT_AXES; apart++)
        for (unsigned b = 0; b < LIFT_CLASSES; b++)
            if (!(b & ~v->active) && known(v, c, b) && __builtin_popcount(b ^ c) == apart)
                add_group(v, f, c, b, 0);
}

void sk_lift_standard_weights(const struct lift_filter *f, double *w)
{
    static const double of_distance[][LIFT_MOST_REACH] = {
        {1.125, -0.125},
        {1.171875, -0.1953125, 0.0234375},
        {1.1962890625, -0.2392578125, 0.0478515625, -0.0048828125}};
    const double *d = of_distance[f->reach - LIFT_LEAST_REACH];
    for (int g = 0; g <= f->n; g++)
        w[g] = g < f->reach * f->axes ? d[g / f->axes] / f->axes : 0;
}

static double unit_of(const struct lift *l)
{
    return 1.0 / (1 << (l->fine ? LIFT_FINE_BITS : LIFT_WEIGHT_BITS));
}

void sk_lift_weights(const struct lift *l, const struct lift_filter *f, double w[LIFT_GROUPS + 1])
{
    if (f->fitted == LIFT_STANDARD) {
        sk_lift_standard_weights(f, w);
    } else {
        double rest = 1;
        for (int g = 1; g <= f->n; g++) {
            w[g] = f->stored[g] * unit_of(l);
            rest -= w[g];
        }
        w[0] = rest;
    }
    for (int g = 0; g < f->n; g++)
        w[g] /= f->group[g].n;
}

const struct lift_filter *sk_lift_filter_before(const struct lift_level *v, unsigned c)
{
    const struct lift_filter *f = &v[1].filter[c];
    return v[1].active == v->active && f->fitted != LIFT_STANDARD ? f : NULL;
}

void sk_lift_unknowns(const struct lift *l, const struct lift_filter *f, double *x)
{
    if (f->fitted == LIFT_STANDARD) {
        double w[LIFT_GROUPS + 1];
        sk_lift_standard_weights(f, w);
        memcpy(x, w + 1, (size_t)f->n * sizeof *x);
        return;
    }
    for (int i = 0; i < f->n; i++)
        x[i] = f->stored[i + 1] * unit_of(l);
}

int sk_lift_solve(const struct lift *l, const struct lift_filter *f, struct lift_sums *s, double *x)
{
    const double little = 1e-13, more = 1e-9;
    double standard[LIFT_GROUPS + 1];
    sk_lift_standard_weights(f, standard);
    return s->sample > 0 && ((l->fine && !sk_fit_solve(f->n, s->gram, standard + 1, little, x)) ||
                             !sk_fit_solve(f->n, s->gram, standard + 1, more, x))
               ? 0
               : -1;
}

double sk_lift_energy_bits(const struct lift *l, const struct lift_level *v, const struct lift_filter *f,
                           struct lift_sums *s, size_t points)
{
    double x[LIFT_GROUPS + 1], noise = v->bound * v->bound / 3 * s->sample;
    sk_lift_unknowns(l, f, x);
    return 0.5 * (double)points * log2(sk_fit_energy(f->n, s->gram, x) + noise) +
           sk_lift_filter_bits(f, l->fine);
}

/* Round the weights x as coarsely as pays; points: of the class. */
static void round_weights(const struct lift *l, const struct lift_level *v, struct lift_filter *f,
                          const double *x, struct lift_sums *s, size_t points)
{
    double least = INFINITY;
    struct lift_filter next = *f;
    next.fitted = LIFT_FITTED;
    for (next.coarse = 0; next.coarse < sk_lift_filter_units(l->fine); next.coarse++) {
        double unit = sk_lift_filter_unit(l->fine, next.coarse);
        for (int i = 0; i < f->n; i++)
            next.stored[i + 1] = (int32_t)(rint(x[i] / unit_of(l) / unit) * unit);
        double bits = sk_lift_energy_bits(l, v, &next, s, points);
        if (bits < least)
            *f = next;
        least = bits < least ? bits : least;
    }
}

int sk_lift_candidates(const struct lift *l, const struct lift_level *v, unsigned c, struct lift_sums *sums, int n_sums,
                       size_t points, struct lift_filter out[LIFT_CANDIDATES])
{
    const struct lift_filter *before = sk_lift_filter_before(v, c);
    double x[LIFT_GROUPS + 1];
    int n = 1;
    out[0] = v->filter[c];
    if (before) {
        out[n] = v->filter[c];
        out[n].fitted = LIFT_AS_BEFORE;
        sk_lift_filter_as_before(&out[n++], before);
    }
    for (int k = 0; k < n_sums; k++)
        if (!sk_lift_solve(l, &v->filter[c], &sums[k], x)) {
            out[n] = v->filter[c];
            round_weights(l, v, &out[n++], x, &sums[k], points);
        }
    return n;
}

double sk_lift_trial_bits(const struct lift_level *finest, const double bits[2], const size_t coded[2])
{
    double share = 1.0 / (1 << __builtin_popcount(finest->active)); /* of the even points */
    double b0 = (bits[0] - bits[1]) / (double)(coded[0] + 1);
    double b1 = coded[1] ? bits[1] / (double)coded[1] : b0 + 1;
    double growth = b1 - b0 > 1 ? b1 - b0 : 1;
    return (1 - share) * b0 + (1 - share) * share * b1 +
           share * share * (b1 + growth / (1 - share));
}

void sk_lift_plane(const struct lift_level *v, unsigned c, int set, int masked, struct sk_plane *p)
{
    memset(p, 0, sizeof *p);
    p->nz = sk_lift_points(v, c, 0);
    p->ny = sk_lift_points(v, c, 1);
    p->width = sk_lift_points(v, c, 2);
    p->nb = v->count / v->sb;
    p->origin = v->origin;
    p->sb = v->sb;
    p->sz = v->sz;
    p->sy = v->sy;
    p->set = set;
    p->mask = masked ? v->mask[c] : NULL;
    p->weights = (struct sk_plane_weights){3, 0, 3, 0, 0, 2};
    if (p->ny == 1 && p->nz == 1)
        p->weights = (struct sk_plane_weights){4, 3, 0, 0, 0, 0};
    if (!c)
        return;
    const struct lift_filter *f = &v->filter[c];
    for (int g = 0; g < f->n && p->n_sides + 2 <= SK_PLANE_SIDES; g++) {
        if (g >= f->axes)
            break;
        for (int k = 0; k < 2; k++) {
            p->side[p->n_sides].level = v->level[f->group[g].source];
            p->side[p->n_sides].shift = f->group[g].offset[k];
            p->side[p->n_sides].weight = f->axes == 1 ? 2 : 1;
            p->n_sides++;
        }
    }
}

size_t sk_lift_element(const struct lift *l, const struct lift_level *v, unsigned c, size_t index)
{
    size_t b = index / v->sb, i[LIFT_AXES];
    i[0] = index % v->sb / v->sz;
    i[1] = index % v->sz / v->sy;
    i[2] = index % v->sy;
    size_t at = l->shape.b_offset[b];
    for (int a = 0; a < LIFT_AXES; a++) {
        i[a] -= v->pad[a]; /* padding wraps to a huge number */
        if (i[a] >= sk_lift_points(v, c, a))
            return (size_t)-1;
        size_t k = v->active >> a & 1 ? 2 * i[a] + (c >> a & 1) : i[a];
        at += k * v->scale[a] * l->shape.stride[a];
    }
    return at;
}

void sk_lift_exception(struct lift *l, const struct lift_level *v, unsigned c, size_t index)
{
    size_t e = sk_lift_element(l, v, c, index);
    if (e == (size_t)-1)
        return;
    if (l->n_exceptions == l->cap_exceptions) {
        size_t cap = l->cap_exceptions * 2 + 256;
        size_t *p = realloc(l->exception, cap * sizeof *p);
        if (!p) {
            l->failed = 1;
            return;
        }
        l->exception = p;
        l->cap_exceptions = cap;
    }
    l->exception[l->n_exceptions++] = e;
}
