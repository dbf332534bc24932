/* The random numbers are the published ones and what is made of them, and rates of a fleet add up. */
#include "schedule/fleet.h"
#include "schedule/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/near_testing.h"

static void test_random_known_values(void **state)
{
    (void)state;
    uint64_t seed = 1234567;
    assert_true(sk_splitmix64(&seed) == 6457827717110365317u);
    assert_true(sk_splitmix64(&seed) == 3203168211198807973u);
    struct sk_random r = {{1, 2, 3, 4}};
    assert_true(sk_random_next(&r) == 41943041u);
    assert_true(sk_random_next(&r) == 58720359u);
    assert_true(sk_random_next(&r) == 3588806011781223u);
}

/* Numbers made of the generator's: with the first word x and the last one -x the next one is x. */
static uint64_t below_from(uint64_t x, uint64_t n)
{
    struct sk_random r = {{x, 0, 0, -x}};
    return sk_random_below(&r, n);
}

static void test_random_numbers_made_of_others(void **state)
{
    (void)state;
    struct sk_random r = {{1, 2, 3, 4}}, other = {{1, 2, 3, 4}};
    assert_true(sk_random_unit(&r) == (41943041 >> 11) * 0x1p-53);
    r = (struct sk_random){{UINT64_MAX, 0, 0, 1}};
    assert_true(sk_random_unit(&r) == 1 - 0x1p-53); /* the largest below 1 */
    r = (struct sk_random){{1ull << 63, 0, 0, 1ull << 63}};
    assert_true(sk_random_exponential(&r, 0.25) == 4 * M_LN2);
    /* 2^64 mod 7 is 2: the first two values are refused */
    assert_int_equal(below_from(2, 7), 2);
    assert_int_equal(below_from(3, 7), 3);
    assert_int_equal(below_from(UINT64_MAX, 7), UINT64_MAX % 7);
    r = (struct sk_random){{1, 0, 0, UINT64_MAX}};
    assert_true(sk_random_next(&r) == 1);
    uint64_t second = sk_random_next(&r);
    assert_true(second >= 2 && below_from(1, 7) == second % 7);
    /* of just above half of all, half are refused */
    const uint64_t n = (1ull << 63) + 1;
    r = other;
    for (int i = 0; i < 100; i++) {
        uint64_t x;
        do
            x = sk_random_next(&other);
        while (x < n - 2);
        assert_true(sk_random_below(&r, n) == x % n);
    }
    assert_true(sk_random_below(&r, 1) == 0 && sk_random_below(&r, 1ull << 63) < 1ull << 63);
    sk_random_seed(&r, 1234567);
    assert_true(r.s[0] == 6457827717110365317u && r.s[1] == 3203168211198807973u);
    assert_true(r.s[2] != r.s[1] && r.s[3] != r.s[2] && r.s[3]);
}

/* A million small rates beside a large one are not lost. */
static void test_rates_add_up(void **state)
{
    (void)state;
    enum { n = 1000001 };
    static double rates[n];
    struct sk_fleet fleet = {.nodes = n, .rate = 7, .rates = rates};
    rates[0] = 1;
    for (int i = 1; i < n; i++)
        rates[i] = 1e-17;
    assert_near(sk_fleet_rate(&fleet), 1 + 1e-11, 2e-16);
    fleet.rates = NULL;
    assert_true(sk_fleet_rate(&fleet) == 7.0 * n);
    fleet.nodes = 0;
    assert_true(sk_fleet_rate(&fleet) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_known_values),
        cmocka_unit_test(test_random_numbers_made_of_others),
        cmocka_unit_test(test_rates_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
