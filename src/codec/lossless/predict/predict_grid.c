/* Values on a grid: whole numbers and multiples of one, decimal and other fractions of one (sensors, prices, minutes of arc), and what packing
 * by a power of two and an offset leaves (GRIB). */
#include "codec/lossless/predict/predict.h"
#include "codec/lossless/within/number.h"

#include <math.h>
#include <stdlib.h>

#define PROBES 24
#define SAMPLE 512

/* Readers before PARTS know decimals of nine places. */
enum { NONE = 0, BINARY = 1, DECIMAL = 2, AFFINE = 3, LOOSE = 4, SAME = 5, PARTS = 6 };
enum { DECIMAL_PLACES = 9 };

static double value_at(const struct sk_plan *p, const void *x, size_t i)
{
    return p->word == 4 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* Distance of a value of this magnitude to the next that the array can have. */
static double spacing(const struct sk_plan *p, double x)
{
    int e;
    frexp(x, &e);
    return ldexp(1, e - (p->word == 4 ? 24 : 53) + (int)p->shift);
}

static int decimal_fits(const struct sk_plan *p, const double *v, int n, double ten)
{
    for (int i = 0; i < n; i++) {
        double k = rint(v[i] * ten), back = k / ten;
        if (!(fabs(k) < (p->word == 4 ? 0x1p29 : 0x1p50)) ||
            (p->word == 4 ? (double)(float)back : back) != v[i])
            return 0;
    }
    return 1;
}

/* The largest power of two that divides every difference to the first value. */
static double binary_step(const double *v, int n)
{
    int lowest = 10000;
    for (int i = 1; i < n; i++) {
        double d = v[i] - v[0];
        uint64_t b;
        if (d == 0)
            continue;
        memcpy(&b, &d, sizeof b);
        int e = (int)(b >> 52 & 0x7ff);
        uint64_t m = (b & (((uint64_t)1 << 52) - 1)) | (uint64_t)(e != 0) << 52;
        if (e == 0x7ff || !m)
            return 0;
        int at = (e ? e : 1) - 1075 + __builtin_ctzll(m);
        lowest = at < lowest ? at : lowest;
    }
    return lowest == 10000 ? 0 : ldexp(1, lowest);
}

static struct sk_scale parts_of_one(const struct sk_plan *p, double parts)
{
    return (struct sk_scale){.shift = p->shift, .decimal = 1, .step = 1 / parts, .inverse = parts};
}

/* The widest grid of some multiples of 1 / ten: of halves, twentieths …, or of more than ones. A power of two is multiplied with faster than
 * divided by. */
static struct sk_scale widest(const struct sk_plan *p, const double *v, int n, double ten)
{
    uint64_t all = 0, whole = ten < 0x1p50 ? (uint64_t)ten : 0;
    int e;
    for (int i = 0; i < n && all != 1; i++)
        all = sk_common_divisor((uint64_t)fabs(rint(v[i] * ten)), all);
    double divisor = (double)sk_common_divisor(whole, all), parts = ten / divisor, step = whole == 1 ? (double)all : 1 / parts;
    if (step == 1)
        return parts_of_one(p, 1);
    if (frexp(step, &e) == 0.5)
        return (struct sk_scale){.shift = p->shift, .power = 1, .step = step, .inverse = 1 / step};
    return step < 1 ? parts_of_one(p, parts) : (struct sk_scale){.shift = p->shift, .step = step, .inverse = 1 / step};
}

/* Powers of ten up to the last that is a double. */
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define MOST_PLACES ((int)(sizeof tens / sizeof *tens) - 1)

/* The most decimal places that a grid of these values may have: it is at least twice as wide as what usual values can have, so that it saves
 * them a bit, and numbers are not too large. -1: they have more. What has fewer has these, too. */
static int most_places(const struct sk_plan *p, const double *v, int n, double ulp)
{
    const double most_number = p->word == 4 ? 0x1p29 : 0x1p50;
    double most = 0;
    int places = -1;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(v[i]));
    while (places < MOST_PLACES && 1 / tens[places + 1] >= 2 * ulp && most * tens[places + 1] < most_number - 1)
        places++;
    return places >= 0 && decimal_fits(p, v, n, tens[places]) ? places : -1;
}

/* Grids that a few values of a chunk lie on by themselves. */
struct own {
    const double *v;
    int n, most, next; /* decimal places, twice in next: the widest grid, and those of all places */
    int ended;
    double ulp;
};

