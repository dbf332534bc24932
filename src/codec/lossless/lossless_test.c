/* What the lossless codecs promise beyond bringing every bit back (stream_test): the same bytes on
 * every processor and in every floating-point mode, bounds of size, what they are good at. */
#include "codec/lossless/fast_kernel.h"
#include "codec/lossless/predict/kernel.h"
#include "codec/lossless/lossless.h"

#include "base/file/io.h"
#include "base/types.h"
#include "codec/chain.h"
#include "codec/samples.h"
#include "codec/array.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

struct coded {
    uint8_t *data;
    size_t n;
};

static struct coded code(const char *name, const struct sk_array *a, const void *x, int level)
{
    struct sk_chain c;
    struct sk_codec_options opt = {.level = level};
    struct saikai_error err = {0};
    struct coded out = {0};
    assert_int_equal(sk_chain_parse(name, &c, &err), 0);
    size_t cap = sk_chain_max_encoded(&c, a);
    out.data = malloc(cap);
    assert_int_equal(sk_chain_encode(&c, a, x, &opt, out.data, cap, &out.n, &err), 0);
    void *y = malloc(sk_array_size_bytes(a));
    assert_int_equal(sk_chain_decode(&c, a, out.data, out.n, y, &err), 0);
    assert_int_equal(memcmp(x, y, sk_array_size_bytes(a)), 0);
    free(y);
    return out;
}

static double ratio(const char *name, const struct sk_array *a, const void *x)
{
    struct coded c = code(name, a, x, 0);
    free(c.data);
    return (double)sk_array_size_bytes(a) / (double)c.n;
}

static void every_instruction_set_gives_the_same(void **state)
{
    struct sk_array a = {SAIKAI_F64, 1, {8 * 1024}};
    for (size_t word = 4; word <= 8; word += 4)
        for (int kind = 0; kind < sk_sample_kinds(); kind++) {
            enum { BACK = 300, N = 999 };
            static const struct sk_terms t = {3, {100, 101, 102}, {2.5, -1.75, 0.25}};
            static const double c[4] = {1, -2.5, 2, -0.5};
            struct sk_scale scales[4] = {{0},
                                         {.shift = 3},
                                         {.ref = 280, .step = 0.25, .inverse = 4},
                                         {.loose = 1, .ref = 3, .step = 0.3, .inverse = 1 / 0.3}};
            a.type = word == 4 ? SAIKAI_F32 : SAIKAI_F64;
            uint8_t *x = malloc(sk_array_size_bytes(&a));
            sk_sample_fill(kind, &a, x, 3);
            for (int s = 0; s < 4; s++)
                for (int degree = 0; degree < 4; degree++) {
                    double v[2][N + 3] = {{0}};
                    uint64_t r[2][N] = {{0}};
                    uint8_t class[2][N];
                    for (int level = 0; level < 4; level++) {
                        const struct sk_kernel *k = sk_kernel_at(word, level);
                        int w = level > 0;
                        if (!k)
                            continue;
                        k->sum_terms(x + (BACK - 3) * word, N + 3, &t, v[w]);
                        k->residual(x + BACK * word, v[w] + 3, N, degree, c, &scales[s], r[w]);
                        k->classes(r[w], N, class[w]);
                        if (w) {
                            /* a NaN is a NaN: its sign and payload do not matter */
                            for (int i = 0; i < N + 3; i++)
                                assert_true(!memcmp(&v[0][i], &v[1][i], 8) ||
                                            (isnan(v[0][i]) && isnan(v[1][i])));
                            assert_memory_equal(r[0], r[1], N * word);
                            assert_memory_equal(class[0], class[1], N);
                        }
                    }
                }
            free(x);
        }
}

static void every_packing_gives_the_same(void **state)
{
    enum { N = 2048, BACK = 512 };
    static const struct sk_fast_terms t = {.n = 5,
                                           .outer = 3,
                                           .order = 2,
                                           .nearest = 99,
                                           .lag = {99, 100, 300, 1, 2},
                                           .weight = {-2, 1, -1, -2, 1}};
    struct sk_array a = {SAIKAI_F64, 1, {N + BACK}};
    for (size_t word = 4; word <= 8; word += 4)
        for (int kind = 0; kind < sk_sample_kinds(); kind++) {
            a.type = word == 4 ? SAIKAI_F32 : SAIKAI_F64;
            uint8_t *x = malloc(sk_array_size_bytes(&a)), *y = malloc(sk_array_size_bytes(&a));
            sk_sample_fill(kind, &a, x, 3);
            uint64_t r[2][N] = {{0}}, packed[2][N + 64] = {{0}}, back[N];
            uint8_t width[2][N / 16];
            size_t made[2];
            for (int level = 0; level < 3; level++) {
                const struct sk_fast_kernel *k = sk_fast_kernel_at(word, level);
                int w = level > 0;
                if (!k)
                    continue;
                uint64_t any = k->differ(x + BACK * word, N, &t, r[w]);
                unsigned shift = any ? (unsigned)__builtin_ctzll(any) : 0;
                k->widths(r[w], N, shift, width[w]);
                made[w] = k->pack(r[w], N, shift, width[w], packed[w]);
                assert_int_equal(made[w], sk_fast_words(N, width[w], word));
                k->unpack(packed[w], N, shift, width[w], back);
                assert_memory_equal(back, r[w], N * word);
                memcpy(y, x, BACK * word);
                k->sum(y + BACK * word, N, &t, back);
                assert_memory_equal(x, y, (BACK + N) * word);
                if (w) {
                    assert_memory_equal(width[0], width[1], N / 16);
                    assert_int_equal(made[0], made[1]);
                    assert_memory_equal(packed[0], packed[1], made[0] * word);
                }
            }
            free(x);
            free(y);
        }
}

