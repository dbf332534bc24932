/* The questions of a job and its additions: each host and the job get what the database knows of them, and what is added comes there
 * as a whole or not at all. */
#include "schedule/learn/exchange.h"

#include "base/file/io.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

static const double now = 1.7e9;

static struct sk_rates_exchange *of_hosts(int n, const char *job)
{
    struct sk_rates_exchange *x = sk_exchange_new(n);
    assert_non_null(x);
    for (int i = 0; i < n; i++)
        snprintf(x->host[i].name, sizeof x->host[i].name, "n%d", i + 1);
    snprintf(x->job, sizeof x->job, "%s", job);
    x->now = now;
    return x;
}

static void a_new_one_knows_nothing(void **state)
{
    (void)state;
    assert_null(sk_exchange_new(-1));
    assert_null(sk_exchange_new(SK_EXCHANGE_HOSTS + 1));
    struct sk_rates_exchange *x = sk_exchange_new(0);
    assert_non_null(x);
    assert_int_equal(x->n, 0);
    free(x);
    x = sk_exchange_new(SK_EXCHANGE_HOSTS);
    assert_non_null(x);
    assert_int_equal(x->n, SK_EXCHANGE_HOSTS);
    assert_true(x->memory == SK_BELIEF_MEMORY && !x->n_events && !x->job_seconds && !x->shape && !*x->job);
    for (int i = 0; i < x->n; i++)
        assert_true(x->host[i].stated == -1 && !x->host[i].to_add && !*x->host[i].name && !x->host[i].seen.faults);
    free(x);
}

static void a_copy_has_all_of_it(void **state)
{
    (void)state;
    struct sk_rates_exchange *x = of_hosts(3, "heat");
    x->host[2].to_add = 5;
    x->n_events = 1;
    x->event[0].time = 7;
    struct sk_rates_exchange *c = sk_exchange_copy(x);
    assert_non_null(c);
    assert_ptr_not_equal(c, x);
    assert_memory_equal(c, x, sizeof *x + 3 * sizeof *x->host);
    free(c);
    free(x);
}

/* Hosts that were seen keep their order, and no rate that somebody stated goes along. */
static void what_is_to_be_added(void **state)
{
    (void)state;
    struct sk_rates_exchange *x = of_hosts(5, "heat");
    x->job_seconds = 60;
    x->n_events = 2;
    static const double seen[5] = {0, 10, -1, 30, NAN};
    for (int i = 0; i < 5; i++) {
        x->host[i].to_add = seen[i];
        x->host[i].stated = i;
    }
    struct sk_rates_exchange *c = sk_exchange_to_add(x);
    assert_non_null(c);
    assert_int_equal(c->n, 2);
    assert_string_equal(c->host[0].name, "n2");
    assert_string_equal(c->host[1].name, "n4");
    assert_true(c->host[0].to_add == 10 && c->host[1].to_add == 30 && c->host[0].stated == -1 && c->host[1].stated == -1);
    assert_true(c->job_seconds == 60 && c->n_events == 2 && x->n == 5 && x->host[3].stated == 3);
    free(c);
    free(x);
}

#ifdef HAVE_SQLITE

static char dir[64], path[128];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-exchange-XXXXXX");
    snprintf(path, sizeof path, "%s/failures.db", mkdtemp(dir) ? dir : "/nowhere");
    return access(dir, W_OK);
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static struct sk_database *opened(void)
{
    struct sk_database *db = NULL;
    struct saikai_error err = {0};
    if (sk_database_open(path, 1, 1, &db, &err))
        fail_msg("%s", err.text);
    return db;
}

static void put_event(struct sk_rates_exchange *x, double time, enum sk_side side, const char *host, const char *job)
{
    struct sk_fault_event *e = &x->event[x->n_events++];
    *e = (struct sk_fault_event){.time = time, .side = side, .source = "signal"};
    snprintf(e->host, sizeof e->host, "%s", host);
    snprintf(e->job, sizeof e->job, "%s", job);
}

