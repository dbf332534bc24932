/* Sessions of several ranks in one process: what is restored is what was saved, whatever happens to the files between, and never
 * for ever what a program dies from. */
#include "lib/whole/solver_testing.h"

#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 3 };

static void test_crash_and_resume(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1});
    solve(N, (struct solve){.until = 57, .crash = 1, .expect = 1, .expect_from = 30, .settle = 1});
    world_expect("node-local copy", 1);
    solve(N, (struct solve){.until = 60, .expect = 1, .expect_from = 50});
    /* finished: the next one begins anew, unless told otherwise */
    solve(N, (struct solve){.until = 25, .crash = 1, .settle = 1});
    solve(N, (struct solve){.until = 30, .expect = 1, .expect_from = 20});
}

static void test_always_resumes_a_finished_run(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 30, .settle = 1});
    solve(N, (struct solve){.config = "restart.mode=always", .until = 40, .expect = 1, .expect_from = 30, .settle = 1});
    solve(N, (struct solve){.config = "restart.mode=never", .until = 10, .crash = 1});
}

static void test_lost_local_directory(void **state)
{
    (void)state;
    char path[128];
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1});
    snprintf(path, sizeof path, "%s/local", world.dir);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
    solve(N, (struct solve){.until = 35, .crash = 1, .expect = 1, .expect_from = 30});
    world_expect("copy in the prefix", 1);
}

static void test_damaged_copies(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1});
    world_damage(world_local(), 1, 30, 1, 1000); /* one copy of one rank: the other copy */
    solve(N, (struct solve){.until = 31, .crash = 1, .expect = 1, .expect_from = 30});
    world_expect("trying the copy in the prefix", 1);
    world_expect("variable 'u'", 1);
    world_damage("prefix", 1, 30, 1, 1000); /* both: the older generation */
    solve(N, (struct solve){.until = 21, .crash = 1, .expect = 1, .expect_from = 20});
    world_expect("is damaged: trying the next older one", 1);
    world_damage("prefix", 1, 20, 0, 1000); /* nothing is left: never a silent fresh start */
    solve(N, (struct solve){.expect = SAIKAI_EDAMAGED, .expect_text = "restart.mode=never"});
    solve(N, (struct solve){.config = "restart.mode=never", .until = 5, .crash = 1});
}

static void test_incomplete_generation(void **state)
{
    (void)state;
    char path[256];
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1});
    world_path(path, world_local(), 1, 30, 2);
    assert_int_equal(unlink(path), 0);
    world_path(path, "prefix", 1, 30, 2);
    assert_int_equal(unlink(path), 0);
    solve(N, (struct solve){.until = 20, .crash = 1, .expect = 1, .expect_from = 20});
}

static void test_wrong_rank_count(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 15, .crash = 1, .settle = 1});
    solve(N + 1, (struct solve){.expect = SAIKAI_ERANKS, .expect_text = "start it with 3"});
    solve(N - 1, (struct solve){.expect = SAIKAI_ERANKS, .expect_text = "start it with 3"});
    solve(N, (struct solve){.until = 15, .crash = 1, .expect = 1, .expect_from = 10});
}

static void test_changed_variable(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 15, .crash = 1, .settle = 1});
    for (int i = 0; i < 3; i++) /* does not use the generation up */
        solve(N, (struct solve){.expect = SAIKAI_ECHANGED, .cells = SOLVER_CELLS + 1, .expect_text = "variable 'u' is f64 5001"});
    solve(N, (struct solve){.until = 15, .crash = 1, .expect = 1, .expect_from = 10});
}

static void die_before_a_candidate(int64_t from, int times)
{
    for (int i = 0; i < times; i++)
        solve(N, (struct solve){.until = 0, .crash = 1, .expect = 1, .expect_from = from});
}

