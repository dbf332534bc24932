/* Streams of every codec bring every bit back for any number of threads, damage names its piece, a
 * sink that fails ends it, and a bound never makes more bytes than no bound. */
#include "codec/stream.h"

#include "base/types.h"
#include "codec/samples.h"
#include "codec/array.h"
#include "codec/frame.h"

#include <stdarg.h>
#include <math.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

static const struct sk_array shapes[] = {
    {SAIKAI_F64, 3, {9, 20, 31}}, {SAIKAI_F32, 2, {301, 17}},    {SAIKAI_F64, 1, {20011}},
    {SAIKAI_U8, 0, {12345}},      {SAIKAI_I16, 2, {3, 5000}},    {SAIKAI_I32, 3, {2, 2, 4001}},
    {SAIKAI_C64, 2, {40, 50}},    {SAIKAI_C128, 1, {1111}},      {SAIKAI_U64, 1, {1}},
    {SAIKAI_F64, 2, {0, 7}},      {SAIKAI_F32, 4, {3, 4, 5, 6}}, {SAIKAI_F64, 0, {0}},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static int encode(const char *chain, const struct sk_array *a, const void *x, int threads,
                  size_t piece, struct sk_buf *out)
{
    struct sk_stream_options opt = {
        .threads = threads, .piece_bytes = piece, .verify = 1, .what = "T"};
    struct saikai_error err = {0};
    int rc = sk_stream_encode_buf(chain, a, x, &opt, out, NULL, &err);
    if (rc)
        print_message("%s: %s\n", chain, err.text);
    return rc;
}

static void every_codec_brings_every_bit_back(void **state)
{
    for (size_t s = 0; s < SHAPES; s++)
        for (int kind = 0; kind < sk_sample_kinds(); kind++) {
            size_t n = sk_array_size_bytes(&shapes[s]);
            uint8_t *x = malloc(n + 1), *y = malloc(n + 1);
            sk_sample_fill(kind, &shapes[s], x, s + 1);
            for (int c = 0; sk_codec_at(c); c++) {
                struct sk_buf b = {0};
                if (sk_codec_at(c)->lossy || !(sk_codec_at(c)->types >> shapes[s].type & 1))
                    continue;
                assert_int_equal(encode(sk_codec_at(c)->name, &shapes[s], x, 1, 16384, &b), 0);
                assert_true(b.len <= sk_stream_max_encoded(
                                         sk_codec_at(c)->name, &shapes[s],
                                         &(struct sk_stream_options){.piece_bytes = 16384}));
                memset(y, 0x55, n + 1);
                struct saikai_error err = {0};
                int rc = sk_stream_decode_buf(b.data, b.len, &shapes[s], y, 1, "T", &err);
                if (rc)
                    print_message("%s\n", err.text);
                assert_int_equal(rc, 0);
                if (memcmp(x, y, n))
                    print_message("%s, %s, shape %zu\n", sk_codec_at(c)->name, sk_sample_name(kind),
                                  s);
                assert_int_equal(memcmp(x, y, n), 0);
                assert_int_equal(y[n], 0x55);
                sk_buf_free(&b);
            }
            free(x);
            free(y);
        }
}

static void threads_do_not_change_a_byte(void **state)
{
    struct sk_array a = {SAIKAI_F64, 2, {1000, 64}};
    size_t n = sk_array_size_bytes(&a);
    void *x = malloc(n), *y = malloc(n);
    struct sk_buf one = {0}, some = {0};
    sk_sample_fill(1, &a, x, 1);
    assert_int_equal(encode("gzip", &a, x, 1, 8192, &one), 0);
    for (int threads = 2; threads < 6; threads++) {
        some.len = 0;
        assert_int_equal(encode("gzip", &a, x, threads, 8192, &some), 0);
        assert_int_equal(some.len, one.len);
        assert_memory_equal(some.data, one.data, one.len);
        memset(y, 0, n);
        assert_int_equal(sk_stream_decode_buf(some.data, some.len, &a, y, threads, "T", NULL), 0);
        assert_memory_equal(x, y, n);
    }
    sk_buf_free(&one);
    sk_buf_free(&some);
    free(x);
    free(y);
}

/* Where the data of piece i begins. */
static size_t piece_at(const struct sk_buf *b, size_t head, int i)
{
    size_t at = head;
    for (; i; i--) {
        uint64_t word;
        memcpy(&word, b->data + at, 8);
        at += 24 + (size_t)(word & 0xffffffffffffff);
    }
    return at + 24;
}

static void damage_names_the_piece(void **state)
{
    struct sk_array a = {SAIKAI_F64, 2, {100, 128}};
    size_t n = sk_array_size_bytes(&a);
    void *x = malloc(n), *y = malloc(n);
    struct sk_buf b = {0};
    struct saikai_error err;
    sk_sample_fill(0, &a, x, 1);
    assert_int_equal(encode("gzip", &a, x, 2, 10 * 1024, &b), 0);
    size_t head = 4 + 4 + 16 + 17 + 2 + strlen("gzip") + 24;
    size_t at = piece_at(&b, head, 3);
    b.data[at + 5] ^= 4;
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "temp, piece 3 (rows 30 to 39)"));
    b.data[at + 5] ^= 4;
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), 0);
    assert_int_equal(sk_stream_decode_buf(b.data, b.len - 1, &a, y, 2, "temp", &err),
                     SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "truncated"));
    b.data[at - 24] ^= 1; /* the piece's size: the walk goes astray there */
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), SAIKAI_EDAMAGED);
    b.data[at - 24] ^= 1;
    b.data[9] ^= 1;
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), SAIKAI_EDAMAGED);
    b.data[9] ^= 1;
    b.data[0] ^= 1;
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), SAIKAI_EFORMAT);
    b.data[0] ^= 1;
    a.dims[0]--;
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), SAIKAI_ECHANGED);
    sk_buf_free(&b);
    free(x);
    free(y);
}

