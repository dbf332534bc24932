/* Events of a session: told by one rank and heard by all, and the notice that saves the job at once and once more before its deadline. */
#include "lib/whole/session_testing.h"

#include "base/clock.h"
#include "lib/restart/restart.h"
#include "lib/run/candidate.h"
#include "lib/run/events.h"
#include "lib/run/requests.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

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

/* One without a deadline asks once. */
static int heeds_a_mere_notice(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct saikai_event e;
    struct sk_session *s = NULL;
    double u[CELLS] = {0};
    int restored = 0;
    int64_t it = 0, saved = 0;
    (void)arg;
    CHECK(!world_session(g, world_config("schedule.interval=1000h; schedule.first=no"), &s, &err) && !world_protect(s, u, CELLS, &err));
    CHECK(!sk_session_restart(s, &restored, &it, &err) && until_saved(s, &it, QUIET) == -1);
    CHECK(sk_session_next_event(s, "space=mw,name=saved", 0, &e, sizeof e, &err) == 0);
    CHECK(!sk_session_publish(s, "hw.notice", SAIKAI_EVENT_WARNING, (const char *[]){"why=test", NULL}, &err));
    CHECK((saved = until_saved(s, &it, ENOUGH)) > QUIET && s->measured.notice == 0 && until_saved(s, &it, QUIET) == -1);
    CHECK(!world_settle(s, it) && sk_ledger_iteration(s->levels.ledger, SK_LEDGER_ARCHIVED) == saved); /* it goes to the prefix at once */
    for (int far = 0; far < 2; far++) {
        char at[24];
        snprintf(at, sizeof at, "%lld", (long long)saved);
        CHECK(sk_session_next_event(s, "space=mw,name=saved", patience_s, &e, sizeof e, &err) == 1 && e.severity == SAIKAI_EVENT_INFO && e.rank == -1);
        CHECK(e.n_fields == 2 && !strcmp(e.field[0].key, "iteration") && !strcmp(e.field[0].value, at) && !strcmp(e.field[1].key, "level"));
        CHECK(!strcmp(e.field[1].value, sk_level_traits[far ? SK_LEVEL_FAR : SK_LEVEL_LOCAL].arrived));
    }
    CHECK(!sk_session_capture(s, 0, ++it, &err) && !world_settle(s, it)); /* a later one is none of these */
    CHECK(sk_session_next_event(s, "space=mw,name=saved", 0, &e, sizeof e, &err) == 0);
    return world_leave(s, 0, 0);
}

static void a_notice_without_a_deadline(void **state)
{
    (void)state;
    world_start(1, heeds_a_mere_notice, NULL);
    world_expect("job test: a notice: a checkpoint is made now\n", 1);
    world_expect("deadline", 0);
}

/* Events of a job whose prefix is another one's are nobody's. */
static int lost(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct saikai_event e;
    struct sk_session *s = NULL;
    (void)arg;
    CHECK(!world_session(g, world_config("schedule.first=no"), &s, &err));
    s->place.prefix_lost = 1;
    CHECK(sk_session_publish(s, "hello", SAIKAI_EVENT_INFO, NULL, &err) == SAIKAI_EBUSY && strstr(err.text, s->place.prefix_root));
    CHECK(sk_session_next_event(s, "", 0, &e, sizeof e, &err) == SAIKAI_EBUSY && strstr(err.text, "another job has "));
    s->place.prefix_lost = 0;
    CHECK(!sk_session_publish(s, "hello", SAIKAI_EVENT_INFO, NULL, &err));
    return world_leave(s, 0, 0);
}

static void a_lost_prefix_has_no_events_of_ours(void **state)
{
    (void)state;
    world_start(1, lost, NULL);
}

static void without_a_prefix_there_are_none(void **state)
{
    (void)state;
    world_start(1, alone, NULL);
}

/* ---- what the job tells of itself ---- */

