/* Hashes of two processes, of which now the one and now the other is ahead. */
#include "world/replica/pairing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static uint64_t number;
static int64_t at;

static enum sk_pair own(struct sk_pairing *p, uint64_t hash, int64_t iteration)
{
    return sk_pairing_add(p, 0, hash, iteration, &number, &at);
}

static enum sk_pair theirs(struct sk_pairing *p, uint64_t hash)
{
    return sk_pairing_add(p, 1, hash, -1, &number, &at);
}

static void this_one_is_ahead(void **state)
{
    struct sk_pairing p = {0};
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(own(&p, 7 * i, (int64_t)i / 10), SK_PAIR_WAITS);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(theirs(&p, i == 42 ? 1 : 7 * i), i == 42 ? SK_PAIR_DIFFERS : SK_PAIR_ALIKE);
        assert_int_equal(number, i);
        assert_int_equal(at, i / 10);
    }
    assert_int_equal(p.n, 0);
    sk_pairing_free(&p);
}

/* When it sends the same, this process knows where it does so. */
static void the_other_one_is_ahead(void **state)
{
    struct sk_pairing p = {0};
    for (uint64_t i = 0; i < 40; i++)
        assert_int_equal(theirs(&p, i), SK_PAIR_WAITS);
    for (uint64_t i = 0; i < 40; i++) {
        assert_int_equal(own(&p, i == 39 ? 0 : i, 1000 + (int64_t)i), i == 39 ? SK_PAIR_DIFFERS : SK_PAIR_ALIKE);
        assert_int_equal(number, i);
        assert_int_equal(at, 1000 + i);
    }
    sk_pairing_free(&p);
}

/* By turns, in steps that let the ring go round and grow where it does not begin at its first place. */
static void now_the_one_and_now_the_other(void **state)
{
    struct sk_pairing p = {0};
    uint64_t mine = 0, others = 0, pairs = 0;
    uint32_t dice = 12345;
    for (int turn = 0; turn < 2000; turn++) {
        dice = dice * 1664525u + 1013904223u;
        int n = (int)(dice >> 24) % 50, which = dice >> 23 & 1;
        for (int i = 0; i < n; i++) {
            uint64_t *count = which ? &others : &mine;
            enum sk_pair got = sk_pairing_add(&p, which, *count * *count, (int64_t)*count, &number, &at);
            ++*count;
            uint64_t least = mine < others ? mine : others;
            assert_int_equal(got, least > pairs ? SK_PAIR_ALIKE : SK_PAIR_WAITS);
            if (got == SK_PAIR_ALIKE) {
                assert_int_equal(number, pairs);
                assert_int_equal(at, pairs);
            }
            pairs = least;
        }
    }
    assert_int_equal(p.compared, pairs);
    assert_int_equal(p.n, (mine > others ? mine : others) - pairs);
    assert_true(pairs > 1000);
    sk_pairing_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_one_is_ahead),
        cmocka_unit_test(the_other_one_is_ahead),
        cmocka_unit_test(now_the_one_and_now_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
