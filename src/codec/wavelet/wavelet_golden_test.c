/* Pieces that older versions of the codec wrote (tests/golden/wavelet, made by wavelet_seeds then)
 * come back within their bounds for ever. */
#include "codec/wavelet/wavelet.h"

#include "base/file/io.h"
#include "base/types.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* As in wavelet_seeds.c. */
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

static double climate(size_t i)
{
    return 100 * sin((double)(i % 100)) + 0.01 * (double)(noise(i) / 65536);
}

static double waves(size_t i)
{
    return sin(0.15 * (double)(i % 40)) * cos(0.2 * (double)(i / 40 % 30)) +
           sin(0.1 * (double)(i / 1200));
}

static double fields(size_t i)
{
    return i % 40 + i / 40 % 30 / 2 < 7 + 3 * (i / 1200 % 4) ? 1e20 : waves(i);
}

static double spikes(size_t i)
{
    return waves(i) + (i % 977 == 217 ? (i % 1954 < 977 ? 7 : -900) : 0);
}

static double stretches(size_t i)
{
    return (double)(i / 50 * 7 % 13) + 0.3 * sin(1.7 * (double)i);
}

static double tiny(size_t i)
{
    return 1e-33 * smooth(i);
}

static double logistic(size_t i)
{
    double x = 0.3;
    for (size_t k = 0; k <= i; k++)
        x = 3.9 * x * (1 - x);
    return x;
}

static const struct {
    const char *name;
    double bound; /* of the range */
    double (*value)(size_t i);
} pieces[] = {{"smooth1", 1e-3, smooth},  {"smooth2", 1e-3, smooth},  {"smooth3", 1e-2, smooth},
              {"smooth4", 1e-2, smooth},  {"noise1", 1e-6, noise},    {"noise3", 1e-2, noise},
              {"masked2", 1e-24, masked}, {"masked3", 1e-22, masked}, {"nan3", 1e-3, with_nan},
              {"centred", 1e-3, climate}, {"far3", 1e-5, waves},      {"scaled2", 1e-3, tiny},
              {"sparse3", 1e-2, waves},   {"fitted3", 1e-4, waves},   {"bilevel2", 5e-23, masked},
              {"bilevel3", 5e-23, masked}, {"before1", 1e-4, smooth}, {"before3", 1e-3, waves},
              {"fine1", 1e-6, smooth},   {"fine3", 1e-7, waves},    {"held1", 3e-2, stretches},
              {"series1", 1e-2, logistic}, {"series_fine", 1e-6, logistic}, {"series_scaled", 1e-3, tiny},
              {"repeats3", 5e-23, fields}, {"spikes/spikes3", 1e-8, spikes}, {"spikes/spikes_fine", 1e-9, spikes}};

static void check(int k, const struct sk_array *a, const void *out, size_t n)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double v = pieces[k].value(i);
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    for (size_t i = 0; i < n; i++) {
        double v = pieces[k].value(i), w;
        if (a->type == SAIKAI_F32) {
            v = (float)v;
            w = ((const float *)out)[i];
        } else {
            w = ((const double *)out)[i];
        }
        if (isnan(v) ? !isnan(w) : !(fabs(v - w) <= pieces[k].bound * (high - low) * (1 + 1e-6)))
            fail_msg("%s: element %zu is %g, not %g", pieces[k].name, i, w, v);
    }
}

static void test_pieces(void **unused)
{
    const char *source = getenv("SAIKAI_SOURCE_DIR");
    for (int k = 0; k < (int)(sizeof pieces / sizeof *pieces); k++) {
        char path[4096];
        void *data;
        size_t size, n = 1;
        struct saikai_error err;
        struct sk_array a = {0};
        snprintf(path, sizeof path, "%s/tests/golden/wavelet/%s.piece", source ? source : ".",
                 pieces[k].name);
        if (sk_io_slurp(path, 1 << 20, &data, &size, &err))
            fail_msg("%s", err.text);
        const uint8_t *p = data;
        a.type = p[0] & 1 ? SAIKAI_F64 : SAIKAI_F32;
        a.ndims = p[1];
        for (int i = 0; i < a.ndims; i++)
            n *= a.dims[i] = (size_t)(p[2 + 2 * i] | p[3 + 2 * i] << 8);
        size_t head = 2 + 2 * (size_t)a.ndims;
        void *out = malloc(n * 8);
        assert_non_null(out);
        if (sk_codec_wavelet.decode(&a, p + head, size - head, out, &err))
            fail_msg("%s: %s", pieces[k].name, err.text);
        check(k, &a, out, n);
        free(out);
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
