/* A prefix that is full, read-only, gone or does not answer, at every phase of a job: the job ends right, and goes on from
 * what was whole. */
#include "lib/levels/prefix_testing.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/host/headroom.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <cmocka.h>

/* From the first start on: three starts, the last one ends. */
static void stays_broken(int error)
{
    prefix_start((struct prefix_run){.until = 5, .crash = 1});
    prefix_disturb(1, LONG_MAX, error, 0);
    prefix_start((struct prefix_run){.until = 35, .crash = 1, .expect_from = 1});
    prefix_start((struct prefix_run){.until = 57, .crash = 1, .expect_from = 30});
    world_expect("going on with what is in", 1);
    prefix_start((struct prefix_run){.until = 60, .expect_from = 50});
    world_expect("is not in the prefix: its files stay in", 1);
}

static void test_full(void **state)
{
    (void)state;
    prefix_disturb(1, LONG_MAX, ENOSPC, 0); /* not even its directory can be made */
    prefix_start((struct prefix_run){.until = 35, .crash = 1});
    prefix_start((struct prefix_run){.until = 57, .crash = 1, .expect_from = 30});
    prefix_start((struct prefix_run){.until = 60, .expect_from = 50});
    world_expect("is not in the prefix: its files stay in", 1);
    prefix_begin_afresh();
    stays_broken(ENOSPC);
}

static void test_read_only(void **state)
{
    (void)state;
    stays_broken(EROFS);
}

static void test_gone(void **state)
{
    (void)state;
    stays_broken(EIO);
}

static void comes_back(int64_t it)
{
    if (it == 25)
        prefix_heal();
}

static void test_comes_back(void **state)
{
    (void)state;
    prefix_start((struct prefix_run){.until = 5, .crash = 1});
    prefix_disturb(1, LONG_MAX, ENOSPC, 0);
    prefix_start((struct prefix_run){.config = "store.final_wait=20s", .until = 400, .expect_from = 1, .at = comes_back});
    world_expect("No space left", 1);
    world_expect("takes files again", 1);
    world_expect("is back", 1);
    prefix_start((struct prefix_run){.config = "restart.mode=always; store.local=none", .until = 410, .expect_from = 400});
}

/* What it hangs in is left alone; it never ends while the job runs. */
static void test_never_answers(void **state)
{
    (void)state;
    prefix_start((struct prefix_run){.until = 35, .crash = 1});
    prefix_disturb(1, LONG_MAX, 0, 1e6);
    double begun = sk_now();
    prefix_start((struct prefix_run){.until = 57, .crash = 1, .expect_from = 30});
    world_expect("does not answer", 1);
    world_expect("going on with what is in", 1);
    prefix_start((struct prefix_run){.until = 60, .expect_from = 50});
    world_expect("is not in the prefix: its files stay in", 1);
    assert_true(sk_now() - begun < 60);
    prefix_heal();
    prefix_start((struct prefix_run){.until = 10, .crash = 1});
}

static void hang_now(int64_t it)
{
    if (it == 15)
        prefix_disturb(1, LONG_MAX, 0, 1e6);
}

static void test_stops_to_answer_between_checkpoints(void **state)
{
    (void)state;
    prefix_start((struct prefix_run){.until = 60, .at = hang_now, .hangs = 1});
    world_expect("is not in the prefix: its files stay in", 1);
    prefix_heal();
    prefix_start((struct prefix_run){.config = "restart.mode=always", .until = 70, .expect_from = 60});
}

/* A start that knows nothing of the job waits for the prefix_dir, and does not begin anew what is there. */
static void test_unknown_waits(void **state)
{
    (void)state;
    prefix_start((struct prefix_run){.until = 30});
    prefix_disturb(1, LONG_MAX, 0, 1e6);
    prefix_start_and_heal((struct prefix_run){.config = "restart.mode=always", .until = 40, .expect_from = 30},
                          "nothing is known of this job without it: waiting");
    world_lose("local");
    prefix_disturb(1, LONG_MAX, EIO, 0);
    prefix_start((struct prefix_run){.config = "restart.mode=always", .until = 40, .expect_from = -1});
}

/* By rank 0, at candidates after iteration 30: gives the ranks time to agree on its copy, and the copy time to arrive. */
static void wait_for_files(int64_t it)
{
    char path[PREFIX_RANKS][256];
    double since = sk_now();
    for (int r = 0; r < PREFIX_RANKS; r++)
        world_path(path[r], "prefix", 1, 30, r);
    while (it > 30 && (access(path[0], F_OK) || access(path[1], F_OK)) && sk_now() - since < 1)
        sk_sleep(0.01);
}

