/* Every value within its bound and what is no number bit for bit, in any shape; the same bytes with any instructions; damage is
 * noticed or gives other values, no more; pieces of older versions are read for ever. */
#include "codec/quick/quick.h"

#include "base/file/io.h"
#include "codec/quick/kernel.h"
#include "codec/quick/quick_testing.h"
#include "codec/samples.h"
#include "codec/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state = 88172645463325252u;

static size_t count_of(const struct sk_array *a)
{
    return sk_array_size_bytes(a) / sk_type_size(a->type);
}

static double at(const struct sk_array *a, const void *x, size_t i)
{
    return a->type == SAIKAI_F32 ? ((const float *)x)[i] : ((const double *)x)[i];
}

static void check(const char *name, const struct sk_array *a, const void *x, const void *y, double bound)
{
    size_t size = sk_type_size(a->type);
    for (size_t i = 0; i < count_of(a); i++) {
        double v = at(a, x, i), w = at(a, y, i);
        int good = isfinite(v) ? fabs(v - w) <= bound
                               : !memcmp((const char *)x + i * size, (const char *)y + i * size, size);
        if (!good)
            fail_msg("%s: element %zu is %.17g, not %.17g within %g", name, i, w, v, bound);
    }
}

/* There and back; returns the bytes of the piece. */
static size_t round_trip(const char *name, const struct sk_array *a, const void *x, struct sk_bound bound, double absolute)
{
    struct sk_codec_options opt = {.bound = bound};
    struct saikai_error err = {0};
    size_t cap = sk_codec_quick.max_encoded(a), made = 0, bytes = sk_array_size_bytes(a);
    uint8_t *code = malloc(cap), *y = malloc(bytes + 1);
    assert_true(code && y);
    if (sk_codec_quick.encode(a, x, &opt, code, cap, &made, &err))
        fail_msg("%s: %s", name, err.text);
    assert_true(made <= cap);
    y[bytes] = 0x5a;
    memset(y, 0x77, bytes);
    if (sk_codec_quick.decode(a, code, made, y, &err))
        fail_msg("%s: %s", name, err.text);
    assert_int_equal(y[bytes], 0x5a);
    check(name, a, x, y, absolute);
    if (made) /* too short */
        assert_int_equal(sk_codec_quick.decode(a, code, made - 1, y, &err), SAIKAI_EDAMAGED);
    free(code);
    free(y);
    return made;
}

static double range_of(const struct sk_array *a, const void *x)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count_of(a); i++) {
        double v = at(a, x, i);
        low = isfinite(v) && v < low ? v : low;
        high = isfinite(v) && v > high ? v : high;
    }
    return high > low ? high - low : 0;
}

static const struct sk_array shapes[] = {
    {SAIKAI_F32, 0, {0}},          {SAIKAI_F32, 1, {1}},          {SAIKAI_F64, 1, {127}},      {SAIKAI_F32, 1, {128}},
    {SAIKAI_F64, 1, {0}},          {SAIKAI_F32, 1, {5000}},       {SAIKAI_F64, 2, {3, 4}},     {SAIKAI_F32, 2, {40, 8}},
    {SAIKAI_F64, 2, {70, 61}},     {SAIKAI_F32, 2, {9, 700}},     {SAIKAI_F32, 3, {7, 13, 29}}, {SAIKAI_F64, 3, {12, 9, 150}},
    {SAIKAI_F32, 3, {9, 1, 128}},  {SAIKAI_F64, 3, {3, 300, 64}}, {SAIKAI_F32, 4, {3, 4, 10, 33}},
};

static void every_value_is_within_its_bound(void **unused)
{
    static const double bounds[] = {1e-1, 1e-3, 1e-6, 1e-10, 0};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int kind = 0; kind < sk_sample_kinds(); kind++) {
            void *x = malloc(sk_array_size_bytes(&shapes[s]) + 1);
            assert_non_null(x);
            sk_sample_fill(kind, &shapes[s], x, 1 + s);
            double range = range_of(&shapes[s], x);
            for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
                double absolute = bounds[b] * range;
                if (isfinite(absolute))
                    round_trip(sk_sample_name(kind), &shapes[s], x, (struct sk_bound){SK_BOUND_ABS, absolute}, absolute);
            }
            free(x);
        }
}

