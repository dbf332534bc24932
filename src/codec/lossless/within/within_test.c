/* Repeats far apart and few values: what is gained, that all comes back to the bit, and what of such a piece is refused. */
#include "codec/lossless/within/within.h"

#include "base/host/no_memory_testing.h"
#include "base/types.h"
#include "codec/array.h"
#include "codec/chooser.h"
#include "codec/lossless/lossless.h"
#include "codec/lossless/within/fold.h"
#include "codec/lossless/within/number.h"
#include "codec/samples.h"
#include "codec/stream.h"

#include <math.h>

static double noise(uint64_t *s)
{
    return (double)(sk_sample_next(s) >> 11) * 0x1p-53 - 0.5;
}

/* Bytes that are made of a piece, which comes back; its mode in *mode. */
static size_t made_of(const struct sk_array *a, const void *x, int *mode)
{
    const struct sk_codec_ops *c = &sk_codec_predict;
    struct saikai_error err = {0};
    size_t bytes = sk_array_size_bytes(a), room = c->max_encoded(a), made = 0;
    uint8_t *out = malloc(room), *back = malloc(bytes);
    if (c->encode(a, x, NULL, out, room, &made, &err) || c->decode(a, out, made, back, &err))
        fail_msg("%s", err.text);
    assert_memory_equal(x, back, bytes);
    *mode = out[0];
    free(out);
    free(back);
    return made;
}

/* ---- repeats ---- */

static void a_block_that_comes_again_costs_next_to_nothing(void **state)
{
    enum { BLOCK = 20000, BLOCKS = 6 };
    static const int types[] = {SAIKAI_F32, SAIKAI_F64, SAIKAI_C64, SAIKAI_C128};
    (void)state;
    for (int t = 0; t < 4; t++) {
        size_t each = sk_type_size(types[t]), words = BLOCK * each / (each % 8 ? 4 : 8);
        uint8_t *x = malloc(BLOCKS * BLOCK * each);
        uint64_t s = 9;
        int mode;
        for (size_t i = 0; i < words; i++)
            if (each % 8)
                ((float *)x)[i] = (float)noise(&s);
            else
                ((uint64_t *)x)[i] = types[t] == SAIKAI_C64 ? (sk_sample_next(&s) & 0x007fffff007fffff) | 0x3f8000003f000000 : (uint64_t)(noise(&s) * 0x1p60);
        for (int k = 1; k < BLOCKS; k++)
            memcpy(x + k * BLOCK * each, x, BLOCK * each);
        size_t one = made_of(&(struct sk_array){types[t], 1, {BLOCK}}, x, &mode), all = made_of(&(struct sk_array){types[t], 1, {BLOCKS * BLOCK}}, x, &mode);
        if (mode != SK_PIECE_FOLDED || all > one + one / 50 + 200)
            fail_msg("type %d: mode %d, a block takes %zu bytes, %d of them %zu", types[t], mode, one, BLOCKS, all);
        free(x);
    }
}

/* Rows of a field in an order by chance, some of them twice: what is left is a field, and predicted as one. */
static void what_is_left_keeps_its_rows(void **state)
{
    enum { ROWS = 96, ROW = 1000, KINDS = 48 };
    double *x = malloc(ROWS * ROW * sizeof *x), *once = malloc(KINDS * ROW * sizeof *once);
    uint64_t s = 4;
    int mode;
    (void)state;
    for (int r = 0; r < KINDS; r++)
        for (int i = 0; i < ROW; i++)
            once[r * ROW + i] = sin(0.01 * i + 0.05 * r) + 1e-9 * noise(&s);
    for (int r = 0; r < ROWS; r++)
        memcpy(x + r * ROW, once + (r < KINDS ? r : (int)(sk_sample_next(&s) % KINDS)) * ROW, ROW * sizeof *x);
    size_t least = made_of(&(struct sk_array){SAIKAI_F64, 2, {KINDS, ROW}}, once, &mode), got = made_of(&(struct sk_array){SAIKAI_F64, 2, {ROWS, ROW}}, x, &mode);
    if (mode != SK_PIECE_FOLDED || got > least + least / 20)
        fail_msg("mode %d: %zu bytes, and the rows once %zu", mode, got, least);
    free(x);
    free(once);
}

