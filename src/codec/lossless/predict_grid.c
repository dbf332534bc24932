/* Values on a grid: whole numbers, decimal fractions, and what packing by a power of two and an
 * offset leaves (GRIB). */
#include "codec/lossless/predict.h"

#include <math.h>

#define PROBES 24

enum { NONE = 0, BINARY = 1, DECIMAL = 2 };

static double value_at(const struct sk_plan *p, const void *x, size_t i)
{
    return p->word == 4 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* Distance of a value of this magnitude to the next of the element's type. */
static double spacing(const struct sk_plan *p, double x)
{
    int e;
    frexp(x, &e);
    return ldexp(1, e - (p->word == 4 ? 24 : 53));
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

void sk_grid_find(const struct sk_plan *p, const void *x, size_t n, struct sk_scale *scale)
{
    double v[PROBES], most = 0, ten = 1;
    int m = n < PROBES ? (int)n : PROBES, varied = 0;
    *scale = (struct sk_scale){.shift = p->shift};
    for (int i = 0; i < m; i++) {
        v[i] = value_at(p, x, n * (size_t)i / (size_t)m);
        if (!isfinite(v[i]))
            return;
        most = fabs(v[i]) > most ? fabs(v[i]) : most;
        varied |= v[i] != v[0];
    }
    if (!varied || m < PROBES)
        return;
    double ulp = spacing(p, most) * (double)((uint64_t)1 << p->shift);
    for (int d = 0; d < 5 && 1 / ten >= 4 * ulp; d++, ten *= 10)
        if (decimal_fits(p, v, m, ten)) {
            struct sk_scale s = {.shift = p->shift, .decimal = 1, .step = 1 / ten, .inverse = ten};
            if (p->kernel->on_grid(x, n, &s))
                *scale = s;
            return;
        }
    double step = binary_step(v, m);
    if (step >= 4 * ulp && isfinite(step) && isfinite(1 / step)) {
        struct sk_scale s = {.shift = p->shift, .ref = v[0], .step = step, .inverse = 1 / step};
        if (p->kernel->on_grid(x, n, &s))
            *scale = s;
    }
}

void sk_grid_put(struct sk_buf *b, const struct sk_scale *scale)
{
    int e;
    if (scale->step == 0) {
        sk_buf_put_u8(b, NONE);
    } else if (scale->decimal) {
        sk_buf_put_u8(b, DECIMAL);
        sk_buf_put_u8(b, (uint8_t)lrint(log10(scale->inverse)));
    } else {
        frexp(scale->step, &e);
        sk_buf_put_u8(b, BINARY);
        sk_buf_put_f64(b, scale->ref);
        sk_buf_put_u16(b, (uint16_t)(e + 2000));
    }
}

int sk_grid_get(struct sk_rd *r, struct sk_scale *scale)
{
    unsigned shift = scale->shift;
    int kind = sk_rd_u8(r);
    *scale = (struct sk_scale){.shift = shift};
    if (kind == DECIMAL) {
        int d = sk_rd_u8(r);
        scale->decimal = 1;
        scale->inverse = 1;
        if (d > 9)
            return -1;
        while (d--)
            scale->inverse *= 10;
        scale->step = 1 / scale->inverse;
    } else if (kind == BINARY) {
        scale->ref = sk_rd_f64(r);
        int e = sk_rd_u16(r);
        if (e > 4000 || !isfinite(scale->ref))
            return -1;
        scale->step = ldexp(1, e - 2001);
        scale->inverse = 1 / scale->step;
        if (!(scale->step > 0) || !isfinite(scale->step) || !isfinite(scale->inverse))
            return -1;
    } else if (kind != NONE) {
        return -1;
    }
    return r->bad ? -1 : 0;
}
