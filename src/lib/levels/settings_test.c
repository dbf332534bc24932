/* What a session is begun with reaches its parts: the engine's settings, which levels there are, and what the program is told of it. */
#include "lib/whole/session_testing.h"

#include "lib/engine/engine_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/host/open_files_testing.h"

enum { N = 2, CELLS = 100 };

/* ---- the engine ---- */

struct began {
    const char *what, *config;
    int keep_local, sync_local, sync_prefix, has_prefix, is_leased, scrubs, far;
    double share;
};

static int begins(struct sk_group *g, void *arg)
{
    const struct began *b = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_config *c = world_config("redundancy.scheme=none; store.keep_local=3; store.keep_prefix=5; capture.max_deltas=7; capture.max_ratio=0.25; "
                                       "store.final_wait=9s; store.scrub_share=0.5; %s", b->config);
    CHECK(!world_session(g, c, &s, &err));
    const struct sk_engine *e = s->levels.engine;
    CHECK(e->where.rank == g->rank && e->where.nranks == N && e->where.incarnation == s->who.incarnation);
    CHECK(!strcmp(e->where.local_root, s->place.local_root) && sk_id_same(e->where.lease, s->place.lease_token));
    CHECK(b->has_prefix ? !strcmp(e->where.prefix_root, s->place.prefix_root) : !e->where.prefix_root);
    CHECK(b->is_leased ? !strcmp(e->where.leased_root, s->place.prefix_root) : !e->where.leased_root);
    CHECK(e->where.sync_local == b->sync_local && e->where.sync_prefix == b->sync_prefix);
    CHECK(e->keep.keep_local == b->keep_local && e->keep.keep_prefix == 5 && e->keep.has_prefix == b->has_prefix && !e->keep.finished_from);
    CHECK(e->sealing.limits.max_deltas == 7 && e->sealing.limits.max_ratio == 0.25 && e->sealing.coding == s->capture.coding);
    CHECK(e->copying.final_wait == 9 && e->shelf.share == b->share && (e->healing.scrub != NULL) == b->scrubs);
    CHECK(e->ledger == s->levels.ledger && s->capture.changes && s->capture.saver);
    CHECK(sk_levels_has(&s->levels, SK_LEVEL_LOCAL) && sk_levels_has(&s->levels, SK_LEVEL_FAR) == b->far);
    CHECK(!sk_levels_has(&s->levels, SK_LEVEL_PARITY)); /* by its configuration */
    CHECK(s->levels.heals_from == -1 && s->levels.last_from == -1 && s->ending.end_tick == UINT64_MAX && s->place.node_ranks == N);
    CHECK(g->rank ? !s->place.lease : (s->place.lease != NULL) == b->is_leased);
    return world_leave(s, 0, 0);
}

