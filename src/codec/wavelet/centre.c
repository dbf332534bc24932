/* Tells from some places whether a mean pays, computes the means, and takes them from the values or
 * adds them again. */
#include "codec/wavelet/centre.h"

#include "base/types.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { FEWEST_STEPS = 8, FEWEST_PLACES = 64, SAMPLE_PLACES = 32 };

static size_t places_of(const struct sk_array *a)
{
    size_t n = 1;
    for (int i = 1; i < a->ndims; i++)
        n *= a->dims[i];
    return n;
}

static double value_at(const struct sk_array *a, const void *in, size_t i)
{
    return a->type == SAIKAI_F32 ? ((const float *)in)[i] : ((const double *)in)[i];
}

static size_t place_of(size_t k, size_t places)
{
    return (2 * k + 1) * places / (2 * SAMPLE_PLACES);
}

/* Do a few places keep near means of their own: is the variance between the means so many times that along the slowest dimension? In bounds, since
 * squares of the values themselves may be more, or less, than a number can be. */
static int keeps_near(const struct sk_array *a, const void *in, double bound, double distinct, double mean[SAMPLE_PLACES])
{
    size_t steps = a->dims[0], places = places_of(a);
    double means = 0, squares = 0, first = value_at(a, in, 0), within = 0;
    for (size_t k = 0; k < SAMPLE_PLACES; k++) {
        size_t at = place_of(k, places);
        double sum = 0, square = 0;
        for (size_t t = 0; t < steps; t++) {
            double x = (value_at(a, in, t * places + at) - first) / bound;
            sum += x;
            square += x * x;
        }
        sum /= (double)steps;
        within += square / (double)steps - sum * sum;
        means += sum;
        squares += sum * sum;
        mean[k] = sum;
    }
    within /= SAMPLE_PLACES;
    double between = squares / SAMPLE_PLACES - means / SAMPLE_PLACES * (means / SAMPLE_PLACES);
    return between > distinct * within;
}

/* Do the distances from these means take fewer bits there than those from the neighbours in time? */
static int is_nearer(const struct sk_array *a, const void *in, double bound, const double mean[SAMPLE_PLACES])
{
    size_t steps = a->dims[0], places = places_of(a);
    double first = value_at(a, in, 0), from_mean = 0, from_neighbours = 0;
    for (size_t k = 0; k < SAMPLE_PLACES; k++) {
        size_t at = place_of(k, places);
        double before = 0, last = 0;
        for (size_t t = 0; t < steps; t++) {
            double x = (value_at(a, in, t * places + at) - first) / bound;
            from_mean += log2(1 + fabs(x - mean[k]));
            if (t > 1)
                from_neighbours += log2(1 + fabs(last - 0.5 * x - 0.5 * before));
            before = last;
            last = x;
        }
    }
    return from_mean / (double)steps < from_neighbours / (double)(steps - 2);
}

double sk_centre_bound(const struct sk_array *a, const void *in, const struct special *special,
                    double bound)
{
    const double distinct = 8;
    if (a->ndims < 2 || a->dims[0] < FEWEST_STEPS || places_of(a) < FEWEST_PLACES ||
        special->n_masked)
        return 0;
    /* Both the difference and the sum are rounded to the type. */
    double most = fmax(fabs(special->low), fabs(special->high));
    double left = bound - most * (a->type == SAIKAI_F32 ? 0x1p-21 : 0x1p-50);
    double sum = most * (double)a->dims[0], greatest = a->type == SAIKAI_F32 ? 0.5 * FLT_MAX : 0.5 * DBL_MAX;
    if (!(left > 0.97 * bound) || !(most < greatest) || !isfinite(sum))
        return 0;
    double mean[SAMPLE_PLACES];
    return keeps_near(a, in, bound, distinct, mean) && is_nearer(a, in, bound, mean) ? left : 0;
}

struct sk_array sk_centre_array(const struct sk_array *a)
{
    struct sk_array m = {.type = a->type, .ndims = a->ndims - 1};
    for (int i = 1; i < a->ndims; i++)
        m.dims[i - 1] = a->dims[i];
    return m;
}

enum { BLOCK = 512 };

#define DEFINE_CENTRE(T)                                                                           \
    static void mean_##T(size_t steps, size_t places, const T *in, T *mean)                        \
    {                                                                                              \
        for (size_t at = 0; at < places; at += BLOCK) {                                            \
            size_t n = places - at < BLOCK ? places - at : BLOCK;                                  \
            double sum[BLOCK] = {0};                                                               \
            for (size_t t = 0; t < steps; t++)                                                     \
                for (size_t i = 0; i < n; i++)                                                     \
                    sum[i] += (double)in[t * places + at + i];                                     \
            for (size_t i = 0; i < n; i++)                                                         \
                mean[at + i] = (T)(sum[i] / (double)steps);                                        \
        }                                                                                          \
    }                                                                                              \
    static void subtract_##T(size_t steps, size_t places, const T *in, const T *mean, T *out)      \
    {                                                                                              \
        for (size_t t = 0; t < steps; t++)                                                         \
            for (size_t i = 0; i < places; i++)                                                    \
                out[t * places + i] = in[t * places + i] - mean[i];                                \
    }                                                                                              \
    static void add_##T(size_t steps, size_t places, const T *mean, T *x)                          \
    {                                                                                              \
        for (size_t t = 0; t < steps; t++)                                                         \
            for (size_t i = 0; i < places; i++)                                                    \
                x[t * places + i] = x[t * places + i] + mean[i];                                   \
    }
DEFINE_CENTRE(float)
DEFINE_CENTRE(double)

void sk_centre_mean(const struct sk_array *a, const void *in, void *mean)
{
    if (a->type == SAIKAI_F32)
        mean_float(a->dims[0], places_of(a), in, mean);
    else
        mean_double(a->dims[0], places_of(a), in, mean);
}

void sk_centre_subtract(const struct sk_array *a, const void *in, const void *mean, void *out)
{
    if (a->type == SAIKAI_F32)
        subtract_float(a->dims[0], places_of(a), in, mean, out);
    else
        subtract_double(a->dims[0], places_of(a), in, mean, out);
}

void sk_centre_add(const struct sk_array *a, const void *mean, void *x)
{
    if (a->type == SAIKAI_F32)
        add_float(a->dims[0], places_of(a), mean, x);
    else
        add_double(a->dims[0], places_of(a), mean, x);
}
