/* Ranks that lose touch at each collective call of a start and its restart, wherever their generations come from: all of them come back at
 * the same place with a sentence, and the next start finds all that was there. */
#include "lib/whole/session_testing.h"

#include "base/sweep.h"
#include "group/failing_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 3, CELLS = 300, ALWAYS = 1 << 20 };

struct trial {
    const char *config;
    void (*before)(void); /* what is lost before each start */
    int ranks;            /* 0: N */
    int calls;       /* so many of each rank work */
    int rc[N], begun[N], restored[N];
    int64_t from[N];
    struct saikai_error err[N];
};

/* All ranks have the same number of cells of the whole. */
static int shared; /* it is declared so: any number of ranks may read it */

static int cells_of(int ranks)
{
    return N * CELLS / ranks;
}

static double value(int ranks, int rank, int cell)
{
    return 20000 + rank * cells_of(ranks) + cell;
}

static int is_wrong(const struct sk_group *g, const double *u)
{
    for (int i = 0; i < cells_of(g->size); i++)
        if (u[i] != value(g->size, g->rank, i))
            return 1;
    return 0;
}

static int protect(struct sk_session *s, double *u, struct saikai_error *err)
{
    size_t cells = (size_t)cells_of(s->g->size);
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {cells}, .data = u};
    if (shared) {
        v.scope = SK_SKC_GLOBAL;
        v.tile.global[0] = N * CELLS;
        v.tile.offset[0] = cells * (size_t)s->g->rank;
    }
    return sk_vars_put(&s->vars, &v, err);
}

static int restarts(struct sk_group *g, void *arg)
{
    struct trial *t = arg;
    struct sk_session *s = NULL;
    struct sk_group *own = NULL;
    int rank = g->rank, left = t->calls;
    double *u = calloc(N * CELLS, sizeof *u);
    if (!u || sk_group_dup(g, &own) || !(own = failing_new(own, &left)))
        return -1;
    failing_of(own)->only_whole = 1;
    int rc = sk_session_new(own, world_config("schedule.every=10; schedule.first=no; restart.tries=1000000; %s", t->config), "program", &s, &t->err[rank]);
    t->begun[rank] = !rc;
    if (!rc)
        rc = protect(s, u, &t->err[rank]);
    if (!rc)
        rc = sk_session_restart(s, &t->restored[rank], &t->from[rank], &t->err[rank]);
    if (!rc && (!t->restored[rank] || t->from[rank] != 20 || is_wrong(g, u)))
        rc = -1000;
    t->rc[rank] = rc;
    sk_group_barrier(g); /* the lease is given back by rank 0, when the others have done what they were at */
    sk_session_abandon(s);
    free(u);
    return 0;
}

/* 1: it failed, on all ranks and at the same place. */
static int run(struct trial *t, int calls)
{
    t->calls = calls;
    memset(t->rc, 0, sizeof t->rc);
    memset(t->err, 0, sizeof t->err);
    memset(t->restored, 0, sizeof t->restored);
    if (t->before)
        t->before();
    int ranks = t->ranks ? t->ranks : N;
    world_start(ranks, restarts, t);
    for (int r = 0; r < ranks; r++) {
        if (!t->rc[0] != !t->rc[r] || t->begun[r] != t->begun[0])
            fail_msg("'%s', call %d: rank 0 ends with %d (begun %d), rank %d with %d (begun %d)", t->config, calls, t->rc[0], t->begun[0], r,
                     t->rc[r], t->begun[r]);
        if (t->rc[r] && (t->rc[r] != SAIKAI_EMPI || t->err[r].code != SAIKAI_EMPI || !*t->err[r].text))
            fail_msg("'%s', call %d: rank %d ends with %d: %d '%s'", t->config, calls, r, t->rc[r], t->err[r].code, t->err[r].text);
    }
    return t->rc[0] != 0;
}

static void each_call(struct trial t)
{
    int most = 0, stride = (int)sk_sweep_stride(1, 2);
    assert_false(run(&t, ALWAYS));
    for (int calls = 1; run(&t, calls); calls += stride) {
        most += stride;
        assert_true(most < 1000);
    }
    assert_true(most > 15);
    assert_false(run(&t, ALWAYS)); /* whatever became of those starts */
}

/* ---- what is saved first: generations 10 and 20, both in the prefix if there is one ---- */

static int saves(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS];
    int restored;
    int64_t from;
    CHECK(!world_session(g, world_config("schedule.every=10; schedule.first=no; %s", (const char *)arg), &s, &err));
    CHECK(!protect(s, u, &err) && !sk_session_restart(s, &restored, &from, &err));
    for (int64_t it = 10; it <= 20; it += 10) {
        for (int i = 0; i < CELLS; i++)
            u[i] = value(N, g->rank, i) - 20000 + 1000 * (double)it;
        CHECK(sk_session_candidate(s, 0, it, &err) == 1 && !world_settle(s, it));
        while (sk_levels_has(&s->levels, SK_LEVEL_PARITY) && sk_ledger_newest(s->levels.ledger, SK_LEDGER_PROTECTED) < it / 10)
            CHECK(sk_session_due(s, 1, it, &err) == 0);
    }
    return world_leave(s, 0, 0);
}

static void lose_nodes(void)
{
    world_lose("local");
}

static void lose_a_file(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/gen-0001-000000000020-0/rank-000001.skc", world_local());
    world_lose(path);
}

#define ALONE "redundancy.scheme=none; "

static void from_the_nodes(void **state)
{
    (void)state;
    world_start(N, saves, ALONE);
    each_call((struct trial){.config = ALONE});
}

static void from_the_prefix(void **state)
{
    (void)state;
    world_start(N, saves, ALONE);
    each_call((struct trial){.config = ALONE, .before = lose_nodes});
}

static void from_one_place(void **state)
{
    (void)state;
    world_start(N, saves, ALONE "store.local=none");
    each_call((struct trial){.config = ALONE "store.local=none"});
    world_anew();
    world_start(N, saves, ALONE "store.prefix=none");
    each_call((struct trial){.config = ALONE "store.prefix=none"});
}

static void from_archives(void **state)
{
    (void)state;
    world_start(N, saves, ALONE "store.archive=aggregate");
    each_call((struct trial){.config = ALONE "store.archive=aggregate", .before = lose_nodes});
}

static void from_parity(void **state)
{
    (void)state;
    const char *config = "redundancy.scheme=xor; redundancy.domain=process; store.prefix=none";
    world_start(N, saves, (void *)config);
    each_call((struct trial){.config = config, .before = lose_a_file});
}

static void by_fewer_ranks(void **state)
{
    (void)state;
    shared = 1;
    world_start(N, saves, ALONE);
    each_call((struct trial){.config = ALONE, .ranks = 2, .before = lose_nodes});
    world_anew();
    world_start(N, saves, ALONE "store.archive=aggregate");
    each_call((struct trial){.config = ALONE "store.archive=aggregate", .ranks = 2, .before = lose_nodes});
    shared = 0;
}

static void one_that_was_chosen(void **state)
{
    (void)state;
    world_start(N, saves, ALONE);
    each_call((struct trial){.config = ALONE "restart.from=20"});
}

static int make_dir(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-lost-restart-XXXXXX", SK_LOG_INFO);
}

static int remove_dir(void **state)
{
    (void)state;
    return world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        TEST(from_the_nodes), TEST(from_the_prefix), TEST(from_one_place), TEST(from_archives), TEST(from_parity), TEST(by_fewer_ranks), TEST(one_that_was_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
