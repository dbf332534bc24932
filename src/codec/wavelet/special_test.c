/* What a piece's values are known by before it is coded: their extremes, what is not finite, and the fill value, counted and looked for in
 * vectors, are those that looking at one value after the other finds, wherever they stand. */
#include "codec/wavelet/special.h"

#include "codec/wavelet/fill.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

enum { MOST = 1500 };
static double of[MOST];
static float narrow[MOST];

/* Numbers around 3 with a fill value here and there; what is not finite, too, when `strange`. */
static size_t fill_in(int strange, double fill)
{
    size_t n = 20 + next() % (MOST - 20);
    for (size_t i = 0; i < n; i++) {
        of[i] = 3 + (double)(next() % 1000) / 4096;
        of[i] = next() % 9 == 0 ? fill : of[i];
        if (strange && next() % 11 == 0)
            of[i] = next() % 3 == 0 ? NAN : next() % 2 ? INFINITY : -INFINITY;
        narrow[i] = (float)of[i];
        of[i] = narrow[i]; /* the same numbers in both types */
    }
    return n;
}

static double bound_of(const void *arg, double range)
{
    (void)arg;
    return 1e-4 * range;
}

static void check(size_t n, size_t size, double fill)
{
    const void *in = size == sizeof *narrow ? (const void *)narrow : of;
    struct special s;
    double min = INFINITY, max = -INFINITY, low = INFINITY, high = -INFINITY;
    size_t masked = 0, filled = 0;
    sk_special_find(&s, in, n, size, bound_of, NULL);
    for (size_t i = 0; i < n; i++) {
        int strange = !isfinite(of[i]), is_fill = s.has_fill && of[i] == fill;
        masked += strange || is_fill;
        filled += is_fill;
        min = !strange && of[i] < min ? of[i] : min;
        max = !strange && of[i] > max ? of[i] : max;
        low = !strange && !is_fill && of[i] < low ? of[i] : low;
        high = !strange && !is_fill && of[i] > high ? of[i] : high;
    }
    assert_true(s.has_fill);
    assert_int_equal(s.n_masked, masked);
    assert_int_equal(s.n_filled, filled);
    assert_true(s.min == min && s.max == max && s.low == low && s.high == high);
}

static void extremes_are_those_of_all_values(void **unused)
{
    for (int round = 0; round < 400; round++) {
        double fill = (double)(float)(round & 1 ? 1e20 : -9999);
        size_t n = fill_in(round % 4 > 1, fill);
        of[1] = of[n / 2] = of[n - 1] = narrow[1] = narrow[n / 2] = narrow[n - 1] = (float)fill;
        check(n, sizeof *narrow, fill);
        check(n, sizeof *of, fill);
    }
}

static void the_next_value_inwards_is_found(void **unused)
{
    for (int round = 0; round < 400; round++) {
        double fill = (double)(float)(round & 1 ? 1e20 : -9999);
        size_t n = fill_in(0, fill), there = 0;
        double low = INFINITY, high = -INFINITY;
        of[next() % n] = of[next() % n] = fill;
        for (size_t i = 0; i < n; i++) {
            narrow[i] = (float)of[i];
            there += of[i] == fill;
            low = of[i] != fill && of[i] < low ? of[i] : low;
            high = of[i] != fill && of[i] > high ? of[i] : high;
        }
        for (int k = 0; k < 2; k++) {
            const void *in = k ? (const void *)narrow : of;
            double from = fill < low ? fill : low, to = fill > high ? fill : high, found = 0;
            int rc = sk_fill_find(in, n, k ? sizeof *narrow : sizeof *of, &from, &to, &found);
            assert_int_equal(rc, there > 1);
            assert_true(!rc || (found == fill && from == low && to == high));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extremes_are_those_of_all_values),
        cmocka_unit_test(the_next_value_inwards_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
