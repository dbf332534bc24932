/* Memory that a library of compression lacks is told as lack of memory, and what it was to give back is never called damaged for that. */
#define NO_MEMORY_OF_LIBRARIES
#include "base/host/no_memory_testing.h"

#include "codec/array.h"
#include "codec/general/general.h"
#include "codec/lossless/lossless.h"
#include "codec/wavelet/exact.h"

enum { BYTES = 40000 };

static uint8_t data[BYTES], before[BYTES], packed[2 * BYTES], back[BYTES];

/* Words that stood before, and something between them, so that nothing is stored as it is. */
static void fill(void)
{
    uint32_t seed = 7;
    for (size_t i = 0; i < BYTES; i++)
        before[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = i % 500 < 400 ? before[BYTES - 400 - i / 500 % 7 * 400 + i % 500] : (uint8_t)(i / 500);
}

struct task {
    int backend;              /* the general compressor */
    int after;                /* 1: it comes after other bytes */
    const struct sk_codec_ops *codec; /* or this codec */
    size_t n;
};

static const struct sk_array array = {SAIKAI_U8, 1, {BYTES}};

static int unpack(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    struct sk_packer packer = {0};
    memset(back, 0xa5, BYTES);
    if (t->codec)
        return t->codec->decode(&array, packed, t->n, back, err);
    packer.before = t->after ? before : NULL;
    packer.before_bytes = t->after ? BYTES : 0;
    int rc = sk_unpack(&packer, t->backend, packed, t->n, back, BYTES, err);
    sk_packer_free(&packer);
    return rc;
}

static void it_is_as_it_was(void *arg)
{
    (void)arg;
    assert_memory_equal(back, data, BYTES);
}

static void streams_are_not_damaged_for_want_of_memory(void **state)
{
    (void)state;
    static const struct {
        int backend, after;
    } ways[] = {{SK_BACKEND_ZSTD, 0}, {SK_BACKEND_ZSTD, 1}, {SK_BACKEND_GZIP, 0}, {SK_BACKEND_LZMA, 0}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways && NO_MEMORY_HERE; i++) {
        struct task t = {ways[i].backend, ways[i].after, NULL, 0};
        struct sk_packer packer = {.before = t.after ? before : NULL, .before_bytes = t.after ? BYTES : 0};
        if (sk_backend_here(t.backend) < 0)
            continue;
        assert_int_equal(sk_pack(&packer, &t.backend, 0, data, BYTES, packed, &t.n, NULL), 0);
        sk_packer_free(&packer);
        assert_int_equal(t.backend, t.after ? SK_BACKEND_ZSTD_AFTER : ways[i].backend);
        if (!no_memory_sweep(unpack, it_is_as_it_was, NULL, &t))
            fail_msg("way %zu asks for no memory", i);
    }
}

static void arrays_are_not_damaged_for_want_of_memory(void **state)
{
    (void)state;
    static const struct sk_codec_ops *const codecs[] = {
#ifdef HAVE_ZSTD
        &sk_codec_zstd,
#endif
#ifdef HAVE_LZMA
        &sk_codec_lzma,
#endif
#if defined(HAVE_DEFLATE) || defined(HAVE_ZLIB)
        &sk_codec_gzip,
#endif
        NULL};
    for (size_t i = 0; codecs[i] && NO_MEMORY_HERE; i++) {
        struct task t = {.codec = codecs[i]};
        assert_int_equal(t.codec->encode(&array, data, NULL, packed, sizeof packed, &t.n, NULL), 0);
        if (!no_memory_sweep(unpack, it_is_as_it_was, NULL, &t))
            fail_msg("%s asks for no memory", t.codec->name);
    }
}

/* Bytes of a piece that is kept exactly, plane by plane. */
static int exact(void *arg, struct saikai_error *err)
{
    const struct sk_buf *b = arg;
    return sk_exact_get(b->data, b->len, back, BYTES / 8, 8, err);
}

static void exact_pieces_are_not_damaged_for_want_of_memory(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    assert_int_equal(sk_exact_put(&b, data, BYTES / 8, 8, NULL), 0);
    if (NO_MEMORY_HERE && b.len < BYTES && !no_memory_sweep(exact, it_is_as_it_was, NULL, &b))
        fail_msg("it asks for no memory");
    sk_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_not_damaged_for_want_of_memory),
        cmocka_unit_test(arrays_are_not_damaged_for_want_of_memory),
        cmocka_unit_test(exact_pieces_are_not_damaged_for_want_of_memory),
    };
    if (!NO_MEMORY_HERE)
        return 77;
    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