/* All places and lengths: repeats at odd distances, that go on in themselves, one after the other, at the begin and at the end. */
static void all_kinds_of_repeats_come_back(void **state)
{
    enum { N = 1 << 15 };
    float *x = malloc(N * sizeof *x);
    uint64_t s = 77;
    int folded = 0, mode;
    (void)state;
    for (int round = 0; round < 60; round++) {
        size_t at = 500 + sk_sample_next(&s) % 3000;
        for (size_t i = 0; i < at; i++)
            x[i] = (float)noise(&s);
        while (at < N) {
            size_t n = sk_sample_next(&s) % (round % 2 ? 5000 : 300) + 1, back = sk_sample_next(&s) % at + 1;
            n = n < N - at ? n : N - at;
            for (size_t i = 0; i < n; i++, at++)
                x[at] = sk_sample_next(&s) % 4000 ? x[at - back] : (float)noise(&s);
        }
        size_t n = round % 3 ? N : N - sk_sample_next(&s) % 100;
        made_of(&(struct sk_array){SAIKAI_F32, 1, {n}}, x, &mode);
        folded += mode == SK_PIECE_FOLDED;
    }
    if (folded < 30)
        fail_msg("folded %d of 60", folded);
    free(x);
}

/* Pieces are as large as repeats want them. */
static void repeats_beyond_a_piece_are_seen(void **state)
{
    enum { BLOCK = 200000, BLOCKS = 4 };
    struct sk_array a = {SAIKAI_F64, 1, {BLOCK * BLOCKS}};
    struct sk_stream_options cut = {.piece_bytes = 1 << 20};
    struct sk_stream_info info;
    struct sk_choice choice;
    double *x = malloc(sk_array_size_bytes(&a));
    struct sk_buf whole = {0}, pieces = {0};
    uint64_t s = 3;
    (void)state;
    for (int i = 0; i < BLOCK * BLOCKS; i++)
        x[i] = i < BLOCK ? noise(&s) : x[i - BLOCK];
    assert_int_equal(sk_stream_encode_buf("predict", &a, x, NULL, &whole, &info, NULL), 0);
    assert_int_equal(sk_stream_encode_buf("predict", &a, x, &cut, &pieces, NULL, NULL), 0);
    assert_true(info.pieces == 1);
    if (whole.len > pieces.len / 3)
        fail_msg("%zu bytes, and in pieces %zu", whole.len, pieces.len);
    assert_int_equal(sk_choose(&a, x, NULL, &choice, NULL), 0);
    assert_string_equal(choice.chain, "predict");
    /* what does not repeat is cut as ever */
    for (int i = 0; i < BLOCK * BLOCKS; i++)
        x[i] = noise(&s);
    sk_buf_free(&whole);
    assert_int_equal(sk_stream_encode_buf("predict", &a, x, NULL, &whole, &info, NULL), 0);
    assert_true(info.pieces > 1);
    sk_buf_free(&whole);
    sk_buf_free(&pieces);
    free(x);
}

/* A bound never makes more bytes than there are without one, also where a sample does not show what repeats. */
static void bounded_takes_no_more_than_lossless(void **state)
{
    enum { BLOCK = 40000, BLOCKS = 12, RECORDS = 5000, N = BLOCK * BLOCKS };
    struct sk_array a = {SAIKAI_F64, 1, {N}};
    struct sk_stream_options bounded = {.codec.bound = {SK_BOUND_REL, 1e-6}};
    double *x = malloc(sk_array_size_bytes(&a)), table[3 * RECORDS];
    uint64_t s = 21;
    (void)state;
    for (int i = 0; i < 3 * RECORDS; i++)
        table[i] = noise(&s);
    for (int records = 0; records < 2; records++) {
        struct sk_buf exact = {0}, near = {0};
        for (int i = 0; i < N; i++)
            if (!records)
                x[i] = i < BLOCK ? noise(&s) : x[i - BLOCK];
            else if (i % 3 == 0)
                memcpy(x + i, table + sk_sample_next(&s) % RECORDS * 3, 3 * sizeof *x);
        assert_int_equal(sk_stream_encode_buf("predict", &a, x, NULL, &exact, NULL, NULL), 0);
        assert_int_equal(sk_stream_encode_buf("wavelet", &a, x, &bounded, &near, NULL, NULL), 0);
        if (near.len > exact.len + 64)
            fail_msg("%s: %zu bytes, and without a bound %zu", records ? "records" : "blocks", near.len, exact.len);
        sk_buf_free(&exact);
        sk_buf_free(&near);
    }
    free(x);
}

