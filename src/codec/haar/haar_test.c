/* The Haar codec: its transform and both quantisers as published, all shapes and parameters, values
 * that are not finite, extremes, and damaged pieces. */
#include "codec/haar/haar.h"

#include "base/file/io.h"
#include "base/types.h"
#include "codec/haar/parameter.h"
#include "codec/haar/transform.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct sk_array array(int type, int ndims, size_t a, size_t b, size_t c)
{
    return (struct sk_array){type, ndims, {a, b, c}};
}

static size_t count_of(const struct sk_array *a)
{
    size_t n = 0;
    assert_int_equal(sk_dims_count(a->ndims, a->dims, &n), 0);
    return n;
}

/* Encode and decode; the result is to be freed. The piece's size and header flags are told. */
static void *there_and_back(const struct sk_array *a, const void *in, const char *parameter,
                            size_t *piece_size, unsigned *flags)
{
    size_t bytes = count_of(a) * sk_type_size(a->type), cap = sk_codec_haar.max_encoded(a), n = 0;
    struct sk_codec_options opt = {.parameter = parameter};
    struct saikai_error err = {0};
    uint8_t *piece = malloc(cap), *out = malloc(bytes + 1);
    assert_true(piece && out);
    int rc = sk_codec_haar.encode(a, in, &opt, piece, cap, &n, &err);
    if (rc)
        fail_msg("%s", err.text);
    assert_true(n <= cap);
    rc = sk_codec_haar.decode(a, piece, n, out, &err);
    if (rc)
        fail_msg("%s", err.text);
    if (piece_size)
        *piece_size = n;
    if (flags)
        *flags = piece[1];
    free(piece);
    return out;
}

/* A smooth field with a few steps. */
static void *field(const struct sk_array *a)
{
    size_t n = count_of(a);
    void *p = malloc((n + 1) * sk_type_size(a->type));
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) {
        double v =
            250 + 40 * sin(0.01 * (double)i) + (i % 97 == 0 ? 9 : 0) + 0.01 * (double)(i % 7);
        if (a->type == SAIKAI_F32)
            ((float *)p)[i] = (float)v;
        else
            ((double *)p)[i] = v;
    }
    return p;
}

