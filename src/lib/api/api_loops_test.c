/* The calls that directives become: which turns a loop runs after a restart, what it gets back, and what is said of wrong uses. */
#include "lib/api/api_testing.h"

#include "base/host/fork_testing.h"

#include <saikai/directives.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { DIED = 7, ODD = 9 };

/* What a process ends with that does this. */
static int ends_with(int (*body)(void))
{
    int status = 0;
    pid_t pid = sk_testing_fork();
    if (!pid) {
        alarm(120);
        _exit(api_testing_logged(body) != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int begin(const char *more)
{
    return saikai_loop_init(MPI_COMM_WORLD, api_testing_settings(more), SAIKAI_MPI_OF_HEADER);
}

/* ---- loops that are left in the middle ---- */

struct odd {
    char of[ODD];
};

/* The program: two loops over these, in each of which a turn has two places. */
static struct {
    long i, j;
    double u[20];
    double wide[10][2]; /* only [][0] is saved */
    struct odd odd[3];
} p;

static long first_turns, second_turns; /* that were run in this process, from their beginning */

static int tell_variables(long *i)
{
    static const ptrdiff_t row[] = {20, 8}, apart[] = {10, 16}, things[] = {3, ODD};
    CHECK(!saikai_loop_variable("i", i, SAIKAI_I64, 8, 0, row, 0, NULL, ""));
    CHECK(!saikai_loop_variable("u", p.u, SAIKAI_F64, 8, 1, row, 1, (long[]){20, 0}, ""));
    CHECK(!saikai_loop_variable("wide", p.wide, SAIKAI_F64, 8, 1, apart, 0, NULL, ""));
    CHECK(!saikai_loop_variable("odd", p.odd, SAIKAI_U8, ODD, 1, things, 0, NULL, "abs:nonsense for no number"));
    return 0;
}

/* A loop of n turns; in turn die_at of it, behind its first place, the process dies. */
static int run_loop(const char *name, long every, long *i, long n, long die_at, long *turns)
{
    struct saikai_loop loop;
    CHECK(!saikai_loop_begin(&loop, name, every) && loop.open);
    if (tell_variables(i))
        return -1;
    CHECK(saikai_loop_restore(&loop) >= 0);
    for (; !loop.skipped && *i < n; ++*i) {
        saikai_loop_next(&loop);
        if (!loop.resume) {
            ++*turns;
            p.u[*i % 20] += (double)*i;
            p.wide[*i % 10][0] += 1;
            p.odd[*i % 3].of[*i % ODD]++;
        }
        if (!loop.resume || loop.resume == 1)
            saikai_loop_candidate(&loop, 0);
        if (*i == die_at) {
            saikai_wait();
            _exit(DIED);
        }
        if (!loop.resume)
            p.u[0] += 0.5;
        saikai_loop_candidate(&loop, 1);
    }
    saikai_loop_end(&loop);
    CHECK(!loop.open);
    saikai_loop_end(&loop); /* once more does nothing */
    return 0;
}

static int run_program(long die_first, long die_second)
{
    memset(&p, 0, sizeof p);
    for (int k = 0; k < 10; k++)
        p.wide[k][1] = -1;
    first_turns = second_turns = 0;
    CHECK(!begin(""));
    if (run_loop("first", 0, &p.i, 12, die_first, &first_turns) || run_loop("second", 0, &p.j, 31, die_second, &second_turns))
        return -1;
    CHECK(!saikai_loop_fini() && !saikai_default());
    return 0;
}

static int dies_in_the_first(void)
{
    return run_program(7, -1);
}

static int dies_in_the_second(void)
{
    return run_program(-1, 17);
}

static int dies_again_in_the_second(void)
{
    return run_program(-1, 25);
}

/* What the variables come to without a fault. */
static struct {
    double u[20], wide[10];
    int odd[3][ODD];
} want;

static void add_turns(long n)
{
    for (long i = 0; i < n; i++) {
        want.u[i % 20] += (double)i;
        want.u[0] += 0.5;
        want.wide[i % 10] += 1;
        want.odd[i % 3][i % ODD]++;
    }
}

/* It comes to its end with the right result, and ran so many turns for it. */
static int comes_to_its_end(long first_least, long first_most, long second_least, long second_most)
{
    if (run_program(-1, -1))
        return -1;
    if (first_turns < first_least || first_turns > first_most || second_turns < second_least || second_turns > second_most)
        fprintf(stderr, "%ld and %ld turns\n", first_turns, second_turns);
    CHECK(first_turns >= first_least && first_turns <= first_most);
    CHECK(second_turns >= second_least && second_turns <= second_most);
    memset(&want, 0, sizeof want);
    add_turns(12);
    add_turns(31);
    CHECK(!memcmp(p.u, want.u, sizeof p.u)); /* sums of halves are exact */
    for (int k = 0; k < 10; k++)
        CHECK(p.wide[k][0] == want.wide[k] && p.wide[k][1] == -1);
    for (int k = 0; k < 3; k++)
        for (int b = 0; b < ODD; b++)
            CHECK(p.odd[k].of[b] == want.odd[k][b]);
    return 0;
}

static int without_a_fault(void)
{
    return comes_to_its_end(12, 12, 31, 31);
}

/* Of eight turns and a place every third place is saved. */
static int after_the_first(void)
{
    return comes_to_its_end(4, 6, 31, 31);
}

static int after_the_second(void)
{
    int rc = comes_to_its_end(0, 0, 5, 8);
    CHECK(strstr(api_testing_log, "the checkpoint was made in enabled loop 2 of this run"));
    return rc;
}

static void loops_go_on_where_they_were(void **state)
{
    (void)state;
    assert_int_equal(ends_with(without_a_fault), 0);
    assert_int_equal(ends_with(dies_in_the_first), DIED);
    assert_int_equal(ends_with(after_the_first), 0);
    assert_int_equal(ends_with(dies_in_the_second), DIED);
    assert_int_equal(ends_with(dies_again_in_the_second), DIED);
    assert_int_equal(ends_with(after_the_second), 0);
    assert_int_equal(ends_with(without_a_fault), 0); /* that one ended: this one begins anew */
}

/* ---- every(…) ---- */

static int every_fourth_turn(void)
{
    struct saikai_status st;
    struct saikai_loop loop;
    CHECK(!begin("schedule.every=1000"));
    p.i = 0;
    CHECK(!saikai_loop_begin(&loop, "each", 4) && !tell_variables(&p.i) && saikai_loop_restore(&loop) >= 0);
    for (; p.i < 12; ++p.i) {
        saikai_loop_next(&loop);
        CHECK(!saikai_get_status(&st, sizeof st) && st.checkpoints == p.i / 4);
        saikai_loop_candidate(&loop, 0);
        CHECK(!saikai_get_status(&st, sizeof st) && st.checkpoints == (p.i + 1) / 4);
        saikai_loop_candidate(&loop, 1); /* once in such a turn */
    }
    saikai_loop_end(&loop);
    CHECK(!saikai_wait() && !saikai_get_status(&st, sizeof st) && st.checkpoints == 3 && st.complete_iteration == 12);
    return saikai_loop_fini();
}

static void turns_of_a_multiple_are_saved(void **state)
{
    (void)state;
    api_testing_runs(every_fourth_turn);
}

/* ---- MPI begun by the directive ---- */

static int mpi_is_begun_and_ended(void)
{
    api_testing_mpi.ready = 0;
    CHECK(!begin("") && api_testing_mpi.ready && !api_testing_mpi.over);
    CHECK(!saikai_loop_fini() && api_testing_mpi.over);
    api_testing_mpi.over = 0;
    CHECK(!begin("") && !saikai_loop_fini() && !api_testing_mpi.over); /* the program's own stays */
    FAILS(saikai_loop_fini(), SAIKAI_ESTATE, "saikai_init was not called");
    return 0;
}

static void mpi_belongs_to_who_began_it(void **state)
{
    (void)state;
    api_testing_runs(mpi_is_begun_and_ended);
}

/* ---- mistakes ---- */

static int begins_before_init(void)
{
    struct saikai_loop loop;
    saikai_loop_begin(&loop, "early", 0);
    return 0;
}

static int loops_that_cannot_be(void)
{
    struct saikai_loop a, b = {0};
    CHECK(!begin(""));
    FAILS(saikai_loop_begin(&a, "neg", -1), SAIKAI_EINVAL, "loop neg: 'every' is less than nothing");
    CHECK(saikai_loop_restore(&a) == SAIKAI_ESTATE); /* it did not begin */
    CHECK(!saikai_loop_begin(&a, "outer", 0));
    FAILS(saikai_loop_begin(&b, "inner", 0), SAIKAI_EINVAL, "loop outer: another enabled loop begins inside of it");
    CHECK(a.open && !b.open && saikai_loop_restore(&b) == SAIKAI_ESTATE);
    saikai_loop_end(&b);
    FAILS(saikai_loop_begin(&b, "inner", 0), SAIKAI_EINVAL, "inside of it");
    saikai_loop_end(&a);
    CHECK(!saikai_loop_begin(&b, "next", 0));
    saikai_loop_end(&b);
    return saikai_loop_fini();
}

static int variables_that_cannot_be(void)
{
    struct saikai_loop loop;
    double x[4] = {0};
    const ptrdiff_t one[] = {4, 8}, back[] = {-1, 8}, none[] = {0, 8}, bytes[] = {1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3};
    ptrdiff_t many[2 * (SAIKAI_MAX_DIMS + 1)];
    for (int d = 0; d < 2 * (SAIKAI_MAX_DIMS + 1); d++)
        many[d] = d <= SAIKAI_MAX_DIMS ? 1 : 8;
    CHECK(!begin("") && !saikai_loop_begin(&loop, "bad", 0));
    FAILS(saikai_loop_variable("x", x, SAIKAI_F64, 8, SAIKAI_MAX_DIMS + 1, many, 0, NULL, ""), SAIKAI_EINVAL, "'x' has 9 dimensions, more than 8");
    FAILS(saikai_loop_variable("x", x, SAIKAI_F64, 8, 1, one, 2, (long[]){8, 8, 0, 0}, ""), SAIKAI_EINVAL,
          "'x' has 1 dimensions, and 'global' tells 2 sizes");
    FAILS(saikai_loop_variable("x", x, SAIKAI_F64, 8, 1, back, 0, NULL, ""), SAIKAI_EINVAL, "'x' ends before it begins: -1 elements");
    FAILS(saikai_loop_variable("x", x, SAIKAI_F64, 8, 1, one, 1, (long[]){8, -2}, ""), SAIKAI_EINVAL, "'x': 'global' tells a number below 0, -2");
    FAILS(saikai_loop_variable("x", x, SAIKAI_F64, 8, 1, one, 1, (long[]){-8, 0}, ""), SAIKAI_EINVAL, "below 0, -8");
    FAILS(saikai_loop_variable("x", x, SAIKAI_U8, 3, SAIKAI_MAX_DIMS, bytes, 0, NULL, ""), SAIKAI_EINVAL, "too many dimensions");
    FAILS(saikai_loop_variable("y", x, SAIKAI_F64, 8, 1, one, 0, NULL, "much"), SAIKAI_EINVAL, "much");
    CHECK(!saikai_loop_variable("x", x, SAIKAI_F64, 8, 1, none, 1, (long[]){4, 4}, "abs:1e-3"));
    CHECK(!saikai_loop_variable("z", x, SAIKAI_I64, 8, SAIKAI_MAX_DIMS, many + 1, 0, NULL, "much"));
    saikai_loop_end(&loop);
    FAILS(saikai_unprotect("x"), SAIKAI_ENOENT, "x"); /* the loop's variables end with it */
    return saikai_loop_fini();
}

static void mistakes_are_told(void **state)
{
    (void)state;
    assert_int_equal(ends_with(begins_before_init), SAIKAI_EXIT_CODE);
    api_testing_runs(loops_that_cannot_be);
    api_testing_runs(variables_that_cannot_be);
}

/* ---- programs that have changed ---- */

static int resumes_as(const char *name)
{
    struct saikai_loop loop;
    CHECK(!begin("") && !saikai_loop_begin(&loop, name, 0) && !tell_variables(&p.i));
    int rc = saikai_loop_restore(&loop);
    if (strcmp(name, "first")) {
        FAILS(rc, SAIKAI_EINVAL, "the checkpoint was made in another loop");
        _exit(DIED);
    }
    CHECK(!rc && loop.resume >= 1 && loop.resume <= 2);
    saikai_loop_next(&loop);
    CHECK(!strcmp(saikai_error_text(), ""));
    saikai_loop_next(&loop);
    CHECK(strstr(saikai_error_text(), "the place that it is to be resumed from was not reached"));
    saikai_loop_candidate(&loop, 5); /* not that place */
    CHECK(loop.resume);
    saikai_loop_end(&loop);
    CHECK(strstr(api_testing_log, "it ended before the place that it is to be resumed from was reached"));
    _exit(DIED);
}

static int resumes_another_loop(void)
{
    return resumes_as("zeroth");
}

static int does_not_come_to_the_place(void)
{
    return resumes_as("first");
}

static int passes_the_first_by(void)
{
    struct saikai_loop loop;
    CHECK(!begin("") && !saikai_loop_begin(&loop, "none", 0));
    saikai_loop_end(&loop); /* its variables are not restored here: the state of run 1 is not asked for */
    CHECK(!saikai_loop_begin(&loop, "second", 0) && !tell_variables(&p.j));
    FAILS(saikai_loop_restore(&loop), SAIKAI_EINVAL, "a loop that was not reached in this start");
    _exit(DIED);
}

static void programs_that_changed_are_told(void **state)
{
    (void)state;
    assert_int_equal(ends_with(dies_in_the_first), DIED);
    assert_int_equal(ends_with(resumes_another_loop), DIED);
    assert_int_equal(ends_with(does_not_come_to_the_place), DIED);
    assert_int_equal(ends_with(passes_the_first_by), DIED);
    assert_int_equal(ends_with(after_the_first), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loops_go_on_where_they_were, api_testing_make_dir, api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(turns_of_a_multiple_are_saved, api_testing_make_dir, api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(mpi_belongs_to_who_began_it, api_testing_make_dir, api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(mistakes_are_told, api_testing_make_dir, api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(programs_that_changed_are_told, api_testing_make_dir, api_testing_remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
