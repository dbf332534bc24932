/* Steps of a trajectory are found in bytes that nobody has described, take what has changed since, and come back; so does whatever is no trajectory. */
#include "codec/rows/frames.h"

#include "codec/residual/residual.h"
#include "codec/rows/layout.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 512 << 10, SOME = 100 << 10 };
static uint8_t data[MOST], back[MOST];
static uint32_t seed;

static double noise(void)
{
    return (double)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5;
}

static void turn(uint8_t *p, size_t width)
{
    for (size_t i = 0; i < width / 2; i++) {
        uint8_t b = p[i];
        p[i] = p[width - 1 - i];
        p[width - 1 - i] = b;
    }
}

/* A trajectory: steps of a head of so many bytes, and so many points that move by so much; width: of a number. */
static size_t trajectory(size_t head, size_t points, size_t steps, double moves, size_t width, int big)
{
    double *x = malloc(3 * points * sizeof *x);
    size_t n = 0;
    seed = 5;
    for (size_t i = 0; i < 3 * points; i++)
        x[i] = 40 + 35 * noise();
    for (size_t s = 0; s < steps; s++) {
        memset(data + n, (int)s, head);
        n += head;
        for (size_t i = 0; i < 3 * points; i++) {
            float one = (float)(x[i] += moves * noise());
            memcpy(data + n, width == 4 ? (void *)&one : (void *)&x[i], width);
            if (big)
                turn(data + n, width);
            n += width;
        }
    }
    free(x);
    return n;
}

/* What is taken apart of n bytes; they come back. */
static size_t there_and_back(const uint8_t *in, size_t n)
{
    struct sk_frames *t = sk_frames_new();
    struct sk_buf bytes = {0}, numbers = {0};
    assert_non_null(t);
    assert_int_equal(sk_frames_put(t, in, n, &bytes, &numbers, NULL), 0);
    size_t all = bytes.len + numbers.len, of_numbers = numbers.len;
    sk_buf_put(&numbers, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    struct sk_rd rd = sk_rd_init(numbers.data, of_numbers);
    memset(back, 0xa5, n);
    assert_int_equal(sk_frames_get(t, bytes.data, bytes.len, &rd, back, n, NULL), 0);
    assert_int_equal(sk_rd_left(&rd), 0);
    if (n)
        assert_memory_equal(in, back, n);
    sk_buf_free(&bytes);
    sk_buf_free(&numbers);
    sk_frames_free(t);
    return all;
}

static void steps_are_found_and_take_what_has_changed(void **state)
{
    (void)state;
    static const struct {
        size_t head, points, steps;
        double moves;
        size_t width;
        int big, kind;
        double most; /* of the bytes: noise has log2 of how far, by the numbers between, and what the first step takes */
    } cases[] = {
        {100, 1000, 20, 0.01, 4, 0, FLOAT4, 0.49},      {100, 1000, 20, 0.01, 4, 1, FLOAT4_BIG, 0.49},
        {100, 1000, 20, 1, 4, 0, FLOAT4, 0.71},         {12, 700, 30, 0.01, 8, 0, FLOAT8, 0.76},
        {16, 700, 30, 0.0001, 8, 1, FLOAT8_BIG, 0.655}, {102, 1000, 20, 0.01, 4, 0, FLOAT4, 0.49},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t n = trajectory(cases[k].head, cases[k].points, cases[k].steps, cases[k].moves, cases[k].width, cases[k].big);
        struct sk_frames_layout l;
        assert_true(sk_frames_find(data, n, &l) || k == 5);
        size_t step = cases[k].head + 3 * cases[k].points * cases[k].width, took = there_and_back(data, n);
        if (k < 5 && (l.distance != step || l.kind != cases[k].kind || (double)took > cases[k].most * (double)n || fabs(l.bits / 8 * (double)n / (double)took - 1) > 0.1))
            fail_msg("case %zu: distance %u of %zu, kind %d, %zu of %zu bytes, %g bits", k, l.distance, step, l.kind, took, n, l.bits);
    }
}

static void whatever_it_is_comes_back(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 3, 4, 7, 8, 100, 4095, 4096, 4097, 70001, 300003};
    trajectory(88, 500, 80, 0.01, 4, 0);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (size_t from = 0; from < 4; from++)
            there_and_back(data + from, lengths[k]);
    for (size_t i = 0; i < SOME; i++)
        data[i] = (uint8_t)(noise() * 256);
    there_and_back(data, SOME);
    memset(data, 0, SOME);
    there_and_back(data, SOME);
    /* not a number, infinite, the least and the largest ones, again and again */
    for (size_t i = 0; i < SOME / 4; i++) {
        static const uint32_t odd[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 1, 0x807fffff, 0x7f7fffff, 0xffffffff};
        uint32_t v = odd[i % 512 * 7 % 8];
        memcpy(data + 4 * i, &v, 4);
    }
    there_and_back(data, SOME);
}

/* Every byte that is stored may be another one: it is refused, or other numbers come of it. */
static void damage_is_refused_or_gives_other_numbers(void **state)
{
    (void)state;
    size_t n = trajectory(20, 100, 12, 0.01, 4, 0);
    struct sk_frames *t = sk_frames_new();
    struct sk_buf bytes = {0}, numbers = {0};
    size_t refused = 0;
    assert_int_equal(sk_frames_put(t, data, n, &bytes, &numbers, NULL), 0);
    size_t of_numbers = numbers.len;
    sk_buf_put(&numbers, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    for (size_t i = 0; i < of_numbers; i++) {
        struct sk_rd rd = sk_rd_init(numbers.data, of_numbers), cut = sk_rd_init(numbers.data, i);
        struct saikai_error err = {0};
        numbers.data[i] ^= 0x15;
        int rc = sk_frames_get(t, bytes.data, bytes.len, &rd, back, n, &err);
        assert_true(rc == 0 || (rc == SAIKAI_EDAMAGED && strstr(err.text, "damaged")));
        numbers.data[i] ^= 0x15;
        refused += rc != 0;
        assert_int_equal(sk_frames_get(t, bytes.data, bytes.len, &cut, back, n, &err), SAIKAI_EDAMAGED);
    }
    assert_true(refused > 10);
    struct sk_rd rd = sk_rd_init(numbers.data, of_numbers);
    assert_int_equal(sk_frames_get(t, bytes.data, bytes.len - 1, &rd, back, n, NULL), SAIKAI_EDAMAGED);
    sk_buf_free(&bytes);
    sk_buf_free(&numbers);
    sk_frames_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_found_and_take_what_has_changed),
        cmocka_unit_test(whatever_it_is_comes_back),
        cmocka_unit_test(damage_is_refused_or_gives_other_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
