/* Steps that are much as the one before: orders of their own for the first, pieces of many steps, and what of such a piece is refused. */
#include "codec/lossless/lossless.h"

#include "base/host/no_memory_testing.h"
#include "base/types.h"
#include "codec/array.h"
#include "codec/lossless/within/packed.h"
#include "codec/samples.h"
#include "codec/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

enum { MODE_PREDICTED = 1, ORDERS = 10, FLAGS = 14, FIRST = 15, FLAG_MASKED = 1, FLAG_FIRST = 64 };

static double noise(uint64_t *s)
{
    return (double)(sk_sample_next(s) >> 11) * 0x1p-53 - 0.5;
}

/* What was made of an array, as it is before it is packed; that can be read as well. */
static int opened(uint8_t *out, size_t *made, size_t most)
{
    uint8_t *piece = NULL;
    size_t n = 0;
    int rc = *made && *out == SK_PACKED ? sk_packed_open(out, *made, most, &piece, &n) : 0;
    if (!rc && piece)
        memcpy(out, piece, *made = n);
    free(piece);
    return rc;
}

/* An array, and what was made of it. */
struct task {
    struct sk_array a;
    void *x, *back;
    uint8_t *out;
    size_t bytes, words, room, made;
};

static void begin(struct task *t, const struct sk_array *a)
{
    *t = (struct task){.a = *a, .bytes = sk_array_size_bytes(a), .room = sk_codec_predict.max_encoded(a)};
    t->words = t->bytes / sk_type_size(a->type);
    t->x = malloc(t->bytes);
    t->back = malloc(t->bytes);
    t->out = malloc(t->room);
}

static void end(struct task *t)
{
    free(t->x);
    free(t->back);
    free(t->out);
}

static void put(struct task *t, size_t i, double v)
{
    if (t->a.type == SAIKAI_F32)
        ((float *)t->x)[i] = (float)v;
    else
        ((double *)t->x)[i] = v;
}

/* A smooth step, and others in which one of so many values is another. fill: a part has no data. */
static void fill_steps(struct task *t, size_t one_of, int fill)
{
    const size_t step = t->words / t->a.dims[0], row = t->a.dims[t->a.ndims - 1];
    const size_t each = t->bytes / t->words;
    uint64_t s = 5;
    for (size_t i = 0; i < t->words; i++) {
        uint64_t r = sk_sample_next(&s);
        if (fill && i % row < row / 3)
            put(t, i, 1e20);
        else if (i < step)
            put(t, i, sin(0.02 * (double)(i % row)) * cos(0.03 * (double)(i / row)) + 1e-4 * noise(&s));
        else if (r / 7 % one_of == 0)
            put(t, i, noise(&s));
        else
            memcpy((uint8_t *)t->x + i * each, (uint8_t *)t->x + (i - step) * each, each);
    }
}

static int encode(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    int rc = sk_codec_predict.encode(&t->a, t->x, NULL, t->out, t->room, &t->made, err);
    if (!rc && opened(t->out, &t->made, t->room))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to open it");
    return rc;
}

static int decode(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    memset(t->back, 1, t->bytes);
    return sk_codec_predict.decode(&t->a, t->out, t->made, t->back, err);
}

static void it_is_as_it_was(void *arg)
{
    struct task *t = arg;
    assert_memory_equal(t->x, t->back, t->bytes);
}

static size_t made_of(struct task *t)
{
    struct saikai_error err = {0};
    if (encode(t, &err) || decode(t, &err))
        fail_msg("%s", err.text);
    it_is_as_it_was(t);
    return t->made;
}

static int is_apart(const struct task *t)
{
    return t->out[0] == MODE_PREDICTED && (t->out[FLAGS] & FLAG_FIRST);
}

/* All of them take what the first one takes alone, and what changes. */
static void steps_take_what_changes(void **state)
{
    static const struct sk_array arrays[] = {{SAIKAI_F64, 3, {24, 40, 48}}, {SAIKAI_F32, 3, {30, 50, 37}}, {SAIKAI_F64, 2, {40, 1024}},
                                             {SAIKAI_F32, 2, {9, 4099}},    {SAIKAI_F64, 4, {12, 6, 20, 32}}};
    int masked = 0, apart = 0;
    (void)state;
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        for (int fill = 0; fill < 2; fill++) {
            const size_t one_of = fill ? 6 : 120; /* what hardly changes is not worth a mask */
            struct task t, first;
            struct sk_array one = arrays[k];
            one.dims[0] = 1;
            begin(&t, &arrays[k]);
            begin(&first, &one);
            fill_steps(&t, one_of, fill);
            memcpy(first.x, t.x, first.bytes);
            size_t alone = made_of(&first), all = made_of(&t), changed = t.words / one_of * (t.bytes / t.words + 2);
            masked += is_apart(&t) && (t.out[FLAGS] & FLAG_MASKED);
            apart += !fill && is_apart(&t); /* of long steps zstd or repeats may tell as much */
            if (!fill && all > alone + changed + changed / 4 + t.bytes / 100)
                fail_msg("array %zu: %zu bytes, the first alone %zu, what changes some %zu", k, all, alone, changed);
            end(&first);
            end(&t);
        }
    assert_true(masked > 1 && apart > 2);
}

