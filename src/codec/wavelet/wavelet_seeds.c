/* Writes the seeds of wavelet_fuzz: pieces of every form. usage: wavelet_seeds DIR */
#include "codec/wavelet/wavelet.h"

#include "base/types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *parameter; /* of the codec, for the seeds that follow */

static void write_seed(const char *dir, const char *name, const struct sk_array *a, double bound,
                       double (*value)(size_t i))
{
    size_t n = 1;
    for (int i = 0; i < a->ndims; i++)
        n *= a->dims[i];
    double *d = malloc(n * sizeof *d + 8);
    float *f = malloc(n * sizeof *f + 8);
    size_t cap = sk_codec_wavelet.max_encoded(a), size = 0;
    uint8_t *code = malloc(cap);
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *out = fopen(path, "wb");
    struct saikai_error err = {0};
    struct sk_codec_options opt = {.level = 9, .bound = {bound > 0 ? SK_BOUND_REL : SK_BOUND_NONE, bound},
                                   .parameter = parameter};
    if (d && f && code && out) {
        for (size_t i = 0; i < n; i++)
            f[i] = (float)(d[i] = value(i));
        const void *in = a->type == SAIKAI_F32 ? (void *)f : (void *)d;
        if (sk_codec_wavelet.encode(a, in, &opt, code, cap, &size, &err))
            fprintf(stderr, "%s: %s\n", name, err.text);
        fputc(a->type == SAIKAI_F64, out);
        fputc(a->ndims, out);
        for (int i = 0; i < a->ndims; i++) {
            fputc((int)(a->dims[i] & 255), out);
            fputc((int)(a->dims[i] >> 8), out);
        }
        fwrite(code, 1, size, out);
    }
    if (out)
        fclose(out);
    free(d);
    free(f);
    free(code);
}

static double smooth(size_t i)
{
    return sin(0.02 * (double)i) + cos(0.3 * (double)(i % 40));
}

static double masked(size_t i)
{
    return i % 40 < 9 ? 1e20 : smooth(i);
}

static double with_nan(size_t i)
{
    return i % 53 == 7 ? NAN : smooth(i);
}

static double noise(size_t i)
{
    return (double)((i * 2654435761u) >> 7 & 0xffff);
}

/* 12 steps of 10 x 10 places. */
static double climate(size_t i)
{
    return 100 * sin((double)(i % 100)) + 0.01 * (double)(noise(i) / 65536);
}

/* So smooth that long filters pay. */
static double waves(size_t i)
{
    return sin(0.15 * (double)(i % 40)) * cos(0.2 * (double)(i / 40 % 30)) +
           sin(0.1 * (double)(i / 1200));
}

/* Stretches of 50 around numbers of their own. */
static double stretches(size_t i)
{
    return (double)(i / 50 * 7 % 13) + 0.3 * sin(1.7 * (double)i);
}

static double tiny(size_t i)
{
    return 1e-33 * smooth(i);
}

/* x -> 3.9 x (1 - x), from the beginning. */
static double logistic(size_t i)
{
    double x = 0.3;
    for (size_t k = 0; k <= i; k++)
        x = 3.9 * x * (1 - x);
    return x;
}

/* Fields of four levels each, with the same land in each field. */
static double fields(size_t i)
{
    return i % 40 + i / 40 % 30 / 2 < 7 + 3 * (i / 1200 % 4) ? 1e20 : waves(i);
}

/* One value of 977 lies elsewhere. */
static double spikes(size_t i)
{
    return waves(i) + (i % 977 == 217 ? (i % 1954 < 977 ? 7 : -900) : 0);
}

static double constant(size_t i)
{
    return (double)(i - i);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    const struct sk_array d1 = {.type = SAIKAI_F64, .ndims = 1, .dims = {700}};
    const struct sk_array d2 = {.type = SAIKAI_F32, .ndims = 2, .dims = {30, 40}};
    const struct sk_array d3 = {.type = SAIKAI_F64, .ndims = 3, .dims = {10, 12, 40}};
    const struct sk_array d4 = {.type = SAIKAI_F32, .ndims = 4, .dims = {3, 6, 10, 10}};
    const struct sk_array d5 = {.type = SAIKAI_F64, .ndims = 3, .dims = {12, 10, 10}};
    write_seed(argv[1], "smooth1", &d1, 1e-3, smooth);
    write_seed(argv[1], "smooth2", &d2, 1e-3, smooth);
    write_seed(argv[1], "smooth3", &d3, 1e-2, smooth);
    write_seed(argv[1], "smooth4", &d4, 1e-2, smooth);
    write_seed(argv[1], "noise1", &d1, 1e-6, noise);
    write_seed(argv[1], "noise3", &d3, 1e-2, noise);
    write_seed(argv[1], "masked2", &d2, 1e-24, masked);
    write_seed(argv[1], "masked3", &d3, 1e-22, masked);
    write_seed(argv[1], "nan3", &d3, 1e-3, with_nan);
    write_seed(argv[1], "centred", &d5, 1e-3, climate);
    const struct sk_array d6 = {.type = SAIKAI_F32, .ndims = 3, .dims = {20, 30, 40}};
    write_seed(argv[1], "scaled2", &d2, 1e-3, tiny);
    write_seed(argv[1], "constant", &d2, 1e-3, constant);
    write_seed(argv[1], "exact", &d2, 0, smooth);
    write_seed(argv[1], "sparse3", &d6, 1e-2, waves);
    write_seed(argv[1], "fitted3", &d6, 1e-4, waves);
    write_seed(argv[1], "bilevel2", &d2, 1e-3, masked);
    write_seed(argv[1], "bilevel3", &d3, 1e-3, masked);
    const struct sk_array d7 = {.type = SAIKAI_F64, .ndims = 3, .dims = {12, 30, 40}};
    write_seed(argv[1], "repeats3", &d7, 1e-3, fields);
    write_seed(argv[1], "spikes3", &d6, 1e-8, spikes);
    write_seed(argv[1], "spikes_fine", &d7, 1e-9, spikes);
    parameter = "plan=1";
    write_seed(argv[1], "before1", &d1, 1e-4, smooth);
    write_seed(argv[1], "before3", &d6, 1e-3, waves);
    parameter = "plan=0,reach=4";
    write_seed(argv[1], "far3", &d6, 1e-5, waves);
    parameter = "plan=2";
    write_seed(argv[1], "held1", &d1, 3e-2, stretches);
    parameter = "plan=0,reach=4";
    write_seed(argv[1], "fine1", &d1, 1e-6, smooth);
    write_seed(argv[1], "fine3", &d7, 1e-7, waves);
    const struct sk_array d8 = {.type = SAIKAI_F32, .ndims = 1, .dims = {600}};
    parameter = "series=1";
    write_seed(argv[1], "series1", &d1, 1e-2, logistic);
    write_seed(argv[1], "series_fine", &d1, 1e-6, logistic);
    write_seed(argv[1], "series_scaled", &d8, 1e-3, tiny);
    return 0;
}
