/* Compares two arrays block by block in double precision: range, largest and mean errors, and how
 * many values differ in any bit or are lost. */
#include "codec/quality/difference.h"
#include "codec/array.h"

#include "base/types.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 1024 };

static int part_type(int type)
{
    return type == SAIKAI_C64 ? SAIKAI_F32 : type == SAIKAI_C128 ? SAIKAI_F64 : type;
}

#define WIDEN(number, ctype)                                                                       \
    case number:                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            ctype v;                                                                               \
            memcpy(&v, p + i * sizeof v, sizeof v);                                                \
            out[i] = (double)v;                                                                    \
        }                                                                                          \
        break;

void sk_as_doubles(int type, const void *data, size_t first, size_t n, double *out)
{
    type = part_type(type);
    const char *p = (const char *)data + first * sk_type_size(type);
    switch (type) {
        WIDEN(SAIKAI_U8, uint8_t)
        WIDEN(SAIKAI_I8, int8_t)
        WIDEN(SAIKAI_I16, int16_t)
        WIDEN(SAIKAI_U16, uint16_t)
        WIDEN(SAIKAI_I32, int32_t)
        WIDEN(SAIKAI_U32, uint32_t)
        WIDEN(SAIKAI_I64, int64_t)
        WIDEN(SAIKAI_U64, uint64_t)
        WIDEN(SAIKAI_F32, float)
        WIDEN(SAIKAI_F64, double)
    }
}

size_t sk_real_count(const struct sk_array *a)
{
    size_t size = sk_type_size(part_type(a->type));
    return size ? sk_array_size_bytes(a) / size : 0;
}

struct sums {
    double abs, squares;
    size_t finite;
};

/* Errors are summed scaled by 1/range where that is known, so that squares of huge ones do not
 * overflow. */
static void add_block(const double *x, const double *y, size_t first, size_t n, double scale,
                      struct sums *s, struct sk_difference *d)
{
    double abs_sum = 0, square_sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            d->nonfinite++;
            continue;
        }
        double e = fabs(x[i] - y[i]);
        if (e > d->max_abs) {
            d->max_abs = e;
            d->worst = first + i;
        }
        abs_sum += e * scale;
        square_sum += e * scale * (e * scale);
        s->finite++;
    }
    s->abs += abs_sum;
    s->squares += square_sum;
}

static void range_of(const struct sk_array *a, const void *x, struct sk_difference *d)
{
    double v[BLOCK];
    int any = 0;
    for (size_t at = 0; at < d->count; at += BLOCK) {
        size_t n = d->count - at < BLOCK ? d->count - at : BLOCK;
        sk_as_doubles(a->type, x, at, n, v);
        for (size_t i = 0; i < n; i++) {
            if (!isfinite(v[i]))
                continue;
            d->min = !any || v[i] < d->min ? v[i] : d->min;
            d->max = !any || v[i] > d->max ? v[i] : d->max;
            any = 1;
        }
    }
}

static void count_unequal(const struct sk_array *a, const char *x, const char *y, const double *u,
                          const double *v, size_t at, size_t n, struct sk_difference *d)
{
    size_t size = sk_type_size(part_type(a->type));
    for (size_t i = 0; i < n; i++)
        if (memcmp(x + (at + i) * size, y + (at + i) * size, size)) {
            d->unequal++;
            d->lost += !isfinite(u[i]) || !isfinite(v[i]);
        }
}

void sk_difference(const struct sk_array *a, const void *x, const void *y,
                   struct sk_difference *out)
{
    struct sk_difference d = {.count = sk_real_count(a)};
    struct sums s = {0};
    double u[BLOCK], v[BLOCK];
    range_of(a, x, &d);
    double range = d.max - d.min;
    double scale = range > 0 && isfinite(1 / range) ? 1 / range : 1;
    for (size_t at = 0; at < d.count; at += BLOCK) {
        size_t n = d.count - at < BLOCK ? d.count - at : BLOCK;
        sk_as_doubles(a->type, x, at, n, u);
        sk_as_doubles(a->type, y, at, n, v);
        count_unequal(a, x, y, u, v, at, n, &d);
        add_block(u, v, at, n, scale, &s, &d);
    }
    double n = s.finite ? (double)s.finite : 1;
    d.mean_abs = s.abs / n / scale;
    d.rmse = sqrt(s.squares / n) / scale;
    d.max_rel = d.max_abs > 0 ? d.max_abs / range : 0;
    d.mean_rel = d.max_abs > 0 ? d.mean_abs / range : 0;
    d.psnr = d.rmse > 0 ? 20 * log10(range / d.rmse) : INFINITY;
    *out = d;
}

int sk_difference_within(const struct sk_difference *d, const struct sk_bound *b)
{
    switch (b->kind) {
    case SK_BOUND_NONE:
        return d->unequal == 0;
    case SK_BOUND_ABS:
        return !d->lost && d->max_abs <= b->value;
    case SK_BOUND_REL:
        return !d->lost && d->max_abs <= b->value * (d->max - d->min);
    case SK_BOUND_PSNR:
        return !d->lost && d->psnr >= b->value;
    }
    return 0;
}