static void each_place_has_its_settings(void **state)
{
    (void)state;
    static const struct began cases[] = {
        {"both places", "store.fsync=yes; store.scrub=1h", 3, 0, 1, 1, 1, 1, 1, 0.5},
        {"nothing is to last", "store.fsync=no; store.scrub=0s", 3, 0, 0, 1, 1, 0, 1, 0.5},
        {"the nodes alone", "store.prefix=none; store.fsync=yes; store.scrub=1h", 5, 1, 1, 0, 0, 1, 0, 0.5},
        {"the prefix alone", "store.local=none; store.fsync=yes; store.scrub=1h", 5, 1, 1, 0, 1, 0, 0, 0},
        {"the prefix alone, without waiting for disks", "store.local=none; store.fsync=no", 5, 0, 0, 0, 1, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("%s\n", cases[i].what);
        world_start(N, begins, (void *)&cases[i]);
        world_anew();
    }
}

static int finishes(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    const uint32_t *from = arg;
    CHECK(!world_session(g, world_config("redundancy.scheme=none"), &s, &err) && s->levels.engine->keep.finished_from == *from);
    return world_leave(s, 0, 1);
}

/* What a run that came to its end left may go as soon as a newer one has something. */
static void where_the_run_before_began(void **state)
{
    (void)state;
    for (uint32_t from = 0; from < 3; from++)
        world_start(1, finishes, &from);
}

/* ---- help at candidates ---- */

static int slices;

static int wants(void *l)
{
    (void)l;
    return 1;
}

static void slice(void *l)
{
    (void)l;
    slices++;
    sk_sleep(0.003);
}

static const struct sk_level_ops in_slices = {.name = "test", .about = "in slices", .wants_slices = wants, .slice = slice};

/* What a candidate spends on the coding is no time of the program's own, and none is passed over. */
static int helps(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    (void)g;
    (void)arg;
    CHECK(!world_session(g, world_config("redundancy.scheme=none; schedule.first=no; schedule.every=1000; schedule.poll=1000s"), &s, &err));
    for (int64_t it = 1; it < 50; it++)
        CHECK(sk_session_candidate(s, 0, it, &err) == 0);
    while (s->agreement.post_tick <= s->clock.tick + 4 || s->agreement.take_tick <= s->clock.tick + 4) /* no exchange is near */
        CHECK(sk_session_candidate(s, 0, 50, &err) == 0);
    s->levels.at[SK_LEVEL_PARITY] = (struct sk_open_level){&in_slices, &slices};
    s->clock.next_tick = 0;
    double paused = s->measured.paused, blocked = s->capture.blocked_seconds, before = sk_now();
    slices = 0;
    for (int k = 1; k <= 3; k++) {
        CHECK(sk_session_candidate(s, 0, 50 + k, &err) == 0 && slices == k && s->clock.next_tick == s->clock.tick + 1);
        double spent = s->capture.blocked_seconds - blocked;
        CHECK(spent >= 0.003 * k && spent <= sk_now() - before);
        CHECK(s->measured.paused - paused > spent - 1e-9 && s->measured.paused - paused < spent + 1e-9);
        CHECK(s->measured.pace.slices > spent - 1e-9 && s->measured.pace.slices < spent + 1e-9 && s->measured.pace.slices_before == 0);
    }
    s->levels.at[SK_LEVEL_PARITY] = (struct sk_open_level){0};
    CHECK(sk_session_candidate(s, 0, 60, &err) == 0 && slices == 3);
    return world_leave(s, 0, 0);
}

static void slices_are_counted(void **state)
{
    (void)state;
    world_start(1, helps, NULL);
}

/* ---- what the program is told ---- */

static void cost(void *l, struct sk_level_cost *out)
{
    (void)l;
    *out = (struct sk_level_cost){.seconds = 1.5};
}

static const struct sk_level_ops with_cost = {.name = "test", .about = "costs", .cost = cost};

static void each_field_of_the_status(void **state)
{
    (void)state;
    struct sk_group g = {.size = 1};
    static struct sk_session s;
    struct saikai_status st;
    int64_t seq;
    s = (struct sk_session){.g = &g};
    assert_int_equal(sk_ledger_new(9, &s.levels.ledger, NULL), 0);
    for (int64_t i = 1; i <= 3; i++)
        assert_int_equal(sk_ledger_add(s.levels.ledger, (struct sk_gen){1, 10 * i, 0}, 1, &seq, NULL), 0);
    sk_session_status(&s, &st, sizeof st);
    assert_true(st.complete_iteration == -1 && st.archived_iteration == -1 && st.protected_iteration == -1 && st.coding_seconds == 0);
    sk_ledger_mark(s.levels.ledger, 3, SK_LEDGER_COMPLETE);
    sk_ledger_mark(s.levels.ledger, 2, SK_LEDGER_PROTECTED);
    sk_ledger_mark(s.levels.ledger, 1, SK_LEDGER_ARCHIVED);
    s.capture.checkpoints = 7;
    s.capture.failed = 2;
    s.capture.blocked_seconds = 0.75;
    s.capture.bytes_last = 4096;
    s.measured.cost_seconds = 0.25;
    s.measured.rate = 0.125;
    s.measured.advice.now.every = 9;
    s.levels.at[SK_LEVEL_PARITY] = (struct sk_open_level){&with_cost, &s};
    strcpy(s.place.prefix_root, "/far");
    strcpy(s.place.local_root, "/near");
    sk_session_status(&s, &st, sizeof st);
    assert_true(st.checkpoints == 7 && st.failed == 2 && st.complete_iteration == 30 && st.protected_iteration == 20 && st.archived_iteration == 10);
    assert_true(st.advice_every == 9 && st.cost_seconds == 0.25 && st.blocked_seconds == 0.75 && st.failure_rate == 0.125 && st.bytes == 4096);
    assert_true(st.coding_seconds == 1.5);
    s.clock.every = 4; /* whoever says it is not advised */
    strcpy(s.place.local_root, "/far"); /* what is complete is in the prefix */
    sk_session_status(&s, &st, sizeof st);
    assert_true(st.advice_every == 4 && st.archived_iteration == 30);
    /* a program of a later version finds zeros behind what is known, one of an earlier one nothing that it has no room for */
    struct {
        struct saikai_status st;
        char more[16];
    } later;
    memset(&later, 1, sizeof later);
    sk_session_status(&s, &later.st, sizeof later);
    assert_true(later.st.checkpoints == 7 && !later.more[0] && !later.more[15]);
    memset(&st, 1, sizeof st);
    sk_session_status(&s, &st, offsetof(struct saikai_status, failed));
    assert_true(st.checkpoints == 7 && ((char *)&st.failed)[0] == 1);
    sk_ledger_free(s.levels.ledger);
}

static int setup(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-settings-XXXXXX", SK_LOG_WARN);
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
        TEST(each_place_has_its_settings),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        TEST(where_the_run_before_began),
        TEST(slices_are_counted),
        cmocka_unit_test(each_field_of_the_status),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
