/* What a rank says at an exchange (lib/run/poll.c), and what it does with what all said: by a group that has the test's answer at once,
 * and by levels that write down what they are told to do (lib/run/walk.c). Nothing here depends on how long anything takes. */
#include "lib/run/poll.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"
#include "lib/engine/engine_parts.h"
#include "lib/run/requests.h"
#include "lib/run/walk.h"
#include "schedule/advice.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- the group: its answer is the test's ---- */

static int64_t said[SK_POLL_FIELDS], answer[SK_POLL_FIELDS];
static int fails;

static int exchange(struct sk_group *g, int64_t *v, int count, enum sk_op op, struct sk_request **req)
{
    (void)g;
    assert_int_equal(count, SK_POLL_FIELDS);
    assert_int_equal(op, SK_OP_MIN);
    memcpy(said, v, sizeof said);
    memcpy(v, answer, sizeof answer);
    *req = NULL;
    return fails == 1 ? SAIKAI_EMPI : 0;
}

static int wait_for(struct sk_group *g, struct sk_request **req)
{
    (void)g;
    *req = NULL;
    return fails == 2 ? SAIKAI_EMPI : 0;
}

static const struct sk_group_ops group_ops = {.iallreduce = exchange, .wait = wait_for};

/* ---- levels that write down what they are told ---- */

static struct told {
    int arrived, was_idle, idle; /* what it hears */
    int64_t seq;
    int64_t brought, retired; /* what it was told; -1: nothing */
    struct sk_gen gen;
    int anew;
} level[SK_LEVELS];

static void bring(void *l, struct sk_gen gen, int64_t seq, int anew)
{
    struct told *t = l;
    t->brought = seq;
    t->gen = gen;
    t->anew = anew;
}

static void retire(void *l, int64_t seq)
{
    ((struct told *)l)->retired = seq;
}

static void tell(void *l, int64_t word[SK_LEVEL_WORDS])
{
    for (int i = 0; i < SK_LEVEL_WORDS; i++)
        word[i] = 100 * ((struct told *)l - level) + i;
}

static void hear(void *l, const int64_t least[SK_LEVEL_WORDS], struct sk_level_heard *h)
{
    struct told *t = l;
    for (int i = 0; i < SK_LEVEL_WORDS; i++)
        assert_int_equal(least[i], answer[SK_POLL_LEVELS + (t - level) * SK_LEVEL_WORDS + i]);
    *h = (struct sk_level_heard){.arrived = t->arrived, .seq = t->seq, .was_idle = t->was_idle, .idle = t->idle};
}

static const struct sk_level_ops level_ops = {.name = "written down", .bring = bring, .retire = retire, .tell = tell, .hear = hear};

/* ---- a session of these ---- */

static char dir[] = "/tmp/saikai-poll-XXXXXX", log_text[2048];
static int log_level;
static struct sk_group group;
static struct sk_session s;

static void note(void *arg, int at, const char *line)
{
    (void)arg;
    log_level = at;
    snprintf(log_text, sizeof log_text, "%s", line);
}

static void anew(int rank, const char *config, int generations)
{
    group = (struct sk_group){.ops = &group_ops, .rank = rank, .size = 4};
    s = (struct sk_session){.g = &group, .config = sk_config_new()};
    assert_non_null(s.config);
    assert_int_equal(sk_config_set_all(s.config, config, SK_FROM_API, NULL), 0);
    assert_int_equal(sk_ledger_new(16, &s.levels.ledger, NULL), 0);
    struct sk_engine_config c = {.local_root = dir, .incarnation = 1, .rank = rank, .nranks = 4, .keep_local = 1, .keep_prefix = 1,
                                 .ledger = s.levels.ledger};
    assert_int_equal(sk_engine_new(&c, &s.levels.engine, NULL), 0);
    snprintf(s.place.local_root, sizeof s.place.local_root, "%s", dir);
    s.levels.last_from = s.levels.heals_from = -1;
    s.measured.advice.policy = (struct sk_advice_policy){.model = sk_model_find("vaidya"), .rate = 1e-5, .threshold = 0.2};
    for (int64_t i = 1, seq; i <= generations; i++)
        assert_int_equal(sk_ledger_add(s.levels.ledger, (struct sk_gen){1, 10 * i, 0}, sk_now(), &seq, NULL), 0);
    for (int k = 0; k < SK_LEVELS; k++) {
        s.levels.at[k] = (struct sk_open_level){&level_ops, &level[k]};
        level[k] = (struct told){.was_idle = 1, .idle = 1, .brought = -1, .retired = -1};
    }
    s.measured.pace.cadence.setup.has[SK_CADENCE_ARCHIVE] = s.measured.pace.cadence.setup.has[SK_CADENCE_PROTECT] = 1;
    sk_clock_start(&s.clock, 0);
    s.ending.end_tick = UINT64_MAX;
    sk_agreement_start(&s.agreement);
    memset(answer, 0, sizeof answer);
    answer[SK_POLL_CANDIDATES] = INT64_MAX;
    fails = 0;
    log_text[0] = 0;
    log_level = -1;
}

