/* Blocks that are lent to the system between two pieces come back whole, whether it took their pages or not. */
#include "codec/entropy/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { LARGE = 29 << 20, MEAN = 5 << 20, PAGES = 2 << 20 };

#ifndef __SANITIZE_ADDRESS__ /* under which no block is kept (scratch.c) */
static void fill_and_look(uint8_t *p, size_t n, uint8_t with)
{
    memset(p, with, n);
    for (size_t i = 0; i < n; i += 4093)
        assert_int_equal(p[i], with);
    assert_int_equal(p[n - 1], with);
}

static void test_lent_blocks_come_back(void **unused)
{
    for (int turn = 0; turn < 3; turn++) {
        uint8_t *a = sk_scratch_take(LARGE), *b = sk_scratch_take(MEAN);
        assert_true(a && b);
        fill_and_look(a, LARGE, 1);
        fill_and_look(b, MEAN, 2);
        sk_scratch_give(a);
        sk_scratch_give(b);
        sk_scratch_rest();
        if (turn < 2) /* as the system does when it is short of pages; the block's head is in the first of them */
            assert_int_equal(madvise((void *)((uintptr_t)a / PAGES * PAGES), LARGE, MADV_DONTNEED), 0);
        uint8_t *again = sk_scratch_take(LARGE);
        assert_ptr_equal(again, a);
        fill_and_look(again, LARGE, 3);
        uint8_t *other = sk_scratch_take(MEAN);
        assert_ptr_equal(other, b);
        fill_and_look(other, MEAN, 4);
        assert_int_equal(again[LARGE - 1], 3);
        assert_ptr_equal(sk_scratch_grow(again, LARGE, LARGE), again); /* it knows how large it is */
        again = sk_scratch_grow(again, LARGE, LARGE + MEAN);
        assert_non_null(again);
        assert_int_equal(again[0], 3);
        sk_scratch_give(again);
        sk_scratch_give(other);
        sk_scratch_rest();
    }
}
#endif

static void test_zeros(void **unused)
{
    for (int k = 0; k < 3; k++) {
        uint8_t *p = sk_scratch_take_zeros(LARGE);
        assert_non_null(p);
        for (size_t i = 0; i < LARGE; i++)
            if (p[i])
                fail();
        memset(p, 5, LARGE);
        sk_scratch_give(p);
        sk_scratch_rest();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(test_lent_blocks_come_back),
#endif
        cmocka_unit_test(test_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