/* Two jobs on three hosts are added; a third one on two of them, and on one that nobody knows, asks. */
static void what_was_added_is_told(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *db = opened();
    struct sk_rates_exchange *x = of_hosts(3, "heat");
    x->job_seconds = 1000;
    x->host[0].to_add = 100;
    x->host[1].to_add = 200;
    x->host[2].stated = 0; /* it never fails, somebody says; it was not seen */
    x->host[1].stated = 3e-7;
    put_event(x, now, SK_SIDE_PROGRAM, "n1", "heat");
    put_event(x, now + 1000, SK_SIDE_NODE, "n2", "heat");
    put_event(x, now + 9000, SK_SIDE_NODE, "n1", "heat");
    assert_int_equal(sk_exchange_add(db, x, &err), 0);
    free(x);
    x = of_hosts(0, "waves");
    x->job_seconds = 70;
    assert_int_equal(sk_exchange_add(db, x, &err), 0);
    snprintf(x->job, sizeof x->job, "idle"); /* of which nothing was seen */
    x->job_seconds = 0;
    assert_int_equal(sk_exchange_add(db, x, &err), 0);
    free(x);

    x = of_hosts(4, "waves");
    x->memory = 0; /* nothing fades */
    x->host[1].stated = 5e-7; /* the job knows better */
    assert_int_equal(sk_exchange_ask(db, x, &err), 0);
    assert_true(x->nodes.faults == 2 && x->nodes.seconds == 300);
    assert_true(x->others.faults == 1 && x->others.seconds == 1000);
    assert_true(x->seen.faults == 0 && x->seen.seconds == 70);
    assert_true(x->host[0].seen.faults == 1 && x->host[0].seen.seconds == 100 && x->host[0].stated == -1);
    assert_true(x->host[1].seen.faults == 1 && x->host[1].seen.seconds == 200 && x->host[1].stated == 5e-7);
    assert_true(x->host[2].seen.faults == 0 && x->host[2].seen.seconds == 0 && x->host[2].stated == 0);
    assert_true(x->host[3].seen.faults == 0 && x->host[3].seen.seconds == 0 && x->host[3].stated == -1);
    assert_true(x->shape == 1); /* one time between faults says nothing */
    free(x);
    x = of_hosts(2, "heat");
    x->memory = 0;
    x->shape = 9;
    assert_int_equal(sk_exchange_ask(db, x, &err), 0);
    assert_true(x->others.faults == 0 && x->others.seconds == 70 && x->seen.faults == 1 && x->seen.seconds == 1000);
    assert_true(x->host[1].stated == 3e-7 && x->shape == 1);
    x->memory = 1; /* of all faults the newest one counts, and what was seen after it */
    assert_int_equal(sk_exchange_ask(db, x, &err), 0);
    assert_true(x->nodes.faults == 1 && x->nodes.seconds == 100 && x->seen.faults == 1 && x->seen.seconds == 500);
    free(x);
    sk_database_close(db);
    unlink(path);
}

static double seconds_of(struct sk_database *db, const char *job)
{
    struct sk_belief b = {-1, -1};
    assert_int_equal(sk_database_seen(db, SK_SIDE_PROGRAM, job, 0, &b, NULL), 0);
    return b.seconds;
}

/* Whoever tells it again, since nobody answered, adds nothing. */
static void it_is_added_once(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *db = opened();
    struct sk_rates_exchange *x = of_hosts(0, "heat");
    struct sk_id a = sk_id_random(), b = sk_id_random();
    x->job_seconds = 10;
    assert_int_equal(sk_exchange_add_once(db, x, a, &err), 0);
    assert_int_equal(sk_exchange_add_once(db, x, a, &err), 0);
    assert_true(seconds_of(db, "heat") == 10);
    assert_int_equal(sk_exchange_add_once(db, x, b, &err), 0);
    assert_int_equal(sk_exchange_add_once(db, x, a, &err), 0);
    assert_true(seconds_of(db, "heat") == 20);
    free(x);
    sk_database_close(db);
    unlink(path);
}

