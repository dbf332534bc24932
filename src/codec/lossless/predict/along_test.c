/* The filter along the values of one axis: what it is good for, that every processor has the same one, and what of it is refused. */
#include "codec/lossless/lossless.h"
#include "codec/lossless/predict/predict.h"

#include "codec/samples.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

enum { N = 1 << 16 };

static double noise(uint64_t *s)
{
    return (double)(sk_sample_next(s) >> 11) * 0x1p-53 - 0.5;
}

/* Bytes that are made of a piece, which comes back; 1 in *with: with a filter. */
static size_t made_of(int type, const void *x, size_t n, int *with)
{
    enum { MODE_PREDICTED = 1, FLAGS = 14, FLAG_ALONG = 16 };
    const struct sk_codec_ops *c = &sk_codec_predict;
    struct sk_array a = {type, 1, {n}};
    struct saikai_error err = {0};
    size_t bytes = n * (type == SAIKAI_F32 ? 4 : 8), room = c->max_encoded(&a), made = 0;
    uint8_t *out = malloc(room), *back = malloc(bytes);
    if (c->encode(&a, x, NULL, out, room, &made, &err) || c->decode(&a, out, made, back, &err))
        fail_msg("%s", err.text);
    assert_memory_equal(x, back, bytes);
    *with = out[0] == MODE_PREDICTED && (out[FLAGS] & FLAG_ALONG);
    free(out);
    free(back);
    return made;
}

/* Bits for each value. */
static double bits(int type, const void *x, size_t n, int *with)
{
    return 8.0 * (double)made_of(type, x, n, with) / (double)n;
}

static void lines_are_told_by_many_values(void **state)
{
    (void)state;
    double *x = malloc(N * sizeof *x), was = 0, before = 0, third = 0, got;
    float *y = malloc(N * sizeof *y);
    uint64_t s = 5;
    int with;
    /* smooth, to the last bit: differences of the third order leave 26 bits */
    for (int i = 0; i < N; i++)
        x[i] = sin(7e-4 * i) + 0.4 * cos(1.9e-3 * i + 1) + 0.1 * sin(4.1e-3 * i);
    got = bits(SAIKAI_F64, x, N, &with);
    if (!with || got > 14)
        fail_msg("smooth: %.2f bits", got);
    /* resonances that noise rings: of 2^24 steps 12 bits are noise; differences leave 15 */
    for (int i = 0; i < N; i++) {
        double now = 1.5 * was - 1.3 * before + 0.7 * third + noise(&s) * 0x1p-12;
        third = before;
        before = was;
        was = now;
        y[i] = (float)(1.5 + now);
    }
    got = bits(SAIKAI_F32, y, N, &with);
    if (!with || got > 13)
        fail_msg("rung: %.2f bits", got);
    /* the same on a grid of whole numbers */
    for (int i = 0; i < N; i++)
        y[i] = 100 + rintf((y[i] - 1.5f) * 0x1p16f);
    double whole = bits(SAIKAI_F32, y, N, &with);
    if (!with || whole > 8)
        fail_msg("whole numbers: %.2f bits", whole);
    /* noise has nothing to tell, and is restored as fast as it was */
    for (int i = 0; i < N; i++)
        x[i] = noise(&s);
    bits(SAIKAI_F64, x, N, &with);
    assert_false(with);
    free(x);
    free(y);
}

/* Smooth but for shocks, which count for most of what least squares miss, and for few of the bits. */
static void jumps_do_not_spoil_the_rest(void **state)
{
    enum { SHOCKS = 61, MANY = 2 * N, WIDTH = 5 };
    (void)state;
    double *x = malloc(MANY * sizeof *x);
    int with;
    for (int i = 0; i < MANY; i++) {
        x[i] = 0.7 * sin(1.1e-4 * i) + 0.2 * cos(2.3e-4 * i + 1);
        for (int k = 0; k < SHOCKS; k++)
            x[i] -= 0.5 / SHOCKS * tanh((i - (k + 0.37) * MANY / SHOCKS) / WIDTH);
    }
    double got = bits(SAIKAI_F64, x, MANY, &with);
    if (!with || got > 6.8)
        fail_msg("with shocks: %.2f bits", got);
    free(x);
}

