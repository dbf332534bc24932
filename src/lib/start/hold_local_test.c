/* What the nodes know of a store while its prefix cannot be asked. Ranks are threads, each on a node of its own. */
#include "lib/start/hold_local.h"

#include "base/file/io.h"
#include "group/loop.h"
#include "lib/whole/failing/generation_testing.h"
#include "store/owner/job.h"
#include "store/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 3 };

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-hold-XXXXXX");
    return !mkdtemp(dir);
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* A directory of the user's on this node, `start` 0: without a state. Its store's id begins with `id`. */
static void put(const char *node, const char *name, const char *job, const char *place, uint8_t id, uint32_t start, int unclaimed)
{
    char path[256];
    struct sk_job j = {.unclaimed = unclaimed};
    struct sk_state st = {.incarnation = start, .first_incarnation = 1};
    snprintf(path, sizeof path, "%s/%s/%s", dir, node, name);
    snprintf(j.name, sizeof j.name, "%s", job);
    snprintf(j.place, sizeof j.place, "%s", place);
    memset(&j.store, id, sizeof j.store);
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    assert_int_equal(sk_job_replace(path, &j, NULL), 0);
    assert_true(!start || !sk_state_save(path, &st, NULL));
}

/* The first byte of the id of the store that waits there; 0: none does. */
static int waits(const char *job, const char *place)
{
    char user[128];
    struct sk_id id = {0};
    uint8_t first;
    snprintf(user, sizeof user, "%s/node0", dir);
    if (!sk_local_unclaimed(user, job, place, &id))
        return 0;
    memcpy(&first, &id, 1);
    return first;
}

static void a_store_that_waits_for_its_prefix(void **state)
{
    (void)state;
    assert_int_equal(waits("heat", "/far"), 0);
    put("node0", "a", "heat", "/far", 1, 4, 0); /* has its prefix */
    assert_int_equal(waits("heat", "/far"), 0);
    put("node0", "b", "heat", "/far", 2, 3, 1);
    put("node0", ".hidden", "heat", "/far", 9, 9, 1);
    assert_int_equal(waits("heat", "/far"), 2);
    assert_int_equal(waits("cold", "/far"), 0);
    assert_int_equal(waits("heat", "/farther"), 0);
    assert_int_equal(waits("heat", "/fa"), 0);
    put("node0", "c", "heat", "/far/jobs/heat", 3, 5, 1); /* one of several jobs below that prefix, started later */
    assert_int_equal(waits("heat", "/far"), 3);
    put("node0", "d", "heat", "/far/other/heat", 4, 6, 1);
    assert_int_equal(waits("heat", "/far"), 3);
    put("node0", "e", "heat", "/far", 5, 0, 1); /* was never started */
    assert_int_equal(waits("heat", "/far"), 3);
    put("node0", "f", "cold", "/far", 6, 0, 1); /* … which is something, where there is nothing else */
    assert_int_equal(waits("cold", "/far"), 6);
    assert_int_equal(waits("heat", ""), 0); /* a place is a whole path */
}

struct asked {
    const char *job, *prefix;
    int rc;
    uint8_t id;
    struct sk_start *st;
};

static int ask(struct sk_group *g, void *arg)
{
    struct asked *a = arg;
    struct saikai_error err = {0};
    struct sk_session s = {.g = g};
    struct sk_start *st = calloc(1, sizeof *st);
    char local[160];
    snprintf(local, sizeof local, "%s/above%d", dir, g->rank);
    s.config = sk_config_new();
    if (!st || !s.config || sk_config_set(s.config, "store.local", local, SK_FROM_API, "the test", &err))
        return -1;
    snprintf(st->job.name, sizeof st->job.name, "%s", a->job);
    snprintf(st->prefix, sizeof st->prefix, "%s", a->prefix);
    strcpy(st->old_local, "old");
    int rc = sk_local_find(&s, st, &err);
    sk_config_free(s.config);
    if (g->rank == N - 1) { /* all agree: one tells */
        a->rc = rc;
        *a->st = *st;
    }
    free(st);
    return 0;
}

static struct sk_start there;

static int found(const char *job, const char *prefix)
{
    struct asked a = {.job = job, .prefix = prefix, .st = &there};
    assert_int_equal(sk_loop_run(N, ask, &a), 0);
    return a.rc;
}

