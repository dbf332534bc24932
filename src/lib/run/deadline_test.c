/* The end of a time slot: a checkpoint is made in time, once, it is said, and the next start goes on from it. */
#include "lib/whole/session_testing.h"

#include "base/clock.h"


#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 3, CELLS = 1000 };

/* One start: candidates until a checkpoint was made and `more` after it, or `most` of them. */
struct start {
    const char *config;
    int most, more;
    int want; /* stay until there are so many checkpoints and the newest is in the prefix; 0: one, wherever it is */
    int64_t saved; /* out: iteration of the checkpoint, -1: none */
    int checkpoints;
    int64_t from; /* out: iteration that was restored, -1: none */
};

static int program(struct sk_group *g, void *arg)
{
    struct start *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS];
    int restored = 0, made = 0;
    int64_t it = 0, saved = -1;
    /* no interval ever is due by itself: what is saved here is saved for the end of the time slot */
    struct sk_config *c = world_config("schedule.interval=1000h; schedule.first=no; %s", r->config ? r->config : "");
    CHECK(!world_session(g, c, &s, &err));
    for (int i = 0; i < CELLS; i++)
        u[i] = g->rank + i;
    CHECK(!world_protect(s, u, CELLS, &err));
    CHECK(!sk_session_restart(s, &restored, &it, &err));
    CHECK(u[CELLS - 1] == g->rank + CELLS - 1 + (double)it);
    int64_t from = restored ? it : -1;
    for (int i = 0, after = 0; i < r->most && after <= r->more; i++) {
        for (int k = 0; k < CELLS; k++)
            u[k] += 1;
        int rc = sk_session_candidate(s, 0, ++it, &err);
        CHECK(rc >= 0);
        made += rc > 0;
        if (rc > 0)
            saved = it;
        after += made >= (r->want ? r->want : 1);
        sk_sleep(0.0005);
    }
    if (saved >= 0)
        CHECK(!sk_session_wait(s, &err));
    /* the exchange at further candidates begins the copy and learns of its end, at the same candidate on all ranks */
    for (int i = 0; i < r->most && sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) < r->want; i++) {
        sk_engine_drain(s->levels.engine);
        CHECK(sk_session_candidate(s, 0, ++it, &err) == 0);
        sk_sleep(0.0005);
    }
    if (!g->rank) {
        r->saved = saved;
        r->checkpoints = made;
        r->from = from;
    }
    sk_session_abandon(s); /* the slot is over: the process is killed */
    return 0;
}

static struct start run_start(struct start r)
{
    world_start(N, program, &r);
    return r;
}

/* One rank says it, once. */
static int times_said(void)
{
    int n = 0;
    for (const char *at = world.said; (at = strstr(at, "its time slot ends in")); at++)
        n++;
    return n;
}

static struct start run(const char *config, int most, int more)
{
    return run_start((struct start){.config = config, .most = most, .more = more});
}

static void slot_ends_in(long seconds)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)(sk_wall_ms() / 1000) + seconds);
    setenv("SLURM_JOB_END_TIME", text, 1);
}

static int make_dir(void **state)
{
    (void)state;
    unsetenv("SLURM_JOB_END_TIME");
    return world_begin("/tmp/saikai-deadline-XXXXXX", SK_LOG_NOTICE);
}

static int remove_dir(void **state)
{
    (void)state;
    unsetenv("SLURM_JOB_END_TIME");
    return world_end();
}

/* ENOUGH: candidates until the exchange has told all ranks, on the slowest machine; QUIET: in which nothing is to happen. */
enum { ENOUGH = 60000, QUIET = 300 };

static void a_checkpoint_is_made_before_slurm_ends_the_job(void **state)
{
    (void)state;
    slot_ends_in(40); /* less than schedule.time_margin */
    struct start r = run(NULL, ENOUGH, QUIET);
    assert_int_equal(r.from, -1);
    assert_true(r.saved > 0);
    assert_int_equal(r.checkpoints, 1);
    assert_int_equal(times_said(), 1);
    /* the next allocation */
    slot_ends_in(40);
    struct start next = run(NULL, ENOUGH, 0);
    assert_int_equal(next.from, r.saved);
    assert_true(next.saved > r.saved);
    assert_int_equal(times_said(), 1);
}

/* The nodes of the next allocation are others. */
static void it_goes_to_the_prefix_however_seldom_copies_are_made(void **state)
{
    static const char *const settings[] = {"store.archive_every=100", "store.archive_interval=1000h", "store.archive_every=0"};
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char text[128];
        /* the first copy is made at once: the second checkpoint is the one that counts */
        snprintf(text, sizeof text, "schedule.first=yes; %s", settings[i]);
        slot_ends_in(40);
        struct start r = run_start((struct start){.config = text, .most = ENOUGH, .want = 2});
        assert_int_equal(r.checkpoints, 2);
        world_lose("local");
        assert_int_equal(run(NULL, 1, 0).from, r.saved);
        world_lose("local");
        world_lose("prefix");
    }
}

static void it_is_made_even_when_the_slot_is_over(void **state)
{
    (void)state;
    slot_ends_in(-5);
    assert_true(run(NULL, ENOUGH, 0).saved > 0);
}

static void what_is_no_time_is_no_limit(void **state)
{
    static const char *const words[] = {"", "0", "-1", "soon", "12 o'clock"};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        setenv("SLURM_JOB_END_TIME", words[i], 1);
        assert_int_equal(run(NULL, QUIET, 0).saved, -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_checkpoint_is_made_before_slurm_ends_the_job, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(it_goes_to_the_prefix_however_seldom_copies_are_made, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(it_is_made_even_when_the_slot_is_over, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_no_time_is_no_limit, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
