/* What programs do wrong, and what becomes of the generations that a start could not or did not use. */
#include "lib/whole/session_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 2, CELLS = 40000 };

#define SETTINGS "redundancy.scheme=none; schedule.first=no; schedule.every=10; "

struct start {
    const char *config;
    int (*body)(struct sk_session *s, double *u);
    int restarts; /* expected of the restart: 1, 0 or an error */
    size_t cells;
    int ends; /* 1: with finalize; 0: as a killed process does */
};

/* Far from where the system puts what is mapped anywhere: nothing else comes there when it is given back. */
static double *map(size_t cells)
{
    static atomic_uintptr_t next = (uintptr_t)0x567000000000; /* where the sanitizers leave the program its memory, too */
    void *at = (void *)atomic_fetch_add(&next, (uintptr_t)1 << 26);
    void *p = mmap(at, cells * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_true(p == at);
    return p;
}

static int program(struct sk_group *g, void *arg)
{
    const struct start *t = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    size_t cells = t->cells ? t->cells : CELLS;
    double *u = map(cells);
    int restored = 0;
    int64_t from = 0;
    CHECK(!world_session(g, world_config(SETTINGS "%s", t->config ? t->config : ""), &s, &err));
    CHECK(!world_protect(s, u, cells, &err));
    int rc = sk_session_restart(s, &restored, &from, &err);
    CHECK((rc ? rc : restored) == t->restarts);
    rc = t->body(s, u);
    return world_leave(s, rc, t->ends);
}

static void run(struct start t)
{
    world_start(N, program, &t);
}

/* Candidates with these numbers; what is due is complete afterwards, and each archived when that is wanted. */
static int go(struct sk_session *s, int64_t first, int64_t last, int archived)
{
    struct saikai_error err = {0};
    for (int64_t it = first; it <= last; it++) {
        int rc = sk_session_candidate(s, 0, it, &err);
        CHECK(rc >= 0 && (!rc || !sk_session_wait(s, &err)));
        while (archived && sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) < sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE)) {
            sk_engine_drain(s->levels.engine);
            CHECK(sk_session_due(s, 0, it, &err) == 0);
        }
    }
    sk_engine_drain(s->levels.engine);
    return 0;
}

static int make_dir(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-mistakes-XXXXXX", SK_LOG_DEBUG);
}

static int remove_dir(void **state)
{
    (void)state;
    return world_end();
}

/* Is the generation of this name in the local directory, or in the prefix? */
static int is_there(int local, int incarnation, int64_t it)
{
    return world_has(local ? world_local() : "prefix", incarnation, it, 0);
}

/* ---- numbers of iterations ---- */

static int falls(struct sk_session *s, double *u)
{
    struct saikai_error err = {0};
    (void)u;
    CHECK(!go(s, 1, 25, 0));
    CHECK(sk_session_candidate(s, 0, 7, &err) == SAIKAI_EINVAL);
    CHECK(strstr(err.text, "iteration 7 ") && strstr(err.text, "iteration 25"));
    CHECK(sk_session_candidate(s, 0, 20, &err) == SAIKAI_EINVAL); /* it would be due */
    CHECK(sk_session_candidate(s, 3, 25, &err) == 0);             /* another place of the same iteration is right */
    CHECK(!go(s, 26, 35, 0));
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE) == 30);
    return 0;
}

static int falls_below_the_restored(struct sk_session *s, double *u)
{
    struct saikai_error err = {0};
    (void)u;
    CHECK(sk_session_candidate(s, 0, 29, &err) == SAIKAI_EINVAL);
    CHECK(strstr(err.text, "iteration 29 ") && strstr(err.text, "restored iteration 30"));
    CHECK(sk_session_candidate(s, 0, 30, &err) == 0); /* whoever computes it again */
    CHECK(!go(s, 31, 45, 0));
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE) == 40);
    return 0;
}

static void test_iterations_must_not_fall(void **state)
{
    (void)state;
    run((struct start){.body = falls});
    world_expect("iteration 7 at a candidate after iteration 25", 1);
    int told = 0;
    for (const char *at = world.said; (at = strstr(at, "nothing is saved at such candidates")); at++)
        told++;
    assert_int_equal(told, N); /* once by each rank */
    run((struct start){.body = falls_below_the_restored, .restarts = 1});
}

/* A rank whose numbers are its own: the others' generation is not complete, and all go on. */
static int one_falls(struct sk_session *s, double *u)
{
    struct saikai_error err = {0};
    (void)u;
    CHECK(!go(s, 1, 15, 0));
    s->clock.now_tick = s->clock.tick + 1; /* a checkpoint was asked for */
    int rc = sk_session_candidate(s, 0, s->g->rank ? 12 : 16, &err);
    CHECK(rc == (s->g->rank ? SAIKAI_EINVAL : 1));
    CHECK(sk_session_wait(s, &err) < 0);
    CHECK(!go(s, 17, 25, 0));
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE) == 20);
    return 0;
}