/* The node that saw the newest start tells all ranks. */
static void what_the_nodes_know(void **state)
{
    char node[3][64];
    uint8_t first;
    (void)state;
    for (int r = 0; r < N; r++)
        snprintf(node[r], sizeof node[r], "above%d/saikai-%ld", r, (long)geteuid());
    assert_int_equal(found("heat", "/far"), SAIKAI_ENOENT);
    put(node[1], "mine", "heat", "/far/jobs/heat", 7, 3, 0);
    put(node[1], "other", "cold", "/far", 8, 9, 0);
    assert_int_equal(found("heat", "/far"), 0);
    memcpy(&first, &there.job.store, 1);
    assert_true(first == 7 && !strcmp(there.local, "mine") && !strcmp(there.prefix, "/far/jobs/heat") && !*there.old_local);
    put(node[0], "newer", "heat", "/far", 5, 4, 1);
    put(node[2], "older", "heat", "/far", 6, 2, 0);
    assert_int_equal(found("heat", "/far"), 0);
    memcpy(&first, &there.job.store, 1);
    assert_true(first == 5 && !strcmp(there.local, "newer") && !strcmp(there.prefix, "/far"));
    put(node[2], "newest", "heat", "/far", 4, 8, 0);
    assert_int_equal(found("heat", "/far"), 0);
    assert_string_equal(there.local, "newest");
    assert_int_equal(found("heat", "/near"), SAIKAI_ENOENT);
}

/* ---- without a prefix ---- */

/* A rank's newest generation of this start; its file says this store (0: none, as older versions wrote). */
static void put_generation(const char *root, uint32_t start, int64_t it, int rank, uint8_t id)
{
    struct sk_skc_header h = {.iteration = it, .incarnation = start, .rank = (uint32_t)rank, .nranks = N};
    memset(&h.store, id, sizeof h.store);
    generation_testing_put_small(root, &h);
}

/* What each node has: the file `job` of a store, the newest start, and what its generation's file says; and whose all of it is then. */
struct taken {
    const char *what;
    uint8_t job[N], file[N];
    uint32_t start[N];
    uint8_t store; /* 9: the new one's own */
    int adopted;
};

static int takes(struct sk_group *g, void *arg)
{
    const struct taken *t = arg;
    struct saikai_error err = {0};
    struct sk_session s = {.g = g};
    struct sk_start *st = calloc(1, sizeof *st);
    struct sk_job here;
    uint8_t first;
    int r = g->rank, bad = 0;
    s.config = sk_config_new();
    if (!st || !s.config)
        return -1;
    snprintf(s.place.host, sizeof s.place.host, "node%d", r);
    snprintf(s.place.local_root, sizeof s.place.local_root, "%s/node%d/user/mine", dir, r);
    if (sk_io_mkdirs(s.place.local_root, NULL))
        return -1;
    if (t->job[r]) {
        struct sk_job j = {.name = "heat"};
        memset(&j.store, t->job[r], sizeof j.store);
        bad |= sk_job_replace(s.place.local_root, &j, NULL);
    }
    if (t->start[r])
        put_generation(s.place.local_root, t->start[r], 10, r, t->file[r]);
    memset(&st->job.store, 9, sizeof st->job.store);
    strcpy(s.who.job.name, "heat");
    bad |= sk_local_take(&s, st, &err);
    memcpy(&first, &s.who.job.store, 1);
    bad |= first != t->store || s.who.job.adopted != t->adopted || !s.place.hold;
    bad |= sk_job_load(s.place.local_root, &here, NULL) || !sk_id_same(here.store, s.who.job.store); /* the node says so from now on */
    if (bad)
        fprintf(stderr, "%s: rank %d: store %d, adopted %d; %s\n", t->what, r, first, s.who.job.adopted, err.text);
    sk_local_release(&s, 0);
    sk_config_free(s.config);
    free(st);
    return bad ? -1 : 0;
}

static void whose_the_nodes_are(void **state)
{
    (void)state;
    static const struct taken cases[] = {
        {"nothing is there", {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 9, 0},
        {"all say the same", {3, 3, 3}, {3, 3, 3}, {2, 2, 2}, 3, 0},
        {"the newest start counts", {3, 4, 5}, {3, 4, 5}, {2, 7, 6}, 4, 0},
        {"the last one's is the newest", {3, 4, 5}, {3, 4, 5}, {2, 7, 8}, 5, 0},
        {"of two as new the first", {3, 4, 0}, {3, 4, 0}, {2, 2, 0}, 3, 0},
        {"unless that one says nothing", {0, 4, 0}, {0, 4, 0}, {0, 0, 0}, 4, 0},
        {"a file `job` was lost", {0, 0, 0}, {0, 6, 0}, {0, 2, 0}, 6, 0},
        {"what an older version left is taken over", {0, 0, 0}, {0, 0, 0}, {0, 2, 2}, 9, 1},
        {"a node that is new", {0, 3, 3}, {0, 3, 3}, {0, 1, 1}, 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(sk_loop_run(N, takes, (void *)&cases[i]), 0);
        assert_int_equal(sk_io_rmtree(dir, NULL), 0);
        assert_int_equal(sk_io_mkdirs(dir, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_store_that_waits_for_its_prefix, make_dir, remove_dir),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        cmocka_unit_test_setup_teardown(what_the_nodes_know, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(whose_the_nodes_are, make_dir, remove_dir),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