/* ---- few values ---- */

/* kind k of a value; several bits of NaNs, both zeros, both infinities and numbers that are no grid. */
static double value(size_t k)
{
    static const uint64_t odd[] = {0x7ff8000000000000, 0x7ff8000000000001, 0xfff8dead00000000, 0x7ff0000000000000, 0xfff0000000000000, 0, 0x8000000000000000, 1, 0x8000000000000001};
    double v = sqrt((double)k) * (k % 2 ? -1 : 1);
    if (k < sizeof odd / sizeof *odd)
        memcpy(&v, &odd[k], sizeof v);
    return v;
}

static void few_values_take_as_few_bits_as_they_need(void **state)
{
    static const size_t counts[] = {2, 4, 9, 16, 200, 256, 257, 1000, 8000};
    enum { N = 1 << 17 };
    double *x = malloc(N * sizeof *x);
    float *y = malloc(N * sizeof *y);
    uint64_t s = 12;
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int narrow = 0; narrow < 2; narrow++) {
            int mode;
            for (size_t i = 0; i < N; i++) {
                x[i] = value(sk_sample_next(&s) % counts[c]);
                y[i] = (float)x[i];
            }
            struct sk_array a = {narrow ? SAIKAI_F32 : SAIKAI_F64, 2, {N / 512, 512}};
            double bits = 8.0 * (double)made_of(&a, narrow ? (void *)y : x, &mode) / N, noise_bits = log2((double)counts[c]), most = ceil(noise_bits) + 0.02 + 64.0 * (double)counts[c] / N;
            if (bits > most)
                fail_msg("%zu values of %d: mode %d, %.2f bits, and not %.2f", counts[c], narrow ? 4 : 8, mode, bits, most);
        }
    free(x);
    free(y);
}

/* Whole numbers that rounding made: many of the zeros are negative. */
static void a_negative_zero_among_whole_numbers_costs_little(void **state)
{
    enum { N = 1 << 17 };
    double *x = malloc(N * sizeof *x);
    uint64_t s = 5;
    int mode, negative = 0;
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = rint(20 * sin(1e-3 * i) + 2 * (noise(&s) + noise(&s)));
    size_t got = made_of(&(struct sk_array){SAIKAI_F64, 1, {N}}, x, &mode);
    for (int i = 0; i < N; i++) {
        negative += x[i] == 0 && signbit(x[i]);
        x[i] += 0.0; /* makes it a positive one */
    }
    size_t without = made_of(&(struct sk_array){SAIKAI_F64, 1, {N}}, x, &mode);
    assert_true(negative > N / 200);
    if (got > without + without / 8)
        fail_msg("%zu bytes, and without negative zeros %zu", got, without);
    free(x);
}

/* ---- small arrays ---- */

/* Nothing is read beside an array, however few values it has: the address sanitizer looks. */
static void arrays_of_any_length_come_back(void **state)
{
    uint64_t s = 31;
    (void)state;
    for (size_t n = 1; n < 400; n++)
        for (int narrow = 0; narrow < 2; narrow++) {
            int mode;
            void *x = malloc(n * (narrow ? 4 : 8));
            for (size_t i = 0; i < n; i++)
                if (narrow)
                    ((float *)x)[i] = (float)(i * i) + (float)(sk_sample_next(&s) % 3);
                else
                    ((double *)x)[i] = sin(0.01 * (double)i) + 1e-6 * noise(&s);
            made_of(&(struct sk_array){narrow ? SAIKAI_F32 : SAIKAI_F64, 1, {n}}, x, &mode);
            free(x);
        }
}

/* ---- damage, and memory that is out ---- */

struct task {
    struct sk_array a;
    double *x, *y;
    uint8_t *out;
    size_t made;
};

static int code(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    return sk_codec_predict.encode(&t->a, t->x, NULL, t->out, sk_codec_predict.max_encoded(&t->a), &t->made, err);
}

static int decode(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    return sk_codec_predict.decode(&t->a, t->out, t->made, t->y, err);
}

static void it_is_as_it_was(void *arg)
{
    struct task *t = arg;
    assert_memory_equal(t->x, t->y, sk_array_size_bytes(&t->a));
}

