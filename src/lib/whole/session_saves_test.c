/* What sessions of several ranks save, in which form, and how much of it stays where. */
#include "lib/whole/solver_testing.h"

#include "base/file/io.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 3 };

static void test_retention(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 105, .crash = 1, .settle = 1, .config = "store.keep_prefix=3"});
    assert_int_equal(world_generations("prefix"), 3);
    assert_int_equal(world_generations(world_local()), 1);
    solve(N, (struct solve){.until = 205, .crash = 1, .settle = 1, .config = "store.keep_prefix=1", .expect = 1, .expect_from = 100});
    assert_int_equal(world_generations("prefix"), 1);
    assert_int_equal(world_generations(world_local()), 1);
}

static void test_keeps_as_many_as_it_was_told(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 305, .crash = 1, .settle = 1, .config = "store.keep_prefix=25"});
    assert_int_equal(world_generations("prefix"), 25);
    solve(N, (struct solve){.until = 405, .crash = 1, .settle = 1, .config = "store.keep_prefix=25", .expect = 1, .expect_from = 300});
    assert_int_equal(world_generations("prefix"), 25);
    /* in one directory for both, too */
    const char *one = "store.local=none; store.keep_prefix=20; restart.mode=never";
    solve(N, (struct solve){.until = 305, .crash = 1, .settle = 1, .config = one});
    assert_int_equal(world_generations("prefix"), 20);
    solve(N, (struct solve){.until = 315, .crash = 1, .settle = 1, .config = "store.local=none; store.keep_prefix=20", .expect = 1, .expect_from = 300});
    assert_int_equal(world_generations("prefix"), 20);
}

static int the_first_stays_the_archived_one(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!sk_session_wait(s, &err));
    if (it == 1)
        CHECK(!world_settle(s, it));
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_ARCHIVED) == 1);
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE) == (it < 10 ? 1 : it - it % 10));
    return 0;
}

static void test_only_what_is_archived_is_told_to_be(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 400, .crash = 1, .body = the_first_stays_the_archived_one, .config = "store.archive_every=1000000"});
}

static void test_every_iteration_without_a_pause(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 400, .crash = 1, .config = "schedule.every=1", .cells = 200000});
    /* whatever the ranks had committed when they died: at least one generation is whole */
    struct solve r = {.config = "schedule.every=1", .cells = 200000, .expect = 1, .crash = 1};
    struct sk_gen_list l;
    char path[128];
    snprintf(path, sizeof path, "%s/%s", world.dir, world_local());
    assert_int_equal(sk_gen_scan(path, -1, &l, NULL), 0);
    assert_true(l.count >= 1 && l.count <= 40);   /* of 400: how many, the slowest rank and the copy to the prefix decide */
    r.until = r.expect_from = l.gen[0].iteration; /* the ranks finish what they captured before they leave */
    sk_gen_list_free(&l);
    solve(N, r);
}

/* What is saved in the prefix alone is there at once; what is saved without one never is. */
static int status_is(struct sk_session *s, int64_t complete, int64_t archived)
{
    struct saikai_error err = {0};
    struct saikai_status st;
    sk_session_status(s, &st, sizeof st);
    CHECK(st.complete_iteration == complete && st.archived_iteration == archived);
    return 0;
}

static int all_in_prefix(struct sk_session *s, int64_t it)
{
    return it < 10 ? 0 : status_is(s, it - it % 10, it - it % 10);
}

static int none_in_prefix(struct sk_session *s, int64_t it)
{
    return it < 10 ? 0 : status_is(s, it - it % 10, -1);
}

static void test_prefix_only_and_local_only(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1, .config = "store.local=none", .body = all_in_prefix});
    assert_int_equal(world_generations("prefix"), 2);
    solve(N, (struct solve){.until = 35, .config = "store.local=none", .expect = 1, .expect_from = 30});
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1, .config = "store.prefix=none", .body = none_in_prefix});
    solve(N, (struct solve){.until = 35, .crash = 1, .config = "store.prefix=none", .expect = 1, .expect_from = 30});
}

static int full_disk(const char *op, const char *path)
{
    return !strcmp(op, "truncate") && strstr(path, "slot-") ? ENOSPC : 0;
}

