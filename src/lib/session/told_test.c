/* What a job tells of itself while it runs: the file `status` of its store and the one for a collector of metrics, number by number. */
#include "lib/whole/session_testing.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "lib/run/report.h"
#include "lib/run/requests.h"
#include "store/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 2, CELLS = 3000, LONG_MS = 60 };

static struct sk_keeper_page *page;
static int page_fd;
static char store[PATH_MAX], metrics[PATH_MAX];

/* By rank 0: when a checkpoint was asked for, and what it cost. */
static struct {
    int64_t before_ms, after_ms;
    double cost, blocked, rate, host_rate;
    char host[256];
} was;

static int begin(struct sk_group *g, const char *config, struct sk_session **s, double *u, struct saikai_error *err)
{
    int restored = 0;
    int64_t from = 0;
    int rc = world_session(g, world_config("schedule.first=no; redundancy.scheme=none; metrics.textfile=%s; %s", world.dir, config), s, err);
    rc = rc ? rc : world_protect(*s, u, CELLS, err);
    return rc ? rc : sk_session_restart(*s, &restored, &from, err);
}

/* One checkpoint that is kept, another one whose files are not valid, and some more candidates. */
static int saves(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS] = {0};
    char name[SK_JOB_NAME_MAX + 20];
    CHECK(!begin(g, arg, &s, u, &err));
    sk_sleep(LONG_MS * 1e-3);
    int64_t before = sk_wall_ms();
    CHECK(sk_session_candidate(s, 0, 10, &err) == 1);
    int64_t after = sk_wall_ms();
    double cost = s->measured.cost_seconds;
    CHECK(!world_settle(s, 10));
    CHECK(sk_session_capture_files(s, 0, 12, 0, &err) == SAIKAI_ESTATE);
    CHECK(sk_session_candidate(s, 0, 14, &err) == 0);
    sk_sleep(LONG_MS * 1e-3);
    if (!g->rank) {
        CHECK(!sk_job_local_name(&s->who.job, name, sizeof name, &err));
        snprintf(store, sizeof store, "%s", s->place.prefix_root);
        snprintf(metrics, sizeof metrics, "%s/saikai-%s.prom", world.dir, name);
        was.before_ms = before;
        was.after_ms = after;
        was.cost = cost;
        was.blocked = s->capture.blocked_seconds;
        was.rate = s->measured.rate;
        was.host_rate = s->measured.host_rate;
        snprintf(was.host, sizeof was.host, "%s", s->place.host);
    }
    return world_leave(s, 0, 1);
}

static void run(struct sk_report *r, const char *config)
{
    struct saikai_error err = {0};
    world_start(N, saves, (void *)config);
    sk_requests_remove();
    if (sk_report_load(store, r, &err))
        fail_msg("%s", err.text);
}

static int close_to(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

static void each_number_is_what_it_says(void **state)
{
    (void)state;
    struct sk_report r;
    int64_t begun = sk_wall_ms();
    run(&r, "schedule.every=10");
    int64_t ended = sk_wall_ms();
    assert_true(r.began_ms >= begun - 2 && r.began_ms + LONG_MS <= was.before_ms + 2);
    assert_true(r.at_ms >= was.after_ms + LONG_MS - 2 && r.at_ms <= ended + 2);
    assert_true(r.start == 1 && r.ranks == N && r.nodes == 1 && r.iteration == 14);
    assert_string_equal(r.host, was.host);
    assert_true(r.newest[SK_REPORT_LOCAL].iteration == 10 && r.newest[SK_REPORT_PREFIX].iteration == 10);
    assert_true(r.newest[SK_REPORT_PROTECTED].iteration == -1 && r.newest[SK_REPORT_PROTECTED].at_ms == 0);
    for (int place = 0; place < SK_REPORT_PLACES; place += SK_REPORT_PREFIX)
        assert_true(r.newest[place].at_ms >= was.before_ms - 2 && r.newest[place].at_ms <= was.after_ms + 2);
    assert_true(r.checkpoints == 2 && r.failed == 1 && r.bytes >= (int64_t)(CELLS * sizeof(double)) && r.bytes < (int64_t)(2 * CELLS * sizeof(double)));
    assert_true(close_to(r.cost, was.cost) && r.blocked >= was.blocked * 0.999 && was.blocked >= was.cost);
    assert_true(r.every == 10 && r.tick >= 0);
    assert_string_equal(r.why, "every");
    assert_true(r.faults == 0 && r.past == 0 && r.lost == 0);
    assert_true(close_to(r.host_rate, was.host_rate) && close_to(r.program_rate, was.rate - was.host_rate) && r.program_rate > 0);
    run(&r, "schedule.every=5; restart.mode=never");
    assert_true(r.start == 2 && r.every == 5);
}

static void what_the_launcher_knows_is_added(void **state)
{
    (void)state;
    char number[16];
    struct sk_report r;
    assert_int_equal(sk_keeper_page_make(0, 0, &page_fd, &page, NULL), 0);
    snprintf(number, sizeof number, "%d", page_fd);
    setenv(SK_KEEPER_FD_ENV, number, 1);
    page->past_faults = 3;
    page->past_ms = 5000;
    page->past_down_seconds = 2.5f;
    page->past_lost_seconds = 1.25f;
    run(&r, "schedule.every=10");
    unsetenv(SK_KEEPER_FD_ENV);
    sk_keeper_page_unmap(page);
    close(page_fd);
    assert_true(r.faults == 3 && r.past == 7.5 && r.lost == 3.75);
}

static int has(const char *path, const char *line)
{
    void *text = NULL;
    size_t n;
    int found = !sk_io_slurp(path, 1 << 16, &text, &n, NULL) && memmem(text, n, line, strlen(line));
    free(text);
    return found;
}

static void a_collector_of_metrics_finds_the_same(void **state)
{
    (void)state;
    struct sk_report r;
    run(&r, "schedule.every=10");
    assert_true(has(metrics, "saikai_ranks{job=\"test\"} 2\n"));
    assert_true(has(metrics, "saikai_checkpoints_failed_total{job=\"test\"} 1\n"));
    run(&r, "schedule.every=10; metrics.textfile=");
    assert_true(has(metrics, "saikai_starts{job=\"test\"} 1\n")); /* as it was: nobody asked for it */
    assert_int_equal(r.start, 2);
}

/* ---- what chose the interval ---- */

static const char *reported(struct sk_session *s)
{
    static struct sk_report r;
    double end = sk_now() + 100;
    sk_session_report(s, 1);
    int64_t at = sk_wall_ms() - 1; /* the board is put up by the lease's thread */
    do {
        sk_sleep(0.002);
    } while ((sk_report_load(s->place.prefix_root, &r, NULL) || r.at_ms < at) && sk_now() < end);
    return r.why;
}

static int tells_why(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS] = {0};
    (void)arg;
    /* the lease is renewed six times in its timeout, and what is posted is then put up */
    CHECK(!begin(g, "store.lease_timeout=120ms", &s, u, &err));
    struct sk_advice_state *a = &s->measured.advice;
    a->policy.planned = 0;
    a->now.every = 9;
    CHECK(g->rank || !strcmp(reported(s), a->policy.model->name));
    a->policy.planned = 3;
    CHECK(g->rank || !strcmp(reported(s), "levels"));
    a->policy.most = 9;
    CHECK(g->rank || !strcmp(reported(s), "early"));
    a->policy.most = 10; /* it does not matter */
    CHECK(g->rank || !strcmp(reported(s), "levels"));
    a->policy.interval = 5;
    CHECK(g->rank || !strcmp(reported(s), "interval"));
    s->clock.every = 4;
    CHECK(g->rank || !strcmp(reported(s), "every"));
    s->clock.every = 0;
    return world_leave(s, sk_group_barrier(g), 1);
}

