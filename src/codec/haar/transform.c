/* Averages and half-differences along each axis in turn, forwards and backwards, with each band in
 * a place of its own. */
#include "codec/haar/transform.h"

#include <float.h>
#include <math.h>
#include <string.h>

size_t sk_haar_low_count(const struct sk_haar_shape *s)
{
    return (s->n[0] / 2 + s->n[0] % 2) * (s->n[1] / 2 + s->n[1] % 2) * (s->n[2] / 2 + s->n[2] % 2);
}

/* Averages and half-differences of two rows of `inner` values. With huge values the sum may
 * overflow where the average does not: then the halves are added (which would lose the last bit of
 * denormals, so not always). */
static void split(const double *a, const double *b, double *low, double *high, size_t inner,
                  int huge)
{
    if (huge)
        for (size_t k = 0; k < inner; k++) {
            double x = a[k] * 0.5, y = b[k] * 0.5;
            low[k] = x + y;
            high[k] = x - y;
        }
    else
        for (size_t k = 0; k < inner; k++) {
            double x = a[k], y = b[k];
            low[k] = (x + y) * 0.5;
            high[k] = (x - y) * 0.5;
        }
}

/* The fastest dimension: neighbours are adjacent in memory. */
static void split_line(const double *x, double *low, double *high, size_t pairs, int huge)
{
    if (huge)
        for (size_t i = 0; i < pairs; i++) {
            low[i] = x[2 * i] * 0.5 + x[2 * i + 1] * 0.5;
            high[i] = x[2 * i] * 0.5 - x[2 * i + 1] * 0.5;
        }
    else
        for (size_t i = 0; i < pairs; i++) {
            low[i] = (x[2 * i] + x[2 * i + 1]) * 0.5;
            high[i] = (x[2 * i] - x[2 * i + 1]) * 0.5;
        }
}

static void forward_axis(const double *x, double *y, size_t outer, size_t n, size_t inner, int huge)
{
    size_t pairs = n / 2, lows = n - pairs;
    for (size_t o = 0; o < outer; o++, x += n * inner, y += n * inner) {
        if (inner == 1)
            split_line(x, y, y + lows, pairs, huge);
        else
            for (size_t i = 0; i < pairs; i++)
                split(x + 2 * i * inner, x + (2 * i + 1) * inner, y + i * inner,
                      y + (lows + i) * inner, inner, huge);
        if (n % 2)
            memcpy(y + pairs * inner, x + (n - 1) * inner, inner * sizeof *y);
    }
}

static double clamped(double v)
{
    return v > DBL_MAX ? DBL_MAX : v < -DBL_MAX ? -DBL_MAX : v;
}

static void inverse_axis(const double *y, double *x, size_t outer, size_t n, size_t inner)
{
    size_t pairs = n / 2, lows = n - pairs;
    for (size_t o = 0; o < outer; o++, x += n * inner, y += n * inner) {
        for (size_t i = 0; i < pairs; i++) {
            const double *low = y + i * inner, *high = y + (lows + i) * inner;
            double *a = x + 2 * i * inner, *b = a + inner;
            for (size_t k = 0; k < inner; k++) {
                a[k] = clamped(low[k] + high[k]);
                b[k] = clamped(low[k] - high[k]);
            }
        }
        if (n % 2)
            memcpy(x + (n - 1) * inner, y + pairs * inner, inner * sizeof *x);
    }
}

/* Between "halves of each line" and "bands, each consecutive": the same rows in another order. */
static void gather(const struct sk_haar_shape *s, double *halves, double *bands, int to_bands)
{
    size_t low[3], at[3];
    for (int a = 0; a < 3; a++)
        low[a] = s->n[a] - s->n[a] / 2;
    for (int band = 0; band < 8; band++) {
        size_t first[3], count[3];
        for (int a = 0; a < 3; a++) {
            int high = band >> (2 - a) & 1;
            first[a] = high ? low[a] : 0;
            count[a] = high ? s->n[a] - low[a] : low[a];
        }
        if (!count[2])
            continue;
        for (at[0] = 0; at[0] < count[0]; at[0]++)
            for (at[1] = 0; at[1] < count[1]; at[1]++) {
                double *row =
                    halves + ((first[0] + at[0]) * s->n[1] + first[1] + at[1]) * s->n[2] + first[2];
                memcpy(to_bands ? bands : row, to_bands ? row : bands, count[2] * sizeof *row);
                bands += count[2];
            }
    }
}

void sk_haar_forward(const struct sk_haar_shape *s, double *x, double *bands)
{
    size_t outer[3] = {1, s->n[0], s->n[0] * s->n[1]};
    size_t inner[3] = {s->n[1] * s->n[2], s->n[2], 1};
    size_t count = s->n[0] * s->n[1] * s->n[2];
    double *from = x, *to = bands, most = 0;
    for (size_t i = 0; i < count; i++)
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    for (int a = 2; a >= 0; a--) {
        if (s->n[a] < 2)
            continue;
        forward_axis(from, to, outer[a], s->n[a], inner[a], most > DBL_MAX / 2);
        double *t = from;
        from = to, to = t;
    }
    if (from == bands) {
        memcpy(x, bands, count * sizeof *x);
    }
    gather(s, x, bands, 1);
}

void sk_haar_inverse(const struct sk_haar_shape *s, double *bands, double *x)
{
    size_t outer[3] = {1, s->n[0], s->n[0] * s->n[1]};
    size_t inner[3] = {s->n[1] * s->n[2], s->n[2], 1};
    gather(s, x, bands, 0);
    double *from = x, *to = bands;
    for (int a = 0; a < 3; a++) {
        if (s->n[a] < 2)
            continue;
        inverse_axis(from, to, outer[a], s->n[a], inner[a]);
        double *t = from;
        from = to, to = t;
    }
    if (from == bands)
        memcpy(x, bands, s->n[0] * s->n[1] * s->n[2] * sizeof *x);
}
