/* Values on grids: decimals of many places, other parts of one, zeros with a sign among them, and what of pieces of these is refused. */
#include "codec/lossless/lossless.h"
#include "codec/lossless/predict/predict.h"

#include "base/host/no_memory_testing.h"
#include "codec/array.h"
#include "codec/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 160, ROW = 256, N = ROWS * ROW };
enum { MODE_PREDICTED = 1, MODE_DIRECT = 2, FLAGS = 14, FLAG_MASKED = 1, FLAG_SIGNED_ZEROS = 32 };

/* An array, and what was made of it. */
struct task {
    struct sk_array a;
    void *x, *back;
    uint8_t *out;
    size_t bytes, room, made;
};

static void begin(struct task *t, int type)
{
    *t = (struct task){.a = {type, 2, {ROWS, ROW}}};
    t->bytes = sk_array_size_bytes(&t->a);
    t->room = sk_codec_predict.max_encoded(&t->a);
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

static int encode(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    return sk_codec_predict.encode(&t->a, t->x, NULL, t->out, t->room, &t->made, err);
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

/* Bits that a value takes; it comes back. */
static double bits(struct task *t)
{
    struct saikai_error err = {0};
    if (encode(t, &err) || decode(t, &err))
        fail_msg("%s", err.text);
    it_is_as_it_was(t);
    return 8.0 * (double)t->made / N;
}

static double noise(uint64_t *s)
{
    return (double)(sk_sample_next(s) >> 11) * 0x1p-53 - 0.5;
}

/* A number as people write it. */
static double written(double x, int places)
{
    char text[80];
    snprintf(text, sizeof text, "%.*f", places, x);
    return strtod(text, NULL);
}

/* Smooth, with noise of so many steps. */
static double some(uint64_t *s, int i, double step, double steps)
{
    return 3 + 2 * sin(0.01 * (i / ROW)) * cos(0.013 * (i % ROW)) + step * steps * noise(s);
}

static void decimals_cost_what_they_vary(void **state)
{
    (void)state;
    struct task t;
    uint64_t s = 3;
    begin(&t, SAIKAI_F64);
    double *x = t.x;
    for (int places = 4; places <= 13; places++) {
        const double step = pow(10, -places);
        for (int i = 0; i < N; i++)
            x[i] = written(some(&s, i, step, 1024), places);
        double got = bits(&t);
        if (got > 11 + 0.35 * (places - 3))
            fail_msg("%d places: %.2f bits", places, got);
    }
    for (int i = 0; i < N; i++)
        x[i] = written(1e-12 * some(&s, i, 1e-6, 1024), 18);
    assert_true(bits(&t) < 13);
    end(&t);
    begin(&t, SAIKAI_F32);
    float *y = t.x;
    for (int i = 0; i < N; i++)
        y[i] = (float)written(0.1 * some(&s, i, 1e-4, 1024), 5);
    assert_true(bits(&t) < 13);
    end(&t);
}

static void parts_of_one_are_no_more_than_they_are(void **state)
{
    (void)state;
    const int parts[] = {20, 40, 60, 3600, 7, 1024, 8};
    struct task t;
    uint64_t s = 4;
    begin(&t, SAIKAI_F64);
    double *x = t.x;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        for (int i = 0; i < N; i++)
            x[i] = rint(10 * parts[k] * some(&s, i, 0.1 / parts[k], 256)) / parts[k];
        double got = bits(&t);
        if (got > 10)
            fail_msg("parts of %d: %.2f bits", parts[k], got);
    }
    /* seconds as parts of days, which are far from 0 for their distances */
    double day = 59000;
    for (int i = 0; i < N; i++) {
        day += (30 + rint(8 * noise(&s))) / 86400;
        x[i] = rint(day * 86400) / 86400;
    }
    assert_true(bits(&t) < 6);
    /* and multiples of more than one */
    for (int i = 0; i < N; i++)
        x[i] = 5e4 * rint(some(&s, i, 1, 256));
    assert_true(bits(&t) < 10.5);
    end(&t);
}

/* Those that say how many places there are may be few. */
static void few_of_the_places_do_not_mislead(void **state)
{
    (void)state;
    struct task t;
    uint64_t s = 5;
    begin(&t, SAIKAI_F64);
    double *x = t.x;
    for (int i = 0; i < N; i++)
        x[i] = written(5000 * noise(&s), i % 50 == 7 ? 5 : 0);
    assert_true(bits(&t) < 32);
    end(&t);
}

/* What is missing now and then is not on the grid of the others, and too rare to be seen as what fills the array. */
static void rare_gaps_do_not_hide_a_grid(void **state)
{
    (void)state;
    const double gaps[] = {NAN, INFINITY};
    struct task t;
    begin(&t, SAIKAI_F64);
    double *x = t.x;
    for (size_t k = 0; k < sizeof gaps / sizeof *gaps; k++) {
        uint64_t s = 9;
        for (int i = 0; i < N; i++) {
            x[i] = written(some(&s, i, 1e-8, 1024), 8);
            if (sk_sample_next(&s) / 3 % 300 == 0)
                x[i] = gaps[k];
        }
        double got = bits(&t);
        if (got > 13.5)
            fail_msg("%f: %.2f bits", gaps[k], got);
    }
    /* where no grid is to be won, they stay where they are */
    for (int i = 0; i < N; i++)
        x[i] = i % 300 == 7 ? NAN : sin(i) * i;
    bits(&t);
    assert_false(t.out[0] == MODE_PREDICTED && (t.out[FLAGS] & FLAG_MASKED));
    end(&t);
}

static int has_signs(const struct task *t)
{
    return t->out[0] == MODE_PREDICTED && (t->out[FLAGS] & FLAG_SIGNED_ZEROS);
}

static void zeros_with_signs_cost_a_bit_each(void **state)
{
    (void)state;
    struct task t;
    uint64_t s = 6, zeros = 0;
    for (int type = SAIKAI_F32; type <= SAIKAI_F64; type += SAIKAI_F64 - SAIKAI_F32) {
        begin(&t, type);
        float *y = t.x;
        double *x = t.x, with, without;
        zeros = 0;
        for (int i = 0; i < N; i++) {
            double v = rint(300 * noise(&s) * noise(&s)) * (type == SAIKAI_F32 ? 1 : 1e4 + i % 97);
            zeros += v == 0;
            if (type == SAIKAI_F32)
                y[i] = (float)v;
            else
                x[i] = v;
        }
        with = bits(&t);
        assert_true(type == SAIKAI_F32 || has_signs(&t)); /* of few values a dictionary may be smaller */
        for (int i = 0; i < N; i++)
            if (type == SAIKAI_F32)
                y[i] += 0.0f;
            else
                x[i] += 0.0;
        without = bits(&t);
        assert_false(has_signs(&t));
        assert_true(with < without + 0.05 + (double)zeros / N);
        end(&t);
    }
}

/* All zeros have one, as in what is multiplied by -1: next to nothing. With a fill value, too, and where zeros fill a region. */
static void signs_that_are_alike_cost_nothing(void **state)
{
    (void)state;
    struct task t;
    begin(&t, SAIKAI_F64);
    double *x = t.x;
    for (int fill = 0; fill < 3; fill++) {
        uint64_t s = 7;
        double cost[2];
        for (int sign = 0; sign < 2; sign++) {
            for (int i = 0; i < N; i++)
                x[i] = (i % ROW) > 150 && fill ? (fill == 1 ? 1e20 : 0) : i % 11 ? written(some(&s, i, 1e-5, 1e4), 5) : 0;
            for (int i = 0; i < N && sign; i++)
                x[i] = x[i] == 0 ? -0.0 : x[i];
            cost[sign] = bits(&t);
            s = 7;
            assert_int_equal(has_signs(&t), sign);
        }
        if (cost[1] > cost[0] + 0.005)
            fail_msg("fill %d: %.3f bits with signs, %.3f without", fill, cost[1], cost[0]);
    }
    /* on no grid they are no matter */
    for (int i = 0; i < N; i++)
        x[i] = i % 5 ? sin(i) : -0.0;
    bits(&t);
    assert_false(has_signs(&t));
    end(&t);
}

static void with_signs(struct task *t)
{
    uint64_t s = 8;
    begin(t, SAIKAI_F64);
    for (int i = 0; i < N; i++) {
        double v = i % 13 ? written(some(&s, i, 1e-6, 1e5), 6) : i % 2 ? -0.0 : 0.0;
        ((double *)t->x)[i] = i % ROW < 40 ? NAN : v;
    }
    assert_int_equal(encode(t, NULL), 0);
    assert_true(has_signs(t) && (t->out[FLAGS] & FLAG_MASKED));
}

static void damage_is_told_or_fills_the_array(void **state)
{
    struct task t;
    (void)state;
    with_signs(&t);
    size_t whole = t.made;
    for (size_t i = 0; i < whole; i += i < 300 ? 1 : 997)
        for (int bit = 0; bit < 8; bit++) {
            t.out[i] ^= (uint8_t)(1 << bit);
            int rc = decode(&t, NULL);
            assert_true(!rc || rc == SAIKAI_EDAMAGED || rc == SAIKAI_ENOMEM);
            t.out[i] ^= (uint8_t)(1 << bit);
        }
    for (t.made = 0; t.made < whole; t.made += t.made < 300 ? 1 : 1999)
        assert_int_equal(decode(&t, NULL), SAIKAI_EDAMAGED);
    t.made = whole;
    assert_int_equal(decode(&t, NULL), 0);
    it_is_as_it_was(&t);
    t.out[0] = MODE_DIRECT; /* has none */
    assert_int_equal(decode(&t, NULL), SAIKAI_EDAMAGED);
    end(&t);
}

static void signs_are_as_many_as_zeros(void **state)
{
    double x[4] = {0, 1, 0, -2};
    const uint8_t sign[3] = {1, 0, 1};
    (void)state;
    assert_int_equal(sk_zeros_put(x, 4, 8, sign, 2), 0);
    assert_true(signbit(x[0]) && !signbit(x[2]));
    assert_int_equal(sk_zeros_put(x, 4, 8, sign, 2), -1); /* it has one */
    x[0] = 0;
    assert_int_equal(sk_zeros_put(x, 4, 8, sign, 1), -1);
    x[0] = 0;
    assert_int_equal(sk_zeros_put(x, 4, 8, sign, 3), -1);
}

static void scales_that_are_none_are_refused(void **state)
{
    static const struct {
        int kind;
        double parts;
        int rc;
    } cases[] = {{6, 20, 0}, {6, 1, 0}, {6, 1e22, 0}, {6, 0, -1}, {6, -20, -1}, {6, 2.5, -1}, {6, 1e23, 0}, {6, 1e300, 0}, {6, NAN, -1}, {6, INFINITY, -1}, {7, 20, -1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_buf b = {0};
        struct sk_scale s = {.shift = 0}, back = {.shift = 0};
        sk_buf_put_u8(&b, (uint8_t)cases[i].kind);
        sk_buf_put_f64(&b, cases[i].parts);
        struct sk_rd r = sk_rd_init(b.data, b.len);
        if (sk_grid_get(&r, &s) != cases[i].rc)
            fail_msg("case %zu", i);
        b.len = 0;
        if (!cases[i].rc) {
            sk_grid_put(&b, &s, NULL);
            r = sk_rd_init(b.data, b.len);
            assert_int_equal(sk_grid_get(&r, &back), 0);
            assert_true(back.inverse == cases[i].parts && back.decimal);
        }
        sk_buf_free(&b);
    }
}

/* Whole numbers times any power of ten come back: more than 10^22 parts of one were written, but refused. */
static void steps_of_any_size_come_back(void **state)
{
    enum { LINE = 512 };
    struct task t;
    struct saikai_error err = {0};
    (void)state;
    for (int type = SAIKAI_F32; type <= SAIKAI_F64; type += SAIKAI_F64 - SAIKAI_F32) {
        begin(&t, type);
        t.a = (struct sk_array){type, 1, {LINE}};
        t.bytes = sk_array_size_bytes(&t.a);
        for (int e = type == SAIKAI_F32 ? -45 : -320; e < (type == SAIKAI_F32 ? 36 : 305); e++)
            for (int from = 0; from < 6; from += 3) {
                for (int i = 0; i < LINE; i++) {
                    if (type == SAIKAI_F32)
                        ((float *)t.x)[i] = (float)((from + i) * pow(10, e));
                    else
                        ((double *)t.x)[i] = (from + i) * pow(10, e);
                }
                if (encode(&t, &err) || decode(&t, &err))
                    fail_msg("times 1e%d: %s", e, err.text);
                it_is_as_it_was(&t);
            }
        end(&t);
    }
}

static void memory_that_is_out_is_no_damage(void **state)
{
    struct task t;
    (void)state;
    with_signs(&t);
    no_memory_sweep(encode, NULL, NULL, &t);
    assert_int_equal(encode(&t, NULL), 0);
    assert_true(has_signs(&t));
    assert_true(no_memory_sweep(decode, it_is_as_it_was, NULL, &t) >= 4);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_cost_what_they_vary),
        cmocka_unit_test(parts_of_one_are_no_more_than_they_are),
        cmocka_unit_test(few_of_the_places_do_not_mislead),
        cmocka_unit_test(rare_gaps_do_not_hide_a_grid),
        cmocka_unit_test(zeros_with_signs_cost_a_bit_each),
        cmocka_unit_test(signs_that_are_alike_cost_nothing),
        cmocka_unit_test(damage_is_told_or_fills_the_array),
        cmocka_unit_test(signs_are_as_many_as_zeros),
        cmocka_unit_test(scales_that_are_none_are_refused),
        cmocka_unit_test(steps_of_any_size_come_back),
        cmocka_unit_test(memory_that_is_out_is_no_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