static void done(void)
{
    sk_engine_free(s.levels.engine);
    sk_ledger_free(s.levels.ledger);
    sk_config_free(s.config);
    sk_vars_free(&s.vars);
}

/* A candidate of the slow path. */
static int step(void)
{
    struct saikai_error err = {0};
    s.clock.tick++;
    return sk_poll_step(&s, &err);
}

/* One exchange: it is said, and taken up at the next candidate. One that is under way is forgotten. */
static void hear_all(void)
{
    sk_agreement_start(&s.agreement);
    s.agreement.post_tick = s.clock.tick + 1;
    assert_int_equal(step(), 0);
    assert_int_equal(s.agreement.take_tick, s.clock.tick + 1);
    assert_int_equal(step(), 0);
}

/* ---- what is said ---- */

static void what_a_rank_says(void **state)
{
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        anew(rank, "store.archive_interval=0s; redundancy.interval=0s", 0);
        s.measured.asks_last = 1;
        s.measured.pace.cadence.latency = 2;
        s.measured.mark_tick = 1;
        s.clock.tick = 10;
        s.measured.mark = sk_now() - 1000;
        s.levels.engine->trouble.damages = 3;
        assert_int_equal(step(), 0); /* the eleventh */
        for (int k = 0; k < SK_LEVELS; k++)
            for (int i = 0; i < SK_LEVEL_WORDS; i++)
                assert_int_equal(said[SK_POLL_LEVELS + k * SK_LEVEL_WORDS + i], 100 * k + i);
        assert_int_equal(said[SK_POLL_MAX_REQUEST], 0);
        assert_true(said[SK_POLL_MAX_TICK_NS] <= -100000000000 && said[SK_POLL_MAX_TICK_NS] > -200000000000);
        assert_int_equal(said[SK_POLL_MAX_COST_NS], -1000000); /* nothing is known, and there is nothing to save */
        assert_int_equal(said[SK_POLL_MAX_LATENCY_NS], rank ? 0 : -2000000000);
        assert_int_equal(said[SK_POLL_MAX_DUE], rank ? 0 : -(1 << SK_LEVEL_PARITY | 1 << SK_LEVEL_FAR));
        assert_int_equal(said[SK_POLL_MAX_LAST], -1);
        assert_int_equal(said[SK_POLL_MAX_INTERVAL_NS], 0);
        assert_int_equal(said[SK_POLL_MAX_LOST], 0);
        assert_int_equal(said[SK_POLL_CANDIDATES], INT64_MAX);
        assert_int_equal(said[SK_POLL_MAX_HEAL], -1);
        assert_int_equal(s.measured.mark_tick, 11); /* the next span is measured afresh */
        assert_int_equal(step(), 0);
        assert_int_equal(said[SK_POLL_MAX_LAST], 0); /* each is said once */
        assert_int_equal(said[SK_POLL_MAX_HEAL], 0);
        done();
    }
    anew(0, "store.archive_interval=auto; redundancy.interval=auto", 0);
    s.measured.pace.cadence.latency = INFINITY;
    s.measured.deadline = sk_now() - 5;
    assert_int_equal(step(), 0);
    assert_int_equal(said[SK_POLL_MAX_LATENCY_NS], -1000000000000000);
    assert_int_equal(said[SK_POLL_MAX_REQUEST], -SK_REQUEST_CHECKPOINT);
    assert_int_equal(said[SK_POLL_MAX_LAST], -1); /* the time slot ends */
    done();
}

static void an_exchange_that_fails_is_told(void **state)
{
    (void)state;
    for (int when = 1; when <= 2; when++) {
        anew(1, "", 0);
        fails = when;
        answer[SK_POLL_MAX_REQUEST] = -SK_REQUEST_CHECKPOINT;
        if (when == 2)
            assert_int_equal(step(), 0);
        assert_int_equal(step(), SAIKAI_EMPI);
        assert_int_equal(sk_clock_is_due(&s.clock), 0);
        fails = 0;
        done();
    }
}

