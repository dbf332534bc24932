/* What lib/run/pace.c makes of what was measured: how often a generation is brought to a level. By tables, without ranks. Moments are hours
 * apart, and so a slow machine changes nothing. */
#include "lib/run/pace.h"

#include "base/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define HOUR 3600.0

double __real_sk_now(void);
double __wrap_sk_now(void);

/* The clock counts from the machine's start, and there must be a past of hours on one that was started a minute ago. */
double __wrap_sk_now(void)
{
    return __real_sk_now() + 1000 * HOUR;
}

static struct sk_group group;
static struct sk_session session;

static void anew(const char *config)
{
    struct sk_session *s = &session;
    *s = (struct sk_session){.g = &group, .config = sk_config_new()};
    group = (struct sk_group){.size = 4};
    assert_non_null(s->config);
    assert_int_equal(sk_config_set_all(s->config, config, SK_FROM_API, NULL), 0);
    assert_int_equal(sk_ledger_new(2, &s->levels.ledger, NULL), 0);
    s->measured.pace.cadence.setup.has[SK_CADENCE_ARCHIVE] = 1;
}

static int end(void **state)
{
    (void)state;
    sk_config_free(session.config);
    sk_ledger_free(session.levels.ledger);
    sk_vars_free(&session.vars);
    session = (struct sk_session){0};
    return 0;
}

/* Generations 1 … count: number i was captured 10 i^2 seconds after the first hour of the past ten. */
static void capture(int count)
{
    double begin = sk_now() - 10 * HOUR;
    for (int64_t i = 1, seq; i <= count; i++)
        assert_int_equal(sk_ledger_add(session.levels.ledger, (struct sk_gen){1, i, 0}, begin + (double)(10 * i * i), &seq, NULL), 0);
}

static int is_about(double x, double want)
{
    return x > want - 600 && x < want + 600;
}

/* ---- is it due? ---- */

static void test_due_by_time(void **state)
{
    static const struct {
        enum sk_level_place place;
        const char *config;
        int rank;
        double ago; /* 0: never so far */
        int due;
    } rows[] = {
        {SK_LEVEL_FAR, "store.archive_interval=1000h", 0, 0, 1},       {SK_LEVEL_FAR, "store.archive_interval=2h", 0, 1 * HOUR, 0},
        {SK_LEVEL_FAR, "store.archive_interval=2h", 0, 3 * HOUR, 1}, {SK_LEVEL_FAR, "store.archive_interval=2h", 1, 3 * HOUR, 0},
        {SK_LEVEL_FAR, "store.archive_interval=0s", 0, 1 * HOUR, 1}, {SK_LEVEL_PARITY, "redundancy.interval=2h", 0, 1 * HOUR, 0},
        {SK_LEVEL_PARITY, "redundancy.interval=2h", 0, 3 * HOUR, 1}, {SK_LEVEL_PARITY, "redundancy.interval=2h", 3, 3 * HOUR, 0},
        {SK_LEVEL_LOCAL, "store.archive_interval=2h", 0, 3 * HOUR, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        anew(rows[i].config);
        group.rank = rows[i].rank;
        int k = sk_level_traits[rows[i].place].cadence;
        if (k >= 0 && rows[i].ago > 0)
            session.measured.pace.begun[k] = sk_now() - rows[i].ago;
        if (sk_pace_due(&session, rows[i].place) != rows[i].due)
            fail_msg("row %zu", i);
        end(state);
    }
}

/* What the cadence has planned, as of measurements that it planned from. */
static void plan(int64_t every, double interval)
{
    struct sk_cadence *c = &session.measured.pace.cadence;
    c->interval = 100;
    c->cost = 1;
    c->latency = 2;
    for (int k = 0; k < SK_CADENCES; k++) {
        c->at[k] = (struct sk_cadence_at){.latency = 3, .held = 0.5, .done = 1};
        c->every[k] = every;
        c->planned_from[3 + 2 * k] = 0.5;
        c->planned_from[4 + 2 * k] = 3;
    }
    memcpy(c->planned_from, (double[]){100, 1, 2}, 3 * sizeof(double));
    c->best_interval = interval;
}

static void test_due_by_the_model(void **state)
{
    static const struct {
        int64_t every;
        int begun, complete; /* the newest that was sent there, and the newest that is complete */
        int due;
    } rows[] = {
        {3, 0, 1, 1}, {3, 1, 3, 0}, {3, 1, 4, 1}, {3, 1, 5, 1}, {3, 4, 4, 0}, {1, 4, 4, 0},
        {1, 4, 5, 1}, {0, 4, 9, 0}, {0, 0, 9, 1}, {2, 2, 3, 0}, {2, 2, 4, 1},
    };
    static const struct {
        enum sk_level_place place;
        const char *config;
    } levels[] = {{SK_LEVEL_FAR, "store.archive_interval=auto"}, {SK_LEVEL_PARITY, "redundancy.interval=auto"}};
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            anew(levels[l].config);
            capture(10);
            plan(rows[i].every, 1);
            sk_ledger_mark(session.levels.ledger, rows[i].begun, sk_level_traits[levels[l].place].begun);
            sk_ledger_mark(session.levels.ledger, rows[i].complete, SK_LEDGER_COMPLETE);
            if (sk_pace_due(&session, levels[l].place) != rows[i].due)
                fail_msg("level %zu, row %zu", l, i);
            group.rank = 1;
            assert_int_equal(sk_pace_due(&session, levels[l].place), 0);
            end(state);
        }
}

