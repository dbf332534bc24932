/* What a restart leaves in the session, wherever the generation came from: what it goes on from, what stays and what goes, and how it is told. */
#include "lib/whole/session_testing.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "lib/engine/engine_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 2, CELLS = 300, SAVED = 4, LAST = 10 * SAVED };

/* A start: it goes on from `from`, and is looked at. */
static struct start {
    const char *config;
    int64_t from;
    uint32_t incarnation; /* that saved it */
    int in_local[N];      /* what each rank is to have it from */
    int everywhere;       /* 1: all have it on their nodes */
    int stay;             /* so many of the newest stay in the prefix */
    uint32_t unread_before; /* an earlier start could not read what is from so early on … */
    int unread;             /* … or this one */
    int (*look)(struct sk_session *s);
} start;

static double value(int rank, int64_t it)
{
    return (double)(100 * it + rank);
}

/* Every generation is in the prefix, and the newest of it on the nodes. */
static int saves(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS];
    int restored = 7;
    int64_t from = -7;
    CHECK(!world_session(g, world_config("schedule.every=10; schedule.first=no; redundancy.scheme=none; store.keep_prefix=9; %s", (const char *)arg), &s, &err));
    CHECK(!world_protect(s, u, CELLS, &err) && !sk_session_restart(s, &restored, &from, &err) && !restored && from == -7);
    CHECK(!s->resume.from.incarnation && s->clock.last_iteration == -1 && s->resume.called && !s->resume.unread && !s->resume.code_from);
    for (int64_t it = 10; it <= LAST; it += 10) {
        for (int i = 0; i < CELLS; i++)
            u[i] = value(g->rank, it);
        CHECK(sk_session_candidate(s, 0, it, &err) == 1 && !world_settle(s, it));
    }
    return world_leave(s, 0, 0);
}

static int stays(struct sk_session *s, int64_t it)
{
    return sk_ledger_stays(s->levels.ledger, sk_gen_key((struct sk_gen){1, it, 0}));
}

static int restarts(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_ledger_entry e;
    double u[CELLS] = {0};
    int restored = 7;
    int64_t from = -7, began = sk_wall_ms();
    (void)arg;
    CHECK(!world_session(g, world_config("schedule.every=10; schedule.first=no; redundancy.scheme=none; %s", start.config), &s, &err));
    s->who.unread_before = start.unread_before;
    s->resume.unread = start.unread;
    CHECK(!world_protect(s, u, CELLS, &err) && !sk_session_restart(s, &restored, &from, &err));
    CHECK(restored == 1 && from == start.from && u[0] == value(g->rank, from) && u[CELLS - 1] == u[0]);
    const struct sk_resume *r = &s->resume;
    CHECK(r->called && r->from.incarnation == start.incarnation && r->from.iteration == from && !r->from.place && r->unread == start.unread && !r->from_others);
    CHECK(r->restored_bytes == CELLS * sizeof *u && r->from_created_ms <= began && r->from_created_ms > began - 600000);
    CHECK(r->code_from == start.everywhere && s->clock.last_iteration == from && !r->proven && !*r->restored_files);
    CHECK(!sk_ledger_find(s->levels.ledger, 0, &e, &err) && sk_gen_key(e.gen) == sk_gen_key(r->from) && sk_ledger_count(s->levels.ledger) == 0);
    struct sk_engine *en = s->levels.engine;
    sk_threads_lock(&en->threads);
    int earlier = en->keep.earlier, held = sk_stock_at(&en->stock, r->from) != NULL;
    uint32_t spare = en->keep.spare_before;
    sk_threads_unlock(&en->threads);
    CHECK(earlier == (start.unread ? SK_EARLIER_STAY : SK_EARLIER_RESUMED));
    CHECK(spare == (start.unread_before <= start.incarnation ? start.unread_before : 0) && held == start.in_local[g->rank]);
    for (int i = 0; i < SAVED && start.stay >= 0; i++)
        CHECK(stays(s, from - 10 * i) == (i < start.stay && from - 10 * i > 0));
    CHECK(!stays(s, from + 10));
    CHECK(sk_session_restart(s, &restored, &from, &err) == SAIKAI_ESTATE);
    CHECK(!start.look || !start.look(s));
    CHECK(sk_session_candidate(s, 0, from, &err) == 0 && s->resume.proven); /* it is computed once more, and good */
    return world_leave(s, 0, 0);
}

static void go_on(struct start how)
{
    start = how;
    world_start(N, restarts, NULL);
}

