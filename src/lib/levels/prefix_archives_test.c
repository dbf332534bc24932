/* A prefix that falls silent or slow while archives of all ranks are written to it, or read: the job ends right, and goes on from
 * what was whole. */
#include "lib/levels/prefix_testing.h"

#include "base/clock.h"
#include "lib/levels/aggregator.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

static void hang_now(int64_t it)
{
    if (it == 15)
        prefix_disturb(1, LONG_MAX, 0, 1e6);
}

/* The same while archives of all ranks are made there: the end does not wait for them, and the next start has what is in memory. */
static void test_silent_while_it_is_archived(void **state)
{
    (void)state;
    double begun = sk_now();
    prefix_start((struct prefix_run){.config = "store.archive=aggregate; store.prefix_timeout=500ms", .until = 60, .at = hang_now, .hangs = 1});
    world_expect("what is being archived there is given up", 1);
    world_expect("is not in the prefix: its files stay in", 1);
    assert_true(sk_now() - begun < 60);
    prefix_heal();
    prefix_start((struct prefix_run){.config = "store.archive=aggregate; restart.mode=always", .until = 70, .expect_from = 60});
}

static void slow_now(int64_t it)
{
    if (it == 59)
        atomic_store(&prefix_fault.slow_ms, 100);
}

/* What takes longer than store.final_wait, but moves, is waited for. */
static void test_slow_while_it_is_archived(void **state)
{
    (void)state;
    prefix_start((struct prefix_run){.config = "store.archive=aggregate; store.final_wait=1500ms", .until = 60, .at = slow_now});
    atomic_store(&prefix_fault.slow_ms, 0);
    assert_false(world_says("given up"));
    prefix_start((struct prefix_run){.config = "store.archive=aggregate; restart.mode=always; store.local=none", .until = 61, .expect_from = 60});
}

/* Nothing is on the nodes, and the prefix falls silent for good at any moment of reading its archives: an error, and the next start
 * that can read them goes on from them. What is silent for a while is waited for. */
static void test_silent_while_archives_are_read(void **state)
{
    (void)state;
    static const char config[] = "store.archive=aggregate; restart.mode=always; restart.tries=1000"; /* their marks stay in the prefix */
    int moments = 0;
    prefix_start((struct prefix_run){.config = config, .until = 30});
    atomic_store(&prefix_fault.archives, 1);
    for (long k = 1;; k += 3) {
        world_lose("local");
        prefix_disturb(k, LONG_MAX, 0, 1e6);
        double begun = sk_now();
        prefix_start((struct prefix_run){.config = config, .until = 30, .crash = 1, .expect_from = 30, .may_not_restart = 1});
        assert_true(sk_now() - begun < 60);
        int reached = atomic_load(&prefix_fault.count) >= k;
        prefix_heal();
        if (!reached)
            break;
        if (world_says("resuming from")) /* that was read, and what is only looked at is not waited for */
            continue;
        moments++;
        world_expect("is in archives there alone: waiting", 1);
        world_expect("complete generations in", 1);
        world_expect("cannot be read now", 1);
    }
    assert_true(moments > 3);
    world_lose("local");
    prefix_disturb(2, LONG_MAX, 0, 0.3);
    prefix_start((struct prefix_run){.config = "store.archive=aggregate; restart.mode=always; restart.tries=1000; store.final_wait=20s",
                                     .until = 40,
                                     .expect_from = 30});
    atomic_store(&prefix_fault.archives, 0);
}

static void wait_for_archives(int64_t it)
{
    double since = sk_now();
    while (it > 30 && !sk_archived(prefix_dir, (struct sk_gen){1, 30, 0}) && sk_now() - since < 1)
        sk_sleep(0.01);
}

/* The same where an older one is whole on the nodes. */
static void test_silent_archives_of_a_newer_one(void **state)
{
    (void)state;
    static const char config[] = "store.archive=aggregate; restart.mode=always; store.keep_local=2";
    char path[256];
    prefix_start((struct prefix_run){.config = config, .until = 39, .crash = 1, .at = wait_for_archives});
    for (int r = 0; r < PREFIX_RANKS; r++) {
        world_path(path, world_local(), 1, 30, r);
        assert_int_equal(unlink(path), 0);
    }
    atomic_store(&prefix_fault.archives, 1);
    prefix_disturb(1, LONG_MAX, 0, 1e6);
    /* only the archives are silent: what else is looked at there answers, however late on a busy machine */
    prefix_start((struct prefix_run){.config = "store.archive=aggregate; restart.mode=always; store.keep_local=2; store.prefix_timeout=10s",
                                     .until = 25,
                                     .crash = 1,
                                     .expect_from = 20});
    world_expect("this start removes nothing of earlier ones", 1);
    prefix_heal();
    atomic_store(&prefix_fault.archives, 0);
    prefix_start((struct prefix_run){.config = config, .until = 40, .expect_from = 30});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, prefix_begin, prefix_end)
        TEST(test_silent_while_it_is_archived),
        TEST(test_slow_while_it_is_archived),
        TEST(test_silent_while_archives_are_read),
        TEST(test_silent_archives_of_a_newer_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
