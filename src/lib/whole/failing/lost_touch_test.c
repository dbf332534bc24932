/* Ranks of a session that lose touch, at each of their collective calls: every rank comes back with the same answer and a sentence, and
 * the next start goes on from what was saved. */
#include "lib/whole/session_testing.h"

#include "base/sweep.h"
#include "group/failing_testing.h"
#include "group/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 3, CELLS = 700, ALWAYS = 1 << 20 };

struct trial {
    const char *config;
    int64_t until;
    int calls;     /* so many of each rank work */
    int finishes;  /* else it is killed */
    int rc[N];     /* what it came to on each rank … */
    int64_t at[N]; /* … and where: the iteration, -1: before the first one, INT64_MAX: at the end */
    int64_t from[N];
    struct saikai_error err[N];
};

static double value(int rank, int64_t it, int cell)
{
    return (double)(it * 1000 + rank * 100) + cell;
}

static int begin(struct sk_session *s, double *u, struct trial *t, int rank)
{
    int restored = 0;
    int64_t from = 0;
    int rc = world_protect(s, u, CELLS, &t->err[rank]);
    rc = rc ? rc : sk_session_restart(s, &restored, &from, &t->err[rank]);
    if (rc)
        return rc;
    t->from[rank] = restored ? from : 0;
    for (int i = 0; i < CELLS && restored; i++)
        if (u[i] != value(rank, from, i))
            return -1000;
    return 0;
}

static int compute(struct sk_session *s, double *u, struct trial *t, int rank)
{
    int rc = 0;
    for (int64_t it = t->from[rank] + 1; it <= t->until && rc >= 0; it++) {
        t->at[rank] = it;
        for (int i = 0; i < CELLS; i++)
            u[i] = value(rank, it, i);
        rc = sk_session_candidate(s, 0, it, &t->err[rank]);
        if (rc == 1)
            rc = sk_session_wait(s, &t->err[rank]);
    }
    return rc < 0 ? rc : 0;
}

static int program(struct sk_group *g, void *arg)
{
    struct trial *t = arg;
    struct sk_session *s = NULL;
    struct sk_group *own = NULL;
    int rank = g->rank, left = t->calls;
    double *u = calloc(CELLS, sizeof *u);
    if (!u || sk_group_dup(g, &own) || !(own = failing_new(own, &left)))
        return -1;
    failing_of(own)->only_whole = 1;
    t->at[rank] = -1;
    int rc = sk_session_new(own, world_config("schedule.every=10; %s", t->config), "program", &s, &t->err[rank]);
    if (!rc)
        rc = begin(s, u, t, rank);
    if (!rc)
        rc = compute(s, u, t, rank);
    if (!rc && t->finishes) {
        t->at[rank] = INT64_MAX;
        rc = sk_session_finalize(s, &t->err[rank]);
    } else {
        sk_group_barrier(g); /* the lease is given back by rank 0, when the others have done what they were at */
        sk_session_abandon(s);
    }
    t->rc[rank] = rc;
    free(u);
    return 0;
}

/* 1: it failed, on all ranks and at the same place. */
static int run(struct trial *t)
{
    memset(t->rc, 0, sizeof t->rc);
    memset(t->err, 0, sizeof t->err);
    world_start(N, program, t);
    for (int r = 0; r < N; r++) {
        if (!t->rc[0] != !t->rc[r] || t->at[r] != t->at[0] || t->from[r] != t->from[0])
            fail_msg("call %d: rank 0 ends with %d at %lld, rank %d with %d at %lld", t->calls, t->rc[0], (long long)t->at[0], r, t->rc[r],
                     (long long)t->at[r]);
        if (t->rc[r] && (t->rc[r] != SAIKAI_EMPI || t->err[r].code != SAIKAI_EMPI || !*t->err[r].text))
            fail_msg("call %d: rank %d ends at %lld with %d: %d '%s'", t->calls, r, (long long)t->at[r], t->rc[r], t->err[r].code,
                     t->err[r].text);
    }
    return t->rc[0] != 0;
}

static void each_call(const char *config)
{
    int last = 0;
    for (long calls = 1, stride = sk_sweep_stride(3, 7); !last; calls += stride) {
        struct trial first = {.config = config, .until = 25, .calls = ALWAYS}, t = {.config = config, .until = 35, .calls = (int)calls, .finishes = 1},
                     next = {.config = config, .until = 1, .calls = ALWAYS, .finishes = 1};
        world_anew();
        assert_false(run(&first));
        last = !run(&t);
        assert_false(run(&next));
        /* the end may be told to the store before the ranks fail to tell each other */
        if (next.from[0] != 20 && next.from[0] != 30 && !(t.at[0] == INT64_MAX && !next.from[0]))
            fail_msg("call %ld, which ended at %lld: the next start went on from %lld", calls, (long long)t.at[0], (long long)next.from[0]);
        if (last && next.from[0])
            fail_msg("it came to its end, and the next start went on from %lld", (long long)next.from[0]);
    }
}

static void test_with_a_prefix(void **state)
{
    (void)state;
    each_call("redundancy.scheme=none");
}

static void test_in_one_place(void **state)
{
    (void)state;
    each_call("redundancy.scheme=none; store.local=none");
}

static void test_with_all_levels(void **state)
{
    (void)state;
    each_call("redundancy.scheme=xor; redundancy.domain=process; store.archive=aggregate");
}

static int make_dir(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-lost-touch-XXXXXX", SK_LOG_INFO);
}

static int remove_dir(void **state)
{
    (void)state;
    return world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_with_a_prefix, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_in_one_place, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_with_all_levels, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