/* The next event of the library, as one line: name, severity, rank and fields. Its start is told before anybody listens. */
static int hear(struct sk_session *s, const char *filter, char *line, size_t size, double seconds)
{
    struct saikai_error err = {0};
    struct saikai_event e;
    int rc = sk_session_next_event(s, filter, seconds, &e, sizeof e, &err);
    size_t n = 0;
    *line = 0;
    CHECK(rc >= 0);
    if (!rc)
        return 0;
    n = (size_t)snprintf(line, size, "%s %d %d", e.name, e.severity, e.rank);
    for (int i = 0; i < e.n_fields; i++)
        n += (size_t)snprintf(line + n, size - n, " %s=%s", e.field[i].key, e.field[i].value);
    return 1;
}

static const char usual[] = "space=mw,name!=started,name!=damage", damage[] = "space=mw,name=damage";

static int hears(struct sk_session *s, const char *filter, const char *expected)
{
    char line[256];
    if (hear(s, filter, line, sizeof line, *expected ? patience_s : 0) < 0 || strcmp(line, expected))
        return fprintf(stderr, "'%s' is heard in place of '%s'\n", line, expected), 0;
    return 1;
}

struct told {
    const char *config;
    int all; /* what only debug tells, too */
    int64_t saved;
};

/* Rank 0 hears. A signal comes to one rank, and a file of another one is found damaged. */
static int tells(struct sk_group *g, void *arg)
{
    const struct told *t = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS] = {0};
    char line[256];
    int restored = 0, first = !g->rank;
    int64_t it = 0, saved = 0;
    CHECK(!world_session(g, world_config("schedule.signals=USR2; schedule.every=1000000; schedule.first=no; %s", t->config), &s, &err));
    CHECK(!world_protect(s, u, CELLS, &err) && !sk_session_restart(s, &restored, &it, &err));
    CHECK(restored == !t->all);
    CHECK(!first || (hears(s, usual, "") && hears(s, damage, ""))); /* what is told from now on */
    CHECK(!sk_group_barrier(g));
    CHECK(until_saved(s, &it, QUIET) == -1);
    snprintf(line, sizeof line, "restarted %d -1 iteration=%lld level=restored", SAIKAI_EVENT_INFO, (long long)t->saved);
    CHECK(!first || !restored || hears(s, usual, line));
    CHECK(!first || hears(s, usual, ""));
    if (g->rank == 1)
        raise(SIGUSR2);
    CHECK((saved = until_saved(s, &it, ENOUGH)) > 0);
    snprintf(line, sizeof line, "checkpoint-asked %d -1", SAIKAI_EVENT_INFO);
    CHECK(!first || hears(s, usual, line));
    CHECK(!world_settle(s, it));
    for (int far = 0; t->all && first && far < 2; far++) {
        snprintf(line, sizeof line, "checkpoint %d -1 iteration=%lld level=%s", SAIKAI_EVENT_DEBUG, (long long)saved,
                 sk_level_traits[far ? SK_LEVEL_FAR : SK_LEVEL_LOCAL].arrived);
        CHECK(hears(s, usual, line));
    }
    CHECK(!first || hears(s, usual, ""));
    if (g->rank == 2)
        s->agreement.damages_told--; /* as when something was found damaged since: a new generation is made for it */
    CHECK((saved = until_saved(s, &it, ENOUGH)) > 0);
    snprintf(line, sizeof line, "damage %d 2", SAIKAI_EVENT_WARNING);
    CHECK(!first || hears(s, damage, line));
    CHECK(!world_settle(s, it));
    if (!g->rank)
        ((struct told *)t)->saved = saved;
    return world_leave(s, 0, 0);
}

static void the_job_tells_what_comes_to_pass(void **state)
{
    (void)state;
    struct told t = {.config = "events.least=debug", .all = 1};
    world_start(N, tells, &t);
    sk_requests_remove();
    t = (struct told){.config = "restart.mode=auto", .saved = t.saved};
    world_start(N, tells, &t);
    sk_requests_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_notice_saves_the_job_at_once_and_before_its_deadline, begin, end),
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(what_one_rank_tells_all_may_hear, begin, end),
        cmocka_unit_test_setup_teardown(the_job_tells_what_comes_to_pass, begin, end),
        cmocka_unit_test_setup_teardown(a_notice_without_a_deadline, begin, end),
        cmocka_unit_test_setup_teardown(a_lost_prefix_has_no_events_of_ours, begin, end),
        cmocka_unit_test_setup_teardown(without_a_prefix_there_are_none, begin, end),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
