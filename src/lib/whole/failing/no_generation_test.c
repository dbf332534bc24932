/* Generations are there, and none of them can be used: what each start is told then, and that all of them stay for the next one. */
#include "lib/whole/session_testing.h"

#include "base/file/io.h"
#include "store/state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 3, CELLS = 600, EVERY = 10 };

/* One start: what it is to get (0: a fresh start, or the code of an error with these words), and how many generations it makes. */
struct start {
    const char *more;
    int64_t from;
    const char *words, *not;
    int generations;
};

static int program(struct sk_group *g, void *arg)
{
    const struct start *how = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS] = {0};
    int restored = 0;
    int64_t from = 0;
    struct sk_config *c = world_config("store.keep_prefix=100; schedule.first=no; schedule.every=10; redundancy.scheme=none; %s",
                                       how->more ? how->more : "");
    CHECK(!world_session(g, c, &s, &err) && !world_protect(s, u, CELLS, &err));
    int rc = sk_session_restart(s, &restored, &from, &err);
    if (how->from < 0) {
        CHECK(rc == how->from && !restored && strstr(err.text, how->words) && !strstr(err.text, how->not));
        return world_leave(s, 0, 0);
    }
    CHECK(!rc && restored == (how->from > 0) && from == how->from && u[CELLS - 1] == (double)from);
    for (int64_t it = from + 1; it <= from + EVERY * how->generations; it++) {
        for (int i = 0; i < CELLS; i++)
            u[i] = (double)it;
        CHECK(sk_session_candidate(s, 0, it, &err) == (it % EVERY == 0));
        if (it % EVERY == 0)
            CHECK(!world_settle(s, it));
    }
    return world_leave(s, 0, 0);
}

static void start(struct start how)
{
    world_start(N, program, &how);
}

static int make_dir(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-none-XXXXXX", SK_LOG_ERROR);
}

static int remove_dir(void **state)
{
    (void)state;
    return world_end();
}

/* Two generations, in the prefix alone. */
static void make_two(void)
{
    start((struct start){.generations = 2});
    world_lose("local");
    assert_int_equal(world_generations("prefix"), 2);
}

static void all_are_damaged(void **state)
{
    (void)state;
    char words[256];
    make_two();
    world_damage("prefix", 1, 10, 1, 4200);
    world_damage("prefix", 1, 20, 2, 4200);
    snprintf(words, sizeof words, "none of the 2 complete generations in %s/prefix can be used; to begin afresh set restart.mode=never", world.dir);
    for (int again = 0; again < 2; again++)
        start((struct start){.from = SAIKAI_EDAMAGED, .words = words, .not = "restart.tries"});
    assert_int_equal(world_generations("prefix"), 2);
    start((struct start){.more = "restart.mode=never", .from = 0});
}

/* Somebody says of both, or of the newer one, that it is bad. */
static void mark(int64_t least, int bad)
{
    char root[256];
    struct sk_state state;
    snprintf(root, sizeof root, "%s/prefix", world.dir);
    assert_int_equal(sk_state_load(root, &state, NULL), 0);
    for (int64_t it = least; it <= 20; it += 10)
        assert_int_equal(sk_state_mark(&state, (struct sk_gen){1, it, 0}, bad, NULL), 0);
    assert_int_equal(sk_state_save(root, &state, NULL), 0);
}

static void all_are_passed_over(void **state)
{
    (void)state;
    make_two();
    mark(20, 1);
    start((struct start){.from = 10});
    mark(10, 1);
    start((struct start){.from = SAIKAI_EDAMAGED, .not = "cannot be read now", .words = "none of the 2 complete generations in "});
    start((struct start){.from = SAIKAI_EDAMAGED, .not = "cannot be read now",
                         .words = "2 of them because starts died after reading them (restart.tries) or because they are marked bad"});
    world_damage("prefix", 1, 20, 0, 4200);
    mark(20, 0);
    start((struct start){.from = SAIKAI_EDAMAGED, .not = "cannot be read now", .words = "1 of them because starts died"});
    assert_int_equal(world_generations("prefix"), 2);
    mark(10, 0);
    start((struct start){.from = 10});
}

static int cannot_read(const char *op, const char *path)
{
    return !strcmp(op, "open") && strstr(path, "/prefix/gen-") && strstr(path, "rank-000001.skc") ? EIO : 0;
}

static void none_can_be_read_now(void **state)
{
    (void)state;
    make_two();
    sk_io_hook = cannot_read;
    start((struct start){.from = SAIKAI_EIO, .words = "cannot be read now: start again when they can be, or afresh with restart.mode=never",
                         .not = "restart.tries"});
    sk_io_hook = NULL;
    start((struct start){.from = 20});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        TEST(all_are_damaged),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        TEST(all_are_passed_over),
        TEST(none_can_be_read_now),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
