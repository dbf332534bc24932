/* Archives in the prefix in place of each rank's file: they alone bring back, and the model says how often they are made. */
#include "lib/whole/solver_testing.h"

#include "archive/file/ska.h"
#include "base/clock.h"
#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 3 };

static const char *const aggregated = "store.archive=aggregate; far.writers=2; codec.threads=1; far.memory=16MiB";

static int in_prefix(int incarnation, int64_t it, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/prefix/gen-%04d-%012lld-0/%s", world.dir, incarnation, (long long)it, name);
    return !access(path, F_OK);
}

/* The archives of generation 30 say which store they are of. */
static void check_whose(void)
{
    char path[256], root[96];
    struct sk_ska a = {0};
    struct sk_job j;
    snprintf(root, sizeof root, "%s/prefix", world.dir);
    snprintf(path, sizeof path, "%s/gen-0001-000000000030-0/set-000001.2-of-2.ska", root);
    assert_int_equal(sk_job_load(root, &j, NULL), 0);
    assert_int_equal(sk_archive_open(path, &a, NULL), 0);
    assert_false(sk_id_none(a.store));
    assert_true(sk_id_same(a.store, j.store));
    sk_ska_free(&a);
}

static void test_archives_alone_bring_back(void **state)
{
    (void)state;
    solve(N, (struct solve){.config = aggregated, .until = 35, .crash = 1, .settle = 1});
    assert_true(in_prefix(1, 30, "set-000001.1-of-2.ska") && in_prefix(1, 30, "set-000001.2-of-2.ska"));
    assert_false(in_prefix(1, 30, "rank-000000.skc"));
    check_whose();
    assert_true(in_prefix(1, 20, "set-000001.1-of-2.ska")); /* store.keep_prefix */
    assert_false(in_prefix(1, 10, "set-000001.1-of-2.ska"));
    world_lose("local");
    solve(N, (struct solve){.config = aggregated, .until = 57, .crash = 1, .expect = 1, .expect_from = 30, .settle = 1});
    assert_false(in_prefix(1, 30, "set-000001.1-of-2.ska"));
    /* whoever restarts need not write archives */
    world_lose("local");
    solve(N, (struct solve){.until = 60, .crash = 1, .expect = 1, .expect_from = 50, .settle = 1});
}

static void test_archive_replaces_what_is_damaged_or_gone(void **state)
{
    (void)state;
    char path[256];
    solve(N, (struct solve){.config = aggregated, .until = 35, .crash = 1, .settle = 1});
    world_damage(world_local(), 1, 30, 1, 1000);
    world_path(path, world_local(), 1, 30, 2);
    assert_int_equal(unlink(path), 0);
    solve(N, (struct solve){.config = aggregated, .until = 35, .crash = 1, .expect = 1, .expect_from = 30});
    world_lose("local");
    snprintf(path, sizeof path, "%s/prefix/gen-0001-%012d-0/set-000001.2-of-2.ska", world.dir, 30);
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "damage", 6, 500), 6);
    close(fd);
    solve(N, (struct solve){.config = aggregated, .until = 25, .crash = 1, .expect = 1, .expect_from = 20});
    world_expect("2-of-2", 1);
    world_lose("local");
    solve(N + 1, (struct solve){.config = aggregated, .expect = SAIKAI_ERANKS, .expect_text = "was written by 3 ranks"});
}

static void test_a_finished_run_leaves_an_archive(void **state)
{
    (void)state;
    solve(N, (struct solve){.config = aggregated, .until = 34});
    assert_true(in_prefix(1, 30, "set-000001.2-of-2.ska"));
    solve(N, (struct solve){.config = "store.archive=aggregate; restart.mode=always", .until = 40, .expect = 1, .expect_from = 30});
}

static int fail_archives(const char *op, const char *path)
{
    return !strcmp(op, "write") && strstr(path, ".1-of-2.ska") ? ENOSPC : 0;
}

static int settle_local(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    (void)it;
    CHECK(!sk_session_wait(s, &err));
    while (!sk_level_wait(&s->levels.at[SK_LEVEL_FAR], 1))
        ;
    return 0;
}

static void test_full_prefix_keeps_the_archives_before(void **state)
{
    (void)state;
    solve(N, (struct solve){.config = aggregated, .until = 25, .crash = 1, .settle = 1});
    sk_io_hook = fail_archives;
    solve(N, (struct solve){.config = aggregated, .until = 48, .crash = 1, .expect = 1, .expect_from = 20, .body = settle_local});
    sk_io_hook = NULL;
    world_expect("is not archived", 1);
    assert_true(in_prefix(1, 20, "set-000001.1-of-2.ska") && in_prefix(1, 20, "set-000001.2-of-2.ska"));
    assert_false(in_prefix(2, 40, "set-000001.2-of-2.ska"));
    world_lose("local");
    solve(N, (struct solve){.config = aggregated, .until = 30, .crash = 1, .expect = 1, .expect_from = 20});
}