static int from_buf(void *arg, uint64_t at, void *data, size_t n, struct saikai_error *err)
{
    (void)err;
    memcpy(data, ((const struct sk_buf *)arg)->data + at, n);
    return 0;
}

/* The frame says of its first piece that it holds other values than it does, and all else fits: as where a decoder computes wrongly. */
static void expect_other_values(struct sk_buf *b)
{
    struct sk_frame_head h;
    struct sk_frame_piece p;
    uint8_t put[SK_FRAME_PIECE_MOST];
    uint64_t at = 0;
    assert_int_equal(sk_frame_get_head(from_buf, b, &at, b->len, &h, NULL), 0);
    uint64_t piece = at;
    assert_int_equal(sk_frame_get_piece(from_buf, b, &at, b->len, h.is_short, &p, NULL), 0);
    assert_true(p.has_content);
    p.content ^= 1;
    p.hash = sk_frame_piece_hash(&p, 0, b->data + at);
    assert_int_equal(sk_frame_put_piece(put, &p, h.is_short), at - piece);
    memcpy(b->data + piece, put, (size_t)(at - piece));
}

/* Bytes that are whole are no proof of the values that are made of them. */
static void values_are_held_against_their_checksum(void **state)
{
    static const char *const chains[] = {"gzip", "predict", "shuffle+zstd"};
    struct sk_array a = {SAIKAI_F64, 2, {100, 128}};
    size_t n = sk_array_size_bytes(&a);
    void *x = malloc(n), *y = malloc(n);
    sk_sample_fill(0, &a, x, 1);
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct sk_buf b = {0};
        struct saikai_error err;
        assert_int_equal(encode(chains[i], &a, x, 2, 10 * 1024, &b), 0);
        assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), 0);
        expect_other_values(&b);
        assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), SAIKAI_EDAMAGED);
        assert_non_null(strstr(err.text, "temp, piece 0"));
        assert_non_null(strstr(err.text, chains[i]));
        assert_non_null(strstr(err.text, "computes wrongly"));
        sk_buf_free(&b);
    }
    free(x);
    free(y);
}