static int fill_disk_after_20(struct sk_session *s, int64_t it)
{
    (void)s;
    if (it == 20)
        sk_io_hook = full_disk;
    return 0;
}

static void test_full_disk_keeps_the_old_generation(void **state)
{
    (void)state;
    /* other sizes need other slots: the program goes on although nothing can be saved any more */
    solve(1, (struct solve){.until = 25, .crash = 1, .settle = 1, .body = fill_disk_after_20});
    sk_io_hook = NULL;
    solve(1, (struct solve){.until = 25, .crash = 1, .expect = 1, .expect_from = 20});
}

static uint64_t bytes_in(const char *root, int incarnation, int64_t it, int rank, const char *codec)
{
    char path[256];
    struct sk_container *c = NULL;
    world_path(path, root, incarnation, it, rank);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    assert_string_equal(sk_skc_find(c->index, "u")->codec, codec);
    uint64_t n = c->trailer.file_bytes;
    sk_container_close(c);
    return n;
}

static void test_coded_variables(void **state)
{
    (void)state;
    /* by pattern, exact */
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1, .config = "codec.chains=x=gzip, u*=shuffle+zstd"});
    assert_true(bytes_in("prefix", 1, 30, 0, "shuffle+zstd") < SOLVER_CELLS * 8);
    solve(N, (struct solve){.until = 45, .crash = 1, .settle = 1, .expect = 1, .expect_from = 30, .config = "codec.bounds=*=rel:1e-3"});
    assert_int_equal(world_generations(world_local()), 1);
    assert_int_equal(world_generations("prefix"), 2);
    /* bounded, and much smaller */
    assert_true(bytes_in("prefix", 2, 40, 0, "wavelet") < SOLVER_CELLS * 2);
    solve(N, (struct solve){.until = 41, .crash = 1, .settle = 1, .expect = 1, .expect_from = 40, .tolerance = 1e-3});
    solve(N, (struct solve){.until = 55, .crash = 1, .settle = 1, .expect = 1, .expect_from = 40, .tolerance = 1e-3, .config = "codec.chains=*=auto"});
    solve(N, (struct solve){.until = 60, .crash = 1, .expect = 1, .expect_from = 50});
}

static void test_nonsense_about_codecs(void **state)
{
    (void)state;
    static const char *const bad[] = {"codec.chains=u", "codec.chains=u=fastest", "codec.bounds=u=rel:-1",
                                      "codec.bounds=u=", "codec.bounds==abs:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sk_config *c = solver_config(bad[i]);
        struct sk_coding_policy *p = NULL;
        struct saikai_error err = {0};
        assert_int_equal(sk_coding_policy_new(c, &p, &err), SAIKAI_ECONFIG);
        assert_non_null(strstr(err.text, "codec."));
        sk_config_free(c);
    }
    /* integers are never lossy */
    struct sk_config *c = solver_config("codec.bounds=*=rel:0.1");
    struct sk_coding_policy *p = NULL;
    struct sk_wish w;
    assert_int_equal(sk_coding_policy_new(c, &p, NULL), 0);
    assert_int_equal(sk_coding_wish(p, "n", SAIKAI_I32, (struct sk_bound){0}, "", &w), 0);
    assert_int_equal(sk_coding_wish(p, "n", SAIKAI_F32, (struct sk_bound){0}, "", &w), 1);
    assert_int_equal(w.bound.kind, SK_BOUND_REL);
    assert_int_equal(sk_coding_wish(p, "n", SAIKAI_F32, (struct sk_bound){SK_BOUND_ABS, 2}, "", &w), 1);
    assert_int_equal(w.bound.kind, SK_BOUND_ABS);
    sk_coding_policy_free(p);
    sk_config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, solver_begin, solver_end)
        TEST(test_retention),
        cmocka_unit_test(remember_open_files),
        TEST(test_keeps_as_many_as_it_was_told),
        TEST(test_only_what_is_archived_is_told_to_be),
        TEST(test_every_iteration_without_a_pause),
        TEST(test_prefix_only_and_local_only),
        TEST(test_full_disk_keeps_the_old_generation),
        TEST(test_coded_variables),
        TEST(test_nonsense_about_codecs),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
