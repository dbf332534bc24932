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

static int from_buf(void *arg, uint64_t at, void *data, size_t n, struct saikai_error *err)
{
    (void)err;
    memcpy(data, ((const struct sk_buf *)arg)->data + at, n);
    return 0;
}

/* Where the header and the data of a piece begin. */
static void piece_at(struct sk_buf *b, int i, size_t *head, size_t *data)
{
    struct sk_frame_head h;
    struct sk_frame_piece p = {0};
    uint64_t at = 0, before = 0;
    assert_int_equal(sk_frame_get_head(from_buf, b, &at, b->len, &h, NULL), 0);
    for (; i >= 0; i--) {
        at += p.size;
        before = at;
        assert_int_equal(sk_frame_get_piece(from_buf, b, &at, b->len, h.form, &p, NULL), 0);
    }
    *head = (size_t)before;
    *data = (size_t)at;
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
    size_t head, at;
    piece_at(&b, 3, &head, &at);
    b.data[at + 5] ^= 4;
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "temp, piece 3 (rows 30 to 39)"));
    b.data[at + 5] ^= 4;
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), 0);
    assert_int_equal(sk_stream_decode_buf(b.data, b.len - 1, &a, y, 2, "temp", &err),
                     SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "truncated"));
    b.data[head] ^= 2; /* the piece's size: the walk goes astray there */
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &a, y, 2, "temp", &err), SAIKAI_EDAMAGED);
    b.data[head] ^= 2;
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

