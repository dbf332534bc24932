/* A prefix whose every operation fails once, or hangs from one on: the job is killed once and goes on. */
#include "lib/levels/prefix_testing.h"

#include "base/sweep.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* One operation, or all from one on, disturbed: in a job that is killed once and goes on. */
static long sweep(long stride, int error, double seconds)
{
    long k = 1;
    for (;; k += stride) {
        prefix_begin_afresh();
        prefix_disturb(k, error ? k + 3 : LONG_MAX, error, seconds);
        prefix_start((struct prefix_run){.until = 35, .crash = 1});
        prefix_start((struct prefix_run){.until = 60, .expect_from = 30});
        long n = atomic_load(&prefix_fault.count);
        prefix_heal();
        if (k > n)
            return n;
    }
}

static void test_every_operation(void **state)
{
    (void)state;
    long stride = sk_sweep_stride(19, 37), n = sweep(stride, ENOSPC, 0);
    n += sweep(stride, EROFS, 0);
    n += sweep(stride, 0, 0.1); /* of which 30 ms are waited for at the start */
    printf("%ld operations in the prefix\n", n);
    assert_true(n > 60);
    sk_sweep_report(stride);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, prefix_begin, prefix_end)
        TEST(test_every_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
