/* MPI's switch is this test's own. */
#include "world/next/next.h"
#include "world/rest/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

static bool mpi_gives;
static int given, others_compute;

static bool turn_switch(bool to)
{
    bool before = mpi_gives;
    mpi_gives = to;
    return before;
}

void *sk_next_find(const char *name)
{
    assert_string_equal(name, "opal_progress_set_yield_when_idle");
    return (void *)turn_switch;
}

int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    given++;
    if (others_compute)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return 0;
}

/* Whoever yields to them waits for their whole turn. */
static void others_that_compute_are_not_yielded_to_for_long(void **state)
{
    mpi_gives = true;
    sk_core_keep();
    sk_core_let_go();
    for (int i = 0; i < 100; i++) /* had this process been held up before, as on a busy machine */
        sk_core_give();
    given = 0;
    others_compute = 1;
    for (int i = 0; i < 303; i++)
        sk_core_give();
    others_compute = 0;
    assert_int_equal(given, 3); /* each is long, and a hundred gifts after it are none */
}

static void the_core_is_kept_until_all_let_it_go(void **state)
{
    mpi_gives = true;
    given = 0;
    sk_core_keep();
    sk_core_keep();
    assert_false(mpi_gives);
    sk_core_let_go();
    assert_false(mpi_gives);
    sk_core_give();
    assert_int_equal(given, 1);
    sk_core_let_go();
    assert_true(mpi_gives);
}

static void calls_that_were_left_keep_it_no_more(void **state)
{
    mpi_gives = true;
    sk_core_keep();
    sk_core_keep();
    sk_core_let_all_go();
    assert_true(mpi_gives);
    sk_core_let_all_go();
    sk_core_keep();
    assert_false(mpi_gives);
    sk_core_let_go();
    assert_true(mpi_gives);
}

static void it_is_not_given_where_mpi_does_not(void **state)
{
    mpi_gives = false;
    given = 0;
    sk_core_keep();
    sk_core_give();
    sk_core_let_go();
    sk_core_give();
    assert_int_equal(given, 0);
    assert_false(mpi_gives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_core_is_kept_until_all_let_it_go),
        cmocka_unit_test(calls_that_were_left_keep_it_no_more),
        cmocka_unit_test(others_that_compute_are_not_yielded_to_for_long),
        cmocka_unit_test(it_is_not_given_where_mpi_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
