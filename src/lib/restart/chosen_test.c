/* Going on from a generation that the program chose: which one it is, what is passed over for it,
 * and what is said when it cannot be had. */
#include "lib/whole/session_testing.h"

#include "base/file/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 3,
       CELLS = 600,
       EVERY = 10 };

#define SETTINGS "store.keep_prefix=100; schedule.first=no; schedule.every=10; redundancy.scheme=none"

/* One start: it asks for `which` (of rank 0: of_first, when that is given), and makes so many
 * generations. */
struct start {
    const char *which, *of_first;
    int64_t from; /* what it is to get, 0: a fresh start, or the code of an error */
    const char *words;
    int generations, finishes;
};

static int go_on(struct sk_group *g, struct sk_session *s, const double *u, const struct start *how,
                 int64_t from)
{
    struct saikai_error err = {0};
    for (int i = 0; i < CELLS; i++)
        CHECK(!from || u[i] == (double)from);
    for (int64_t it = from + 1; it <= from + EVERY * how->generations; it++) {
        for (int i = 0; i < CELLS; i++)
            ((double *)u)[i] = (double)it;
        int rc = sk_session_candidate(s, 0, it, &err);
        CHECK(rc == (it % EVERY == 0));
        if (!rc)
            continue;
        CHECK(!world_settle(s, it));
    }
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct start *how = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double *u = calloc(CELLS, sizeof *u);
    int restored = 0;
    int64_t from = 0;
    CHECK(u && !world_session(g, world_config(SETTINGS), &s, &err) && !world_protect(s, u, CELLS, &err));
    int rc = sk_session_restart_from(s, !g->rank && how->of_first ? how->of_first : how->which,
                                     &restored, &from, &err);
    if (how->from < 0) {
        CHECK(rc == how->from || rc == SAIKAI_EPEER);
        CHECK(strstr(err.text, how->words) && !restored);
        rc = 0;
    } else {
        CHECK(!rc && restored == (how->from > 0) && from == how->from);
        rc = go_on(g, s, u, how, from);
    }
    rc = world_leave(s, rc, how->finishes);
    free(u);
    return rc;
}

static void start(struct start how)
{
    world_start(N, program, &how);
}

static int make_dir(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-chosen-XXXXXX", SK_LOG_DEBUG);
}

static int remove_dir(void **state)
{
    (void)state;
    return world_end();
}

static void test_an_older_one(void **state)
{
    (void)state;
    start((struct start){.generations = 4});
    start((struct start){.which = "20", .from = 20});
    world_expect("2 newer generations are passed over from now on", 1);
    start((struct start){.from = 20}); /* and stay so */
    world_expect("passed over from now on", 0);
    start((struct start){.which = "newest", .from = 20});
    start((struct start){.which = "gen-0001-000000000030-0",
                         .from = 30});          /* choosing it takes its mark away */
    world_expect("passed over from now on", 1); /* 40, once more */
    start((struct start){.from = 30, .generations = 1});
    start((struct start){.from = 40}); /* the one of that start */
}

/* The number of the start decides between two of one iteration. */
static void test_two_of_one_iteration(void **state)
{
    (void)state;
    start((struct start){.generations = 3});
    start((struct start){
        .which = "20", .from = 20, .generations = 2}); /* 30 and 40 of another start */
    start((struct start){.which = "30", .from = 30});
    world_expect("1 newer generation is passed over from now on", 1);
    start((struct start){.which = "gen-0002-000000000030-0", .from = 30});
}

static void test_of_a_run_that_had_ended(void **state)
{
    (void)state;
    start((struct start){.generations = 3, .finishes = 1});
    start((struct start){.which = "30", .from = 30});
    world_expect("passed over", 0);
    start((struct start){.from = 30}); /* the run goes on */
}

static void test_mistakes(void **state)
{
    (void)state;
    static const char *const nothing[] = {
        "soon",
        "-3",
        "1x",
        " 1",
        "99999999999999999999",
        "gen-1",
        "4398046511104",
        "00000000000000000000000000000000000000000000000000000000000020"};
    start((struct start){.generations = 3});
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        start((struct start){
            .which = nothing[i], .from = SAIKAI_EINVAL, .words = "is no generation to go on from"});
    start((struct start){
        .which = "20", .of_first = "10", .from = SAIKAI_EINVAL, .words = "different generations"});
    start((struct start){.which = "20",
                         .of_first = "newest",
                         .from = SAIKAI_EINVAL,
                         .words = "different generations"});
    start((struct start){.which = "25",
                         .from = SAIKAI_ENOENT,
                         .words = "generation iteration 25 was chosen, and is not in"});
    start((struct start){.which = "gen-0002-000000000020-0",
                         .from = SAIKAI_ENOENT,
                         .words = "generation gen-0002-000000000020-0 was"});
    start((struct start){.from = 30}); /* nothing was marked */
}

static void test_one_that_cannot_be_had(void **state)
{
    (void)state;
    char path[256];
    start((struct start){.generations = 4});
    world_damage("prefix", 1, 20, 1, 1000);
    world_path(path, "prefix", 1, 10, 2);
    assert_int_equal(unlink(path), 0);
    start((struct start){
        .which = "20", .from = SAIKAI_EDAMAGED, .words = "is damaged (the log says where)"});
    start((struct start){.which = "10",
                         .from = SAIKAI_EDAMAGED,
                         .words = "is not whole: the parts of some ranks are missing"});
    start((struct start){.which = "30", .from = 30});
    world_expect("1 newer generation is", 1);
}

/* A generation that nobody can look into (its name is that of a file here) is told of, once, and older ones are taken. */
static void test_one_that_cannot_be_looked_into(void **state)
{
    (void)state;
    char path[300];
    start((struct start){.generations = 3});
    snprintf(path, sizeof path, "%s/prefix/gen-0001-000000000090-0", world.dir);
    assert_int_equal(sk_io_replace(path, "x", 1, NULL), 0);
    start((struct start){.from = 30});
    world_expect("generation gen-0001-000000000090-0 of iteration 90 is left out: ", 1);
    world_expect("prefix/gen-0001-000000000090-0 cannot be looked into (Not a directory); see to it that this user can, or remove it", 1);
    assert_int_equal(unlink(path), 0);
    start((struct start){.from = 30});
    world_expect("is left out", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_older_one, make_dir, remove_dir),
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(test_two_of_one_iteration, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_of_a_run_that_had_ended, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_mistakes, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_one_that_cannot_be_had, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_one_that_cannot_be_looked_into, make_dir, remove_dir),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