static double value(const struct sk_array *a, const void *p, size_t i)
{
    return a->type == SAIKAI_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static double worst(const struct sk_array *a, const void *x, const void *y)
{
    double w = 0;
    for (size_t i = 0; i < count_of(a); i++)
        w = fmax(w, fabs(value(a, x, i) - value(a, y, i)));
    return w;
}

static void averages_and_half_differences_of_a_square(void **state)
{
    double x[4] = {1, 5, 3, 11}, bands[4];
    struct sk_haar_shape s = {{1, 2, 2}};
    sk_haar_forward(&s, x, bands);
    /* rows first: (3, -2) and (7, -4); then columns */
    double expected[4] = {5, -3, -2, 1};
    assert_memory_equal(bands, expected, sizeof bands);
    sk_haar_inverse(&s, bands, x);
    double original[4] = {1, 5, 3, 11};
    assert_memory_equal(x, original, sizeof x);
}

static void transform_of_every_shape_returns(void **state)
{
    for (size_t a = 1; a <= 5; a++)
        for (size_t b = 1; b <= 5; b++)
            for (size_t c = 1; c <= 9; c++) {
                struct sk_haar_shape s = {{a, b, c}};
                double x[225], y[225], bands[225];
                for (size_t i = 0; i < a * b * c; i++)
                    x[i] = y[i] = (double)(i * i % 31) - 12; /* small integers: exact */
                sk_haar_forward(&s, x, bands);
                size_t low = (a + 1) / 2 * ((b + 1) / 2) * ((c + 1) / 2);
                assert_int_equal(sk_haar_low_count(&s), low);
                sk_haar_inverse(&s, bands, x);
                assert_memory_equal(x, y, a * b * c * sizeof *x);
            }
}

static void simple_replaces_each_bin_by_its_mean(void **state)
{
    double v[6] = {0, 1, 2, 5, 9, 10}, table[2];
    uint8_t coded[6];
    uint16_t code[6];
    struct sk_haar_codes q = {coded, code, table, 0};
    assert_int_equal(sk_haar_quantise(SK_HAAR_SIMPLE, v, 6, 2, 64, &q), 0);
    uint16_t expected[6] = {0, 0, 0, 1, 1, 1};
    assert_int_equal(q.n_coded, 6);
    assert_memory_equal(code, expected, sizeof code);
    assert_true(table[0] == 1 && table[1] == 8);
}

static void spike_quantises_between_the_outermost_crowded_bins(void **state)
{
    /* ten bins over [0, 100]; 14 values, so a bin with at least 2 is crowded: [10,20) and [30,40).
     * 25 lies alone, but between them; 0, 60 and 100 stay as they are. */
    double v[14] = {0, 11, 12, 13, 14, 15, 16, 25, 31, 32, 33, 34, 60, 100}, table[1];
    uint8_t coded[14];
    uint16_t code[14];
    struct sk_haar_codes q = {coded, code, table, 0};
    assert_int_equal(sk_haar_quantise(SK_HAAR_SPIKE, v, 14, 1, 10, &q), 0);
    for (int i = 0; i < 14; i++)
        assert_int_equal(coded[i], v[i] >= 11 && v[i] <= 34);
    assert_int_equal(q.n_coded, 11);
    assert_float_equal(table[0], 236.0 / 11, 1e-12);
}

static void all_shapes_types_and_parameters_come_back_close(void **state)
{
    static const struct sk_array shapes[] = {
        {0, 1, {1}},           {0, 1, {2}},         {0, 1, {1001}},          {0, 2, {1, 77}},
        {0, 2, {33, 64}},      {0, 3, {7, 1, 129}}, {0, 3, {2, 82, 115}},    {0, 3, {9, 11, 13}},
        {0, 4, {3, 5, 7, 11}}, {0, 0, {0}},         {0, 5, {1, 2, 1, 3, 5}},
    };
    static const char *const parameters[] = {
        NULL,
        "quantiser=simple",
        "encoding=bits",
        "quantiser=simple,encoding=bits,n=5",
        "gzip=0",
        "encoding=none",
        "quantiser=none",
        "n=256,d=7",
        "n=1,encoding=bits",
        "n=1",
        "n=1000,encoding=bits,gzip=1",
    };
    for (int type = SAIKAI_F32; type <= SAIKAI_F64; type++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (size_t k = 0; k < sizeof parameters / sizeof *parameters; k++) {
                struct sk_array a = shapes[i];
                a.type = type;
                void *in = field(&a), *out = there_and_back(&a, in, parameters[k], NULL, NULL);
                /* every quantised coefficient is off by less than the range of the high band: 80 */
                double bound = parameters[k] && strstr(parameters[k], "quantiser=none") ? 1e-4 : 80;
                assert_true(worst(&a, in, out) <= bound);
                free(in);
                free(out);
            }
}

static void more_bins_and_spike_lessen_the_error(void **state)
{
    struct sk_array a = array(SAIKAI_F64, 2, 100, 115, 0);
    void *in = field(&a);
    void *coarse = there_and_back(&a, in, "quantiser=simple,n=1", NULL, NULL);
    void *fine = there_and_back(&a, in, "quantiser=simple,n=128", NULL, NULL);
    void *spike = there_and_back(&a, in, "quantiser=spike,n=128", NULL, NULL);
    double c = worst(&a, in, coarse), f = worst(&a, in, fine), s = worst(&a, in, spike);
    assert_true(f < c / 10);
    assert_true(s < f);
    free(in);
    free(coarse);
    free(fine);
    free(spike);
}

static void byte_bits_and_none_give_the_same_values(void **state)
{
    struct sk_array a = array(SAIKAI_F64, 3, 9, 40, 31);
    size_t n = count_of(&a) * 8, byte_size, bits_size, none_size;
    void *in = field(&a);
    void *byte = there_and_back(&a, in, "n=9,gzip=0", &byte_size, NULL);
    void *bits = there_and_back(&a, in, "n=9,gzip=0,encoding=bits", &bits_size, NULL);
    void *none = there_and_back(&a, in, "n=9,gzip=0,encoding=none", &none_size, NULL);
    assert_memory_equal(byte, bits, n);
    assert_memory_equal(byte, none, n);
    assert_true(bits_size < byte_size && byte_size < none_size);
    free(in);
    free(byte);
    free(bits);
    free(none);
}

static void nan_and_infinities_keep_their_bits(void **state)
{
    struct sk_array a = array(SAIKAI_F64, 2, 51, 37, 0);
    double *in = field(&a);
    uint64_t odd[4] = {0x7ff8dead0000beefu, 0xfff0000000000000u, 0x7ff0000000000000u,
                       0x7ff0000000000001u};
    for (size_t i = 0; i < 4; i++)
        memcpy(in + i * 333, odd + i, 8);
    double *out = there_and_back(&a, in, "quantiser=simple", NULL, NULL);
    for (size_t i = 0; i < 51 * 37; i++) {
        if (isfinite(in[i]))
            assert_true(fabs(in[i] - out[i]) < 80);
        else
            assert_memory_equal(in + i, out + i, 8);
    }
    for (size_t i = 0; i < 51 * 37; i++)
        in[i] = NAN;
    void *all = there_and_back(&a, in, NULL, NULL, NULL);
    assert_memory_equal(all, in, 51 * 37 * 8);
    free(in);
    free(out);
    free(all);
}

static void extreme_values_stay_finite_and_constants_exact(void **state)
{
    static const double levels[] = {
        0, 1.1, -DBL_MAX, DBL_MAX, DBL_MIN, 4.9406564584124654e-324, 0x1.23456789abcdfp-1060};
    struct sk_array a = array(SAIKAI_F64, 2, 33, 35, 0);
    size_t n = count_of(&a);
    double *in = malloc(n * 8);
    assert_non_null(in);
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
        for (size_t i = 0; i < n; i++)
            in[i] = levels[k];
        double *out = there_and_back(&a, in, "quantiser=simple", NULL, NULL);
        assert_memory_equal(in, out, n * 8);
        free(out);
    }
    for (size_t i = 0; i < n; i++) /* from the least to the greatest, both signs */
        in[i] = ldexp(i % 3 ? 1.7 : -1.3, (int)(i % 2098) - 1074);
    static const char *const quantisers[] = {"quantiser=simple", "quantiser=spike"};
    for (int k = 0; k < 2; k++) {
        double *out = there_and_back(&a, in, quantisers[k], NULL, NULL);
        for (size_t i = 0; i < n; i++)
            assert_true(isfinite(out[i]));
        free(out);
    }
    for (size_t i = 0; i < n; i++)
        in[i] = i % 2 ? DBL_MAX : -DBL_MAX;
    double *out = there_and_back(&a, in, "quantiser=simple,n=4", NULL, NULL);
    for (size_t i = 0; i < n; i++)
        assert_true(isfinite(out[i]) && (out[i] > 0) == (in[i] > 0));
    free(out);
    free(in);
}

static void small_floats_and_denormals_are_quantised_not_flushed(void **state)
{
    struct sk_array a = array(SAIKAI_F64, 1, 4096, 0, 0);
    double *in = malloc(4096 * 8), top = 0;
    assert_non_null(in);
    for (size_t i = 0; i < 4096; i++) {
        in[i] = (double)(i * 7919 % 4096) * 4.9406564584124654e-324;
        top = fmax(top, in[i]);
    }
    double *out = there_and_back(&a, in, "quantiser=simple,n=256", NULL, NULL);
    assert_true(worst(&a, in, out) <= top / 64);
    free(in);
    free(out);
}

static void what_would_grow_is_kept_as_it_is(void **state)
{
    struct sk_array a = array(SAIKAI_F64, 1, 3, 0, 0);
    double in[3] = {NAN, 2, INFINITY};
    size_t n;
    unsigned flags;
    void *out = there_and_back(&a, in, NULL, &n, &flags);
    assert_memory_equal(in, out, sizeof in);
    assert_true(n <= sk_codec_haar.max_encoded(&a));
    free(out);
    a = array(SAIKAI_F64, 2, 0, 7, 0);
    free(there_and_back(&a, in, NULL, &n, &flags));
    assert_int_equal(n, 16);
}

static void bounds_types_and_bad_parameters_are_refused(void **state)
{
    double in[64] = {0};
    uint8_t out[2048];
    size_t n;
    struct saikai_error err;
    struct sk_array a = array(SAIKAI_F64, 1, 64, 0, 0);
    struct sk_codec_options bound = {.bound = {SK_BOUND_REL, 1e-3}};
    assert_int_equal(sk_codec_haar.encode(&a, in, &bound, out, sizeof out, &n, &err),
                     SAIKAI_EBOUND);
    struct sk_codec_options none = {0};
    assert_int_equal(sk_codec_haar.encode(&a, in, &none, out, 10, &n, &err), SAIKAI_ENOSPC);
    a.type = SAIKAI_I32;
    assert_int_equal(sk_codec_haar.encode(&a, in, &none, out, sizeof out, &n, &err),
                     SAIKAI_ENOTSUP);
    a.type = SAIKAI_F64;
    static const char *const bad[] = {
        "n=0",  "n=257",    "n=70000,encoding=bits", "quantiser=best", "k=1", "n", "gzip=10", "d=0",
        "n=1x", "encoding="};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sk_codec_options opt = {.parameter = bad[i]};
        err.text[0] = 0;
        assert_int_equal(sk_codec_haar.encode(&a, in, &opt, out, sizeof out, &n, &err),
                         SAIKAI_EINVAL);
        assert_non_null(strstr(err.text, "haar"));
    }
}

