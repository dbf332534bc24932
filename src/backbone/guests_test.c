/* Each key is good for one rank of one start, and old starts are forgotten in time. */
#include "backbone/guests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

static const uint8_t job[SK_KEY_BYTES] = {1, 2, 3};

static void key_of(uint32_t incarnation, uint32_t rank, uint8_t out[SK_KEY_BYTES])
{
    uint8_t secret[SK_KEY_BYTES];
    sk_key_rank(job, incarnation, rank, secret);
    assert_int_equal(sk_key_public(secret, out, NULL), 0);
}

static void each_key_is_of_one_rank_of_one_start(void **state)
{
    struct sk_guests *g = sk_guests_new(job);
    uint8_t key[SK_KEY_BYTES];
    assert_int_equal(sk_guests_admit(g, 0, 5, NULL), 0);
    assert_int_equal(sk_guests_admit(g, 1, 5, NULL), 0);
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t r = 0; r < 5; r++) {
            key_of(i, r, key);
            const struct sk_guest *k = sk_guests_by_key(g, key);
            assert_non_null(k);
            assert_int_equal(k->incarnation, i);
            assert_int_equal(k->rank, r);
            assert_ptr_equal(k, sk_guests_of(g, i, r));
        }
    key_of(0, 5, key);
    assert_null(sk_guests_by_key(g, key));
    key_of(2, 0, key);
    assert_null(sk_guests_by_key(g, key));
    memset(key, 0, sizeof key);
    assert_null(sk_guests_by_key(g, key));
    assert_null(sk_guests_of(g, 0, 5));
    assert_null(sk_guests_of(g, 2, 0));
    sk_guests_free(g);
}

static void old_starts_are_forgotten_in_time(void **state)
{
    struct sk_guests *g = sk_guests_new(job);
    uint8_t key[SK_KEY_BYTES];
    for (uint32_t i = 0; i <= SK_GUEST_STARTS; i++)
        assert_int_equal(sk_guests_admit(g, i, 2, NULL), 0);
    assert_null(sk_guests_of(g, 0, 0));
    assert_non_null(sk_guests_of(g, 1, 1));
    key_of(0, 1, key);
    assert_null(sk_guests_by_key(g, key));
    key_of(SK_GUEST_STARTS, 1, key);
    assert_non_null(sk_guests_by_key(g, key));
    sk_guests_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_is_of_one_rank_of_one_start),
        cmocka_unit_test(old_starts_are_forgotten_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