/* Where MPI allows no threads, each rank's file is brought to the prefix. */
static int without_threads(struct sk_group *g, void *engine)
{
    struct saikai_error err = {0};
    struct sk_open_level far;
    g->threads = 0;
    struct sk_config *c = world_config("store.archive=aggregate");
    struct sk_level_setup s = {.g = g, .config = c, .engine = engine};
    CHECK(!sk_level_open(SK_LEVEL_FAR, &s, &far, &err));
    CHECK(far.ops == &sk_level_files && far.opened == engine);
    sk_config_free(c);
    return 0;
}

static void test_without_threads_of_mpi_files_are_copied(void **state)
{
    char engine; /* nobody looks at it */
    (void)state;
    world_start(N, without_threads, &engine);
    world_expect("store.archive=aggregate needs MPI_THREAD_MULTIPLE", 1);
}

/* A file is damaged after it was committed and before it is archived. */
static int damage_twenty(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!sk_session_wait(s, &err));
    if (it == 20 && s->g->rank == 1)
        world_damage(world_local(), 1, 20, 1, 1000);
    while (sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVING) < sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE))
        CHECK(sk_session_due(s, 1, it, &err) == 0);
    while (!sk_level_wait(&s->levels.at[SK_LEVEL_FAR], 1))
        ;
    return 0;
}

static void test_what_is_damaged_is_not_archived(void **state)
{
    (void)state;
    solve(N, (struct solve){.config = aggregated, .until = 20, .crash = 1, .body = damage_twenty});
    world_expect("generation gen-0001-000000000020-0 is not archived", 1);
    world_expect("rank-000001.skc: chunk 0", 1);
    assert_true(in_prefix(1, 10, "set-000001.2-of-2.ska"));
    assert_false(in_prefix(1, 20, "set-000001.1-of-2.ska") || in_prefix(1, 20, "set-000001.2-of-2.ska"));
    world_lose("local");
    solve(N, (struct solve){.config = aggregated, .until = 11, .crash = 1, .expect = 1, .expect_from = 10});
}

/* ---- the model chooses how often to archive ---- */

static int slowly(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    sk_sleep(0.001);
    return it % 10 ? 0 : sk_session_wait(s, &err);
}

static int only_the_first_is_archived(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!slowly(s, it));
    CHECK(it < 90 || (sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE) >= 8 &&
                      sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVING) == 1));
    return 0;
}

static int several_are_archived(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!slowly(s, it));
    double begun = sk_now();
    /* where a copy takes long, the model wants the next one late: learnt at the same candidate on all ranks */
    while (it >= 590 && (sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVING) <= 1 || sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) <= 1)) {
        int due = sk_session_due(s, 1, it, &err);
        CHECK(due >= 0);
        if (due)
            CHECK(!sk_session_capture(s, 1, it, &err));
        CHECK(!slowly(s, 1) && sk_now() - begun < 60);
    }
    CHECK(it < 590 || s->measured.advice.policy.planned > 0); /* it has chosen the interval, too, and told every rank */
    return 0;
}

static void test_archives_as_often_as_the_model_says(void **state)
{
    (void)state;
    /* no failure needs more than a local generation: one copy is made, whose cost is then known */
    solve(N, (struct solve){.until = 95, .crash = 1, .body = only_the_first_is_archived, .config = "store.archive_interval=auto; failure.local_share=1; failure.beyond_share=0"});
    world_lose("local");
    solve(N, (struct solve){.until = 595, .expect = 1, .expect_from = 1, .body = several_are_archived, .config = "store.archive_interval=auto; failure.local_share=0; failure.mtbf=60s; "
                                                                                                                 "restart.tries=9"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, solver_begin, solver_end)
        TEST(test_archives_alone_bring_back),
        cmocka_unit_test(remember_open_files),
        TEST(test_archive_replaces_what_is_damaged_or_gone),
        TEST(test_a_finished_run_leaves_an_archive),
        TEST(test_full_prefix_keeps_the_archives_before),
        TEST(test_what_is_damaged_is_not_archived),
        TEST(test_without_threads_of_mpi_files_are_copied),
        TEST(test_archives_as_often_as_the_model_says),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
