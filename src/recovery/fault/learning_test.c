/* What one run learns is what the next one begins with; and a database that is of no use is told once and does no harm. */
#include "recovery/fault/learning.h"

#include "base/file/io.h"
#include "base/log.h"
#include "schedule/learn/database.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64], place[128];
static int warnings;
static const double day = 86400;

static void count_warnings(void *arg, int level, const char *line)
{
    (void)arg;
    (void)line;
    warnings += level <= SK_LOG_WARN;
}

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-learning-XXXXXX");
    snprintf(place, sizeof place, "%s/failures.db", mkdtemp(dir) ? dir : "/nowhere");
    sk_log_set(count_warnings, NULL, SK_LOG_WARN);
    return access(dir, W_OK);
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static struct sk_config *config(const char *database)
{
    struct sk_config *c = sk_config_new();
    assert_non_null(c);
    assert_int_equal(sk_config_set(c, "failure.database", database, SK_FROM_API, "test", NULL), 0);
    return c;
}

struct learnt {
    double hosts, program, faults, seconds, shape;
};

static struct learnt printed(const struct sk_learning *l)
{
    char text[SK_LEARNT_TEXT];
    struct learnt v = {0};
    sk_learning_print(l, text);
    assert_int_equal(sscanf(text, "%lf,%lf,%lf,%lf,%lf", &v.hosts, &v.program, &v.faults, &v.seconds, &v.shape), 5);
    return v;
}

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

/* A run on n1 and n2, with n3 free; two faults of the program and one of n2. */
static void play(struct sk_learning *l, struct sk_hosts *h)
{
    int seat[2] = {0, 1};
    struct sk_fault killed = {&sk_fault_signal, 1, 1, 9, 0, NULL}, lost = {&sk_fault_lost_node, -1, 1, 0, 4, NULL};
    sk_learning_started(l, h, seat, 2, 100);
    sk_learning_fault(l, &killed, h, 1, 400);
    sk_learning_tick(l, 400);
    sk_learning_started(l, h, seat, 2, 410);
    sk_learning_fault(l, &killed, h, 0, 411); /* it had not begun: that is no fault which checkpoints are made for */
    sk_learning_started(l, h, seat, 2, 412);
    sk_learning_fault(l, &killed, h, 1, 612);
    sk_learning_started(l, h, seat, 2, 700);
    sk_learning_fault(l, &lost, h, 0, 800);
    seat[1] = 2;
    sk_learning_started(l, h, seat, 2, 900);
    sk_learning_free(l, 1000);
}

static void the_next_run_begins_with_what_was_learnt(void **state)
{
    (void)state;
    struct sk_hosts h = {0};
    struct sk_config *c = config(place);
    for (int i = 1; i <= 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(sk_hosts_add(&h, name, 1, NULL), 0);
    }
    struct sk_learning *l = sk_learning_new(c, "/opt/bin/heat", &h);
    int seat[2] = {0, 1};
    assert_non_null(l);
    sk_learning_started(l, &h, seat, 2, 100);
    struct learnt v = printed(l); /* nothing but what is believed */
    assert_true(near(v.program, 1 / (7 * day)) && near(v.hosts, 2 / (5 * 31557600.0)));
    assert_true(v.faults == 0 && v.seconds == 0 && v.shape == 1);
    play(l, &h);
#ifdef HAVE_SQLITE
    l = sk_learning_new(c, "heat", &h); /* however it was typed */
    sk_learning_started(l, &h, seat, 2, 50);
    v = printed(l);
    double ran = 300 + 1 + 200 + 100 + 100;
    assert_true(v.seconds > 0.9 * ran && v.seconds <= ran); /* old time fades with every fault */
    assert_true(v.faults > 1.9 && v.faults <= 2);
    assert_true(near(v.program, (1 + v.faults) / (7 * day + v.seconds)));
    assert_true(v.hosts > 2.5 / (5 * 31557600.0)); /* n2 was lost once */
    sk_learning_free(l, 0);
    /* another program believes what was so, too, but not that it is the same */
    l = sk_learning_new(c, "other", &h);
    sk_learning_started(l, &h, seat, 2, 50);
    v = printed(l);
    assert_true(v.faults == 0 && v.seconds == 0 && v.program > 1.5 / (7 * day) && v.program < 2.5 / (7 * day));
    sk_learning_free(l, 0);
#endif
    assert_int_equal(warnings, 0);
    sk_config_free(c);
    sk_hosts_free(&h);
}