static void what_chose_the_interval_is_told(void **state)
{
    (void)state;
    world_start(N, tells_why, NULL);
    sk_requests_remove();
}

/* ---- how often ---- */

static int is_told_each_second(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS] = {0};
    (void)arg;
    CHECK(!begin(g, "schedule.every=100", &s, u, &err));
    sk_session_report(s, 1);
    double at = s->measured.reported_at;
    CHECK(g->rank ? at == 0 : at > 0 && at <= sk_now());
    sk_session_report(s, 0);
    CHECK(sk_now() - at > 1 || s->measured.reported_at == at); /* a moment ago */
    sk_session_report(s, 1);
    CHECK(g->rank || s->measured.reported_at > at); /* whoever wants it at once has it */
    s->measured.reported_at = at = sk_now() - 0.9;
    sk_session_report(s, 0);
    CHECK(sk_now() - at > 1 || s->measured.reported_at == at);
    s->measured.reported_at = at = sk_now() - 1;
    sk_session_report(s, 0);
    CHECK(g->rank ? s->measured.reported_at == at : s->measured.reported_at > at);
    return world_leave(s, sk_group_barrier(g), 1);
}

static void it_is_told_once_a_second(void **state)
{
    (void)state;
    world_start(N, is_told_each_second, NULL);
    sk_requests_remove();
}

/* ---- how often hosts fail ---- */

static int looks_up_its_host(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS] = {0}, expected = *(const double *)arg;
    char config[256];
    snprintf(config, sizeof config, "failure.mtbf=5000s; failure.rates=%s/rates", world.dir);
    CHECK(!begin(g, config, &s, u, &err) && close_to(s->measured.host_rate, expected));
    return world_leave(s, sk_group_barrier(g), 0);
}

/* Each host counts once, as the file says; what that does not name is told, and counts as the configuration says. */
static void a_file_may_say_how_often_hosts_fail(void **state)
{
    (void)state;
    char path[128], text[320], host[256] = "";
    double named = 0.25, unnamed = 1.0 / 5000;
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    snprintf(path, sizeof path, "%s/rates", world.dir);
    int n = snprintf(text, sizeof text, "%s 0.25/s\n", host);
    assert_int_equal(sk_io_replace(path, text, (size_t)n, NULL), 0);
    world_start(N, looks_up_its_host, &named);
    world_expect("does not name", 0);
    assert_int_equal(sk_io_replace(path, "another.host 7/s\n", 17, NULL), 0);
    world_start(N, looks_up_its_host, &unnamed);
    world_expect("rates does not name 1 of the hosts: failure.mtbf holds for them", 1);
}

static int setup(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-told-XXXXXX", SK_LOG_INFO);
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
        TEST(each_number_is_what_it_says),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        TEST(what_the_launcher_knows_is_added),
        TEST(a_collector_of_metrics_finds_the_same),
        TEST(what_chose_the_interval_is_told),
        TEST(it_is_told_once_a_second),
        TEST(a_file_may_say_how_often_hosts_fail),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
