/* Which generations of another number of ranks can be read by each rank, and what is said when the newest is out of reach. Files are made by hand;
 * two ranks look, each on a node of its own. */
#include "lib/restart/reshape.h"

#include "base/file/io.h"
#include "group/loop.h"
#include "lib/whole/failing/generation_testing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/host/open_files_testing.h"

enum { NEW = 2, OLD = 3, MOST = 40 };

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-offers-XXXXXX");
    return !mkdtemp(dir);
}

static int teardown(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    return sk_io_rmtree(dir, NULL);
}

static void anew(void)
{
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
    assert_int_equal(sk_io_mkdirs(dir, NULL), 0);
}

static void put(const char *below, uint32_t start, int64_t it, int rank, int of)
{
    struct sk_skc_header h = {.iteration = it, .incarnation = start, .rank = (uint32_t)rank, .nranks = (uint32_t)of};
    char root[96];
    snprintf(root, sizeof root, "%s/%s", dir, below);
    generation_testing_put_small(root, &h);
}

/* A file that cannot be read, in its place. */
static void put_damaged(const char *below, int64_t it, int rank)
{
    char path[192];
    put(below, 2, it, rank, OLD);
    snprintf(path, sizeof path, "%s/%s/gen-0002-%012lld-0/rank-%06d.skc", dir, below, (long long)it, rank);
    assert_int_equal(truncate(path, 10), 0);
}

/* ---- what is offered ---- */

static struct {
    uint32_t first;
    int no_prefix, same;
    int rc[NEW];
    char got[NEW][256], why[NEW][600];
} asked;

static void open_session(struct sk_session *s, struct sk_group *g)
{
    *s = (struct sk_session){.g = g, .who.first_incarnation = asked.first ? asked.first : 2};
    snprintf(s->place.local_root, sizeof s->place.local_root, "%s/local%d", dir, asked.same ? 0 : g->rank);
    if (!asked.no_prefix)
        snprintf(s->place.prefix_root, sizeof s->place.prefix_root, "%s/%s", dir, asked.same ? "local0" : "prefix");
    assert_int_equal(sk_patience_new(0, &s->place.patience, NULL), 0);
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (y > x) - (y < x);
}

static int offers(struct sk_group *g, void *arg)
{
    struct sk_session s;
    struct saikai_error err = {0};
    int64_t *key = NULL;
    size_t count = 0, at = 0;
    (void)arg;
    open_session(&s, g);
    asked.rc[g->rank] = sk_reshape_offers(&s, &key, &count, &err);
    snprintf(asked.why[g->rank], sizeof *asked.why, "%s", err.text);
    *asked.got[g->rank] = 0;
    if (count)
        qsort(key, count, sizeof *key, newest_first);
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(asked.got[g->rank] + at, sizeof *asked.got - at, "%s%lld", i ? " " : "", (long long)sk_gen_of_key(key[i]).iteration);
    free(key);
    sk_patience_free(s.place.patience);
    return 0;
}

static void expect(const char *first, const char *second)
{
    const char *want[NEW] = {first, second};
    assert_int_equal(sk_loop_run(NEW, offers, NULL), 0);
    for (int r = 0; r < NEW; r++)
        if (asked.rc[r] || strcmp(asked.got[r], want[r]))
            fail_msg("rank %d: %d %s: '%s' in place of '%s'", r, asked.rc[r], asked.why[r], asked.got[r], want[r]);
}

static void whoever_sees_all_files(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    expect("", "");
    put("prefix", 2, 10, 0, OLD);
    put("prefix", 2, 10, 2, OLD);
    expect("", "");
    put("local0", 2, 10, 1, OLD);
    expect("10", ""); /* the other one does not see that node */
    put("local1", 2, 10, 1, OLD);
    expect("10", "10");
    for (int rank = 0; rank < OLD; rank++)
        put(rank ? "local1" : "prefix", 2, 20, rank, OLD);
    expect("10", "20 10");
    asked.no_prefix = 1;
    expect("", "");
    asked.no_prefix = 0;
    /* of earlier runs */
    for (int rank = 0; rank < OLD; rank++)
        put("prefix", 1, 30, rank, OLD);
    expect("10", "20 10");
    asked.first = 1;
    expect("10 30", "20 10 30"); /* what a later start saved is newer */
    asked.first = 3;
    expect("", "");
    /* one place for all */
    asked.first = 0;
    asked.same = 1;
    for (int rank = 0; rank < OLD; rank++)
        put("local0", 2, 50, rank, OLD);
    expect("50", "50");
}

/* As many as there are now: each needs its own file alone. */
static void as_many_ranks_as_now(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    put("prefix", 2, 10, 0, NEW);
    expect("10", "");
    put("local1", 2, 10, 1, NEW);
    expect("10", "10");
    put("local0", 2, 20, 1, NEW);
    expect("10", "10");
}

static void many_ranks_and_many_generations(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    for (int rank = 0; rank < 17; rank++)
        if (rank != 8)
            put("prefix", 2, 10, rank, 17);
    expect("", "");
    put("prefix", 2, 10, 8, 17);
    expect("10", "10");
    anew();
    for (int rank = 0; rank < 16; rank++) /* the last one is missing */
        put("prefix", 2, 10, rank, 17);
    expect("", "");
    anew();
    for (int i = 1; i <= MOST; i++)
        put(i % 2 ? "prefix" : "local1", 2, i, 0, 1);
    char all[256] = "", odd[256] = "";
    for (int i = MOST; i > 0; i--) {
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%d", i < MOST ? " " : "", i);
        if (i % 2)
            snprintf(odd + strlen(odd), sizeof odd - strlen(odd), "%s%d", i < MOST - 1 ? " " : "", i);
    }
    expect(odd, all);
}

