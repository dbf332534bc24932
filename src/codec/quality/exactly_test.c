/* Which arrays may take fewer bytes exactly than some that a bound left: whole numbers may, noise and what lies around plateaus does not. */
#include "codec/quality/exactly.h"

#include "base/types.h"
#include "codec/array.h"
#include "codec/samples.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum kind { NOISE, WHOLE, PLATEAUS, PERIOD };

static double value(enum kind kind, size_t i, uint64_t *state)
{
    double v = (double)(sk_sample_next(state) >> 11) * 0x1p-53;
    switch (kind) {
    case NOISE:
        return v;
    case WHOLE:
        return floor(16 * v);
    case PLATEAUS: /* values that follow each other are the same but in one place of 50 */
        return i / 256 % 50 ? 1 : v;
    default:
        *state = i % 20000 == 0 ? 7 : *state;
        return v;
    }
}

static int may_win(enum kind kind, const struct sk_array *a, double share)
{
    size_t size = sk_array_size_bytes(a), n = size / sk_type_size(a->type);
    void *in = malloc(size);
    uint64_t state = 7;
    assert_non_null(in);
    for (size_t i = 0; i < n; i++) {
        double v = value(kind, i, &state);
        if (a->type == SAIKAI_F32)
            ((float *)in)[i] = (float)v;
        else
            ((double *)in)[i] = v;
    }
    int may = sk_exactly_may_win(a, in, (size_t)(share * (double)size));
    free(in);
    return may;
}

static const struct sk_array shapes[] = {
    {.type = SAIKAI_F64, .ndims = 1, .dims = {300000}},
    {.type = SAIKAI_F32, .ndims = 2, .dims = {512, 900}},
    {.type = SAIKAI_F32, .ndims = 2, .dims = {200000, 3}},
    {.type = SAIKAI_F64, .ndims = 3, .dims = {60, 70, 80}},
    {.type = SAIKAI_F64, .ndims = 3, .dims = {300000, 1, 1}},
    {.type = SAIKAI_F32, .ndims = 5, .dims = {5, 1, 30, 40, 50}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void whole_numbers_may(void **state)
{
    (void)state;
    for (int k = 0; k < SHAPES; k++) {
        assert_true(may_win(WHOLE, &shapes[k], 0.3));
        assert_false(may_win(WHOLE, &shapes[k], 0.01));
    }
}

static void noise_does_not(void **state)
{
    (void)state;
    for (int k = 0; k < SHAPES; k++)
        assert_false(may_win(NOISE, &shapes[k], 0.1));
}

/* Most boxes would see nothing but plateaus: what lies between them is what takes the bytes, a fiftieth of all. */
static void plateaus_do_not_hide_the_rest(void **state)
{
    (void)state;
    for (int k = 0; k < SHAPES; k++) {
        assert_false(may_win(PLATEAUS, &shapes[k], 0.002));
        assert_true(may_win(PLATEAUS, &shapes[k], 0.06));
    }
}

/* What stands fifteen times is left once, which boxes do not show; but not where far less is to be beaten. */
static void repeats_may(void **state)
{
    (void)state;
    assert_true(may_win(PERIOD, &shapes[0], 0.15));
    assert_false(may_win(PERIOD, &shapes[0], 0.005));
}

static void small_arrays_are_not_looked_at(void **state)
{
    (void)state;
    const struct sk_array small = {.type = SAIKAI_F64, .ndims = 2, .dims = {40, 50}}, scalar = {.type = SAIKAI_F64, .ndims = 0};
    assert_true(may_win(NOISE, &small, 0.01));
    assert_true(may_win(NOISE, &scalar, 0.01));
    assert_true(may_win(NOISE, &shapes[0], 0.9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_may),
        cmocka_unit_test(noise_does_not),
        cmocka_unit_test(plateaus_do_not_hide_the_rest),
        cmocka_unit_test(repeats_may),
        cmocka_unit_test(small_arrays_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