#ifdef HAVE_SQLITE

/* What a job hears whose hosts failed after times by Weibull's law of this shape, n times in all. */
static struct learnt learnt_of(double shape, int n, const char *program_mtbf)
{
    struct sk_database *db = NULL;
    struct sk_hosts h = {0};
    struct sk_config *c = config(place);
    double at = 1.5e9;
    int seat = 0;
    unlink(place);
    assert_int_equal(sk_hosts_add(&h, "n1", 1, NULL), 0);
    assert_int_equal(sk_config_set(c, "failure.program_mtbf", program_mtbf, SK_FROM_API, "test", NULL), 0);
    assert_int_equal(sk_database_open(place, 1, 1, &db, NULL), 0);
    assert_int_equal(sk_database_begin(db, NULL), 0);
    for (int i = 0; i < n; i++) { /* the quantiles of the law, in another order */
        double passed = 1e6 * pow(-log(1 - (i * 7 % n + 0.5) / n), 1 / shape);
        struct sk_fault_event e = {.time = at += passed, .side = SK_SIDE_NODE, .host = "n1", .source = "test"};
        assert_int_equal(sk_database_add_event(db, &e, NULL), 0);
        assert_int_equal(sk_database_add_time(db, SK_SIDE_NODE, "n1", at, passed, 0, NULL), 0);
    }
    assert_int_equal(sk_database_commit(db, NULL), 0);
    sk_database_close(db);
    struct sk_learning *l = sk_learning_new(c, "heat", &h);
    assert_non_null(l);
    sk_learning_started(l, &h, &seat, 1, 100);
    struct learnt v = printed(l);
    sk_learning_free(l, 0);
    sk_config_free(c);
    sk_hosts_free(&h);
    return v;
}

static void jobs_hear_of_bursts(void **state)
{
    (void)state;
    assert_true(fabs(learnt_of(0.6, 400, "1000y").shape - 0.6) < 0.06);
    assert_true(fabs(learnt_of(1.5, 400, "1000y").shape - 1.5) < 0.15);
    assert_true(fabs(learnt_of(1, 400, "1000y").shape - 1) < 0.06);
    assert_true(fabs(learnt_of(0.4, 4, "1000y").shape - 1) < 0.3); /* hardly anything is known */
    double own = learnt_of(0.6, 400, "1h").shape; /* faults of the program itself are the most of them */
    assert_true(own > 0.95 && own < 1);
}

#endif

static void a_bad_database_is_told_once(void **state)
{
    (void)state;
    struct sk_hosts h = {0};
    assert_int_equal(sk_hosts_add(&h, "n1", 1, NULL), 0);
    assert_int_equal(sk_hosts_add(&h, "n2", 1, NULL), 0);
    assert_int_equal(sk_hosts_add(&h, "n3", 1, NULL), 0);
    char junk[160], missing[] = "/dev/null/failures.db";
    snprintf(junk, sizeof junk, "%s/junk", dir);
    FILE *f = fopen(junk, "w");
    for (int i = 0; i < 1000; i++)
        fputs("junk", f);
    fclose(f);
    const char *places[] = {junk, missing, dir};
    for (size_t i = 0; i < 3; i++) {
        struct sk_config *c = config(places[i]);
        warnings = 0;
        struct sk_learning *l = sk_learning_new(c, "heat", &h);
        assert_non_null(l);
        play(l, &h);
        if (warnings != 1)
            fail_msg("%s: %d warnings", places[i], warnings);
        sk_config_free(c);
    }
    struct sk_config *none = config("none");
    assert_null(sk_learning_new(none, "heat", &h));
    sk_learning_started(NULL, &h, NULL, 0, 0);
    sk_learning_tick(NULL, 0);
    sk_learning_free(NULL, 0);
    sk_config_free(none);
    sk_hosts_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_run_begins_with_what_was_learnt),
#ifdef HAVE_SQLITE
        cmocka_unit_test(jobs_hear_of_bursts),
#endif
        cmocka_unit_test(a_bad_database_is_told_once),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
