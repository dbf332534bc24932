/* Whoever called us goes on as fast as before: our checksums leave the upper halves of the vector registers clear. */
#include "base/hash.h"
#include "base/host/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#if defined __x86_64__
static void use_upper_halves(void)
{
    __asm__ volatile("vcmpps $15, %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
}
#else
static void use_upper_halves(void) {}
#endif

static void need_to_be_told(void)
{
    if (sk_vectors_are_clear() < 0)
        skip();
}

static void test_what_is_left_is_seen_and_cleared(void **state)
{
    (void)state;
    need_to_be_told();
    use_upper_halves();
    assert_int_equal(sk_vectors_are_clear(), 0);
    sk_vectors_clear();
    assert_int_equal(sk_vectors_are_clear(), 1);
}

static void test_checksums_leave_nothing(void **state)
{
    (void)state;
    need_to_be_told();
    enum { MOST = 1 << 20 };
    uint8_t *data = calloc(1, MOST);
    struct sk_hasher *h = sk_hasher_new();
    uint64_t sum = 0;
    assert_non_null(data);
    assert_non_null(h);
    for (size_t n = 1; n <= MOST; n *= 2) {
        sk_vectors_clear();
        sum ^= sk_hash64(data, n);
        assert_int_equal(sk_vectors_are_clear(), 1);
        sk_hasher_reset(h);
        sk_hasher_add(h, data, n);
        assert_int_equal(sk_vectors_are_clear(), 1);
        sum ^= sk_hasher_value(h);
        assert_int_equal(sk_vectors_are_clear(), 1);
    }
    assert_int_equal(sum, 0); /* both ways are one */
    sk_hasher_free(h);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_left_is_seen_and_cleared),
        cmocka_unit_test(test_checksums_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