static void damaged_pieces_are_refused(void **state)
{
    struct sk_array a = array(SAIKAI_F64, 2, 20, 30, 0);
    uint8_t piece[8192];
    double out[600];
    size_t n;
    void *in = field(&a);
    struct sk_codec_options opt = {.parameter = "n=16,gzip=0"};
    assert_int_equal(sk_codec_haar.encode(&a, in, &opt, piece, sizeof piece, &n, NULL), 0);
    for (size_t cut = 0; cut < n; cut++)
        assert_int_equal(sk_codec_haar.decode(&a, piece, cut, out, NULL), SAIKAI_EDAMAGED);
    for (size_t i = 0; i < 4; i++) {
        piece[i] ^= 0x80;
        assert_int_equal(sk_codec_haar.decode(&a, piece, n, out, NULL), SAIKAI_EDAMAGED);
        piece[i] ^= 0x80;
    }
    a.dims[0] = 21;
    assert_int_equal(sk_codec_haar.decode(&a, piece, n, out, NULL), SAIKAI_EDAMAGED);
    free(in);
}

/* A piece that promises bands of an array without values must not be walked through. */
static void bands_of_an_empty_array_are_refused(void **state)
{
    struct sk_array a = array(SAIKAI_F64, 3, 1u << 31, 1u << 31, 0);
    uint8_t piece[16] = {1, 0};
    double out[1];
    assert_int_equal(sk_codec_haar.decode(&a, piece, sizeof piece, out, NULL), SAIKAI_EDAMAGED);
    piece[1] = 2; /* the array itself: nothing */
    assert_int_equal(sk_codec_haar.decode(&a, piece, sizeof piece, out, NULL), 0);
}