static void flushed_denormals_change_nothing(void **state)
{
#if defined(__x86_64__)
    struct sk_array a = {SAIKAI_F32, 2, {64, 64}};
    float x[64 * 64];
    for (int i = 0; i < 64 * 64; i++)
        x[i] = ldexpf(sinf((float)i * 0.01f), -128);
    struct coded plain = code("predict", &a, x, 0);
    unsigned old = _mm_getcsr();
    _mm_setcsr(old | 0x8040 | 0x6000); /* flush to zero, denormals are zero, round toward zero */
    struct coded odd = code("predict", &a, x, 0);
    unsigned after = _mm_getcsr();
    _mm_setcsr(old);
    assert_int_equal(after & 0xe040, 0xe040); /* the caller's mode is back */
    assert_int_equal(plain.n, odd.n);
    assert_memory_equal(plain.data, odd.data, odd.n);
    free(plain.data);
    free(odd.data);
#endif
}

static void buffers_may_lie_anywhere(void **state)
{
    struct sk_array a = {SAIKAI_F64, 2, {30, 70}};
    size_t n = sk_array_size_bytes(&a);
    uint8_t *x = malloc(n + 3), *y = malloc(n + 3);
    sk_sample_fill(1, &a, x, 1);
    memmove(x + 3, x, n);
    for (int i = 0; sk_codec_at(i); i++) {
        const struct sk_codec_ops *c = sk_codec_at(i);
        if (c->lossy || !(c->types >> a.type & 1))
            continue;
        size_t most = c->max_encoded(&a), made = 0;
        uint8_t *out = malloc(most + 1);
        assert_int_equal(c->encode(&a, x + 3, NULL, out + 1, most, &made, NULL), 0);
        assert_int_equal(c->decode(&a, out + 1, made, y + 3, NULL), 0);
        assert_memory_equal(x + 3, y + 3, n);
        free(out);
    }
    free(x);
    free(y);
}

static void nothing_grows_beyond_its_bound(void **state)
{
    struct sk_array a = {SAIKAI_F64, 1, {5000}};
    uint64_t x[5000], s = 7;
    for (int i = 0; i < 5000; i++)
        x[i] = sk_sample_next(&s);
    for (int i = 0; sk_codec_at(i); i++) {
        const struct sk_codec_ops *c = sk_codec_at(i);
        if (c->lossy || !(c->types >> a.type & 1))
            continue;
        size_t most = c->max_encoded(&a), made = 0;
        uint8_t *out = malloc(most + 1);
        struct saikai_error err = {0};
        out[most] = 0x77;
        assert_int_equal(c->encode(&a, x, NULL, out, most, &made, &err), 0);
        assert_true(made <= most && out[most] == 0x77);
        /* a buffer too small is said, and not run over */
        out[16] = 0x77;
        assert_int_equal(c->encode(&a, x, NULL, out, 16, &made, &err), SAIKAI_ENOSPC);
        assert_int_equal(out[16], 0x77);
        free(out);
    }
}

static void levels_of_fpc_are_sizes_of_its_tables(void **state)
{
    /* a period of 3000 values: tables of 2^8 entries cannot hold it, those of 2^16 can */
    struct sk_array a = {SAIKAI_F64, 1, {30000}};
    double *x = malloc(30000 * sizeof *x);
    uint64_t s = 5;
    for (int i = 0; i < 30000; i++)
        x[i] = i < 3000 ? (double)sk_sample_next(&s) : x[i - 3000];
    struct coded small = code("fpc", &a, x, 8), large = code("fpc", &a, x, 16);
    assert_true(large.n * 2 < small.n);
    free(small.data);
    free(large.data);
    free(x);
}

