/* The number of a start: above all that were before it, where the run begins whose generations it may go on from, and why it begins afresh. */
#include "lib/start/incarnation.h"

#include "backbone/keeper_page.h"
#include "base/file/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64];
static struct sk_group group = {.size = 1};
static struct sk_session s;
static struct sk_keeper_page page;

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-incarnation-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* A job that was started so often before, without a prefix. */
static void make(const char *mode, uint32_t incarnation)
{
    s = (struct sk_session){.g = &group, .config = sk_config_new()};
    page = (struct sk_keeper_page){0};
    snprintf(s.place.local_root, sizeof s.place.local_root, "%s", dir);
    assert_int_equal(sk_config_set(s.config, "restart.mode", mode, SK_FROM_API, "", NULL), 0);
    s.who.job.store = s.who.state.store = sk_id_random();
    s.who.run = 77;
    s.who.state.incarnation = incarnation;
    s.who.state.first_incarnation = incarnation ? 1 : 0;
}

/* Begins it, and what is kept of it is what is said. */
static struct sk_start started(int64_t newest)
{
    struct sk_start st = {0};
    struct sk_state kept;
    struct saikai_error err = {0};
    if (sk_incarnation_begin(&s, &st, newest, &err))
        fail_msg("%s", err.text);
    assert_int_equal(sk_state_load(dir, &kept, NULL), 0);
    assert_int_equal(kept.incarnation, st.incarnation);
    assert_int_equal(kept.first_incarnation, st.first_incarnation);
    assert_true(!kept.finished && kept.run == 77 && sk_id_same(kept.store, s.who.job.store));
    sk_config_free(s.config);
    return st;
}

static void test_the_number_is_above_all_before(void **state)
{
    (void)state;
    make("auto", 0);
    struct sk_start st = started(0);
    assert_true(st.incarnation == 1 && st.first_incarnation == 1 && !*s.who.fresh_why && st.run_id);
    uint64_t before = st.run_id;
    make("auto", 4);
    s.who.state.unread_before = 3;
    st = started(0);
    assert_true(st.incarnation == 5 && st.first_incarnation == 1 && st.unread_before == 3 && st.run_id != before);
    make("auto", 4); /* a rank found files of a later one */
    assert_int_equal(started(7).incarnation, 8);
    make("auto", 7);
    assert_int_equal(started(4).incarnation, 8);
    make("auto", 4); /* others may have been started where the prefix was seen */
    s.place.prefix_away = 1;
    assert_int_equal(started(6).incarnation, 15);
}

static void test_it_can_be_too_often(void **state)
{
    (void)state;
    struct sk_start st = {0};
    struct saikai_error err = {0};
    make("auto", SK_GEN_MAX_INCARNATION - 1);
    assert_int_equal(started(0).incarnation, SK_GEN_MAX_INCARNATION);
    make("auto", 3);
    assert_int_equal(sk_incarnation_begin(&s, &st, SK_GEN_MAX_INCARNATION, &err), SAIKAI_ESTATE);
    assert_true(strstr(err.text, dir) && strstr(err.text, "was started 32767 times"));
    assert_int_equal(s.who.state.incarnation, 3);
    sk_config_free(s.config);
}

/* A run that has come to its end is not gone on with, unless that is asked for; nor is any when that is asked for. What a launcher starts again
 * goes on, whatever was asked for its first start. */
static void test_where_the_run_begins(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        int finished, again;
        uint32_t first, finished_from;
        const char *why;
    } cases[] = {
        {"auto", 0, 0, 2, 0, ""},
        {"auto", 1, 0, 6, 2, "the last run finished (restart.mode=always goes on from it)"},
        {"always", 0, 0, 2, 0, ""},
        {"always", 1, 0, 2, 2, ""},
        {"never", 0, 0, 6, 0, "restart.mode=never"},
        {"never", 1, 0, 6, 2, "restart.mode=never"},
        {"auto", 1, 1, 2, 2, ""},
        {"never", 0, 1, 2, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make(cases[i].mode, 5);
        s.who.state.first_incarnation = 2;
        s.who.state.finished = cases[i].finished;
        s.page = &page;
        page.incarnation = (uint32_t)cases[i].again;
        struct sk_start st = started(0);
        if (st.incarnation != 6 || st.first_incarnation != cases[i].first || s.who.finished_from != cases[i].finished_from ||
            strcmp(s.who.fresh_why, cases[i].why))
            fail_msg("case %zu: from %u, finished from %u, '%s'", i, st.first_incarnation, s.who.finished_from, s.who.fresh_why);
    }
    make("auto", 5); /* of an older version, which did not say where it began */
    s.who.state.first_incarnation = 0;
    assert_int_equal(started(0).first_incarnation, 1);
    make("auto", 5);
    s.who.state.first_incarnation = 0;
    s.who.state.finished = 1;
    assert_int_equal(started(0).first_incarnation, 6);
    assert_int_equal(s.who.finished_from, 1);
}

/* In a node's own directory there may be the state of another store. */
static void test_what_another_store_left_does_not_count(void **state)
{
    (void)state;
    make("auto", 40);
    s.who.state.store = sk_id_random();
    s.who.state.finished = 1;
    struct sk_start st = started(2);
    assert_true(st.incarnation == 3 && st.first_incarnation == 1 && !s.who.finished_from);
    make("auto", 40); /* a store that does not say whose it is */
    s.who.state.store = (struct sk_id){{0}};
    assert_int_equal(started(2).incarnation, 41);
    make("auto", 40); /* one that this one was before */
    s.who.job.former[s.who.job.former_count++] = s.who.state.store;
    s.who.job.store = sk_id_random();
    assert_int_equal(started(2).incarnation, 41);
}

/* Rank 0 looks at the files of all ranks, the others at their own. */
static void test_files_of_earlier_starts(void **state)
{
    (void)state;
    int64_t newest = -1;
    char path[128];
    static const char *const files[] = {"gen-0003-000000000010-0/rank-000001.skc", "gen-0007-000000000010-0/rank-000005.skc"};
    make("auto", 0);
    sk_config_free(s.config);
    assert_int_equal(sk_incarnation_scan(&s, &newest, NULL), 0);
    assert_int_equal(newest, 0);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        *strrchr(path, '/') = 0;
        assert_int_equal(sk_io_mkdirs(path, NULL), 0);
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        assert_int_equal(sk_io_replace(path, "x", 1, NULL), 0);
    }
    assert_int_equal(sk_incarnation_scan(&s, &newest, NULL), 0);
    assert_int_equal(newest, 7);
    struct sk_group one = {.size = 2, .rank = 1};
    s.g = &one;
    assert_int_equal(sk_incarnation_scan(&s, &newest, NULL), 0);
    assert_int_equal(newest, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        cmocka_unit_test(remember_open_files),
        TEST(test_the_number_is_above_all_before),
        TEST(test_it_can_be_too_often),
        TEST(test_where_the_run_begins),
        TEST(test_what_another_store_left_does_not_count),
        TEST(test_files_of_earlier_starts),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