/* With SAIKAI_WRITE_CORPUS=DIR: the inputs that haar_fuzz starts from. */
static void write_corpus(void **state)
{
    const char *dir = getenv("SAIKAI_WRITE_CORPUS");
    static const char *const parameters[] = {"gzip=0,n=16", "gzip=0,n=5,encoding=bits,d=8",
                                             "gzip=0,quantiser=simple,n=3", "gzip=6",
                                             "gzip=0,n=200"};
    if (!dir)
        skip();
    for (unsigned i = 0; i < 20; i++) {
        struct sk_array a =
            array(i % 2 ? SAIKAI_F64 : SAIKAI_F32, (int)(i % 3) + 1, 5 + i, 4 + i % 5, 3);
        uint8_t file[16384];
        size_t at = 2, n = 0;
        file[0] = (uint8_t)(i % 2);
        file[1] = (uint8_t)a.ndims;
        for (int d = 0; d < a.ndims; d++) {
            file[at++] = (uint8_t)a.dims[d];
            file[at++] = 0;
        }
        void *in = field(&a);
        if (i % 7 == 0 && a.type == SAIKAI_F32)
            ((float *)in)[2] = NAN;
        struct sk_codec_options opt = {.parameter = parameters[i % 5]};
        assert_int_equal(sk_codec_haar.encode(&a, in, &opt, file + at, sizeof file - at, &n, NULL),
                         0);
        char path[4096];
        snprintf(path, sizeof path, "%s/piece%02u", dir, i);
        assert_int_equal(sk_io_replace(path, file, at + n, NULL), 0);
        free(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages_and_half_differences_of_a_square),
        cmocka_unit_test(transform_of_every_shape_returns),
        cmocka_unit_test(simple_replaces_each_bin_by_its_mean),
        cmocka_unit_test(spike_quantises_between_the_outermost_crowded_bins),
        cmocka_unit_test(all_shapes_types_and_parameters_come_back_close),
        cmocka_unit_test(more_bins_and_spike_lessen_the_error),
        cmocka_unit_test(byte_bits_and_none_give_the_same_values),
        cmocka_unit_test(nan_and_infinities_keep_their_bits),
        cmocka_unit_test(extreme_values_stay_finite_and_constants_exact),
        cmocka_unit_test(small_floats_and_denormals_are_quantised_not_flushed),
        cmocka_unit_test(what_would_grow_is_kept_as_it_is),
        cmocka_unit_test(bounds_types_and_bad_parameters_are_refused),
        cmocka_unit_test(damaged_pieces_are_refused),
        cmocka_unit_test(bands_of_an_empty_array_are_refused),
        cmocka_unit_test(write_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