/* ---- what is done ---- */

static void requests_are_taken_up_at_one_tick(void **state)
{
    (void)state;
    static const struct {
        int64_t request, heal, last;
        int due, stop;
    } rows[] = {
        {0, 0, 0, 0, 0},
        {SK_REQUEST_CHECKPOINT, 0, 0, 1, 0},
        {SK_REQUEST_CHECKPOINT, 0, 1, 1, 0},
        {SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP, 0, 0, 1, 1},
        {SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP | SK_REQUEST_END, 0, 0, 1, 1},
        {0, 1, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        anew(2, "", 5);
        answer[SK_POLL_MAX_REQUEST] = -rows[i].request;
        answer[SK_POLL_MAX_HEAL] = -rows[i].heal;
        answer[SK_POLL_MAX_LAST] = -rows[i].last;
        assert_int_equal(step(), 0);
        assert_int_equal(sk_clock_is_due(&s.clock), 0); /* not before all know it */
        assert_int_equal(step(), 0);
        assert_int_equal(sk_clock_is_due(&s.clock), rows[i].due);
        assert_int_equal(s.ending.stop_agreed, rows[i].stop);
        assert_int_equal(s.ending.end_tick, rows[i].request & SK_REQUEST_END ? s.clock.tick + 1 : UINT64_MAX);
        assert_int_equal(s.levels.heals_from, rows[i].heal ? 5 : -1);
        assert_int_equal(s.levels.last_from, rows[i].last ? 5 : -1);
        assert_int_equal(s.place.prefix_lost, 0);
        done();
    }
    anew(2, "", 0);
    answer[SK_POLL_MAX_LOST] = -1;
    hear_all();
    assert_int_equal(s.place.prefix_lost, 1);
    done();
}

static void the_next_one_is_a_poll_away(void **state)
{
    (void)state;
    anew(1, "schedule.poll=1s", 0);
    hear_all(); /* the first measures nothing */
    assert_int_equal(s.agreement.span, 1);
    assert_int_equal(s.measured.tick, 0);
    answer[SK_POLL_MAX_TICK_NS] = -250000000;
    while (s.measured.tick == 0 && s.clock.tick < 20) /* what is under way was said before */
        assert_int_equal(step(), 0);
    assert_int_equal(s.agreement.span, 4);
    assert_true(fabs(s.measured.tick - 0.25) < 1e-9);
    answer[SK_POLL_CANDIDATES] = 3; /* there is memory for so many */
    while (s.agreement.span == 4 && s.clock.tick < 100)
        assert_int_equal(step(), 0);
    assert_int_equal(s.agreement.span, 3);
    done();
}

static void all_advise_themselves_alike(void **state)
{
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        anew(rank, "", 0);
        s.clock.tick = 10000000; /* of a job that is not young */
        answer[SK_POLL_MAX_TICK_NS] = -1000000000;
        answer[SK_POLL_MAX_COST_NS] = -2000000000;
        sk_log_set(note, NULL, SK_LOG_DEBUG);
        hear_all();
        int64_t every = s.measured.advice.now.every;
        assert_true(every > 600 && every < 660); /* sqrt(2 * 2 s / 1e-5) */
        assert_true(s.clock.due_tick > s.clock.tick && s.clock.due_tick <= s.clock.tick + (uint64_t)every);
        assert_int_equal(log_level, rank ? -1 : SK_LOG_INFO); /* rank 0 says it */
        assert_true(rank || strstr(log_text, "cost 2 s"));
        done();
        anew(rank, "", 0);
        s.clock.tick = 600; /* young: more often, and no line for each step */
        answer[SK_POLL_MAX_TICK_NS] = -1000000000;
        answer[SK_POLL_MAX_COST_NS] = -2000000000;
        hear_all();
        assert_true(s.measured.advice.now.every >= 1 && s.measured.advice.now.every < every);
        assert_int_equal(s.measured.advice.now.every, s.measured.advice.policy.most);
        assert_int_equal(log_level, rank ? -1 : SK_LOG_DEBUG);
        sk_log_set(NULL, NULL, SK_LOG_WARN);
        done();
        anew(rank, "", 0); /* another model plans */
        s.clock.tick = 10000000;
        answer[SK_POLL_MAX_TICK_NS] = -1000000000;
        answer[SK_POLL_MAX_COST_NS] = -2000000000;
        answer[SK_POLL_MAX_INTERVAL_NS] = -50000000000;
        hear_all();
        assert_int_equal(s.measured.advice.now.every, 50);
        done();
        anew(rank, "", 0); /* the user says it */
        s.clock.every = 7;
        answer[SK_POLL_MAX_TICK_NS] = -1000000000;
        answer[SK_POLL_MAX_COST_NS] = -2000000000;
        hear_all();
        assert_int_equal(s.measured.advice.now.every, 0);
        done();
    }
}