/* It must not look as if it were not there: that it is damaged is found when it is read. */
static void what_cannot_be_opened_is_offered(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    for (int rank = 0; rank < OLD; rank++)
        put_damaged("prefix", 10, rank);
    expect("10", "10");
    put("prefix", 2, 10, 1, OLD + 1); /* one tells how many there were */
    expect("", "");
    put("prefix", 2, 10, OLD, OLD + 1);
    expect("10", "10");
    put_damaged("local1", 20, 1); /* of two, for all that is known */
    expect("10", "20 10");
    put("local1", 2, 30, 5, OLD); /* there can be no such rank */
    expect("10", "20 10");
}

static int device(const char *op, const char *path)
{
    return !strcmp(op, "opendir") && strstr(path, "/prefix") ? EIO : 0;
}

/* A place that cannot be looked through: all ranks hear of it, and nothing is offered. */
static void who_cannot_look_says_so(void **state)
{
    (void)state;
    char path[96];
    memset(&asked, 0, sizeof asked);
    put("prefix", 2, 10, 0, 1);
    snprintf(path, sizeof path, "%s/local1", dir);
    assert_int_equal(sk_io_replace(path, "", 0, NULL), 0);
    assert_int_equal(sk_loop_run(NEW, offers, NULL), 0);
    assert_true(asked.rc[0] < 0 && asked.rc[1] < 0 && strstr(asked.why[1], "cannot read directory ") && strstr(asked.why[1], path));
    assert_true(!*asked.got[0] && !*asked.got[1]);
    assert_int_equal(unlink(path), 0);
    sk_io_hook = device;
    assert_int_equal(sk_loop_run(NEW, offers, NULL), 0);
    sk_io_hook = NULL;
    assert_true(asked.rc[0] == SAIKAI_EIO && asked.rc[1] < 0 && strstr(asked.why[0], "/prefix"));
    expect("10", "10");
}

/* ---- what is out of reach ---- */

static int tells(struct sk_group *g, void *arg)
{
    struct sk_session s;
    struct saikai_error err = {0};
    (void)arg;
    open_session(&s, g);
    asked.rc[g->rank] = sk_reshape_unreachable(&s, &err);
    snprintf(asked.why[g->rank], sizeof *asked.why, "%s", err.text);
    sk_patience_free(s.place.patience);
    return 0;
}

static void expect_told(const char *text)
{
    assert_int_equal(sk_loop_run(NEW, tells, NULL), 0);
    for (int r = 0; r < NEW; r++)
        if (asked.rc[r] != (*text ? SAIKAI_ERANKS : 0) || strcmp(asked.why[r], text))
            fail_msg("rank %d: %d '%s' in place of '%s'", r, asked.rc[r], asked.why[r], text);
}

#define LOST(it, ranks, missing, first)                                                                                                              \
    "gen-0002-0000000000" it "-0 was written by " ranks " ranks, and of " missing " of them (rank " first                                            \
    ") no file is in reach: start with " ranks " ranks on the nodes of then, or afresh with restart.mode=never"
#define APART(it, ranks)                                                                                                                             \
    "gen-0002-0000000000" it "-0 of " ranks " ranks is complete, but its files lie in the node-local directories of several nodes: start once with " \
    ranks " ranks on these nodes, so that it reaches a prefix, or afresh with restart.mode=never"

static void what_is_out_of_reach(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    expect_told("");
    put("prefix", 2, 90, 0, NEW); /* as many as now: others tell of that */
    expect_told("");
    put("local0", 2, 10, 0, OLD);
    expect_told(LOST("10", "3", "2", "1"));
    put("local1", 2, 10, 2, OLD);
    expect_told(LOST("10", "3", "1", "1"));
    put("prefix", 2, 10, 1, OLD);
    expect_told(APART("10", "3"));
    put("local1", 2, 20, 3, OLD + 1); /* the newest counts, whoever sees it */
    expect_told(LOST("20", "4", "3", "0"));
    for (int rank = 0; rank < OLD; rank++)
        put("local0", 2, 20, rank, OLD + 1);
    expect_told(APART("20", "4"));
    asked.first = 3;
    expect_told("");
}

static void who_cannot_look_tells_nothing_else(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    put("local0", 2, 10, 0, OLD);
    sk_io_hook = device;
    assert_int_equal(sk_loop_run(NEW, tells, NULL), 0);
    sk_io_hook = NULL;
    assert_true(asked.rc[0] == SAIKAI_EIO && asked.rc[1] < 0 && strstr(asked.why[0], "cannot read directory ") && strstr(asked.why[0], "/prefix"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(whoever_sees_all_files),
        cmocka_unit_test(remember_open_files),
        TEST(as_many_ranks_as_now), TEST(many_ranks_and_many_generations), TEST(what_cannot_be_opened_is_offered), TEST(who_cannot_look_says_so),
        TEST(what_is_out_of_reach), TEST(who_cannot_look_tells_nothing_else),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