/* Lines that stay large are restored in segments, with values behind the last one or none, on one grid, on none, or on several. */
static void long_lines_are_restored_in_segments(void **state)
{
    enum { LONG = 300000, FLAGS = 14 };
    (void)state;
    double *x = malloc((LONG + 1023) * sizeof *x);
    for (int how = 0; how < 16; how++) {
        const int grid = how & 3, type = how & 4 ? SAIKAI_F32 : SAIKAI_F64;
        const size_t n = how & 8 ? LONG / 1024 * 1024 : LONG + 777;
        struct sk_array a = {type, 1, {n}};
        struct saikai_error err = {0};
        size_t room = sk_codec_predict.max_encoded(&a), made = 0, bytes = n * (type == SAIKAI_F32 ? 4 : 8);
        uint8_t *out = malloc(room), *back = malloc(bytes);
        double was = 0, before = 0, third = 0;
        const double many = type == SAIKAI_F32 ? 0x1p16 : 0x1p26;
        uint64_t s = 11;
        for (size_t i = 0; i < n; i++) {
            const double t = (double)i, smooth = 2 + sin(7e-4 * t) + 0.4 * cos(1.9e-3 * t + 1) + 0.1 * sin(4.1e-3 * t);
            double now = 1.5 * was - 1.3 * before + 0.7 * third + noise(&s) * 0x1p-12;
            third = before, before = was, was = now;
            x[i] = grid == 1 || (grid == 2 && i > n / 3) ? 100 + rint(now * many) : grid == 3 ? 100 + rint(now * many) / 10 : type == SAIKAI_F64 ? smooth : 1.5 + now;
        }
        for (size_t i = 0; type == SAIKAI_F32 && i < n; i++)
            ((float *)x)[i] = (float)x[i];
        if (sk_codec_predict.encode(&a, x, NULL, out, room, &made, &err) || sk_codec_predict.decode(&a, out, made, back, &err))
            fail_msg("%s", err.text);
        assert_memory_equal(x, back, bytes);
        if (grid < (type == SAIKAI_F64 ? 3 : 2) && (!(out[FLAGS] & 16) || !(out[FLAGS] & 8)))
            fail_msg("case %d: flags %d, %zu bytes", how, out[FLAGS], made);
        free(out);
        free(back);
    }
    free(x);
}

/* What is not finite, or as large as can be, in a line that has a filter: it comes back. */
static void odd_values_come_back(void **state)
{
    (void)state;
    double *x = malloc(N * sizeof *x);
    uint64_t s = 7;
    for (int large = 0; large < 2; large++) {
        int with;
        for (int i = 0; i < N; i++)
            x[i] = (large ? 1.7e308 : 1) * (sin(7e-4 * i) + 1e-13 * noise(&s));
        for (int i = 0; i < 40; i++)
            x[sk_sample_next(&s) % N] = i % 4 == 0 ? NAN : i % 4 == 1 ? -INFINITY : i % 4 == 2 ? -0.0 : 5e-324;
        bits(SAIKAI_F64, x, N, &with);
        if (!large)
            assert_true(with);
    }
    free(x);
}

static void every_instruction_set_has_the_same(void **state)
{
    enum { VALUES = 700, BEFORE = SK_ALONG };
    const struct sk_scale scales[] = {{0}, {.shift = 3}, {.ref = 280, .step = 0.25, .inverse = 4, .power = 1}, {.loose = 1, .ref = 3, .step = 0.3, .inverse = 1 / 0.3}};
    (void)state;
    for (size_t word = 4; word <= 8; word += 4)
        for (int kind = 0; kind < sk_sample_kinds(); kind++)
            for (int weights = 4; weights <= SK_ALONG; weights += 4)
                for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
                    struct sk_array a = {word == 4 ? SAIKAI_F32 : SAIKAI_F64, 1, {BEFORE + VALUES}};
                    uint8_t raw[VALUES * 8 + 16], class[VALUES], *x[2] = {malloc(8 * (BEFORE + VALUES)), malloc(8 * (BEFORE + VALUES))};
                    double c[SK_ALONG + 1] = {1, -1.9, 1.3, 0.4, -0.7, 0.3, 0.1, -0.2, 0.1}, v[2][VALUES];
                    uint64_t s = 9;
                    for (int i = 0; i < VALUES * 8 + 16; i++)
                        raw[i] = (uint8_t)sk_sample_next(&s);
                    for (int i = 0; i < VALUES; i++)
                        class[i] = (uint8_t)(sk_sample_next(&s) % (i % 9 ? 9 : 16 * word));
                    for (int level = 0; level < 4; level++) {
                        const struct sk_kernel *kernel = sk_kernel_at(word, level);
                        struct sk_bits_in bits = {.p = raw};
                        int w = level > 0;
                        if (!kernel)
                            continue;
                        sk_sample_fill(kind, &a, x[w], 3);
                        kernel->guess_along(x[w] + BEFORE * word, VALUES, weights, c, v[w]);
                        kernel->restore_along(x[w] + BEFORE * word, VALUES, weights, c, &scales[k], &bits, class);
                        for (int i = 0; w && i < VALUES; i++)
                            assert_true(!memcmp(&v[0][i], &v[1][i], 8) || (isnan(v[0][i]) && isnan(v[1][i])));
                        if (w)
                            assert_memory_equal(x[0], x[1], (BEFORE + VALUES) * word);
                    }
                    free(x[0]);
                    free(x[1]);
                }
}