static void test_not_for_ever(void **state)
{
    (void)state;
    struct sk_state st;
    struct sk_gen g = {1, 30, 0};
    char root[80];
    snprintf(root, sizeof root, "%s/prefix", world.dir);
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1});
    die_before_a_candidate(30, 4); /* nobody knows why: each counts half */
    die_before_a_candidate(20, 1);
    world_expect("4 starts died after reading it", 1);
    world_expect("restart.tries is 2", 1);
    world_expect("saikai mark --good gen-0001-000000000030-0 ", 1);
    /* one that reaches a candidate is good again */
    solve(N, (struct solve){.until = 21, .crash = 1, .expect = 1, .expect_from = 20});
    die_before_a_candidate(20, 4);
    /* all are used up: an error that says what to do, not a fresh start */
    solve(N, (struct solve){.expect = SAIKAI_EDAMAGED, .expect_text = "saikai mark --good GENERATION"});
    assert_int_equal(sk_state_load(root, &st, NULL), 0);
    assert_int_equal(sk_state_mark(&st, g, 0, NULL), 0);
    assert_int_equal(sk_state_save(root, &st, NULL), 0);
    solve(N, (struct solve){.until = 31, .crash = 1, .expect = 1, .expect_from = 30});
}

static void test_other_files_are_tried_again(void **state)
{
    (void)state;
    char path[256];
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1});
    die_before_a_candidate(30, 4);
    struct timespec now[2] = {{2000, 0}, {2000, 0}};
    world_path(path, "prefix", 1, 30, 1); /* somebody put another file there */
    assert_int_equal(utimensat(AT_FDCWD, path, now, 0), 0);
    die_before_a_candidate(30, 4);
    die_before_a_candidate(20, 1);
}

/* Every rank of a start was told to end: as if by ^C. */
static void stop_all(int start)
{
    for (int r = 0; r < N; r++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s/stopped-%04d-%06d", world.dir, world_local(), start, r);
        assert_int_equal(sk_io_replace(path, "", 0, NULL), 0);
    }
}

static void test_an_order_to_end_does_not_count(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1});
    for (int start = 2; start < 10; start++) {
        die_before_a_candidate(30, 1);
        stop_all(start);
    }
    die_before_a_candidate(30, 1);
    stop_all(4); /* that was another start */
    die_before_a_candidate(30, 3);
    die_before_a_candidate(20, 1);
}

static int reads_that_fail;
static int fail_reads(const char *op, const char *path)
{
    return !strcmp(op, "read") && strstr(path, "000000000030-0/rank-000001.skc") && reads_that_fail > 0 && reads_that_fail--
               ? EIO
               : 0;
}

static void test_a_read_error_is_tried_again_and_never_counts(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1});
    reads_that_fail = 2; /* and is gone */
    sk_io_hook = fail_reads;
    solve(N, (struct solve){.until = 31, .crash = 1, .expect = 1, .expect_from = 30});
    world_expect("trying again in", 1);
    world_expect("trying the copy in the prefix", 0);
    for (int i = 0; i < 3; i++) { /* stays: an older generation, and nothing is said against this one */
        reads_that_fail = 1000;
        solve(N, (struct solve){.until = 21, .crash = 1, .expect = 1, .expect_from = 20});
        world_expect("trying the copy in the prefix", 1);
    }
    sk_io_hook = NULL;
    solve(N, (struct solve){.until = 31, .crash = 1, .expect = 1, .expect_from = 30});
}

static void test_dates_do_not_matter(void **state)
{
    (void)state;
    char path[256];
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1});
    for (int r = 0; r < N; r++) { /* as if the clock had gone back between the generations */
        struct timespec past[2] = {{1000, 0}, {1000, 0}};
        world_path(path, "prefix", 1, 30, r);
        assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
        world_path(path, world_local(), 1, 30, r);
        assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
    }
    solve(N, (struct solve){.until = 31, .crash = 1, .expect = 1, .expect_from = 30});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, solver_begin, solver_end)
        TEST(test_crash_and_resume),
        cmocka_unit_test(remember_open_files),
        TEST(test_always_resumes_a_finished_run),
        TEST(test_lost_local_directory),
        TEST(test_damaged_copies),
        TEST(test_incomplete_generation),
        TEST(test_wrong_rank_count),
        TEST(test_changed_variable),
        TEST(test_not_for_ever),
        TEST(test_other_files_are_tried_again),
        TEST(test_an_order_to_end_does_not_count),
        TEST(test_a_read_error_is_tried_again_and_never_counts),
        TEST(test_dates_do_not_matter),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
