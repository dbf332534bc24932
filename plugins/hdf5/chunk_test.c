#include "chunk.h"

#include "base/io.h"
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
        cmocka_unit_test(write_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