/* A piece of repeats whose rest has few values. */
static void begin(struct task *t)
{
    enum { ROWS = 40, ROW = 400 };
    uint64_t s = 8;
    *t = (struct task){.a = {SAIKAI_F64, 2, {ROWS, ROW}}};
    t->x = malloc(sk_array_size_bytes(&t->a));
    t->y = malloc(sk_array_size_bytes(&t->a));
    t->out = malloc(sk_codec_predict.max_encoded(&t->a));
    for (int i = 0; i < ROWS * ROW; i++)
        t->x[i] = i < ROWS * ROW / 2 ? value(sk_sample_next(&s) % 30) : t->x[i - ROWS * ROW / 2];
    assert_int_equal(code(t, NULL), 0);
    assert_int_equal(t->out[0], SK_PIECE_FOLDED);
}

static void end(struct task *t)
{
    free(t->x);
    free(t->y);
    free(t->out);
}

static void damage_is_told_or_fills_the_array(void **state)
{
    struct task t;
    (void)state;
    begin(&t);
    size_t whole = t.made;
    for (size_t i = 0; i < whole; i += i < 400 ? 1 : 37)
        for (int bit = 0; bit < 8; bit++) {
            t.out[i] ^= (uint8_t)(1 << bit);
            int rc = decode(&t, NULL);
            assert_true(!rc || rc == SAIKAI_EDAMAGED || rc == SAIKAI_ENOMEM);
            t.out[i] ^= (uint8_t)(1 << bit);
        }
    for (t.made = 0; t.made < whole; t.made += t.made < 200 ? 1 : 61)
        assert_int_equal(decode(&t, NULL), SAIKAI_EDAMAGED);
    t.made = whole;
    assert_int_equal(decode(&t, NULL), 0);
    it_is_as_it_was(&t);
    end(&t);
}

/* Repeats that point before the begin, or behind the end, or are none. */
static void wrong_repeats_are_refused(void **state)
{
    static const struct {
        uint64_t fresh, words, back;
        int rc;
    } cases[] = {{100, 50, 100, 0}, {100, 50, 101, -1}, {100, 0, 5, -1}, {100, 50, 0, -1}, {0, 10, 1, -1}, {990, 11, 5, -1},
                 {1001, 1, 5, -1}, {UINT64_MAX, 2, 5, -1}, {100, UINT64_MAX, 5, -1}, {100, 900, 1, 0}};
    const struct sk_words l = {.word = 8, .words = 1000, .components = 1, .array = {SAIKAI_F64, 1, {1000}}};
    struct sk_fold f;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_buf b = {0};
        sk_buf_put_u8(&b, 0);
        sk_number_put(&b, 1);
        sk_number_put(&b, cases[i].fresh);
        sk_number_put(&b, cases[i].words);
        sk_number_put(&b, cases[i].back);
        struct sk_rd r = sk_rd_init(b.data, b.len);
        int rc = sk_fold_get(&r, &l, &f);
        if (rc != cases[i].rc)
            fail_msg("case %zu: %d", i, rc);
        if (!rc)
            assert_int_equal(f.rest, 1000 - cases[i].words);
        sk_fold_free(&f);
        sk_buf_free(&b);
    }
}

static void memory_that_is_out_is_no_damage(void **state)
{
    struct task t;
    (void)state;
    begin(&t);
    no_memory_sweep(code, NULL, NULL, &t);
    assert_int_equal(code(&t, NULL), 0);
    assert_int_equal(t.out[0], SK_PIECE_FOLDED);
    assert_true(no_memory_sweep(decode, it_is_as_it_was, NULL, &t) >= 4);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_that_comes_again_costs_next_to_nothing),
        cmocka_unit_test(what_is_left_keeps_its_rows),
        cmocka_unit_test(all_kinds_of_repeats_come_back),
        cmocka_unit_test(repeats_beyond_a_piece_are_seen),
        cmocka_unit_test(bounded_takes_no_more_than_lossless),
        cmocka_unit_test(few_values_take_as_few_bits_as_they_need),
        cmocka_unit_test(a_negative_zero_among_whole_numbers_costs_little),
        cmocka_unit_test(arrays_of_any_length_come_back),
        cmocka_unit_test(damage_is_told_or_fills_the_array),
        cmocka_unit_test(wrong_repeats_are_refused),
        cmocka_unit_test(memory_that_is_out_is_no_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