/* Done to the database behind the back of whoever has it open. */
static void change(const char *sql)
{
    sqlite3 *raw = NULL;
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    assert_int_equal(sqlite3_exec(raw, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(raw);
}

/* Wherever adding fails nothing of it comes there, not even its id: it may be tried again. */
static void all_of_it_or_nothing(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "CREATE TRIGGER t BEFORE INSERT ON exposure WHEN new.side = 'program' BEGIN SELECT RAISE(ABORT, 'no'); END",
        "CREATE TRIGGER t BEFORE INSERT ON exposure WHEN new.name = 'n2' BEGIN SELECT RAISE(ABORT, 'no'); END",
        "CREATE TRIGGER t BEFORE INSERT ON rates BEGIN SELECT RAISE(ABORT, 'no'); END",
        "CREATE TRIGGER t BEFORE INSERT ON event WHEN new.host = 'n2' BEGIN SELECT RAISE(ABORT, 'no'); END",
        "CREATE TRIGGER t BEFORE INSERT ON taken BEGIN SELECT RAISE(ABORT, 'no'); END",
    };
    struct sk_id id = sk_id_random();
    struct sk_rates_exchange *x = of_hosts(2, "heat");
    x->job_seconds = 10;
    x->host[0].to_add = x->host[1].to_add = 4;
    x->host[0].stated = 2e-7;
    put_event(x, now, SK_SIDE_NODE, "n1", "heat");
    put_event(x, now, SK_SIDE_NODE, "n2", "heat");
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct saikai_error err = {0};
        struct sk_database *db = opened();
        struct sk_rates_exchange *other = of_hosts(0, "first");
        assert_int_equal(sk_exchange_add_once(db, other, sk_id_random(), &err), 0); /* so that there is a table of ids */
        free(other);
        sk_database_close(db);
        change(broken[i]);
        db = opened();
        assert_int_equal(sk_exchange_add_once(db, x, id, &err), SAIKAI_EFORMAT);
        assert_true(err.code == SAIKAI_EFORMAT && strstr(err.text, path));
        sk_database_close(db);
        change("DROP TRIGGER t");
        db = opened();
        assert_true(seconds_of(db, "heat") == 0);
        assert_int_equal(sk_exchange_add_once(db, x, id, &err), 0);
        assert_true(seconds_of(db, "heat") == 10);
        struct sk_belief b;
        assert_int_equal(sk_database_seen(db, SK_SIDE_NODE, NULL, 0, &b, &err), 0);
        assert_true(b.faults == 2 && b.seconds == 8);
        sk_database_close(db);
        unlink(path);
    }
    free(x);
}

/* What cannot be asked is said, and no question is asked after it. */
static void a_question_fails(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        int nodes, host;
    } cases[] = {
        {"DROP TABLE exposure", 0, 0},
        {"DROP TABLE rates", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct saikai_error err = {0};
        struct sk_database *db = opened();
        struct sk_rates_exchange *x = of_hosts(2, "heat");
        x->host[0].to_add = x->host[1].to_add = 4;
        x->memory = 0;
        assert_int_equal(sk_exchange_add(db, x, &err), 0);
        sk_database_close(db);
        change(cases[i].sql);
        db = opened();
        assert_int_equal(sk_exchange_ask(db, x, &err), SAIKAI_EFORMAT);
        assert_non_null(strstr(err.text, path));
        assert_true(x->nodes.seconds == (cases[i].nodes ? 8 : 0));
        assert_true(x->host[0].seen.seconds == (cases[i].host ? 4 : 0) && x->host[1].seen.seconds == 0);
        assert_true(x->host[0].stated == -1 && x->host[1].stated == -1);
        free(x);
        sk_database_close(db);
        unlink(path);
    }
    /* it cannot be begun while another addition is not done */
    struct saikai_error err = {0};
    struct sk_database *db = opened();
    struct sk_rates_exchange *x = of_hosts(1, "heat");
    x->job_seconds = 10;
    assert_int_equal(sk_database_begin(db, &err), 0);
    assert_true(sk_exchange_add(db, x, &err) < 0);
    assert_true(sk_exchange_add_once(db, x, sk_id_random(), &err) < 0);
    assert_int_equal(sk_database_commit(db, &err), 0);
    assert_true(seconds_of(db, "heat") == 0);
    assert_int_equal(sk_exchange_add(db, x, &err), 0);
    assert_true(seconds_of(db, "heat") == 10);
    free(x);
    sk_database_close(db);
    unlink(path);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_one_knows_nothing),
        cmocka_unit_test(a_copy_has_all_of_it),
        cmocka_unit_test(what_is_to_be_added),
#ifdef HAVE_SQLITE
        cmocka_unit_test_setup_teardown(what_was_added_is_told, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(it_is_added_once, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(all_of_it_or_nothing, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_question_fails, make_dir, remove_dir),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