/* Where neighbours in a step tell as much, all steps are alike. */
static void fields_that_move_have_one_plan(void **state)
{
    struct task t;
    uint64_t s = 6;
    (void)state;
    begin(&t, &(struct sk_array){SAIKAI_F64, 3, {24, 40, 48}});
    for (size_t i = 0; i < t.words; i++)
        put(&t, i, sin(0.1 * (double)(i % 48) + 0.2 * (double)(i / 1920)) * cos(0.1 * (double)(i / 48 % 40)) + 1e-4 * noise(&s));
    made_of(&t);
    assert_false(is_apart(&t));
    end(&t);
}

/* Pieces hold many steps where these stay, and as many as ever where they do not. */
static void pieces_have_many_such_steps(void **state)
{
    enum { ONE_OF = 200 };
    struct task t;
    struct sk_stream_info info;
    struct sk_buf b = {0}, cut = {0};
    (void)state;
    begin(&t, &(struct sk_array){SAIKAI_F64, 3, {40, 64, 256}});
    fill_steps(&t, ONE_OF, 0);
    const struct sk_stream_options small = {.piece_bytes = 1 << 20};
    assert_int_equal(sk_stream_encode_buf("predict", &t.a, t.x, NULL, &b, &info, NULL), 0);
    assert_int_equal(info.pieces, 1);
    assert_int_equal(sk_stream_encode_buf("predict", &t.a, t.x, &small, &cut, NULL, NULL), 0);
    if (b.len > cut.len / 2)
        fail_msg("%zu bytes, and in small pieces %zu", b.len, cut.len);
    assert_int_equal(sk_stream_decode_buf(b.data, b.len, &t.a, t.back, 1, NULL, NULL), 0);
    it_is_as_it_was(&t);
    b.len = 0;
    uint64_t s = 7;
    for (size_t i = 0; i < t.words; i++)
        put(&t, i, noise(&s));
    assert_int_equal(sk_stream_encode_buf("predict", &t.a, t.x, NULL, &b, &info, NULL), 0);
    assert_true(info.pieces > 1);
    sk_buf_free(&b);
    sk_buf_free(&cut);
    end(&t);
}

static void damage_is_told_or_fills_the_array(void **state)
{
    struct task t;
    (void)state;
    begin(&t, &(struct sk_array){SAIKAI_F32, 3, {20, 32, 32}});
    fill_steps(&t, 100, 0);
    made_of(&t);
    assert_true(is_apart(&t));
    size_t whole = t.made;
    for (size_t i = 0; i < whole; i += i < 200 ? 1 : 37)
        for (int bit = 0; bit < 8; bit++) {
            t.out[i] ^= (uint8_t)(1 << bit);
            int rc = decode(&t, NULL);
            assert_true(!rc || rc == SAIKAI_EDAMAGED || rc == SAIKAI_ENOMEM);
            t.out[i] ^= (uint8_t)(1 << bit);
        }
    for (t.made = 0; t.made < whole; t.made += t.made < 200 ? 1 : 61)
        assert_int_equal(decode(&t, NULL), SAIKAI_EDAMAGED);
    t.made = whole;
    t.out[FIRST + 1] = 7; /* no order is that high */
    assert_int_equal(decode(&t, NULL), SAIKAI_EDAMAGED);
    made_of(&t);
    t.a = (struct sk_array){SAIKAI_F32, 1, {t.words}}; /* one axis has no steps */
    assert_int_equal(decode(&t, NULL), SAIKAI_EDAMAGED);
    end(&t);
}

static void memory_that_is_out_is_no_damage(void **state)
{
    struct task t;
    (void)state;
    begin(&t, &(struct sk_array){SAIKAI_F32, 3, {20, 32, 32}});
    fill_steps(&t, 100, 1);
    no_memory_sweep(encode, NULL, NULL, &t);
    made_of(&t);
    assert_true(is_apart(&t));
    assert_true(no_memory_sweep(decode, it_is_as_it_was, NULL, &t) >= 3);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_take_what_changes),
        cmocka_unit_test(fields_that_move_have_one_plan),
        cmocka_unit_test(pieces_have_many_such_steps),
        cmocka_unit_test(damage_is_told_or_fills_the_array),
        cmocka_unit_test(memory_that_is_out_is_no_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