/* ---- the walk of generations ---- */

static void what_arrived_counts_and_replaces(void **state)
{
    (void)state;
    static const enum sk_ledger_state done_at[SK_LEVELS] = {SK_LEDGER_COMPLETE, SK_LEDGER_PROTECTED, SK_LEDGER_ARCHIVED};
    for (int k = 0; k < SK_LEVELS; k++) {
        anew(1, "store.archive_every=0", 5);
        sk_ledger_mark(s.levels.ledger, 3, SK_LEDGER_COMMITTED);
        level[k].arrived = 1;
        level[k].seq = 3;
        hear_all();
        assert_int_equal(sk_ledger_newest(s.levels.ledger, done_at[k]), 3);
        for (int j = 0; j < SK_LEVELS; j++)
            assert_int_equal(level[j].retired, j == k ? 3 : -1);
        level[k].retired = -1;
        level[k].seq = 2; /* older than what is there: nothing */
        hear_all();
        assert_int_equal(level[k].retired, -1);
        level[k].seq = 9; /* nobody knows it */
        sk_log_set(note, NULL, SK_LOG_ERROR);
        hear_all();
        sk_log_set(NULL, NULL, SK_LOG_WARN);
        assert_int_equal(level[k].retired, -1);
        assert_int_equal(log_level, SK_LOG_ERROR);
        assert_int_equal(sk_ledger_newest(s.levels.ledger, done_at[k]), 3);
        done();
    }
}

/* What is complete, and the newest that was sent to the prefix before; what was heard and said; and what is sent there now. */
static void what_is_due_goes_to_the_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        int complete, begun, arrived, due, busy, lost;
        int heals_from, last_from;
        int brought, anew;
    } rows[] = {
        {"store.archive_every=1", 3, 0, 0, 1, 0, 0, -1, -1, 3, 0},
        {"store.archive_every=1", 3, 0, 0, 0, 0, 0, -1, -1, -1, 0}, /* the cadence says no */
        {"store.archive_every=1", 3, 3, 0, 1, 0, 0, -1, -1, -1, 0}, /* it is on its way */
        {"store.archive_every=1", 3, 2, 0, 1, 1, 0, -1, -1, -1, 0}, /* another one is */
        {"store.archive_every=1", 3, 2, 0, 1, 0, 1, -1, -1, -1, 0}, /* another job's */
        {"store.archive_every=1", 3, 2, 0, 1, 0, 0, -1, -1, 3, 0},
        {"store.archive_every=2", 3, 2, 0, 1, 0, 0, -1, -1, -1, 0},
        {"store.archive_every=2", 4, 2, 0, 1, 0, 0, -1, -1, 4, 0},
        {"store.archive_every=2", 1, 0, 0, 1, 0, 0, -1, -1, 1, 0}, /* the first one at once */
        {"store.archive_every=0", 4, 0, 0, 1, 0, 0, -1, -1, -1, 0},
        {"store.archive_every=1", 4, 3, 3, 0, 0, 0, 3, -1, 4, 1},   /* heals what is there */
        {"store.archive_every=1", 4, 3, 3, 0, 0, 0, 4, -1, -1, 0},  /* a newer one will */
        {"store.archive_every=1", 5, 4, 4, 0, 0, 0, 3, -1, -1, 0},  /* one has */
        {"store.archive_every=9", 4, 3, 0, 0, 0, 0, -1, 3, 4, 0},   /* the last one of the time slot, however seldom … */
        {"store.archive_every=9", 3, 2, 0, 0, 0, 0, -1, 3, -1, 0},  /* … which this is not yet */
        {"store.archive_every=9", 5, 4, 0, 0, 0, 0, -1, 3, -1, 0},  /* … and was */
        {"store.archive_every=0; store.archive_last=yes", 4, 3, 0, 0, 0, 0, -1, 3, 4, 0},
        {"store.archive_every=0; store.archive_last=no", 4, 3, 0, 0, 0, 0, -1, 3, -1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        anew(3, rows[i].config, 5);
        s.levels.heals_from = rows[i].heals_from;
        s.levels.last_from = rows[i].last_from;
        s.place.prefix_lost = rows[i].lost;
        sk_ledger_mark(s.levels.ledger, rows[i].complete, SK_LEDGER_COMPLETE);
        sk_ledger_mark(s.levels.ledger, rows[i].begun, SK_LEDGER_ARCHIVING);
        sk_ledger_mark(s.levels.ledger, rows[i].arrived, SK_LEDGER_ARCHIVED);
        level[SK_LEVEL_FAR].idle = !rows[i].busy;
        answer[SK_POLL_MAX_DUE] = -(rows[i].due << SK_LEVEL_FAR);
        hear_all();
        const struct told *t = &level[SK_LEVEL_FAR];
        if (t->brought != rows[i].brought || t->anew != rows[i].anew)
            fail_msg("row %zu: %lld, %d", i, (long long)t->brought, t->anew);
        if (t->brought > 0) {
            assert_int_equal(t->gen.iteration, 10 * t->brought);
            assert_int_equal(sk_ledger_newest(s.levels.ledger, SK_LEDGER_ARCHIVING), t->brought);
            assert_true(s.measured.pace.begun[SK_CADENCE_ARCHIVE] > 0);
        }
        assert_int_equal(level[SK_LEVEL_PARITY].brought,
                         rows[i].heals_from >= 0 && rows[i].complete > rows[i].heals_from ? rows[i].complete : -1);
        assert_int_equal(level[SK_LEVEL_LOCAL].brought, -1);
        done();
    }
}