/* Nothing whole on the nodes: the generation in the prefix is waited for. */
static void test_restart_needs_the_prefix(void **state)
{
    (void)state;
    char path[256];
    prefix_start((struct prefix_run){.config = "schedule.every=30", .until = 59, .crash = 1, .at = wait_for_files});
    world_path(path, world_local(), 1, 30, 1);
    assert_int_equal(unlink(path), 0);
    prefix_disturb(3, LONG_MAX, 0, 0.4); /* rank 0 makes its directory, and somebody lists it */
    prefix_start((struct prefix_run){.config = "store.final_wait=20s", .until = 40, .expect_from = 30});
}

/* One rank has lost its node's file: the prefix must be seen before anything is decided. While it gives errors the start is refused and
 * says what may help; while it is silent it is waited for, and what is in it is gone on from. */
static void test_what_the_nodes_have_is_not_enough(void **state)
{
    (void)state;
    char path[256];
    prefix_start((struct prefix_run){.config = "schedule.every=30", .until = 59, .crash = 1, .at = wait_for_files});
    world_path(path, world_local(), 1, 30, 1);
    assert_int_equal(unlink(path), 0);
    prefix_disturb(1, LONG_MAX, EIO, 0);
    prefix_start((struct prefix_run){.until = 40, .expect_from = -1});
    world_expect("only what is in the local directories is looked at", 1);
    world_expect("looking again for the prefix", 1);
    world_expect("and no generation is whole in the local directories: start again when the prefix can be read", 1);
    prefix_disturb(1, LONG_MAX, 0, 1e6);
    prefix_start_and_heal((struct prefix_run){.until = 40, .crash = 1, .expect_from = 30},
                          "no generation is whole in the local directories: waiting for the prefix");
}

/* The prefix says whose it is and cannot list what is in it: where nothing is known of the job on its nodes, that is waited for while it is
 * silent, and an error where it is one. */
static void test_a_start_that_cannot_list_it(void **state)
{
    (void)state;
    prefix_start((struct prefix_run){.until = 30});
    world_lose("local");
    atomic_store(&prefix_fault.only, "opendir");
    prefix_disturb(1, LONG_MAX, EIO, 0);
    prefix_start((struct prefix_run){.config = "restart.mode=always", .until = 40, .expect_from = -1});
    world_expect("waiting", 0);
    prefix_disturb(1, LONG_MAX, 0, 1e6);
    prefix_start_and_heal((struct prefix_run){.config = "restart.mode=always", .until = 40, .expect_from = 30},
                          "nothing is known of this job without it: waiting");
}

/* Nothing is on the nodes, and the prefix is silent for longer than anybody waits for one answer. */
static void test_restart_waits_where_it_must(void **state)
{
    (void)state;
    prefix_start((struct prefix_run){.until = 30});
    world_lose("local");
    prefix_disturb(60, LONG_MAX, 0, 0.5); /* while it is read */
    prefix_start((struct prefix_run){.config = "restart.mode=always; store.final_wait=20s", .until = 40, .expect_from = 30});
}

static void hang_while_it_is_written(int64_t it)
{
    if (it == 20)
        prefix_disturb(4, LONG_MAX, 0, 1e6);
}

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/root%s", world.dir, name);
    *strrchr(path, '/') = 0;
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    snprintf(path, sizeof path, "%s/root%s", world.dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* There is no room on the nodes: the checkpoint that is being written when the prefix falls silent is not saved, and the program
 * goes on. */
static void test_silent_while_it_is_written_directly(void **state)
{
    (void)state;
    char local[] = "/dev/shm/saikai-prefix-XXXXXX", root[96], config[128];
    struct statfs fs;
    if (statfs("/dev/shm", &fs) || fs.f_type != 0x01021994 || !mkdtemp(local))
        skip();
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/memory.current", "104857600\n");
    put("/sys/fs/cgroup/memory.max", "104857600\n");
    snprintf(root, sizeof root, "%s/root", world.dir);
    snprintf(config, sizeof config, "store.local=%s", local);
    sk_headroom_look_below(root);
    prefix_start((struct prefix_run){.config = config, .until = 15, .crash = 1});
    double begun = sk_now();
    prefix_start((struct prefix_run){.config = config, .until = 45, .crash = 1, .expect_from = 10, .at = hang_while_it_is_written, .may_fail = 1, .hangs = 1});
    world_expect("does not answer", 1);
    assert_true(sk_now() - begun < 60);
    prefix_heal();
    prefix_start((struct prefix_run){.config = config, .until = 50, .expect_from = 10});
    sk_headroom_look_below("");
    assert_int_equal(sk_io_rmtree(local, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, prefix_begin, prefix_end)
        TEST(test_full),
        TEST(test_read_only),
        TEST(test_gone),
        TEST(test_comes_back),
        TEST(test_never_answers),
        TEST(test_stops_to_answer_between_checkpoints),
        TEST(test_unknown_waits),
        TEST(test_restart_needs_the_prefix),
        TEST(test_what_the_nodes_have_is_not_enough),
        TEST(test_a_start_that_cannot_list_it),
        TEST(test_restart_waits_where_it_must),
        TEST(test_silent_while_it_is_written_directly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