/* Others decide where one of the levels that there are has an interval of its own, and on all ranks but one. */
static void test_interval(void **state)
{
    static const struct {
        const char *config;
        int rank, has_parity, has_far;
        double best, want;
    } rows[] = {
        {"store.archive_interval=auto", 0, 0, 1, 70, 70},     {"store.archive_interval=auto", 2, 0, 1, 70, 0},
        {"store.archive_interval=1h", 0, 0, 1, 70, 0},        {"store.archive_interval=1h; redundancy.interval=auto", 0, 1, 0, 70, 70},
        {"store.archive_interval=1h; redundancy.interval=auto", 0, 1, 1, 70, 0},
        {"store.archive_interval=auto; redundancy.interval=1h", 0, 1, 1, 70, 0},
        {"store.archive_interval=auto; redundancy.interval=1h", 0, 0, 1, 70, 70},
        {"store.archive_interval=auto; redundancy.interval=auto", 0, 1, 1, 70, 70},
        {"store.archive_interval=auto", 0, 0, 0, 70, 0},      {"store.archive_interval=auto", 0, 0, 1, 2e9, 1e9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        anew(rows[i].config);
        plan(1, rows[i].best);
        session.measured.pace.cadence.setup.has[SK_CADENCE_PROTECT] = rows[i].has_parity;
        session.measured.pace.cadence.setup.has[SK_CADENCE_ARCHIVE] = rows[i].has_far;
        group.rank = rows[i].rank;
        if (sk_pace_interval(&session) != rows[i].want)
            fail_msg("row %zu: %g", i, sk_pace_interval(&session));
        end(state);
    }
}

/* ---- what is measured ---- */

/* Of a checkpoint that is complete: the mean time since the eighth before it, or the first, without what it cost. */
static void test_complete(void **state)
{
    static const struct {
        int seq;
        double interval;
    } rows[] = {{1, 0}, {2, 30 - 7}, {3, 40 - 7}, {8, 90 - 7}, {9, 100 - 7}, {10, 120 - 7}, {20, 320 - 7}, {30, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int rank = 0; rank < 2; rank++) {
            anew("");
            capture(20);
            sk_ledger_restored(session.levels.ledger, (struct sk_gen){1, 1, 0}); /* that one was not captured by this start */
            group.rank = rank;
            session.measured.pace.cost = 7;
            sk_pace_arrived(&session, SK_LEVEL_LOCAL, rows[i].seq);
            const struct sk_cadence *c = &session.measured.pace.cadence;
            int counts = !rank && rows[i].seq <= 20;
            assert_true(fabs(c->interval - (rank ? 0 : rows[i].interval)) < 1e-3);
            assert_true(c->cost == (counts ? 7 : 0));
            assert_true(counts ? is_about(c->latency, 10 * HOUR - 10 * rows[i].seq * rows[i].seq) : c->latency == 0);
            assert_int_equal(c->at[SK_CADENCE_PROTECT].done + c->at[SK_CADENCE_ARCHIVE].done, 0);
            end(state);
        }
}

/* Numbers that nobody can ask for are forgotten: it is counted from the first that is known. */
static void test_complete_when_some_are_forgotten(void **state)
{
    static const struct {
        int seq;
        double interval;
    } rows[] = {{24, 400 - 7}, {20, 360 - 7}, {17, 330 - 7}, {16, 0}, {15, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        anew("");
        double begin = sk_now() - 20 * HOUR;
        for (int64_t k = 1, seq; k <= 60; k++) {
            assert_int_equal(sk_ledger_add(session.levels.ledger, (struct sk_gen){1, k, 0}, begin + (double)(10 * k * k), &seq, NULL), 0);
            sk_ledger_mark(session.levels.ledger, k, SK_LEDGER_TOLD);
        }
        struct sk_ledger_entry e;
        assert_true(sk_ledger_find(session.levels.ledger, 15, &e, NULL) && !sk_ledger_find(session.levels.ledger, 16, &e, NULL));
        session.measured.pace.cost = 7;
        sk_pace_arrived(&session, SK_LEVEL_LOCAL, rows[i].seq);
        if (fabs(session.measured.pace.cadence.interval - rows[i].interval) > 1e-3)
            fail_msg("row %zu: %g", i, session.measured.pace.cadence.interval);
        end(state);
    }
}

static void test_arrived(void **state)
{
    static const enum sk_level_place places[SK_CADENCES] = {[SK_CADENCE_PROTECT] = SK_LEVEL_PARITY, [SK_CADENCE_ARCHIVE] = SK_LEVEL_FAR};
    static const struct {
        int rank, seq, counts;
    } rows[] = {{0, 10, 1}, {1, 10, 0}, {0, 0, 0}, {0, 11, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < SK_CADENCES; k++) {
            anew("");
            capture(10);
            group.rank = rows[i].rank;
            sk_ledger_restored(session.levels.ledger, (struct sk_gen){1, 1, 0}); /* number 0: it came there before this start */
            struct sk_pace *p = &session.measured.pace;
            p->begun[k] = sk_now() - 2 * HOUR;
            p->slices = 50;
            p->slices_before = 20;
            sk_pace_arrived(&session, places[k], rows[i].seq);
            const struct sk_cadence_at *a = &p->cadence.at[k];
            assert_int_equal(a->done, rows[i].counts);
            assert_int_equal(p->cadence.at[!k].done, 0);
            assert_true(p->cadence.interval == 0 && p->cadence.latency == 0);
            assert_true(p->slices_before == (rows[i].counts && k == SK_CADENCE_PROTECT ? 50 : 20));
            if (rows[i].counts) {
                assert_true(is_about(a->latency, 10 * HOUR - 1000));
                assert_true(is_about(a->duration, 2 * HOUR));
                assert_true(a->held == (k == SK_CADENCE_PROTECT ? 30 : 0)); /* copying is no work of the program's own */
            }
            end(state);
        }
}

static void test_begun(void **state)
{
    (void)state;
    static const int places[] = {SK_LEVEL_LOCAL, SK_LEVEL_PARITY, SK_LEVEL_FAR};
    for (int i = 0; i < 3; i++) {
        anew("");
        double before = sk_now();
        sk_pace_begun(&session, (enum sk_level_place)places[i]);
        for (int k = 0; k < SK_CADENCES; k++)
            if (k == sk_level_traits[places[i]].cadence)
                assert_true(session.measured.pace.begun[k] >= before);
            else
                assert_true(session.measured.pace.begun[k] == 0);
        end(state);
    }
}

/* The time of candidates counts for what was being done all the while. p: protecting, a: archiving, b: both, -: neither. */
static void test_hear(void **state)
{
    static const struct {
        char before, now, counts; /* x: for nothing */
    } rows[] = {
        {'-', '-', '-'}, {'-', 'p', '-'}, {'-', 'a', '-'}, {'-', 'b', '-'}, {'p', '-', 'x'}, {'p', 'p', 'p'}, {'p', 'a', 'x'}, {'p', 'b', 'p'},
        {'a', '-', 'x'}, {'a', 'p', 'x'}, {'a', 'a', 'a'}, {'a', 'b', 'a'}, {'b', '-', 'x'}, {'b', 'p', 'x'}, {'b', 'a', 'x'}, {'b', 'b', 'x'},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int rank = 0; rank < 2; rank++) {
            anew("");
            group.rank = rank;
            struct sk_pace *p = &session.measured.pace;
            struct sk_level_heard h[SK_LEVELS] = {{0}}; /* checkpoints are always on their way */
            p->busy[SK_CADENCE_PROTECT] = strchr("pb", rows[i].before) != NULL;
            p->busy[SK_CADENCE_ARCHIVE] = strchr("ab", rows[i].before) != NULL;
            h[SK_LEVEL_PARITY].was_idle = !strchr("pb", rows[i].now);
            h[SK_LEVEL_FAR].was_idle = !strchr("ab", rows[i].now);
            sk_pace_hear(&session, 2, 5, h);
            char counts = rank ? 'x' : rows[i].counts;
            assert_true(p->cost == 5);
            assert_true(p->cadence.quiet.mean == (counts == '-' ? 2 : 0));
            assert_true(p->cadence.at[SK_CADENCE_PROTECT].ticks.mean == (counts == 'p' ? 2 : 0));
            assert_true(p->cadence.at[SK_CADENCE_ARCHIVE].ticks.mean == (counts == 'a' ? 2 : 0));
            assert_int_equal(p->busy[SK_CADENCE_PROTECT], strchr("pb", rows[i].now) != NULL);
            assert_int_equal(p->busy[SK_CADENCE_ARCHIVE], strchr("ab", rows[i].now) != NULL);
            end(state);
        }
}

/* ---- costs and deadlines ---- */

static void test_cost(void **state)
{
    anew("");
    static double u[1000];
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {1000}, .data = u};
    assert_true(fabs(sk_pace_cost(&session) - 1e-3) < 1e-12);
    session.resume.restored_bytes = 4000; /* it will protect as much again */
    assert_true(fabs(sk_pace_cost(&session) - (1e-3 + 4e-6)) < 1e-12);
    assert_int_equal(sk_vars_put(&session.vars, &v, NULL), 0);
    assert_true(fabs(sk_pace_cost(&session) - (1e-3 + 8e-6)) < 1e-12);
    session.resume.restored_bytes = 9000;
    assert_true(fabs(sk_pace_cost(&session) - (1e-3 + 9e-6)) < 1e-12);
    sk_measured_checkpoint(&session.measured, 5e-3);
    assert_true(fabs(sk_pace_cost(&session) - 5e-3) < 1e-12);
    sk_measured_checkpoint(&session.measured, 9);
    sk_measured_checkpoint(&session.measured, 8);
    assert_true(fabs(sk_pace_cost(&session) - 8) < 1e-12);
    end(state);
}

/* Two exchanges, two candidates and a checkpoint are to fit in before it, or the margin where that is longer. */
static void test_near(void **state)
{
    static const struct {
        const char *config;
        double tick, cost, left; /* hours */
        int near;
    } rows[] = {
        {"schedule.poll=1ms; schedule.time_margin=10h", 0, 0, 9, 1},   {"schedule.poll=1ms; schedule.time_margin=10h", 0, 0, 11, 0},
        {"schedule.poll=1h; schedule.time_margin=10h", 0, 0, 11.5, 1}, {"schedule.poll=1h; schedule.time_margin=10h", 0, 0, 12.5, 0},
        {"schedule.poll=1ms; schedule.time_margin=10h", 2, 0, 13, 1},  {"schedule.poll=1ms; schedule.time_margin=10h", 2, 0, 15, 0},
        {"schedule.poll=1ms; schedule.time_margin=10h", 0, 6, 11, 1},  {"schedule.poll=1ms; schedule.time_margin=10h", 0, 6, 13, 0},
        {"schedule.poll=1h; schedule.time_margin=1h", 2, 3, 11, 1},    {"schedule.poll=1h; schedule.time_margin=1h", 2, 3, 13, 0},
        {"schedule.poll=1ms; schedule.time_margin=1h", 0, 0, -1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        anew(rows[i].config);
        struct sk_measured *m = &session.measured;
        m->mark_tick = 5;
        session.clock.tick = 5;
        m->mark = sk_now() - 20 * HOUR; /* no candidate since: nothing is known of them */
        if (rows[i].tick > 0)
            session.clock.tick += 10, m->mark = sk_now() - 10 * rows[i].tick * HOUR;
        for (int n = 0; n < 3; n++)
            sk_measured_checkpoint(m, rows[i].cost * HOUR);
        if (sk_pace_is_near(&session, sk_now() + rows[i].left * HOUR) != rows[i].near)
            fail_msg("row %zu", i);
        end(state);
    }
}

/* ---- as it begins ---- */

static void tell_cost(void *l, struct sk_level_cost *out)
{
    (void)l;
    *out = (struct sk_level_cost){.members = 4, .tolerated = 2, .groups = 3};
}

#define SHARES "failure.local_share=0.25; failure.beyond_share=0.125; schedule.threshold=0.5"

static void test_start(void **state)
{
    static const struct sk_level_ops parity = {.name = "test", .cost = tell_cost};
    static const struct {
        double rate, host_rate;
        const char *prefix, *config;
        int has_parity, has_far;
        double local_share, beyond_share;
    } rows[] = {
        {2, 2, "/p", SHARES, 1, 1, 0.25, 0.125}, {2, 1, "/p", SHARES, 0, 1, 0.625, 0.0625}, {0.5, 0.25, "/p", SHARES, 0, 1, 0.625, 0.0625},
        {2, 0, "", SHARES, 1, 0, 1, 0},
        {0, 0, "/p", SHARES "; store.local=none", 1, 0, 0.25, 0.125}, {0, 5, "/p", SHARES, 0, 1, 0.25, 0.125},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        anew(rows[i].config);
        strcpy(session.place.prefix_root, rows[i].prefix);
        if (rows[i].has_parity)
            session.levels.at[SK_LEVEL_PARITY].ops = &parity;
        session.measured.rate = rows[i].rate;
        session.measured.host_rate = rows[i].host_rate;
        sk_pace_start(&session);
        const struct sk_cadence_setup *c = &session.measured.pace.cadence.setup;
        assert_true(c->rate == rows[i].rate && c->threshold == 0.5);
        if (fabs(c->local_share - rows[i].local_share) > 1e-12 || fabs(c->beyond_share - rows[i].beyond_share) > 1e-12)
            fail_msg("row %zu: %g %g", i, c->local_share, c->beyond_share);
        assert_int_equal(c->has[SK_CADENCE_PROTECT], rows[i].has_parity);
        assert_int_equal(c->has[SK_CADENCE_ARCHIVE], rows[i].has_far);
        assert_int_equal(c->members, rows[i].has_parity ? 4 : 0);
        assert_int_equal(c->tolerated, rows[i].has_parity ? 2 : 0);
        assert_int_equal(c->groups, rows[i].has_parity ? 3 : 0);
        end(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due_by_time), cmocka_unit_test(test_due_by_the_model), cmocka_unit_test(test_interval),
        cmocka_unit_test(test_complete), cmocka_unit_test(test_complete_when_some_are_forgotten),    cmocka_unit_test(test_arrived),          cmocka_unit_test(test_begun),
        cmocka_unit_test(test_hear),        cmocka_unit_test(test_cost),             cmocka_unit_test(test_near),
        cmocka_unit_test(test_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