static void lose_file(const char *root, int rank, int64_t it)
{
    char path[256];
    world_path(path, root, 1, it, rank);
    assert_int_equal(unlink(path), 0);
}

static void told(int64_t it, const char *form, int here)
{
    char text[300];
    snprintf(text, sizeof text, "job test: resuming from iteration %lld (%s), saved ", (long long)it, form);
    world_expect(text, 1);
    snprintf(text, sizeof text, " ago, in %s/%s\n", world.dir, here ? world_local() : "prefix");
    world_expect(text, 1);
}

static void from_the_nodes(void **state)
{
    (void)state;
    world_start(N, saves, "");
    go_on((struct start){.config = "store.keep_prefix=2", .from = LAST, .incarnation = 1, .in_local = {1, 1}, .everywhere = 1, .stay = 2});
    told(LAST, "node-local copy", 1);
    go_on((struct start){.config = "store.keep_prefix=3", .from = LAST, .incarnation = 1, .in_local = {1, 1}, .everywhere = 1, .stay = 3});
    /* of one rank it is in the prefix alone */
    lose_file(world_local(), 1, LAST);
    go_on((struct start){.config = "store.keep_prefix=9", .from = LAST, .incarnation = 1, .in_local = {1, 0}, .stay = 4});
    told(LAST, "node-local copy, of some ranks the copy in the prefix", 1);
}

/* What could not be read stays, for what it was that could not. */
static void with_something_that_cannot_be_read(void **state)
{
    (void)state;
    struct start here = {.config = "store.keep_prefix=9", .from = LAST, .incarnation = 1, .in_local = {1, 1}, .everywhere = 1, .stay = 4};
    world_start(N, saves, "");
    go_on(here);
    world_expect("not all that there is could be read", 0);
    here.unread_before = 1; /* it may be in the way of this one */
    go_on(here);
    here.unread_before = 2; /* only what came later could not */
    go_on(here);
    here.unread_before = 0;
    here.unread = 1;
    go_on(here);
    world_expect("not all that there is could be read, and it may be at another time: this start removes nothing of earlier ones", 1);
}

static void from_the_prefix(void **state)
{
    (void)state;
    world_start(N, saves, "");
    world_lose("local");
    go_on((struct start){.config = "store.keep_prefix=1", .from = LAST, .incarnation = 1, .stay = 1});
    told(LAST, "copy in the prefix", 0);
    /* what is not whole there is none that counts */
    lose_file("prefix", 1, LAST);
    world_lose("local");
    lose_file("prefix", 0, LAST - 20);
    go_on((struct start){.config = "store.keep_prefix=9", .from = LAST - 10, .incarnation = 1, .stay = -1, .look = NULL});
    told(LAST - 10, "copy in the prefix", 0);
    world_expect("of iteration 40 is out of reach", 1);
}

static int both_stay(struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(stays(s, LAST - 10) && stays(s, LAST - 30) && !stays(s, LAST - 20) && !stays(s, LAST));
    return 0;
}

static void which_stay(void **state)
{
    (void)state;
    world_start(N, saves, "");
    world_lose("local");
    lose_file("prefix", 1, LAST);
    lose_file("prefix", 0, LAST - 20);
    go_on((struct start){.config = "store.keep_prefix=2", .from = LAST - 10, .incarnation = 1, .stay = -1, .look = both_stay});
}

/* In one place the engine has them all. */
static int holds_three(struct sk_session *s)
{
    struct saikai_error err = {0};
    struct sk_engine *en = s->levels.engine;
    sk_threads_lock(&en->threads);
    int held[SAVED];
    for (int i = 0; i < SAVED; i++)
        held[i] = sk_stock_at(&en->stock, (struct sk_gen){1, LAST - 10 * i, 0}) != NULL;
    sk_threads_unlock(&en->threads);
    CHECK(held[0] && held[1] && held[2] && !held[3]);
    return 0;
}

static void from_one_place(void **state)
{
    (void)state;
    world_start(N, saves, "store.local=none");
    go_on((struct start){.config = "store.local=none; store.keep_prefix=3", .from = LAST, .incarnation = 1, .in_local = {1, 1}, .everywhere = 1, .stay = 3,
                         .look = holds_three});
    told(LAST, "node-local copy", 0);
}

static int setup(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-adopt-XXXXXX", SK_LOG_NOTICE);
}

static int teardown(void **state)
{
    (void)state;
    return world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(from_the_nodes),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        TEST(with_something_that_cannot_be_read), TEST(from_the_prefix), TEST(which_stay), TEST(from_one_place),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