/* Each segment alone, from its first values on, and all of them side by side. */
static void segments_side_by_side_are_the_same(void **state)
{
    enum { EACH = 5 * SK_SEGMENT_TURN, VALUES = SK_SEGMENTS * EACH };
    static const struct sk_scale scales[] = {{0}, {.shift = 3}, {.ref = 280, .step = 0.25, .inverse = 4, .power = 1}, {.decimal = 1, .step = 0.01, .inverse = 100}, {.loose = 1, .ref = 3, .step = 0.3, .inverse = 1 / 0.3}};
    static const double before[4] = {1, -1}, nothing[2] = {0}, c[SK_ALONG + 1] = {1, -1.9, 1.3, 0.4, -0.7, 0.3, 0.1, -0.2, 0.1, 0, 0.1, -0.1, 0.2};
    (void)state;
    for (size_t word = 4; word <= 8; word += 4)
        for (int weights = 4; weights <= SK_ALONG; weights += 4)
            for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
                uint8_t *raw = malloc(VALUES * 8 + 16), *class = malloc(VALUES), *x = malloc(8 * VALUES), *y = malloc(8 * VALUES);
                uint64_t s = 9;
                for (int i = 0; i < VALUES * 8 + 16; i++)
                    raw[i] = (uint8_t)(sk_sample_next(&s) >> 40);
                for (int i = 0; i < VALUES; i++)
                    class[i] = (uint8_t)((sk_sample_next(&s) >> 33) % (i % 70 ? 9 : 16 * word));
                const struct sk_kernel *base = sk_kernel_at(word, 0);
                struct sk_bits_in bits = {.p = raw};
                for (int i = 0; i < VALUES; i++) {
                    const int at = i % EACH;
                    if (at < weights)
                        base->restore(x + (size_t)i * word, nothing + 1, 1, at > 0, before, &scales[k], &bits, class + i, NULL, 0);
                    else
                        base->restore_along(x + (size_t)i * word, 1, weights, c, &scales[k], &bits, class + i);
                }
                for (int level = 1; level < 4; level++) {
                    const struct sk_kernel *kernel = sk_kernel_at(word, level);
                    struct sk_bits_in again = {.p = raw};
                    if (!kernel || !kernel->restore_segments)
                        continue;
                    memset(y, 0x5a, 8 * VALUES);
                    kernel->restore_segments(y, EACH, weights, c, &scales[k], &again, class);
                    assert_memory_equal(x, y, VALUES * word);
                    assert_int_equal(again.at, bits.at);
                }
                free(raw);
                free(class);
                free(x);
                free(y);
            }
}

/* Numbers of weights that there are none of, weights that are no numbers or whose sums could overflow. */
static void filters_that_cannot_be_are_refused(void **state)
{
    (void)state;
    for (int how = 0; how < 9; how++) {
        struct sk_along a, back;
        struct sk_buf b = {0};
        sk_along_difference(&a, 7);
        assert_int_equal(a.weights, 8);
        assert_true(a.c[1] == -7 && a.c[7] == -1 && a.c[8] == 0);
        if (how < 4)
            a.c[how + 2] = how == 0 ? NAN : how == 1 ? INFINITY : how == 2 ? -3000 : 1900;
        sk_along_put(&b, &a);
        if (how >= 4 && how < 8)
            b.data[0] = (uint8_t)(int[]){0, 7, 20, 12}[how - 4]; /* 12: there are not so many */
        struct sk_rd r = sk_rd_init(b.data, b.len);
        int rc = sk_along_get(&r, &back);
        if (how == 8 || how == 3 ? rc || a.weights != back.weights || memcmp(a.c, back.c, 9 * sizeof *a.c) : rc != -1)
            fail_msg("case %d: %d", how, rc);
        sk_buf_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_told_by_many_values),
        cmocka_unit_test(jumps_do_not_spoil_the_rest),
        cmocka_unit_test(long_lines_are_restored_in_segments),
        cmocka_unit_test(odd_values_come_back),
        cmocka_unit_test(every_instruction_set_has_the_same),
        cmocka_unit_test(segments_side_by_side_are_the_same),
        cmocka_unit_test(filters_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