/* The frame says of its first piece that it holds other values than it does, and all else fits: as where a decoder computes wrongly. */
static void expect_other_values(struct sk_buf *b)
{
    struct sk_frame_head h;
    struct sk_frame_piece p;
    uint8_t put[SK_FRAME_PIECE_MOST];
    uint64_t at = 0;
    assert_int_equal(sk_frame_get_head(from_buf, b, &at, b->len, &h, NULL), 0);
    uint64_t piece = at;
    assert_int_equal(sk_frame_get_piece(from_buf, b, &at, b->len, h.form, &p, NULL), 0);
    assert_true(p.has_content);
    p.content ^= 1;
    p.hash = sk_frame_piece_hash(&p, 0, b->data + at);
    assert_int_equal(sk_frame_put_piece(put, &p, h.form), at - piece);
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

/* A frame of this form as it was first written, of a piece by the chain and a raw one: it is read for ever. */
static void the_first_frames_without_loss_are_read(void **unused)
{
    static const uint8_t kept[] = {
        0x53, 0x4b, 0x53, 0x33, 0x09, 0x01, 0x30, 0x03, 0x66, 0x70, 0x63, 0x60, 0x02, 0x4a, 0x47, 0xd2, 0xf7, 0x96, 0x01, 0xe1,
        0xb4, 0x02, 0x30, 0x7e, 0x8b, 0x30, 0xf5, 0xcb, 0xbb, 0x13, 0xcc, 0x00, 0x22, 0x1e, 0x95, 0x0a, 0x90, 0x99, 0x29, 0x21,
        0x22, 0xaa, 0x11, 0x91, 0x2a, 0x11, 0x92, 0xaa, 0x00, 0x00, 0x7a, 0x44, 0x00, 0x50, 0x06, 0x00, 0x10, 0x07, 0x00, 0x90,
        0x01, 0x00, 0xd0, 0x01, 0x00, 0xd0, 0x00, 0x90, 0x06, 0x00, 0x10, 0x00, 0xd0, 0x00, 0x10, 0x00, 0x10, 0x00, 0x90, 0x00,
        0xd0, 0x06, 0x00, 0xd0, 0x06, 0x00, 0x00, 0x06, 0x00, 0x10, 0x01, 0x00, 0x50, 0x00, 0x50, 0x00, 0x10, 0x01, 0x00, 0x90,
        0x07, 0x00, 0x40, 0x00, 0xd0, 0x06, 0x00, 0x90, 0x00, 0x10, 0xc1, 0x01, 0xbe, 0xc8, 0xb9, 0xdd, 0x73, 0x17, 0xb8, 0x12,
        0xda, 0x64, 0x60, 0x4b, 0x55, 0x73, 0xcb, 0x49, 0x3a, 0xe3, 0xc4, 0x4a, 0xa1, 0xaf, 0xb1, 0x49, 0x1e, 0x36, 0x7c, 0x4a,
        0xad, 0xb6, 0x9d, 0x49, 0x67, 0x84, 0x39, 0x4a, 0x01, 0xc7, 0x8d, 0x49, 0x19, 0xb8, 0x12, 0x4a, 0x23, 0xc4, 0x80, 0x49,
        0x3d, 0xaf, 0xf2, 0x49, 0x92, 0x8a, 0x83, 0x4b, 0x1a, 0xe6, 0xce, 0x49, 0x4f, 0x77, 0xd2, 0x4a, 0x87, 0x4f, 0xb4, 0x49,
        0x92, 0x8a, 0x83, 0x4a, 0x24, 0xc7, 0x9f, 0x49, 0x31, 0x55, 0x3f, 0x4a, 0x81, 0x71, 0x8f, 0x49, 0x39, 0x55, 0x16, 0x4a,
        0x91, 0x23, 0x82, 0x49, 0x6d, 0x9b, 0xf7, 0x49, 0x1b, 0xf2, 0x9e, 0x4b, 0x4f, 0x77, 0xd2, 0x49};
    const struct sk_array a = {SAIKAI_F32, 1, {48}};
    struct sk_stream_info info;
    float x[48];
    (void)unused;
    assert_int_equal(sk_stream_info_buf(kept, sizeof kept, &info, NULL), 0);
    assert_string_equal(info.chain, "fpc");
    assert_int_equal(info.pieces, 2);
    assert_int_equal(info.raw_pieces, 1);
    assert_int_equal(sk_stream_decode_buf(kept, sizeof kept, &a, x, 1, NULL, NULL), 0);
    for (int i = 0; i < 48; i++)
        assert_true(x[i] == (i < 24 ? 1000 + (float)(i * i * 37 % 64) * 0.25f : 1e9f / (float)(1 + i * 1000003 % 977)));
}

static size_t bytes_of_predict(const struct sk_array *a, const void *x)
{
    struct sk_chain c;
    uint8_t out[1 << 17];
    size_t made = 0;
    assert_int_equal(sk_chain_parse("predict", &c, NULL), 0);
    assert_true(sk_chain_max_encoded(&c, a) <= sizeof out);
    assert_int_equal(sk_chain_encode(&c, a, x, NULL, out, sizeof out, &made, NULL), 0);
    return made;
}

/* Few bytes are left of an axis, or of a small array: the frame is not to be most of them. It says the same as ever, of pieces kept raw too. */
static void a_frame_without_loss_is_short(void **state)
{
    const struct sk_array arrays[] = {{SAIKAI_F64, 2, {100, 128}}, {SAIKAI_I32, 0, {0}}, {SAIKAI_U8, 1, {40}}, {SAIKAI_U8, 0, {40}}, {SAIKAI_F32, 3, {5, 0, 3}}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const struct sk_array *a = &arrays[i];
        const size_t n = sk_array_size_bytes(a);
        double x[100 * 128], y[100 * 128];
        struct sk_buf b = {0};
        struct sk_stream_info made, read;
        for (size_t k = 0; k < sizeof x / sizeof *x; k++)
            x[k] = (double)k;
        struct sk_stream_options opt = {.threads = 1, .codec.bound = {SK_BOUND_REL, 1e-3}};
        assert_int_equal(sk_stream_encode_buf("predict", a, x, &opt, &b, &made, NULL), 0);
        assert_int_equal(sk_stream_info_buf(b.data, b.len, &read, NULL), 0);
        assert_int_equal(read.encoded_bytes, b.len);
        assert_int_equal(read.raw_pieces, made.raw_pieces);
        assert_int_equal(read.bound.kind, SK_BOUND_NONE);
        assert_true(read.max_error == 0);
        assert_memory_equal(b.data, a->ndims || a->type != SAIKAI_U8 ? "SKS3" : "SKS1", 4);
        assert_true(b.len <= bytes_of_predict(a, x) + (a->ndims || a->type != SAIKAI_U8 ? 48 : 92));
        assert_int_equal(sk_stream_decode_buf(b.data, b.len, a, y, 1, NULL, NULL), 0);
        assert_memory_equal(x, y, n);
        sk_buf_free(&b);
    }
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

/* Of no values, or of a few that are kept exactly, the frame tells no bound: it is not to be the larger for it. */
static void few_values_are_not_larger_for_a_bound(void **unused)
{
    (void)unused;
    float x[64], back[64];
    uint64_t s = 3;
    for (size_t i = 0; i < 64; i++)
        x[i] = (float)(sk_sample_next(&s) >> 40) * 1e-7f;
    for (size_t n = 0; n <= 64; n += n < 4 ? 1 : 7) {
        const struct sk_array a = {.type = SAIKAI_F32, .ndims = 1, .dims = {n}};
        struct sk_stream_options exact = {.threads = 1}, bounded = {.codec.bound = {SK_BOUND_REL, 1e-9}, .threads = 2, .verify = 1};
        struct sk_buf without = {0}, with = {0};
        struct sk_stream_info made, read;
        assert_int_equal(sk_stream_encode_buf("predict", &a, x, &exact, &without, NULL, NULL), 0);
        assert_int_equal(sk_stream_encode_buf("wavelet", &a, x, &bounded, &with, &made, NULL), 0);
        if (with.len > without.len)
            fail_msg("%zu values: %zu bytes with a bound, %zu without", n, with.len, without.len);
        assert_int_equal(sk_stream_info_buf(with.data, with.len, &read, NULL), 0);
        assert_int_equal(made.encoded_bytes, with.len);
        assert_int_equal(read.raw_pieces, made.raw_pieces);
        assert_string_equal(read.chain, made.chain);
        assert_int_equal(sk_stream_decode_buf(with.data, with.len, &a, back, 1, NULL, NULL), 0);
        assert_memory_equal(back, x, n * sizeof *x);
        sk_buf_free(&without);
        sk_buf_free(&with);
    }
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
    assert_int_equal(info.encoded_bytes, y.len);
    assert_string_equal(info.chain, "predict");
    assert_int_equal(info.bound.kind, SK_BOUND_NONE);
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
        cmocka_unit_test(a_frame_without_loss_is_short),
        cmocka_unit_test(the_first_frames_without_loss_are_read),
        cmocka_unit_test(a_frame_says_what_it_is),
        cmocka_unit_test(a_full_sink_ends_it),
        cmocka_unit_test(bare_gzip_is_a_gzip_file),
        cmocka_unit_test(chains_are_resolved_by_name),
        cmocka_unit_test(never_larger_than_lossless),
        cmocka_unit_test(few_values_are_not_larger_for_a_bound),
        cmocka_unit_test(a_rough_part_says_nothing_of_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