static void a_frame_says_what_it_is(void **state)
{
    struct sk_array a = {SAIKAI_I32, 2, {300, 100}};
    size_t n = sk_array_size_bytes(&a);
    void *x = malloc(n);
    struct sk_buf b = {0};
    struct sk_stream_info made, read;
    struct sk_stream_options opt = {.threads = 2, .piece_bytes = 8000};
    sk_sample_fill(8, &a, x, 1);
    assert_int_equal(sk_stream_encode_buf("gzip:1+raw", &a, x, &opt, &b, &made, NULL), 0);
    sk_buf_put(&b, "tail", 4);
    assert_int_equal(sk_stream_info_buf(b.data, b.len, &read, NULL), 0);
    assert_int_equal(read.encoded_bytes, b.len - 4);
    assert_int_equal(made.encoded_bytes, b.len - 4);
    assert_int_equal(read.raw_bytes, n);
    assert_int_equal(read.pieces, 15);
    assert_int_equal(read.raw_pieces, 15); /* random bits: nothing gets smaller */
    assert_string_equal(read.chain, "gzip+raw");
    assert_int_equal(read.array.dims[1], 100);
    sk_buf_free(&b);
    free(x);
}

static void bare_gzip_is_a_gzip_file(void **state)
{
    struct sk_array a = {SAIKAI_F64, 2, {100, 128}};
    size_t n = sk_array_size_bytes(&a);
    void *x = malloc(n), *y = malloc(n);
    for (int kind = 0; kind < 9; kind += 8) {
        struct sk_buf b = {0};
        struct sk_stream_info info;
        struct sk_stream_options opt = {.threads = 3, .piece_bytes = 10 * 1024, .bare = 1};
        sk_sample_fill(kind, &a, x, 1);
        assert_int_equal(sk_stream_encode_buf("gzip", &a, x, &opt, &b, &info, NULL), 0);
        assert_int_equal(info.encoded_bytes, b.len);
        assert_true(info.pieces > 3);
        /* the codec takes members one after the other, as gunzip does (lossless_test) */
        assert_int_equal(sk_codec_find("gzip")->decode(&a, b.data, b.len, y, NULL), 0);
        assert_memory_equal(x, y, n);
        sk_buf_free(&b);
    }
    free(x);
    free(y);
}

static int failing_sink(void *arg, const void *data, size_t n, struct saikai_error *err)
{
    return --*(int *)arg ? 0 : sk_fail(err, SAIKAI_ENOSPC, "the disk is full");
}

static void a_full_sink_ends_it(void **state)
{
    struct sk_array a = {SAIKAI_F64, 1, {50000}};
    void *x = calloc(50000, 8);
    for (int threads = 1; threads < 4; threads++)
        for (int left = 1; left < 12; left++) {
            struct sk_stream_options opt = {.threads = threads, .piece_bytes = 8192};
            struct saikai_error err = {0};
            int n = left;
            assert_int_equal(sk_stream_encode("gzip", &a, x, &opt, failing_sink, &n, NULL, &err),
                             SAIKAI_ENOSPC);
            assert_string_equal(err.text, "the disk is full");
        }
    free(x);
}