static void test_one_rank_falls(void **state)
{
    (void)state;
    run((struct start){.body = one_falls});
}

/* ---- memory that was given back ---- */

static int gives_back(struct sk_session *s, double *u)
{
    struct saikai_error err = {0};
    CHECK(!go(s, 1, 15, 0));
    munmap(u, CELLS * sizeof *u);
    CHECK(!go(s, 16, 19, 0));
    CHECK(sk_session_candidate(s, 0, 20, &err) == SAIKAI_EINVAL);
    CHECK(strstr(err.text, "variable 'u'") && strstr(err.text, "given back"));
    double *again = map(CELLS);
    CHECK(!world_protect(s, again, CELLS, &err));
    CHECK(!go(s, 21, 35, 0));
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE) == 30);
    return 0;
}

static void test_memory_given_back(void **state)
{
    (void)state;
    static const char *const forms[] = {"capture.snapshot=copy; capture.tracker=full", "capture.snapshot=copy; capture.tracker=hash", NULL};
    for (int i = 0; i < 3; i++) {
        char config[256];
        snprintf(config, sizeof config, "restart.mode=never; %s", forms[i] ? forms[i] : "");
        run((struct start){.body = gives_back, .config = config});
        world_expect("rank 1: iteration 20 is not saved", 1);
    }
}

/* The same where the checkpoint is of files, too: these are fine, and the variable is none. */
static int gives_back_beside_files(struct sk_session *s, double *u)
{
    struct saikai_error err = {0};
    char path[512];
    CHECK(!go(s, 1, 15, 0));
    munmap(u, CELLS * sizeof *u);
    CHECK(sk_session_files_begin(s, 20, &err) == 1 && !sk_session_file_path(s, "f", path, sizeof path, &err));
    CHECK(sk_session_files_end(s, 1, &err) == SAIKAI_EINVAL && strstr(err.text, "variable 'u'") && strstr(err.text, "given back"));
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE) == 10);
    return 0;
}

/* Sections of a Fortran array are strided: from the lowest to the highest of its elements. */
static int gives_back_a_part(struct sk_session *s, double *u)
{
    struct saikai_error err = {0};
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {CELLS / 2}, .data = u + CELLS - 1, .layout.strided = 1,
                       .layout.strides = {-2 * (ptrdiff_t)sizeof *u}};
    CHECK(!sk_vars_put(&s->vars, &v, &err));
    CHECK(!go(s, 1, 15, 0));
    munmap(u, 4096);
    CHECK(!go(s, 16, 19, 0));
    CHECK(sk_session_candidate(s, 0, 20, &err) == SAIKAI_EINVAL);
    return 0;
}

static void test_part_of_a_section_given_back(void **state)
{
    (void)state;
    run((struct start){.body = gives_back_beside_files});
    world_anew();
    run((struct start){.body = gives_back_a_part});
}

/* ---- generations of earlier starts ---- */

static int until_30(struct sk_session *s, double *u)
{
    (void)u;
    return go(s, 1, 35, 1);
}

static int until_20(struct sk_session *s, double *u)
{
    (void)u;
    return go(s, 1, 25, 0);
}

static int from_20(struct sk_session *s, double *u)
{
    (void)u;
    return go(s, 21, 45, 0);
}

static int from_40(struct sk_session *s, double *u)
{
    (void)u;
    return go(s, 41, 65, 0);
}

static int from_60(struct sk_session *s, double *u)
{
    (void)u;
    return go(s, 61, 85, 1);
}

static int nothing(struct sk_session *s, double *u)
{
    (void)s;
    (void)u;
    return 0;
}

static void test_unused_ones_stay_until_own_ones_are_archived(void **state)
{
    (void)state;
    run((struct start){.body = until_30});
    assert_true(is_there(1, 1, 30) && is_there(0, 1, 30) && is_there(0, 1, 20));
    /* several complete ones of its own, none archived */
    run((struct start){.body = until_20, .config = "restart.mode=never; store.archive_every=0"});
    assert_true(is_there(1, 2, 20) && is_there(1, 1, 30) && is_there(0, 1, 30) && is_there(0, 1, 20));
    world_expect("removed", 0);
    /* it ends without any checkpoint */
    run((struct start){.body = nothing, .config = "restart.mode=never", .ends = 1});
    assert_true(is_there(1, 1, 30) && is_there(0, 1, 30));
    world_expect("removed", 0);
    run((struct start){.body = until_30, .config = "restart.mode=never"});
    assert_true(is_there(1, 4, 30) && is_there(0, 4, 30) && !is_there(1, 1, 30) && !is_there(0, 1, 30) && !is_there(1, 2, 20));
    world_expect("generations of earlier starts, which this one did not use, removed from", 1);
    /* what is resumed from goes when it is no longer needed, as ever */
    run((struct start){.body = falls_below_the_restored, .restarts = 1});
    assert_true(is_there(1, 5, 40) && !is_there(1, 4, 30));
    world_expect("removed", 0);
}

