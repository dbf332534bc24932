/* Events of a session: told by one rank and heard by all, and the notice that saves the job at once and once more before its deadline. */
#include "lib/whole/session_testing.h"

#include "base/clock.h"
#include "lib/restart/restart.h"
#include "lib/run/candidate.h"
#include "lib/run/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ENOUGH: candidates until something has happened, on the slowest machine; QUIET: in which nothing is to happen. */
enum { N = 3, CELLS = 1000, ENOUGH = 200000, QUIET = 300 };
static const double patience_s = 200;

static int begin(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-session-events-XXXXXX", SK_LOG_NOTICE);
}

static int end(void **state)
{
    (void)state;
    return world_end();
}

/* Candidates until a checkpoint was made at one: its iteration, -1: at none of so many. */
static int64_t until_saved(struct sk_session *s, int64_t *it, int most)
{
    struct saikai_error err = {0};
    for (int i = 0; i < most; i++) {
        int rc = sk_session_candidate(s, 0, ++*it, &err);
        CHECK(rc >= 0);
        if (rc)
            return *it;
        sk_sleep(0.0005);
    }
    return -1;
}

static int has_notice(struct sk_session *s, double least, double most)
{
    double left = s->measured.notice - sk_now();
    return s->g->rank || (left > least && left < most);
}

static int heed(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_config *c = world_config("schedule.interval=1000h; schedule.first=no; store.archive_every=0");
    double u[CELLS] = {0};
    int restored = 0;
    int64_t it = 0, saved = 0;
    (void)arg;
    CHECK(!world_session(g, c, &s, &err) && !world_protect(s, u, CELLS, &err) && !sk_session_restart(s, &restored, &it, &err));
    CHECK(until_saved(s, &it, QUIET) == -1);
    if (g->rank == 0)
        CHECK(!sk_session_publish(s, "hw.notice", SAIKAI_EVENT_WARNING, (const char *[]){"deadline=1h", "why=test", NULL}, &err));
    CHECK((saved = until_saved(s, &it, ENOUGH)) > QUIET);
    CHECK(has_notice(s, 1, 3600));
    CHECK(!world_settle(s, it) && sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE) == saved);
    CHECK(until_saved(s, &it, QUIET) == -1);
    if (g->rank == 0)
        s->measured.notice = sk_now() + 0.001; /* an hour has nearly passed */
    CHECK((saved = until_saved(s, &it, ENOUGH)) > 0);
    CHECK(s->measured.notice == 0);
    CHECK(until_saved(s, &it, QUIET) == -1);
    /* although copies are made at the end only: the exchange at further candidates begins this one */
    for (int i = 0; i < ENOUGH && sk_ledger_iteration(s->levels.ledger, SK_LEDGER_ARCHIVED) < saved; i++)
        CHECK(until_saved(s, &it, 1) == -1);
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_ARCHIVED) == saved);
    return world_leave(s, 0, 0);
}

static void a_notice_saves_the_job_at_once_and_before_its_deadline(void **state)
{
    (void)state;
    world_start(N, heed, NULL);
    world_expect("a notice with a deadline in", 1);
}

static int talk(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct saikai_event e;
    struct sk_session *s = NULL;
    int64_t all = 0;
    (void)arg;
    CHECK(!world_session(g, world_config("schedule.first=no"), &s, &err));
    CHECK(sk_session_next_event(s, "name=hello", 0, &e, sizeof e, &err) == 0);
    CHECK(!sk_group_allreduce(g, &all, 1, SK_OP_MIN));
    if (g->rank == 1)
        CHECK(!sk_session_publish(s, "hello", SAIKAI_EVENT_INFO, (const char *[]){"to=all", NULL}, &err));
    CHECK(sk_session_next_event(s, "name=hello", patience_s, &e, sizeof e, &err) == 1);
    CHECK(e.rank == 1 && !strcmp(e.space, "app") && e.n_fields == 1 && !strcmp(e.field[0].value, "all") && !strcmp(e.job, s->who.job.name));
    CHECK(sk_session_next_event(s, "name=hello", 0, &e, sizeof e, &err) == 0);
    CHECK(sk_session_publish(s, "No", SAIKAI_EVENT_INFO, NULL, &err) == SAIKAI_EINVAL);
    CHECK(sk_session_publish(s, "no", 9, NULL, &err) == SAIKAI_EINVAL);
    CHECK(sk_session_publish(s, "no", SAIKAI_EVENT_INFO, (const char *[]){"no", NULL}, &err) == SAIKAI_EINVAL);
    CHECK(sk_session_next_event(s, "no", 0, &e, sizeof e, &err) == SAIKAI_EINVAL);
    return world_leave(s, 0, 0);
}

static void what_one_rank_tells_all_may_hear(void **state)
{
    (void)state;
    world_start(N, talk, NULL);
}

static int alone(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct saikai_event e;
    struct sk_session *s = NULL;
    (void)arg;
    CHECK(!world_session(g, world_config("store.prefix=none"), &s, &err));
    CHECK(sk_session_publish(s, "hello", SAIKAI_EVENT_INFO, NULL, &err) == SAIKAI_ENOENT);
    CHECK(sk_session_next_event(s, "", 0, &e, sizeof e, &err) == SAIKAI_ENOENT);
    return world_leave(s, 0, 0);
}

static void without_a_prefix_there_are_none(void **state)
{
    (void)state;
    world_start(1, alone, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_notice_saves_the_job_at_once_and_before_its_deadline, begin, end),
        cmocka_unit_test_setup_teardown(what_one_rank_tells_all_may_hear, begin, end),
        cmocka_unit_test_setup_teardown(without_a_prefix_there_are_none, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