static void chains_are_resolved_by_name(void **state)
{
    struct sk_chain c;
    struct saikai_error err;
    assert_int_equal(sk_chain_parse("gzip:9+raw", &c, NULL), 0);
    assert_int_equal(c.n, 2);
    assert_int_equal(c.level[0], 9);
    assert_string_equal(c.name, "gzip+raw");
    assert_int_equal(sk_chain_parse("gzip+nonsense", &c, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "'nonsense'"));
    assert_non_null(strstr(err.text, "raw"));
    assert_int_equal(sk_chain_parse("", &c, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_chain_parse("raw+", &c, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_chain_parse("raw:x", &c, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_chain_parse("raw+raw+raw+raw+raw", &c, &err), SAIKAI_EINVAL);
}

/* A bound so fine that losing digits does not pay: whole numbers are kept exactly. */
static void never_larger_than_lossless(void **unused)
{
    struct sk_array a = {.type = SAIKAI_F32, .ndims = 2, .dims = {512, 512}};
    size_t n = 512 * 512;
    float *in = malloc(n * sizeof *in), *back = malloc(n * sizeof *in);
    assert_true(in && back);
    for (size_t i = 0; i < n; i++)
        in[i] = floorf(128 + 60 * sinf(0.02f * (float)(i % 512)) * cosf(0.03f * (float)(i / 512))) +
                (float)((i * 2654435761u) >> 13 & 1);
    struct sk_stream_options exact = {.threads = 1}, bounded = {.codec.bound = {SK_BOUND_REL, 1e-6},
                                                                .threads = 1,
                                                                .verify = 1};
    struct sk_buf x = {0}, y = {0};
    struct sk_stream_info info;
    assert_int_equal(sk_stream_encode_buf("predict", &a, in, &exact, &x, NULL, NULL), 0);
    assert_int_equal(sk_stream_encode_buf("wavelet", &a, in, &bounded, &y, &info, NULL), 0);
    assert_true(y.len <= x.len);
    assert_true(info.max_error == 0);
    assert_int_equal(sk_stream_decode_buf(y.data, y.len, &a, back, 1, NULL, NULL), 0);
    assert_memory_equal(in, back, n * sizeof *in);
    expect_other_values(&y);
    assert_int_equal(sk_stream_decode_buf(y.data, y.len, &a, back, 1, NULL, NULL), SAIKAI_EDAMAGED);
    sk_buf_free(&x);
    sk_buf_free(&y);
    free(in);
    free(back);
}

/* Whole numbers around some noise, which lies in the middle or comes again and again: what is looked at is all over the array. */
static void a_rough_part_says_nothing_of_the_others(void **unused)
{
    enum { N = 1024 * 1024 };
    const struct sk_array a = {.type = SAIKAI_F64, .ndims = 2, .dims = {1024, 1024}};
    const struct sk_stream_options exact = {.threads = 1}, bounded = {.codec.bound = {SK_BOUND_REL, 1e-6}, .threads = 1};
    double *in = malloc(N * sizeof *in);
    assert_true(in != NULL);
    for (int often = 0; often < 2; often++) {
        struct sk_buf x = {0}, y = {0};
        uint64_t state = 3;
        for (size_t i = 0; i < N; i++) {
            double v = 256 * (double)(sk_sample_next(&state) >> 11) * 0x1p-53;
            int rough = often ? i % (N / 16) < N / 256 : i > N * 15 / 32 && i < N * 17 / 32;
            in[i] = rough ? v : floor(v);
        }
        assert_int_equal(sk_stream_encode_buf("predict", &a, in, &exact, &x, NULL, NULL), 0);
        assert_int_equal(sk_stream_encode_buf("wavelet", &a, in, &bounded, &y, NULL, NULL), 0);
        if (y.len > x.len + x.len / 8)
            fail_msg("%s: %zu bytes, and without a bound %zu", often ? "often" : "in the middle", y.len, x.len);
        sk_buf_free(&x);
        sk_buf_free(&y);
    }
    free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_codec_brings_every_bit_back),
        cmocka_unit_test(threads_do_not_change_a_byte),
        cmocka_unit_test(damage_names_the_piece),
        cmocka_unit_test(values_are_held_against_their_checksum),
        cmocka_unit_test(a_frame_says_what_it_is),
        cmocka_unit_test(a_full_sink_ends_it),
        cmocka_unit_test(bare_gzip_is_a_gzip_file),
        cmocka_unit_test(chains_are_resolved_by_name),
        cmocka_unit_test(never_larger_than_lossless),
        cmocka_unit_test(a_rough_part_says_nothing_of_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