static int until_10(struct sk_session *s, double *u)
{
    (void)u;
    return go(s, 1, 12, 0);
}

/* It need not be more than one, and also a run that comes to its end leaves it. */
static void test_one_that_is_not_used_stays(void **state)
{
    (void)state;
    run((struct start){.body = until_10, .config = "store.archive_every=0"});
    assert_true(is_there(1, 1, 10) && !is_there(0, 1, 10) && world_generations(world_local()) == 1);
    run((struct start){.body = nothing, .config = "restart.mode=never", .ends = 1});
    assert_true(is_there(1, 1, 10));
    run((struct start){.body = until_10, .config = "restart.mode=never", .ends = 1}); /* its own is archived, and nothing is left on the node */
    assert_true(is_there(0, 3, 10) && !is_there(1, 1, 10) && !is_there(1, 3, 10));
}

static void test_without_a_prefix(void **state)
{
    (void)state;
    run((struct start){.body = until_20, .config = "store.prefix=none; capture.tracker=full"});
    run((struct start){.body = nothing, .config = "store.prefix=none; capture.tracker=full; restart.mode=never"});
    assert_true(is_there(1, 1, 20));
    run((struct start){.body = until_20, .config = "store.prefix=none; capture.tracker=full; restart.mode=never"});
    assert_true(is_there(1, 3, 20) && !is_there(1, 1, 20));
    world_expect("2 generations of earlier starts, which this one did not use, removed from", 1);
}

/* A run that came to its end is done with: the next one begins anew, and has nothing surprising to tell, with a prefix or without. */
static void test_a_finished_run_goes_in_silence(void **state)
{
    static const char *const configs[] = {"store.prefix=none; capture.tracker=full", NULL};
    (void)state;
    for (int i = 0; i < 2; i++) {
        run((struct start){.body = until_20, .config = configs[i], .ends = 1});
        for (int again = 0; again < 2; again++) {
            run((struct start){.body = until_20, .config = configs[i], .ends = 1});
            world_expect("removed", 0);
        }
    }
}

static void test_a_failed_restart_costs_nothing(void **state)
{
    (void)state;
    run((struct start){.body = until_30});
    int before = is_there(0, 1, 20); /* on a slow machine the copy of 30 may have come first */
    /* another size of the variable: the program goes on in spite of the error */
    run((struct start){.body = until_30, .cells = CELLS + 1, .restarts = SAIKAI_ECHANGED, .ends = 1});
    assert_true(is_there(1, 1, 30) && is_there(0, 1, 30) && is_there(0, 1, 20) == before);
    world_expect("removed", 0);
}

/* Another size of the variable for one start: the program goes on in spite of the error, dies, and is started again as it was.
 * What it could not read then waits until something of a later start is archived. */
static void test_what_could_not_be_read_stays_over_starts(void **state)
{
    (void)state;
    static const char nothing_archived[] = "store.archive_every=0; restart.mode=always";
    run((struct start){.body = until_20, .config = nothing_archived});
    run((struct start){.body = until_20, .config = nothing_archived, .cells = CELLS + 1, .restarts = SAIKAI_ECHANGED});
    assert_true(is_there(1, 1, 20) && is_there(1, 2, 20));
    for (int more = 0; more < 2; more++) { /* goes on from the second start's, and dies again */
        run((struct start){.body = more ? from_40 : from_20, .config = nothing_archived, .cells = CELLS + 1, .restarts = 1});
        assert_true(is_there(1, 1, 20));
        world_expect("removed", 0);
    }
    assert_true(is_there(1, 4, 60) && !is_there(1, 2, 20)); /* what was read goes as ever */
    run((struct start){.body = from_60, .config = "restart.mode=always", .cells = CELLS + 1, .restarts = 1});
    assert_true(is_there(1, 5, 80) && is_there(0, 5, 80) && !is_there(1, 1, 20));
    world_expect("generations of earlier starts, which this one did not use, removed from", 1);
    run((struct start){.body = nothing, .config = "restart.mode=always", .cells = CELLS + 1, .restarts = 1});
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_iterations_must_not_fall),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        TEST(test_one_rank_falls),
        TEST(test_memory_given_back),
        TEST(test_part_of_a_section_given_back),
        TEST(test_unused_ones_stay_until_own_ones_are_archived),
        TEST(test_one_that_is_not_used_stays),
        TEST(test_without_a_prefix),
        TEST(test_a_finished_run_goes_in_silence),
        TEST(test_a_failed_restart_costs_nothing),
        TEST(test_what_could_not_be_read_stays_over_starts),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
