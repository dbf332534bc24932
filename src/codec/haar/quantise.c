/* Sorts the values of the high band into equal bins, each of which stands for their mean. The spike
 * quantiser first narrows the range to the crowded bins. */
#include "codec/haar/quantise.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* n equal bins over [low, high]. Values are first multiplied by a power of two that brings the
 * largest near 1, so that neither a range of 1e308 nor one of denormals breaks the arithmetic. */
struct bins {
    double low, high; /* unscaled */
    double scale, scaled_low, per_width;
    size_t n;
};

static struct bins bins_over(double low, double high, size_t n)
{
    struct bins b = {.low = low, .high = high, .n = n};
    double most = fmax(fabs(low), fabs(high));
    int e = 0;
    if (most > 0)
        frexp(most, &e);
    b.scale = ldexp(1, -e > 1000 ? 1000 : -e);
    b.scaled_low = low * b.scale;
    double width = high * b.scale - b.scaled_low;
    b.per_width = width > 0 ? (double)n / width : 0;
    return b;
}

static inline size_t bin_of(const struct bins *b, double v)
{
    size_t i = (size_t)((v * b->scale - b->scaled_low) * b->per_width);
    return i < b->n ? i : b->n - 1; /* the largest value belongs to the last bin */
}

static void range_of(const double *v, size_t count, double *low, double *high)
{
    double a = v[0], z = v[0];
    for (size_t i = 1; i < count; i++) {
        a = v[i] < a ? v[i] : a;
        z = v[i] > z ? v[i] : z;
    }
    *low = a;
    *high = z;
}

/* Narrow [low, high] to the smallest and the largest member of the bins that hold at least count/d
 * values (eq. 2). There always is one: not every bin can hold less than the average. */
static int crowded_range(const double *v, size_t count, size_t d, double *low, double *high)
{
    size_t *members = calloc(d, sizeof *members);
    if (!members)
        return -1;
    struct bins b = bins_over(*low, *high, d);
    for (size_t i = 0; i < count; i++)
        members[bin_of(&b, v[i])]++;
    double a = DBL_MAX, z = -DBL_MAX;
    for (size_t i = 0; i < count; i++)
        if ((double)members[bin_of(&b, v[i])] >= (double)count / (double)d) {
            a = v[i] < a ? v[i] : a;
            z = v[i] > z ? v[i] : z;
        }
    free(members);
    *low = a;
    *high = z;
    return 0;
}

int sk_haar_quantise(enum sk_haar_quantiser q, const double *v, size_t count, size_t n, size_t d,
                     struct sk_haar_codes *out)
{
    memset(out->coded, 0, count);
    memset(out->code, 0, count * sizeof *out->code);
    memset(out->table, 0, n * sizeof *out->table);
    out->n_coded = 0;
    if (q == SK_HAAR_NONE || !count)
        return 0;
    double low, high;
    range_of(v, count, &low, &high);
    if (q == SK_HAAR_SPIKE && low < high && crowded_range(v, count, d, &low, &high))
        return -1;
    size_t *members = calloc(n, sizeof *members);
    if (!members)
        return -1;
    struct bins b = bins_over(low, high, n);
    for (size_t i = 0; i < count; i++) {
        if (v[i] < low || v[i] > high)
            continue;
        size_t bin = bin_of(&b, v[i]);
        out->coded[i] = 1;
        out->code[i] = (uint16_t)bin;
        out->table[bin] += v[i] * b.scale;
        members[bin]++;
        out->n_coded++;
    }
    for (size_t i = 0; i < n; i++)
        if (members[i]) {
            double mean = out->table[i] / (double)members[i] / b.scale;
            /* rounding must not carry a mean out of the range: equal values come back exactly */
            out->table[i] = mean < low ? low : mean > high ? high : mean;
        }
    free(members);
    return 0;
}
