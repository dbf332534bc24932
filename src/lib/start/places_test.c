/* Directories that are named relative to where the program was when it began, and a program that goes elsewhere. */
#include "lib/whole/session_testing.h"

#include "base/file/io.h"
#include "group/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { RANKS = 2, CELLS = 1000 };

struct start {
    int wander; /* to another directory after the start, and again after each checkpoint */
    int64_t until, restored;
    int settle; /* until each checkpoint is in the prefix */
    char refused[512]; /* what the start said when it did not begin */
};

static int to(struct sk_group *g, const char *where)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", world.dir, where);
    int rc = sk_group_barrier(g);
    if (!rc && g->rank == 0)
        rc = chdir(path);
    return rc ? rc : sk_group_barrier(g);
}

static int program(struct sk_group *g, void *arg)
{
    struct start *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_config *c = world_config("store.prefix=store; store.local=node; job.name=wanderer; schedule.every=10; schedule.first=no");
    double u[CELLS] = {0};
    int restored = 0;
    int64_t from = 0;
    CHECK(!to(g, "start"));
    int rc = world_session(g, c, &s, &err);
    if (rc) {
        if (g->rank == 0)
            snprintf(p->refused, sizeof p->refused, "%s", err.text);
        return 0;
    }
    CHECK(!p->wander || !to(g, "elsewhere"));
    CHECK(!world_protect(s, u, CELLS, &err));
    CHECK(!sk_session_restart(s, &restored, &from, &err));
    if (g->rank == 0)
        p->restored = from;
    for (int i = 0; restored && i < CELLS; i++)
        CHECK(u[i] == (double)from);
    for (int64_t it = from + 10; it <= p->until; it += 10) {
        for (int i = 0; i < CELLS; i++)
            u[i] = (double)it;
        sk_session_candidate(s, 0, it, &err);
        CHECK(p->settle ? !world_settle(s, it) : !sk_session_wait(s, &err));
        CHECK(!p->wander || !to(g, it % 20 ? "start" : "elsewhere"));
    }
    return world_leave(s, 0, 0);
}

static int is_there(const char *path)
{
    char whole[128];
    struct stat st;
    snprintf(whole, sizeof whole, "%s/%s", world.dir, path);
    return !stat(whole, &st);
}

static void test_a_program_that_changes_directory(void **state)
{
    (void)state;
    for (int wander = 0; wander < 2; wander++) {
        struct start first = {.wander = wander, .until = 50}, second = {.wander = wander};
        assert_int_equal(sk_loop_run(RANKS, program, &first), 0);
        assert_int_equal(first.restored, 0);
        assert_int_equal(sk_loop_run(RANKS, program, &second), 0);
        assert_int_equal(second.restored, 50);
        assert_true(is_there("start/store/state") && is_there("start/node"));
        assert_false(is_there("elsewhere/node") || is_there("elsewhere/store"));
        char path[128];
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof path, "%s/start/%s", world.dir, i ? "node" : "store");
            assert_int_equal(sk_io_rmtree(path, NULL), 0);
        }
    }
}

static void shell(const char *command)
{
    char whole[512];
    snprintf(whole, sizeof whole, "cd %s/start && %s", world.dir, command);
    assert_int_equal(system(whole), 0);
}

/* A FIFO, a directory, a socket in place of a file is told or passed over, and nobody waits for it. */
static void test_no_file_in_place_of_a_file(void **state)
{
    (void)state;
    static const char *const put[] = {"mkfifo $f", "mkdir $f", "ln -s /dev/null $f", "ln -s nowhere $f"};
    alarm(170);
    for (size_t i = 0; i < sizeof put / sizeof *put; i++) {
        char command[256];
        struct start first = {.until = 50, .settle = 1}, again = {0}, told = {0};
        shell("rm -rf store node");
        assert_int_equal(sk_loop_run(RANKS, program, &first), 0);
        /* of a rank's file in the prefix: the node's own is as good */
        snprintf(command, sizeof command, "f=$(ls -d store/gen-*50-0)/rank-000001.skc && rm $f && %s", put[i]);
        shell(command);
        assert_int_equal(sk_loop_run(RANKS, program, &again), 0);
        assert_int_equal(again.restored, 50);
        /* without that the generation before */
        shell("rm -rf node");
        assert_int_equal(sk_loop_run(RANKS, program, &again), 0);
        assert_int_equal(again.restored, 40);
        if (strstr(put[i], "nowhere")) /* of the state: as if it was not there */
            continue;
        snprintf(command, sizeof command, "f=store/state && rm $f && %s", put[i]);
        shell(command);
        assert_int_equal(sk_loop_run(RANKS, program, &told), 0);
        assert_non_null(strstr(told.refused, "not a file"));
        assert_non_null(strstr(told.refused, "store/state"));
    }
    shell("rm -rf store && mkfifo store");
    struct start told = {0};
    assert_int_equal(sk_loop_run(RANKS, program, &told), 0);
    assert_non_null(strstr(told.refused, "store"));
    alarm(0);
}

/* This program again, on one rank and without a name of the job; `gone`: its file is removed meanwhile, as whoever builds it anew does. */
static int unnamed(struct sk_group *g, void *gone)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    CHECK(!gone || !unlink("program"));
    CHECK(!world_session(g, world_config("store.prefix=store; store.local=node; job.name="), &s, &err));
    return world_leave(s, 0, 0);
}

static void test_a_program_that_is_built_anew_is_the_same_job(void **state)
{
    char command[128], path[128];
    struct sk_job there, gone;
    (void)state;
    snprintf(path, sizeof path, "%s/start/store", world.dir);
    snprintf(command, sizeof command, "rm -rf store node && cp /proc/%d/exe program && SAIKAI_TEST_UNNAMED=there ./program", (int)getpid());
    shell(command);
    assert_int_equal(sk_job_load(path, &there, NULL), 0);
    shell("rm -rf store node && SAIKAI_TEST_UNNAMED=gone ./program");
    assert_int_equal(sk_job_load(path, &gone, NULL), 0);
    assert_string_equal(there.name, gone.name);
    shell("rm -rf store node");
}

int main(void)
{
    const char *unnamed_one = getenv("SAIKAI_TEST_UNNAMED");
    if (unnamed_one)
        return sk_loop_run(1, unnamed, strcmp(unnamed_one, "gone") ? NULL : &world) != 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_that_is_built_anew_is_the_same_job),
        cmocka_unit_test(test_a_program_that_changes_directory),
        cmocka_unit_test(test_no_file_in_place_of_a_file),
    };
    char path[128];
    if (world_begin("/tmp/saikai-places-XXXXXX", SK_LOG_WARN))
        return 1;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", world.dir, i ? "start" : "elsewhere");
        if (mkdir(path, 0700))
            return 1;
    }
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    if (chdir("/") || world_end())
        return 1;
    return rc;
}
