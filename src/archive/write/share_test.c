/* How many compare blocks with previous ones at a time, and how large blocks may be then: never more than there is memory for. */
#include "archive/write/delta.h"

#include "codec/general/general.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { MIB = 1 << 20 };

static void seats_take_three_quarters_at_most(void **state)
{
    (void)state;
    const struct sk_unpack_need need = {.work_bytes = 7 * MIB, .raw_bytes = 3 * MIB};
    const uint64_t seat = 7 * MIB + 2 * 3 * MIB + SK_PACK_TABLES;
    uint64_t unit = 5;
    for (int n = 1; n <= 6; n++) {
        uint64_t memory = ((uint64_t)n * seat / 3 - 2) * 4; /* less than enough for n; then just enough */
        while ((uint64_t)n * seat > memory / 4 * 3)
            memory += 4;
        for (int threads = 1; threads <= 8; threads++) {
            int want = threads < n ? threads : n;
            assert_int_equal(sk_archive_delta_share(memory, threads, &need, &unit), want);
            /* the rest holds 4 blocks of each thread and 6 more, and of each seat one that is filtered and one that is packed */
            assert_int_equal(unit, (memory - (uint64_t)want * seat) / (uint64_t)(4 * threads + 6 + 2 * want));
        }
        assert_int_equal(sk_archive_delta_share(memory - 4, n, &need, &unit), n - 1);
    }
}

static void too_little_is_told(void **state)
{
    (void)state;
    const struct sk_unpack_need small = {0}, large = {.work_bytes = UINT64_MAX / 8, .raw_bytes = UINT64_MAX / 32};
    uint64_t unit = 5;
    assert_int_equal(sk_archive_delta_share(SK_PACK_TABLES, 4, &small, &unit), 0);
    assert_int_equal(sk_archive_delta_share(0, 4, &small, &unit), 0);
    assert_int_equal(sk_archive_delta_share((uint64_t)64 << 30, 4, &large, &unit), 0);
    assert_int_equal(unit, 5); /* untouched */
    assert_int_equal(sk_archive_delta_share(2 * SK_PACK_TABLES, 4, &small, &unit), 1);
    assert_int_equal(unit, SK_PACK_TABLES / (4 * 4 + 6 + 2));
}

static void the_least_is_known(void **state)
{
    (void)state;
    uint64_t unit;
    for (uint64_t work = 0; work < 9; work++) {
        const struct sk_unpack_need need = {.work_bytes = work, .raw_bytes = 3 * MIB};
        uint64_t least = sk_archive_delta_least(&need);
        assert_int_equal(sk_archive_delta_share(least, 3, &need, &unit), 1);
        assert_int_equal(sk_archive_delta_share(least - 1, 3, &need, &unit), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(seats_take_three_quarters_at_most),
        cmocka_unit_test(too_little_is_told),
        cmocka_unit_test(the_least_is_known),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