/* The next of them, from those of few decimal places on. step 0: there is no further one. */
static struct sk_scale own_grid(const struct sk_plan *p, struct own *o)
{
    while (o->next / 2 <= o->most) {
        const double ten = tens[o->next / 2];
        const int again = o->next++ & 1;
        if (!decimal_fits(p, o->v, o->n, ten))
            continue;
        struct sk_scale own = widest(p, o->v, o->n, ten);
        if (!again)
            return own;
        if (own.inverse != ten)
            return parts_of_one(p, ten);
    }
    double step = o->ended ? 0 : binary_step(o->v, o->n);
    o->ended = 1;
    if (step >= 2 * o->ulp && isfinite(step) && isfinite(1 / step))
        return (struct sk_scale){.shift = p->shift, .power = 1, .ref = o->v[0], .step = step, .inverse = 1 / step};
    return (struct sk_scale){.shift = p->shift};
}

void sk_grid_find(const struct sk_plan *p, const void *x, size_t n, struct sk_scale *scale)
{
    double v[PROBES], sum = 0;
    int m = n < PROBES ? (int)n : PROBES, varied = 0;
    *scale = (struct sk_scale){.shift = p->shift};
    if (p->whole) {
        scale->power = 1;
        scale->step = scale->inverse = 1;
        return;
    }
    for (int i = 0; i < m; i++) {
        v[i] = value_at(p, x, n * (size_t)i / (size_t)m);
        if (!isfinite(v[i]))
            return;
        sum += fabs(v[i]) / PROBES;
        varied |= v[i] != v[0];
    }
    if (!varied || m < PROBES)
        return;
    struct own all = {.v = v, .n = m, .ulp = spacing(p, sum)};
    all.most = most_places(p, v, m, all.ulp);
    struct sk_scale own = own_grid(p, &all), affine = p->affine, parts = p->parts;
    affine.shift = parts.shift = p->shift;
    /* the coarser one; that of the whole array need not hold here */
    if (parts.step > 1.5 * own.step && p->kernel->on_grid(x, n, &parts)) {
        *scale = parts;
        return;
    }
    for (; affine.step > 1.5 * own.step && affine.loose < 2; affine.loose++)
        if (p->kernel->on_grid(x, n, &affine)) {
            *scale = affine;
            return;
        }
    for (; own.step != 0; own = own_grid(p, &all))
        if (p->kernel->on_grid(x, n, &own)) {
            *scale = own;
            return;
        }
}

int sk_grid_same(const struct sk_scale *a, const struct sk_scale *b)
{
    return b && a->step == b->step && a->ref == b->ref && a->loose == b->loose &&
           a->decimal == b->decimal;
}

/* Decimal places of so many parts of one; -1: they are no such power of ten. */
static int places_of(double parts)
{
    int places = 0;
    for (; parts >= 10 && fmod(parts, 10) == 0; parts /= 10)
        places++;
    return parts == 1 && places <= DECIMAL_PLACES ? places : -1;
}

void sk_grid_put(struct sk_buf *b, const struct sk_scale *scale, const struct sk_scale *before)
{
    int e;
    if (scale->step == 0) {
        sk_buf_put_u8(b, NONE);
    } else if (sk_grid_same(scale, before)) {
        sk_buf_put_u8(b, SAME);
    } else if (scale->decimal && places_of(scale->inverse) >= 0) {
        sk_buf_put_u8(b, DECIMAL);
        sk_buf_put_u8(b, (uint8_t)places_of(scale->inverse));
    } else if (scale->decimal) {
        sk_buf_put_u8(b, PARTS);
        sk_buf_put_f64(b, scale->inverse);
    } else if (scale->power) {
        frexp(scale->step, &e);
        sk_buf_put_u8(b, BINARY);
        sk_buf_put_f64(b, scale->ref);
        sk_buf_put_u16(b, (uint16_t)(e + 2000));
    } else {
        sk_buf_put_u8(b, scale->loose ? LOOSE : AFFINE);
        sk_buf_put_f64(b, scale->ref);
        sk_buf_put_f64(b, scale->step);
    }
}

static int usable(const struct sk_scale *s)
{
    return s->step > 0 && isfinite(s->step) && isfinite(s->inverse) && isfinite(s->ref);
}

int sk_grid_get(struct sk_rd *r, struct sk_scale *scale)
{
    unsigned shift = scale->shift;
    int kind = sk_rd_u8(r);
    if (kind == SAME)
        return r->bad || scale->step == 0 ? -1 : 0;
    *scale = (struct sk_scale){.shift = shift};
    if (kind == DECIMAL) {
        int d = sk_rd_u8(r);
        scale->decimal = 1;
        scale->inverse = 1;
        if (d > DECIMAL_PLACES)
            return -1;
        while (d--)
            scale->inverse *= 10;
        scale->step = 1 / scale->inverse;
    } else if (kind == BINARY) {
        scale->ref = sk_rd_f64(r);
        int e = sk_rd_u16(r);
        if (e > 4000)
            return -1;
        scale->power = 1;
        scale->step = ldexp(1, e - 2001);
        scale->inverse = 1 / scale->step;
    } else if (kind == PARTS) {
        scale->decimal = 1;
        scale->inverse = sk_rd_f64(r);
        scale->step = 1 / scale->inverse;
        if (!(scale->inverse >= 1) || rint(scale->inverse) != scale->inverse)
            return -1; /* as many parts as a double can say: steps of 1e-34 are written so, too */
    } else if (kind == AFFINE || kind == LOOSE) {
        scale->ref = sk_rd_f64(r);
        scale->step = sk_rd_f64(r);
        scale->inverse = 1 / scale->step;
        scale->loose = kind == LOOSE;
    } else {
        return r->bad || kind != NONE ? -1 : 0;
    }
    return r->bad || !usable(scale) ? -1 : 0;
}