/* Nothing is sent anywhere, and it is said. */
static void one_that_nobody_knows_goes_nowhere(void **state)
{
    (void)state;
    anew(1, "", 3);
    for (int k = SK_LEVEL_PARITY; k < SK_LEVELS; k++) {
        log_level = -1;
        sk_log_set(note, NULL, SK_LOG_ERROR);
        sk_walk_bring(&s, k, 9);
        sk_log_set(NULL, NULL, SK_LOG_WARN);
        assert_true(level[k].brought == -1 && log_level == SK_LOG_ERROR && strstr(log_text, "rank 1: nothing is "));
        assert_int_equal(sk_ledger_newest(s.levels.ledger, sk_level_traits[k].begun), 0);
        assert_true(s.measured.pace.begun[sk_level_traits[k].cadence] == 0);
    }
    done();
}

static void the_restored_one_is_coded_first(void **state)
{
    (void)state;
    for (int complete = 0; complete < 2; complete++) {
        anew(1, "", 2);
        sk_ledger_restored(s.levels.ledger, (struct sk_gen){1, 5, 0});
        s.resume.code_from = 1;
        if (complete)
            sk_ledger_mark(s.levels.ledger, 2, SK_LEDGER_COMPLETE);
        hear_all();
        assert_int_equal(level[SK_LEVEL_PARITY].brought, complete ? -1 : 0); /* a newer one is coded when it is due */
        assert_int_equal(level[SK_LEVEL_PARITY].gen.iteration, complete ? 0 : 5);
        assert_int_equal(level[SK_LEVEL_FAR].brought, -1);
        level[SK_LEVEL_PARITY].brought = -1;
        answer[SK_POLL_MAX_DUE] = -(1 << SK_LEVEL_PARITY);
        hear_all();
        assert_int_equal(level[SK_LEVEL_PARITY].brought, complete ? 2 : -1); /* once */
        done();
    }
    anew(1, "", 2); /* where there is none, nothing is sent */
    s.levels.at[SK_LEVEL_PARITY] = (struct sk_open_level){NULL, NULL};
    s.resume.code_from = 1;
    sk_ledger_restored(s.levels.ledger, (struct sk_gen){1, 5, 0});
    hear_all();
    assert_int_equal(s.measured.pace.begun[SK_CADENCE_PROTECT] > 0, 0);
    done();
}

static int start(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_rank_says),
        cmocka_unit_test(an_exchange_that_fails_is_told),
        cmocka_unit_test(requests_are_taken_up_at_one_tick),
        cmocka_unit_test(the_next_one_is_a_poll_away),
        cmocka_unit_test(all_advise_themselves_alike),
        cmocka_unit_test(what_arrived_counts_and_replaces),
        cmocka_unit_test(what_is_due_goes_to_the_prefix),
        cmocka_unit_test(one_that_nobody_knows_goes_nowhere),
        cmocka_unit_test(the_restored_one_is_coded_first),
    };
    return cmocka_run_group_tests(tests, start, end);
}
