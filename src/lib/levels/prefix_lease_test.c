/* Whose a prefix is: another job takes it over, or has it while it was silent, and nothing of the other one is touched. */
#include "lib/levels/prefix_testing.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/host/fork_testing.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char other_lease[2048]; /* of a process that lives */

static pid_t begin_other(void)
{
    struct sk_owner o;
    struct sk_buf b = {0};
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = sk_testing_fork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sk_owner_self("test", NULL, 0, &o);
        int rc = write(ready[1], &o, sizeof o) == sizeof o;
        while (rc)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &o, sizeof o), sizeof o);
    close(ready[0]);
    close(ready[1]);
    struct sk_job j;
    atomic_store(&prefix_fault.off, 1);
    if (!sk_job_load(prefix_dir, &j, NULL))
        o.store = j.store;
    atomic_store(&prefix_fault.off, 0);
    strcpy(o.host, "far-away");
    assert_int_equal(sk_owner_encode(&o, &b, NULL), 0);
    snprintf(other_lease, sizeof other_lease, "%.*s", (int)b.len, (const char *)b.data);
    sk_buf_free(&b);
    return pid;
}

static void end_other(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* With plain calls, as a process on another node does it. */
static void take_over(int64_t it)
{
    char path[128], tmp[128];
    if (it != 2) /* the first one */
        return;
    snprintf(path, sizeof path, "%s/lease", prefix_dir);
    snprintf(tmp, sizeof tmp, "%s/lease.new", prefix_dir);
    FILE *f = fopen(tmp, "w");
    assert_true(f && fputs(other_lease, f) >= 0 && !fclose(f) && !rename(tmp, path));
}

static int generations(void)
{
    struct sk_gen_list l = {0};
    atomic_store(&prefix_fault.off, 1);
    int rc = sk_gen_scan(prefix_dir, -1, &l, NULL), n = (int)l.count;
    atomic_store(&prefix_fault.off, 0);
    sk_gen_list_free(&l);
    return rc ? rc : n;
}

static void test_taken_over(void **state)
{
    (void)state;
    struct sk_state before, after;
    prefix_start((struct prefix_run){.until = 5, .crash = 1}); /* the store is there */
    pid_t pid = begin_other();
    int had = generations();
    assert_int_equal(sk_state_load(prefix_dir, &before, NULL), 0);
    prefix_start((struct prefix_run){.until = 65, .at = take_over, .expect_from = 1});
    world_expect("was taken over", 1);
    world_expect("by host far-away, process", 1);
    world_expect("the job goes on, and its checkpoints stay in", 1);
    world_expect("is another job's: what this one saved last (iteration 60) stays in", 1);
    assert_int_equal(generations(), had);
    assert_int_equal(sk_state_load(prefix_dir, &after, NULL), 0);
    assert_int_equal(after.incarnation, before.incarnation + 1); /* from before it was lost */
    assert_int_equal(after.finished, 0);
    prefix_start((struct prefix_run){.until = 70, .expect_from = -1}); /* as long as that one runs */
    end_other(pid);
    prefix_start((struct prefix_run){.until = 70, .expect_from = 60});
}

static void test_taken_over_without_local(void **state)
{
    (void)state;
    prefix_start((struct prefix_run){.config = "store.local=none", .until = 5, .crash = 1});
    pid_t pid = begin_other();
    int had = generations();
    prefix_start((struct prefix_run){.config = "store.local=none", .until = 65, .at = take_over, .expect_from = 1, .unsaved = 1});
    world_expect("by host far-away, process", 1);
    world_expect("is not saved any more", 1);
    world_expect("iteration 60 is not saved", 1);
    assert_int_equal(generations(), had);
    end_other(pid);
}

static const char *const patient = "store.prefix_timeout=1s; store.final_wait=20s";

static void comes_back(int64_t it)
{
    if (it == 25)
        prefix_heal();
}

static void is_held(int64_t it)
{
    struct sk_owner o;
    comes_back(it);
    if (it == 400)
        prefix_wait_for_log("is in use by this job from now on");
    if (it == 400)
        assert_true(sk_lease_look(prefix_dir, 30, &o) && o.life.pid == getpid());
}

/* A start while the prefix does not answer has no lease: it takes it as soon as it can. */
static void test_holds_it_later(void **state)
{
    (void)state;
    prefix_start((struct prefix_run){.until = 5, .crash = 1});
    prefix_disturb(1, LONG_MAX, 0, 1e6);
    prefix_start((struct prefix_run){.config = patient, .until = 401, .expect_from = 1, .at = is_held});
    world_expect("is in use by this job from now on", 1);
    prefix_start((struct prefix_run){.config = "restart.mode=always; store.local=none", .until = 410, .expect_from = 400});
}

static void take_over_then_answer(int64_t it)
{
    take_over(it);
    comes_back(it);
    if (it == 60)
        prefix_wait_for_log("is in use by now by");
}

static void test_taken_while_it_was_away(void **state)
{
    (void)state;
    prefix_start((struct prefix_run){.until = 5, .crash = 1});
    pid_t pid = begin_other();
    int had = generations();
    prefix_disturb(1, LONG_MAX, 0, 1e6);
    prefix_start((struct prefix_run){.until = 65, .expect_from = 1, .at = take_over_then_answer});
    world_expect("is in use by now by host far-away, process", 1);
    world_expect("the job goes on, and its checkpoints stay in", 1);
    assert_int_equal(generations(), had);
    end_other(pid);
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

/* What a start that lost its store names all the same, in the instant after its look: a generation of its own, its state. Neither
 * takes the place of anything of the new owner's. */
static void test_what_comes_late(void **state)
{
    (void)state;
    struct sk_state late, now;
    char path[PREFIX_RANKS][256];
    void *data[PREFIX_RANKS];
    size_t n[PREFIX_RANKS];
    prefix_start((struct prefix_run){.config = "schedule.every=30", .until = 59, .crash = 1, .at = wait_for_files});
    assert_int_equal(sk_state_load(prefix_dir, &late, NULL), 0);
    for (int r = 0; r < PREFIX_RANKS; r++) {
        world_path(path[r], "prefix", 1, 30, r);
        assert_int_equal(sk_io_slurp(path[r], 1 << 20, &data[r], &n[r], NULL), 0);
    }
    prefix_start((struct prefix_run){.until = 75, .expect_from = 30});
    assert_int_equal(sk_state_save(prefix_dir, &late, NULL), 0);
    for (int r = 0; r < PREFIX_RANKS; r++) {
        char *slash = strrchr(path[r], '/');
        *slash = 0;
        assert_int_equal(sk_io_mkdirs(path[r], NULL), 0);
        *slash = '/';
        assert_int_equal(sk_io_replace(path[r], data[r], n[r], NULL), 0);
        free(data[r]);
    }
    prefix_start((struct prefix_run){.config = "restart.mode=always", .until = 80, .crash = 1, .expect_from = 70});
    assert_int_equal(sk_state_load(prefix_dir, &now, NULL), 0);
    assert_int_equal(now.incarnation, 3); /* a number that no start had, though the state did not tell */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, prefix_begin, prefix_end)
        TEST(test_taken_over),
        TEST(test_taken_over_without_local),
        TEST(test_holds_it_later),
        TEST(test_taken_while_it_was_away),
        TEST(test_what_comes_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