/* ---- grids of any step ---- */

#define NEARLY 1e-5 /* a part of what a step is */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorted different values of a sample; returns how many, 0 when one is not finite. */
static int sorted_sample(const struct sk_plan *p, const void *x, double v[SAMPLE])
{
    size_t n = p->shape.total, m = n < SAMPLE ? n : SAMPLE;
    int different = 0;
    for (size_t i = 0; i < m; i++) {
        v[i] = value_at(p, x, (size_t)((double)n * (double)i / (double)m));
        if (!isfinite(v[i]))
            return 0;
    }
    qsort(v, m, sizeof *v, by_value);
    for (size_t i = 0; i < m; i++)
        if (!i || v[i] != v[different - 1])
            v[different++] = v[i];
    return different;
}

/* The largest step that divides all distances of neighbours in the sample, each known to within
 * `error`: Euclid's algorithm with a tolerance, which grows with each remainder, and shrinks again by what is many steps. 0: none above `least`. */
static double common_step(const double *v, int n, double error, double least)
{
    double g = INFINITY, off = error;
    for (int i = 1; i < n; i++)
        if (v[i] - v[i - 1] > 2 * error && v[i] - v[i - 1] < g)
            g = v[i] - v[i - 1];
    /* distances of many steps each are less far from each other */
    for (int i = 2; i < n; i++) {
        double apart = fabs((v[i] - v[i - 1]) - (v[i - 1] - v[i - 2]));
        if (apart > 4 * error && apart >= least && apart < g / 4) {
            g = apart;
            off = 2 * error;
        }
    }
    for (int i = 1, tries = 0; i < n && tries < 20; i++) {
        double d = v[i] - v[i - 1], k = rint(d / g), rest = fabs(d - k * g);
        if (rest <= 2 * error + k * off) {
            if (k > 1 && 4 * k * off < g && error < k * off) {
                g = d / k;
                off = error / k;
            }
            continue;
        }
        g = rest;
        off = error + k * off;
        i = 0;
        tries++;
        if (!(g >= least) || 4 * off > g)
            return 0;
    }
    /* the same over the whole range is the step with the least error */
    double steps = 0;
    for (int i = 1; i < n; i++)
        steps += rint((v[i] - v[i - 1]) / g);
    return g >= least && isfinite(g) && steps > 0 ? (v[n - 1] - v[0]) / steps : 0;
}

void sk_affine_find(struct sk_plan *p, const void *x)
{
    double v[SAMPLE], off = 0;
    int n = p->shape.total >= SAMPLE ? sorted_sample(p, x, v) : 0;
    p->affine = p->parts = (struct sk_scale){0};
    if (n < 16 || p->whole)
        return;
    double most = fmax(fabs(v[0]), fabs(v[n - 1])), ulp = spacing(p, most);
    double step = common_step(v, n, ulp, 32 * ulp);
    if (!(step > 0))
        return;
    /* parts of one have no error that grows with their number */
    double parts = rint(1 / step);
    if (parts > 1 && fabs(1 / step - parts) < NEARLY * parts && decimal_fits(p, v, n, parts))
        p->parts = parts_of_one(p, parts);
    if (!(most / step < 0x1p26))
        return;
    struct sk_scale s = {.ref = v[0], .step = step};
    /* no offset, when the values are multiples themselves; else the mean of what is left */
    double last = rint(v[n - 1] / step);
    if (last != 0 && fabs(v[0] - rint(v[0] / step) * step) < 8 * ulp &&
        fabs(v[n - 1] - last * step) < 8 * ulp) {
        s.ref = 0;
        s.step = fabs(v[n - 1]) > fabs(v[0]) ? v[n - 1] / last : v[0] / rint(v[0] / step);
    } else {
        for (int i = 0; i < n; i++)
            off += v[i] - v[0] - rint((v[i] - v[0]) / step) * step;
        s.ref += off / n;
    }
    s.inverse = 1 / s.step;
    if (usable(&s))
        p->affine = s;
}