static void structure_is_found(void **state)
{
    enum { N = 40 };
    struct sk_array a = {SAIKAI_F64, 2, {30, N * N}};
    double *x = malloc(30 * N * N * sizeof *x);
    for (int z = 0; z < 30; z++)
        for (int i = 0; i < N * N; i++)
            x[z * N * N + i] = 1000 + sin(0.1 * (i / N)) * cos(0.13 * (i % N)) + 0.01 * z * z;
    /* square regions kept as one dimension */
    double hidden = ratio("predict", &a, x);
    struct sk_array told = {SAIKAI_F64, 3, {30, N, N}};
    assert_true(hidden > 0.95 * ratio("predict", &told, x));
    assert_true(hidden > 1.5 * ratio("zstd:19", &a, x));
    /* decimal grids */
    for (int i = 0; i < 30 * N * N; i++)
        x[i] = rint(x[i] * 100) / 100;
    assert_true(ratio("predict", &a, x) > 1.5 * hidden);
    /* and of any step, unpacked by others: k * step + offset, rounded once or twice */
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < 30 * N * N; i++) {
            double k = rint(sin(0.001 * i) * 20000 + cos(0.1 * (i % N)) * 900);
            volatile double scaled = k * 0.0012207403;
            x[i] = twice ? (double)((float)scaled + 260.31f) : scaled + 260.31;
        }
        assert_true(ratio("predict", &a, x) > 4 &&
                    ratio("predict", &a, x) > 2 * ratio("fpzip", &a, x));
    }
    free(x);
    /* fill values: an island does not spoil the sea */
    struct sk_array sea = {SAIKAI_F32, 2, {200, 200}};
    float *y = malloc(200 * 200 * sizeof *y), *land = malloc(200 * 200 * sizeof *land);
    uint64_t s = 3;
    for (int i = 0; i < 200 * 200; i++) {
        int r = i / 200, c = i % 200;
        y[i] = (float)(10 + sin(r * 0.05) + cos(c * 0.04) +
                       1e-4 * (double)(sk_sample_next(&s) >> 50) / 16384);
        land[i] = (r / 9 + c / 7) % 3 ? y[i] : 9.96921e36f;
    }
    double open = ratio("predict", &sea, y);
    assert_true(ratio("predict", &sea, land) > open);
    free(y);
    free(land);
}

/* Noise that is whole numbers takes what the noise takes, whether floating point has room for more at their size or not; small counts and
 * decimals are predicted as the whole numbers that they are coded as. */
static void whole_numbers_are_seen_as_such(void **state)
{
    enum { N = 1 << 16 };
    struct sk_array f32 = {SAIKAI_F32, 1, {N}}, f64 = {SAIKAI_F64, 2, {256, N / 256}};
    float *x = malloc(N * sizeof *x);
    double *y = malloc(N * sizeof *y);
    uint64_t s = 11;
    for (int i = 0; i < N; i++) {
        int noise = (int)(sk_sample_next(&s) >> 60) + (int)(sk_sample_next(&s) >> 60); /* 4.5 bits; of a difference 5 */
        x[i] = (float)(300 + 1000 * (i / 64 % 2) + noise);
        int zeros = 0;
        while (zeros < 12 && sk_sample_next(&s) >> 62)
            zeros++;
        y[i] = zeros; /* counts, 3.1 bits */
    }
    double noisy = ratio("predict", &f32, x), counts = ratio("predict", &f64, y);
    if (noisy < 32 / 5.9 || counts < 64 / 4.2)
        fail_msg("ratios %.2f, %.2f", noisy, counts);
    /* a slow line in few steps: each value is frequent, none is missing data */
    for (int i = 0; i < N; i++)
        x[i] = (float)lrint(100 + 10 * sin(2e-3 * i) + ((int)(sk_sample_next(&s) >> 62) + (int)(sk_sample_next(&s) >> 62)));
    double few = ratio("predict", &f32, x);
    if (few < 32 / 3.0)
        fail_msg("ratio %.2f", few);
    free(x);
    free(y);
}

static void gunzip_reads_gzip(void **state)
{
    struct sk_array a = {SAIKAI_F64, 2, {100, 100}};
    char path[] = "/tmp/saikai-gzip-XXXXXX", command[200];
    int fd = mkstemp(path);
    void *x = malloc(sk_array_size_bytes(&a));
    if (system("gunzip --version > /dev/null 2>&1"))
        skip();
    sk_sample_fill(0, &a, x, 1);
    struct coded c = code("gzip", &a, x, 0);
    /* two members in a row, as several threads make them */
    for (int i = 0; i < 2; i++)
        assert_int_equal(sk_io_write(fd, path, c.data, c.n, NULL), 0);
    snprintf(command, sizeof command, "gunzip -c < %s > %s.out", path, path);
    assert_int_equal(system(command), 0);
    void *y = NULL;
    size_t n = 0;
    snprintf(command, sizeof command, "%s.out", path);
    assert_int_equal(sk_io_slurp(command, 1 << 20, &y, &n, NULL), 0);
    assert_int_equal(n, 2 * sk_array_size_bytes(&a));
    assert_memory_equal(x, y, n / 2);
    assert_memory_equal(x, (uint8_t *)y + n / 2, n / 2);
    unlink(path);
    unlink(command);
    close(fd);
    free(c.data);
    free(x);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_set_gives_the_same),
        cmocka_unit_test(every_packing_gives_the_same),
        cmocka_unit_test(flushed_denormals_change_nothing),
        cmocka_unit_test(buffers_may_lie_anywhere),
        cmocka_unit_test(nothing_grows_beyond_its_bound),
        cmocka_unit_test(levels_of_fpc_are_sizes_of_its_tables),
        cmocka_unit_test(structure_is_found),
        cmocka_unit_test(whole_numbers_are_seen_as_such),
        cmocka_unit_test(gunzip_reads_gzip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
