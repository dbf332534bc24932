/* The pieces of tests/golden/quick and of the fuzz corpus: what is in each, as long as there are files of it. */
#ifndef SK_CODEC_QUICK_TESTING_H
#define SK_CODEC_QUICK_TESTING_H

#include "base/types.h"
#include "codec/array.h"
#include "codec/codec.h"

#include <math.h>

static double quick_smooth(size_t i)
{
    return 300 + 20 * sin(0.02 * (double)(i % 50)) * cos(0.05 * (double)(i / 50));
}

static double quick_noise(size_t i)
{
    return (double)((i * 2654435761u) >> 7 & 0xffff);
}

static double quick_masked(size_t i)
{
    return i % 50 < 12 ? 1e20 : quick_smooth(i);
}

static double quick_odd(size_t i)
{
    return i % 37 == 5 ? NAN : i % 91 == 7 ? -INFINITY : quick_smooth(i);
}

static double quick_constant(size_t i)
{
    return i == SIZE_MAX ? 0 : 4.5;
}

struct quick_sample {
    const char *name;
    double bound; /* absolute */
    double (*value)(size_t i);
    struct sk_array a;
};

static const struct quick_sample quick_samples[] = {
    {"smooth1", 0.01, quick_smooth, {SAIKAI_F64, 1, {1000}}},
    {"smooth2", 0.1, quick_smooth, {SAIKAI_F32, 2, {23, 50}}},
    {"smooth3", 0.001, quick_smooth, {SAIKAI_F32, 3, {5, 11, 50}}},
    {"noise1", 40, quick_noise, {SAIKAI_F32, 1, {700}}},
    {"masked2", 0.05, quick_masked, {SAIKAI_F64, 2, {40, 50}}},
    {"odd3", 0.2, quick_odd, {SAIKAI_F32, 3, {4, 9, 50}}},
    {"constant1", 1e-9, quick_constant, {SAIKAI_F64, 1, {300}}},
    {"zero2", 0, quick_noise, {SAIKAI_F64, 2, {6, 50}}},
};
enum { QUICK_SAMPLES = sizeof quick_samples / sizeof *quick_samples };

static inline void quick_fill(const struct quick_sample *s, void *x)
{
    size_t n = sk_array_size_bytes(&s->a) / sk_type_size(s->a.type);
    for (size_t i = 0; i < n; i++)
        if (s->a.type == SAIKAI_F32)
            ((float *)x)[i] = (float)s->value(i);
        else
            ((double *)x)[i] = s->value(i);
}

#endif
