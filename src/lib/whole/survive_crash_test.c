/* The whole job dies at any input, output or message of a coding, or of a rebuild; then nodes are
 * lost, too. What was protected before is there at the next start, or what was about to be: never
 * neither, never wrong data. */
#include "lib/whole/survive_testing.h"

#include "base/sweep.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Four ranks, two parities. Iteration 10 is protected, the checkpoint of 20 is coded while
 * operations count. */
static struct survive_run four(const char *config)
{
    return (struct survive_run){.ranks = 4,
                                .node_of = {0, 1, 2, 3},
                                .config = config,
                                .until = 20,
                                .begin_at = 10,
                                .may_fail = survive_errno != 0};
}

static void fresh_directory(void)
{
    assert_int_equal(survive_finish(NULL), 0);
    assert_int_equal(survive_begin(NULL), 0);
}

/* Another pair each time. */
static void lose_two(struct survive_run *r, long n)
{
    static const int pair[6][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 3}, {1, 2}};
    for (int k = 0; k < 2; k++) {
        int rank = pair[n % 6][k];
        survive_lose(r->node_of[rank]);
        r->node_of[rank] = 4 + k;
    }
}

static void look(struct survive_run *r, long n, int newer_only)
{
    r->from = -1;
    r->until = 0;
    r->may_fail = 0;
    r->begin_at = 0;
    assert_int_equal(survive_start(r), 0);
    if (r->found != 20 && (newer_only || r->found != 10))
        fail_msg("operation %ld: iteration %lld was found:\n%s", n, (long long)r->found,
                 survive_log);
}

static void sweep_coding(const char *config)
{
    long n = 0, newer = 0, stride = sk_sweep_stride(23, 23);
    for (int died = 1; died; n += stride) {
        struct survive_run r = four(config);
        int rc = survive_child(&r, n);
        if (rc != 42 && rc != 0)
            fail_msg("operation %ld: code %d", n, rc);
        died = rc == 42;
        lose_two(&r, n / stride);
        look(&r, n, 0);
        newer += r.found == 20 ? stride : 0;
        fresh_directory();
        assert_true(n < 3000);
    }
    printf("%ld operations; after %ld of them the newer generation was found\n", n - 1, newer);
    assert_true(n > 40 && newer > 0 && newer < n);
}

/* Iteration 20 is protected; two nodes are lost; the start that rebuilds them dies. The next one
 * has it all. */
static void sweep_rebuild(const char *config)
{
    long n = 0, stride = sk_sweep_stride(23, 23);
    for (int died = 1; died; n += stride) {
        struct survive_run r = four(config);
        r.may_fail = 0;
        assert_int_equal(survive_start(&r), 0);
        lose_two(&r, n / stride);
        struct survive_run again = r;
        again.from = -1;
        again.until = 0;
        again.begin_at = -1;
        again.may_fail = survive_errno != 0;
        int rc = survive_child(&again, n);
        if (rc != 42 && rc != 0)
            fail_msg("operation %ld: code %d", n, rc);
        died = rc == 42;
        look(&r, n, 1);
        fresh_directory();
        assert_true(n < 3000);
    }
    printf("%ld operations of a restart\n", n - 1);
    assert_true(n > 40);
}

static void test_die_while_coding(void **state)
{
    (void)state;
    sweep_coding(NULL);
}

static void test_die_at_every_message_of_a_coding(void **state)
{
    (void)state;
    survive_messages = 1;
    sweep_coding("redundancy.helper=slices");
    survive_messages = 0;
}

static void test_full_disk_while_coding(void **state)
{
    (void)state;
    survive_errno = ENOSPC;
    sweep_coding("redundancy.helper=slices");
    survive_errno = 0;
}

static void test_die_while_rebuilding(void **state)
{
    (void)state;
    sweep_rebuild(NULL);
}

static void test_die_at_every_message_of_a_rebuild(void **state)
{
    (void)state;
    survive_messages = 1;
    sweep_rebuild("redundancy.helper=slices");
    survive_messages = 0;
}

static void test_io_error_while_rebuilding(void **state)
{
    (void)state;
    survive_errno = EIO;
    sweep_rebuild("redundancy.helper=slices");
    survive_errno = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_die_while_coding, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_die_at_every_message_of_a_coding, survive_begin,
                                        survive_finish),
        cmocka_unit_test_setup_teardown(test_full_disk_while_coding, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_die_while_rebuilding, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_die_at_every_message_of_a_rebuild, survive_begin,
                                        survive_finish),
        cmocka_unit_test_setup_teardown(test_io_error_while_rebuilding, survive_begin,
                                        survive_finish),
    };
    sk_sweep_report(sk_sweep_stride(23, 23));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
