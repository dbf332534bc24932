/* Chunks come back through their frame and name their codec, damage at any byte is noticed, and
 * padding does not count for relative bounds. */
#include "chunk.h"
#include "valid.h"

#include "base/file/io.h"
#include "base/types.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct sk_array shape = {SAIKAI_F64, 3, {5, 9, 13}};
enum { N = 5 * 9 * 13 };

static void smooth(double *x)
{
    for (int i = 0; i < N; i++)
        x[i] = sin(i * 0.01);
}

static void chunks_come_back_and_name_their_codec(void **state)
{
    double x[N];
    void *chunk, *back;
    size_t n;
    smooth(x);
    for (int i = 0; sk_codec_at(i); i++) {
        const struct sk_codec_ops *ops = sk_codec_at(i);
        if (ops->lossy || !(ops->types >> SAIKAI_F64 & 1))
            continue;
        struct sk_codec_options opt = {0};
        assert_int_equal(chunk_encode(ops->name, &shape, x, &opt, &chunk, &n, NULL), 0);
        assert_int_equal(chunk_decode(&shape, chunk, n, &back, NULL), 0);
        assert_memory_equal(back, x, sizeof x);
        free(back);
        free(chunk);
    }
}

static void what_a_codec_cannot_do_is_kept_raw(void **state)
{
    uint64_t noise[N], s = 88172645463325252u;
    struct sk_codec_options bound = {.bound = {SK_BOUND_REL, 1e-3}};
    void *chunk, *back;
    size_t n;
    for (int i = 0; i < N; i++)
        noise[i] = s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    assert_int_equal(chunk_encode("gzip", &shape, noise, &bound, &chunk, &n, NULL), 0);
    assert_memory_equal((char *)chunk + 24, "raw", 3);
    assert_int_equal(chunk_decode(&shape, chunk, n, &back, NULL), 0);
    assert_memory_equal(back, noise, sizeof noise);
    free(back);
    free(chunk);
    assert_int_equal(chunk_encode("haar", &shape, noise, &bound, &chunk, &n, NULL), 0);
    assert_memory_equal((char *)chunk + 24, "raw", 3);
    free(chunk);
    assert_int_equal(chunk_encode("nonesuch", &shape, noise, &bound, &chunk, &n, NULL),
                     SAIKAI_EINVAL);
}

static void every_damaged_byte_and_cut_is_noticed(void **state)
{
    double x[N];
    uint8_t *chunk;
    void *back;
    size_t n;
    struct sk_codec_options opt = {0};
    smooth(x);
    assert_int_equal(chunk_encode("gzip", &shape, x, &opt, (void **)&chunk, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(chunk_decode(&shape, chunk, i, &back, NULL), SAIKAI_EDAMAGED);
        chunk[i] ^= 0x10;
        assert_int_equal(chunk_decode(&shape, chunk, n, &back, NULL), SAIKAI_EDAMAGED);
        chunk[i] ^= 0x10;
    }
    free(chunk);
}

/* A box of values in a corner of a chunk, the rest filled. */
static void padding_does_not_count(void **state)
{
    struct sk_array a = {SAIKAI_F32, 3, {4, 6, 7}};
    size_t extent[SAIKAI_MAX_DIMS], n;
    float x[4 * 6 * 7];
    for (size_t nz = 1; nz <= 4; nz++)
        for (size_t ny = 1; ny <= 6; ny++)
            for (size_t nx = 1; nx <= 7; nx++) {
                for (size_t i = 0; i < 4 * 6 * 7; i++) {
                    size_t z = i / 42, y = i / 7 % 6, c = i % 7;
                    x[i] = z < nz && y < ny && c < nx ? 300 + (float)(i % 5) : -9999;
                }
                x[0] = 299;
                chunk_valid_box(&a, x, extent);
                assert_int_equal(extent[0], nz);
                assert_int_equal(extent[1], ny);
                assert_int_equal(extent[2], nx);
                double range = chunk_valid_range(&a, x, &n);
                assert_int_equal(n, nz * ny * nx);
                assert_true(range <= 5);
            }
    for (size_t i = 0; i < 4 * 6 * 7; i++)
        x[i] = NAN;
    assert_true(chunk_valid_range(&a, x, &n) == 0);
    assert_int_equal(n, 1);
}

/* With SAIKAI_WRITE_CORPUS=DIR: the inputs that chunk_fuzz starts from. */
static void write_corpus(void **state)
{
    const char *dir = getenv("SAIKAI_WRITE_CORPUS");
    double x[N];
    if (!dir)
        skip();
    smooth(x);
    for (int i = 0; sk_codec_at(i); i++) {
        struct sk_codec_options opt = {0};
        const struct sk_codec_ops *ops = sk_codec_at(i);
        void *chunk;
        size_t n;
        char path[4096];
        uint8_t file[8192] = {SAIKAI_F64 - 1, 5, 9, 13};
        if (chunk_encode(ops->name, &shape, x, &opt, &chunk, &n, NULL))
            continue;
        memcpy(file + 4, chunk, n);
        snprintf(path, sizeof path, "%s/%s", dir, ops->name);
        assert_int_equal(sk_io_replace(path, file, n + 4, NULL), 0);
        free(chunk);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_come_back_and_name_their_codec),
        cmocka_unit_test(what_a_codec_cannot_do_is_kept_raw),
        cmocka_unit_test(every_damaged_byte_and_cut_is_noticed),
        cmocka_unit_test(padding_does_not_count),
        cmocka_unit_test(write_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