static void bounds_are_of_the_range(void **unused)
{
    const struct sk_array a = {SAIKAI_F32, 2, {60, 50}};
    float x[3000];
    double sum = 0;
    for (size_t i = 0; i < 3000; i++)
        x[i] = (float)quick_smooth(i);
    double range = range_of(&a, x);
    round_trip("rel", &a, x, (struct sk_bound){SK_BOUND_REL, 1e-3}, 1e-3 * range);
    struct sk_codec_options opt = {.bound = {SK_BOUND_PSNR, 60}};
    uint8_t code[20000];
    float y[3000];
    size_t made;
    assert_int_equal(sk_codec_quick.encode(&a, x, &opt, code, sizeof code, &made, NULL), 0);
    assert_int_equal(sk_codec_quick.decode(&a, code, made, y, NULL), 0);
    for (size_t i = 0; i < 3000; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    assert_true(20 * log10(range / sqrt(sum / 3000)) >= 60);
}

/* The difference of the extremes is more than any number: bounds that are a part of it are kept all the same, by the codec and by streams. */
static void the_widest_range_has_bounds_too(void **unused)
{
    enum { N = 3000 };
    static const struct sk_bound bounds[] = {{SK_BOUND_REL, 1e-2}, {SK_BOUND_REL, 1e-6}, {SK_BOUND_PSNR, 40}};
    const struct sk_array a = {SAIKAI_F64, 1, {N}};
    double x[N], y[N];
    uint8_t code[9 * N + 1000];
    for (int i = 0; i < N; i++)
        x[i] = 1.7e308 * sin(0.01 * i);
    for (size_t b = 0; b < 2 * sizeof bounds / sizeof *bounds; b++) {
        const struct sk_bound *bound = &bounds[b / 2];
        struct sk_stream_options stream = {.codec.bound = *bound};
        struct sk_buf frame = {0};
        size_t made;
        double most = 0, square = 0;
        if (b % 2) {
            assert_int_equal(sk_stream_encode_buf("quick", &a, x, &stream, &frame, NULL, NULL), 0);
            assert_int_equal(sk_stream_decode_buf(frame.data, frame.len, &a, y, 1, NULL, NULL), 0);
        } else {
            assert_int_equal(sk_codec_quick.encode(&a, x, &stream.codec, code, sizeof code, &made, NULL), 0);
            assert_int_equal(sk_codec_quick.decode(&a, code, made, y, NULL), 0);
        }
        for (int i = 0; i < N; i++) {
            double e = fabs(x[i] / 1.7e308 - y[i] / 1.7e308) / 2;
            most = e > most ? e : most;
            square += e * e / N;
        }
        if (bound->kind == SK_BOUND_REL ? !(most <= bound->value) : !(-10 * log10(square) >= bound->value))
            fail_msg("case %zu: %g, %g", b, most, square);
        sk_buf_free(&frame);
    }
}

/* Two values in a smooth field are far less than what is kept; the fill value takes a bit, and a block of it a byte. */
static void smooth_fields_become_small(void **unused)
{
    const struct sk_array a = {SAIKAI_F64, 2, {200, 512}};
    double *x = malloc(sk_array_size_bytes(&a));
    assert_non_null(x);
    for (size_t i = 0; i < count_of(&a); i++)
        x[i] = sin(0.01 * (double)(i % 512)) + cos(0.02 * (double)(i / 512));
    size_t plain = round_trip("smooth", &a, x, (struct sk_bound){SK_BOUND_ABS, 1e-3}, 1e-3);
    assert_true(plain < sk_array_size_bytes(&a) / 12);
    x[3000] = 1e9;
    x[50001] = NAN;
    size_t odd = round_trip("odd", &a, x, (struct sk_bound){SK_BOUND_ABS, 1e-3}, 1e-3);
    assert_true(odd < plain + plain / 50 + 200);
    for (size_t i = 0; i < count_of(&a); i++)
        if (i % 512 >= 200)
            x[i] = 1e20;
    size_t masked = round_trip("masked", &a, x, (struct sk_bound){SK_BOUND_ABS, 1e-3}, 1e-3);
    assert_true(masked < plain + 200 * 40);
    free(x);
}

static void without_a_bound_or_floats_it_says_so(void **unused)
{
    const struct sk_array f = {SAIKAI_F32, 1, {10}}, i = {SAIKAI_I32, 1, {10}};
    float x[10] = {0};
    uint8_t code[1000];
    size_t made;
    struct saikai_error err = {0};
    struct sk_codec_options none = {.bound = {SK_BOUND_NONE, 0}}, abs = {.bound = {SK_BOUND_ABS, 1}},
                            negative = {.bound = {SK_BOUND_ABS, -1}};
    assert_int_equal(sk_codec_quick.encode(&f, x, &none, code, sizeof code, &made, &err), SAIKAI_EBOUND);
    assert_int_equal(sk_codec_quick.encode(&f, x, &negative, code, sizeof code, &made, &err), SAIKAI_EBOUND);
    assert_int_equal(sk_codec_quick.encode(&i, x, &abs, code, sizeof code, &made, &err), SAIKAI_ENOTSUP);
    assert_int_equal(sk_codec_quick.encode(&f, x, &abs, code, 10, &made, &err), SAIKAI_ENOSPC);
}

/* Blocks of numbers with w bits at most. */
static void random_block(uint32_t *v, unsigned w)
{
    for (size_t i = 0; i < QUICK_BLOCK; i++)
        v[i] = w ? (uint32_t)(sk_sample_next(&state) >> (64 - w)) : 0;
}

static void instruction_sets_do_not_differ(void **unused)
{
    enum { ROW = 40, PLANE = 400, BEFORE = PLANE + ROW + 1 };
    const struct quick_kernel *k[2] = {sk_quick_kernel_at(0), sk_quick_kernel_at(1)};
    static const struct quick_lags lags[] = {{0, 0, 0}, {1, 0, 0}, {1, ROW, 0}, {1, 300, 0}, {1, ROW, PLANE}};
    int32_t q[2][BEFORE + QUICK_BLOCK];
    uint32_t v[QUICK_BLOCK], back[2][QUICK_BLOCK];
    assert_non_null(k[0]);
    for (int round = 0; round < 40; round++)
        for (int level = 0; level < 2 && k[level]; level++)
            for (unsigned w = 0; w < QUICK_WIDTHS; w++) {
                uint8_t packed[2][16 * 32 + 1];
                random_block(v, w);
                packed[level][16 * w] = 0x5a;
                k[level]->pack(v, w, packed[level]);
                assert_int_equal(packed[level][16 * w], 0x5a);
                k[0]->pack(v, w, packed[0]);
                assert_memory_equal(packed[0], packed[level], 16 * w);
                k[level]->unpack(packed[level], w, back[level]);
                assert_memory_equal(v, back[level], sizeof v);
            }
    for (int round = 0; round < 200; round++) {
        const struct quick_lags *l = &lags[round % 5];
        uint32_t all[2] = {0};
        for (size_t i = 0; i < BEFORE + QUICK_BLOCK; i++)
            q[0][i] = (int32_t)(sk_sample_next(&state) >> (round % 2 ? 32 : 60));
        for (int level = 0; level < 2 && k[level]; level++) {
            memcpy(q[1], q[0], sizeof q[0]);
            all[level] = k[level]->differ(q[1] + BEFORE, l, back[level]);
            memset(q[1] + BEFORE, 0x77, QUICK_BLOCK * sizeof **q);
            k[level]->sum(back[level], l, q[1] + BEFORE);
            assert_memory_equal(q[1], q[0], sizeof q[0]);
        }
        assert_true(!k[1] || (all[0] == all[1] && !memcmp(back[0], back[1], sizeof back[0])));
    }
}

static void numbers_of_values_do_not_differ(void **unused)
{
    const struct quick_kernel *k[2] = {sk_quick_kernel_at(0), sk_quick_kernel_at(1)};
    const struct quick_scale s = {0.02, 50, 3, 0.01};
    if (!k[1])
        skip();
    for (int round = 0; round < 200; round++) {
        float f[QUICK_BLOCK], f_back[2][QUICK_BLOCK];
        double d[QUICK_BLOCK], d_back[2][QUICK_BLOCK];
        int32_t q[2][2][QUICK_BLOCK];
        uint8_t miss[2][2][QUICK_BLOCK];
        int missed[2][2];
        for (size_t i = 0; i < QUICK_BLOCK; i++) {
            d[i] = ((double)sk_sample_next(&state) * 0x1p-64 - 0.5) * (round % 3 ? 1e3 : 1e12);
            d[i] = round % 7 == 1 && i % 50 == 3 ? NAN : d[i];
            f[i] = (float)d[i];
        }
        for (int v = 0; v < 2; v++) {
            missed[v][0] = k[v]->quantise_f32(f, &s, q[v][0]);
            missed[v][1] = k[v]->quantise_f64(d, &s, q[v][1]);
            k[v]->misses_f32(f, q[v][0], &s, miss[v][0]);
            k[v]->misses_f64(d, q[v][1], &s, miss[v][1]);
            k[v]->restore_f32(q[v][0], &s, f_back[v]);
            k[v]->restore_f64(q[v][1], &s, d_back[v]);
        }
        assert_memory_equal(q[0], q[1], sizeof q[0]);
        assert_memory_equal(miss[0], miss[1], sizeof miss[0]);
        assert_memory_equal(missed[0], missed[1], sizeof missed[0]);
        assert_memory_equal(f_back[0], f_back[1], sizeof f_back[0]);
        assert_memory_equal(d_back[0], d_back[1], sizeof d_back[0]);
        assert_int_equal(missed[0][0], memchr(miss[0][0], 1, QUICK_BLOCK) != NULL);
    }
}

static void pieces_of_older_versions_are_read(void **unused)
{
    const char *source = getenv("SAIKAI_SOURCE_DIR");
    for (int k = 0; k < QUICK_SAMPLES; k++) {
        const struct quick_sample *s = &quick_samples[k];
        struct saikai_error err;
        char path[4096];
        void *piece;
        size_t size, head = 2 + 2 * (size_t)s->a.ndims;
        void *x = malloc(sk_array_size_bytes(&s->a)), *y = malloc(sk_array_size_bytes(&s->a));
        assert_true(x && y);
        quick_fill(s, x);
        snprintf(path, sizeof path, "%s/tests/golden/quick/%s.piece", source ? source : ".", s->name);
        if (sk_io_slurp(path, 1 << 20, &piece, &size, &err))
            fail_msg("%s", err.text);
        if (sk_codec_quick.decode(&s->a, (const uint8_t *)piece + head, size - head, y, &err))
            fail_msg("%s: %s", s->name, err.text);
        check(s->name, &s->a, x, y, s->bound * (1 + 1e-9));
        free(piece);
        free(x);
        free(y);
    }
}

/* As a stream, with pieces of a large array by several threads, the whole of it being held against what comes back. */
static void streams_of_it_keep_the_bound(void **unused)
{
    const struct sk_array a = {SAIKAI_F32, 3, {40, 100, 130}};
    struct sk_stream_options opt = {.codec.bound = {SK_BOUND_REL, 1e-4}, .threads = 2, .piece_bytes = 200000, .verify = 1};
    struct sk_buf b = {0};
    struct saikai_error err = {0};
    float *x = malloc(sk_array_size_bytes(&a)), *y = malloc(sk_array_size_bytes(&a));
    assert_true(x && y);
    for (size_t i = 0; i < count_of(&a); i++)
        x[i] = (float)(sin(0.02 * (double)(i % 130)) * cos(0.0003 * (double)(i / 130)));
    if (sk_stream_encode_buf("quick", &a, x, &opt, &b, NULL, &err))
        fail_msg("%s", err.text);
    assert_true(b.len < sk_array_size_bytes(&a) / 4);
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, NULL, &err), 0);
    check("stream", &a, x, y, 1e-4 * range_of(&a, x));
    sk_buf_free(&b);
    free(x);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_within_its_bound),
        cmocka_unit_test(bounds_are_of_the_range),
        cmocka_unit_test(the_widest_range_has_bounds_too),
        cmocka_unit_test(smooth_fields_become_small),
        cmocka_unit_test(without_a_bound_or_floats_it_says_so),
        cmocka_unit_test(instruction_sets_do_not_differ),
        cmocka_unit_test(numbers_of_values_do_not_differ),
        cmocka_unit_test(pieces_of_older_versions_are_read),
        cmocka_unit_test(streams_of_it_keep_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
