/* Rates in all units, text files with errors that name the line, SQLite databases, and sums that
 * count each host once. */
#include "schedule/failure/rates.h"

#include "base/clock.h"
#include "base/config/hostlist.h"
#include "base/config/units.h"

#include <math.h>
#include <pthread.h>
#include <saikai/component.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/near_testing.h"
#include "base/host/open_files_testing.h"
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#define YEAR 31557600.0

static char path[64];

static int make_file(void **state)
{
    (void)state;
    strcpy(path, "/tmp/saikai-rates-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_rate_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double rate;
    } good[] = {
        {"mtbf=5y", 1 / (5 * YEAR)},
        {"mtbf = 12 h", 1 / 43200.0},
        {"MTBF 100 days", 1 / 8640000.0},
        {"1/5y", 1 / (5 * YEAR)},
        {"3/y", 3 / YEAR},
        {"0.2 per year", 0.2 / YEAR},
        {"1e-3 per hour", 1e-3 / 3600},
        {"2/week", 2 / 604800.0},
        {"2500 FIT", 2500 / 3.6e12},
        {"6.3e-9", 6.3e-9},
        {"0", 0},
        {" 1e-6 ", 1e-6},
        {"4 / 2 years", 2 / YEAR},
        {"1/s", 1},
        {"1 per second", 1},
        {"1 per 2 seconds", 0.5},
        {"6/min", 0.1},
        {"6 per minute", 0.1},
        {"6 per 2 Minutes", 0.05},
        {"36/h", 0.01},
        {"1/d", 1 / 86400.0},
        {"1 per day", 1 / 86400.0},
        {"1/month", 12 / YEAR},
        {"1/months", 12 / YEAR},
        {"1/.5y", 2 / YEAR},
        {".5", 0.5},
        {"1\tper\tday", 1 / 86400.0},
        {"\t1 / y\t", 1 / YEAR},
        {"mtbf 0.5 d ", 1 / 43200.0},
        {"1 fit", 1 / 3.6e12},
    };
    static const char *const bad[] = {"",      "-1",   "often",    "1/",        "1/0s",   "mtbf=0",
                                      "mtbf=", "nan",  "inf",      "1e999",     "1 x",    "1 per",
                                      "per y", "1//y", "mtbf=-3y", "1/5parsec", "1 FITS", "1/5y 3", "1/hs", "1/ds", "1 perday", "1/5", "1/1e999 y", "mtbf=1e-320 s", "1e308/1e-300s"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double rate = -1;
        if (sk_rate_parse(good[i].text, &rate) || fabs(rate - good[i].rate) > 1e-14 * good[i].rate)
            fail_msg("'%s' gives %g, not %g", good[i].text, rate, good[i].rate);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double rate = 42;
        if (!sk_rate_parse(bad[i], &rate))
            fail_msg("'%s' was taken as %g", bad[i], rate);
        assert_true(rate == 42);
    }
}

static void test_text_file(void **state)
{
    (void)state;
    write_file("# our machine\n\nn1 mtbf=1y # old\nn[02-04].site  2/y\r\nfat 3e-6\n");
    struct sk_rates *r = NULL;
    struct saikai_error err = {0};
    assert_int_equal(sk_rates_open(path, 7e-9, &r, &err), 0);
    assert_int_equal(sk_rates_count(r), 5);
    int known;
    assert_near(sk_rates_of(r, "n1", &known), 1 / YEAR, 1e-20);
    assert_true(known);
    assert_near(sk_rates_of(r, "N1.other.site", &known), 1 / YEAR,
                       1e-20);                                          /* entry is short */
    assert_near(sk_rates_of(r, "n03", &known), 2 / YEAR, 1e-20); /* host is short */
    assert_true(known);
    assert_near(sk_rates_of(r, "n03.elsewhere", &known), 7e-9, 1e-20); /* another domain */
    assert_false(known);
    assert_near(sk_rates_of(r, "n3", &known), 7e-9, 1e-20);
    assert_false(known);
    sk_rates_free(r);
    write_file("* mtbf=10y\na 0\nx.one 1\nx.two 2\n");
    assert_int_equal(sk_rates_open(path, 7e-9, &r, &err), 0);
    assert_near(sk_rates_of(r, "b", &known), 0.1 / YEAR, 1e-20);
    assert_false(known);
    assert_true(sk_rates_of(r, "a", &known) == 0 && known);
    assert_near(sk_rates_of(r, "x", &known), 0.1 / YEAR, 1e-20); /* which of the two? */
    assert_false(known);
    sk_rates_free(r);
}

static void test_errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"n1 mtbf=5y\nn2\n", ":2: 'n2' has no rate"},
        {"n1 often\n", ":1: 'often' is no failure rate: write mtbf=5y"},
        {"\n\nn[1-2 3\n", ":3: host list 'n[1-2'"},
        {"n1 1\n\nN1 2\n", ":3: host 'N1' has a rate already (line 1)"},
        {"b 1\na 1\nc 1\nB 2\n", ":4: host 'B' has a rate already (line 1)"},
        {"n1 -5\n", ":1: '-5' is no failure rate"},
        {"n[1-99999999] 1\n", ":1: host list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_rates *r = NULL;
        struct saikai_error err = {0};
        write_file(cases[i].text);
        assert_int_equal(sk_rates_open(path, 1, &r, &err), SAIKAI_ECONFIG);
        assert_int_equal(err.code, SAIKAI_ECONFIG);
        assert_null(r);
        if (!strstr(err.text, cases[i].says) || !strstr(err.text, path))
            fail_msg("'%s' says '%s'", cases[i].text, err.text);
    }
    struct sk_rates *r = NULL;
    struct saikai_error err = {0};
    char whole[160];
    FILE *f = fopen(path, "w");
    assert_true(f && fwrite("n1 1\n\0\n", 1, 7, f) == 7 && !fclose(f));
    assert_int_equal(sk_rates_open(path, 1, &r, &err), SAIKAI_ECONFIG);
    snprintf(whole, sizeof whole, "%s holds a zero byte: neither a text file nor SQLite", path);
    assert_string_equal(err.text, whole);
    assert_true(sk_rates_open("/tmp", 1, &r, &err) < 0); /* it is opened, and cannot be read */
    assert_true(strstr(err.text, "/tmp") && strstr(err.text, "cannot read"));
    assert_int_equal(sk_rates_open("/nowhere/rates", 1, &r, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "cannot read the failure rates: "));
    assert_non_null(strstr(err.text, "/nowhere/rates"));
}

static void test_sum_counts_each_host_once(void **state)
{
    (void)state;
    write_file("a 1e-6\nb 1e-13\nc 3e-6\n");
    struct sk_rates *r = NULL;
    assert_int_equal(sk_rates_open(path, 5e-7, &r, NULL), 0);
    static const char *const one[] = {"a", "c", "b", "a", "z", "A", "z"}, *const two[] = {"b", "z",
                                                                                          "c", "a"};
    double first, second;
    size_t unknown;
    assert_int_equal(sk_rates_sum(r, one, 7, &first, &unknown, NULL), 0);
    assert_int_equal(unknown, 1);
    assert_near(first, 1e-6 + 1e-13 + 3e-6 + 5e-7, 1e-18);
    assert_int_equal(sk_rates_sum(r, two, 4, &second, NULL, NULL), 0);
    assert_memory_equal(&first, &second, sizeof first); /* to the last bit */
    assert_int_equal(sk_rates_sum(r, NULL, 0, &first, NULL, NULL), 0);
    assert_true(first == 0);
    sk_rates_free(r);
}

static void test_no_database(void **state)
{
    (void)state;
    struct sk_rates *r = NULL;
    int known;
    assert_int_equal(sk_rates_open("", 3e-8, &r, NULL), 0);
    assert_true(sk_rates_of(r, "any", &known) == 3e-8 && !known);
    sk_rates_free(r);
}

#ifdef HAVE_SQLITE
static void make_database(const char *sql)
{
    sqlite3 *db;
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}
#endif

static void test_sqlite(void **state)
{
    (void)state;
#ifndef HAVE_SQLITE
    write_file("SQLite format 3");
    FILE *f = fopen(path, "a");
    fputc(0, f);
    fclose(f);
    struct sk_rates *r = NULL;
    assert_int_equal(sk_rates_open(path, 1, &r, NULL), SAIKAI_ENOTSUP);
#else
    struct sk_rates *r = NULL;
    struct saikai_error err = {0};
    int open_before = open_files();
    make_database("CREATE TABLE rates(host TEXT, rate REAL); INSERT INTO rates VALUES('n1', 2e-7), "
                  "('n2', 0), "
                  "('*', 1e-9);");
    assert_int_equal(sk_rates_open(path, 1, &r, &err), 0);
    assert_true(sk_rates_of(r, "n1", NULL) == 2e-7);
    assert_true(sk_rates_of(r, "n2", NULL) == 0);
    assert_true(sk_rates_of(r, "other", NULL) == 1e-9);
    sk_rates_free(r);
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"CREATE TABLE rate(host TEXT, rate REAL);",
         "a table rates(host TEXT, rate REAL) is expected"},
        {"CREATE TABLE rates(host TEXT, rate REAL); INSERT INTO rates VALUES('a', 1), ('b', "
         "'often');",
         "row 2: host 'b': the rate is no number"},
        {"CREATE TABLE rates(host TEXT, rate REAL); INSERT INTO rates VALUES('a', -1);",
         ", table rates, row 1: host 'a': a failure rate is a number of 0 or more"},
        {"CREATE TABLE rates(host TEXT, rate REAL); INSERT INTO rates VALUES('a', 1), ('b', 2), ('A', 3);",
         ":3: host 'A' has a rate already (line 1): keep one of the two"},
        {"CREATE TABLE rates(host BLOB, rate REAL); INSERT INTO rates VALUES(NULL, 1);",
         "the host is no text"},
        {"CREATE VIEW rates AS SELECT 'a' AS host, abs(-9223372036854775807 - 1) AS rate",
         "integer overflow; a table rates(host TEXT, rate REAL) is expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_database(cases[i].sql);
        r = NULL;
        assert_int_equal(sk_rates_open(path, 1, &r, &err), SAIKAI_ECONFIG);
        assert_null(r);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' says '%s'", cases[i].sql, err.text);
    }
    make_database("CREATE TABLE rates(host TEXT, rate REAL); INSERT INTO rates VALUES('a', 1);");
    assert_int_equal(truncate(path, 5000), 0);
    assert_int_equal(sk_rates_open(path, 1, &r, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, path));
    make_database("CREATE TABLE rates(host TEXT, rate REAL); INSERT INTO rates VALUES('a', 1);");
    sqlite3_hard_heap_limit64(1);
    int rc = sk_rates_open(path, 1, &r, &err);
    sqlite3_hard_heap_limit64(0);
    assert_int_equal(rc, SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "out of memory"));
    assert_int_equal(open_files(), open_before);
#endif
}

#ifdef HAVE_SQLITE
static void *write_and_end(void *db)
{
    sk_sleep(0.1);
    return sqlite3_exec(db, "INSERT INTO rates VALUES('n2', 5); COMMIT", NULL, NULL, NULL) == SQLITE_OK ? NULL : "failed";
}

/* Somebody writes it just now: that is waited for, and what was written is read. */
static void test_a_database_that_is_written(void **state)
{
    (void)state;
    struct sk_rates *r = NULL;
    struct saikai_error err = {0};
    sqlite3 *db;
    pthread_t t;
    void *failed;
    make_database("CREATE TABLE rates(host TEXT, rate REAL); INSERT INTO rates VALUES('n1', 3)");
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(pthread_create(&t, NULL, write_and_end, db), 0);
    int rc = sk_rates_open(path, 1, &r, &err);
    pthread_join(t, &failed);
    sqlite3_close(db);
    if (rc || failed)
        fail_msg("%s", err.text);
    assert_true(sk_rates_of(r, "n1", NULL) == 3 && sk_rates_of(r, "n2", NULL) == 5);
    sk_rates_free(r);
}
#endif

/* Names are what a host can be called, and no more. */
static void test_names_of_hosts(void **state)
{
    (void)state;
    struct sk_rates *r = sk_rates_new(0);
    struct saikai_error err = {0};
    char name[SK_HOST_MAX + 2];
    memset(name, 'a', sizeof name);
    name[SK_HOST_MAX + 1] = 0;
    assert_int_equal(sk_rates_add(r, name, 1, 1, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "is no host name"));
    assert_int_equal(sk_rates_add(r, "", 1, 1, &err), SAIKAI_ECONFIG);
    assert_int_equal(sk_rates_add(r, "a", -1e-9, 1, &err), SAIKAI_ECONFIG);
    assert_int_equal(sk_rates_add(r, "a", INFINITY, 1, &err), SAIKAI_ECONFIG);
    assert_int_equal(sk_rates_add(r, "a", NAN, 1, &err), SAIKAI_ECONFIG);
    assert_int_equal(sk_rates_count(r), 0);
    name[SK_HOST_MAX] = 0;
    assert_int_equal(sk_rates_add(r, name, 0.5, 1, &err), 0);
    assert_int_equal(sk_rates_finish(r, "f", &err), 0);
    assert_true(sk_rates_of(r, name, NULL) == 0.5);
    sk_rates_free(r);
}

/* Lines come in any order: each host is found by its name, and by its short one when that is enough. */
static void test_hosts_in_any_order(void **state)
{
    (void)state;
    static const char *const lines[] = {"n3.west 3", "n1.west 1", "z9 9", "n1.east 4", "N2.east 2", "a 7", "n3.east 5", "k 6"};
    enum { LINES = sizeof lines / sizeof *lines };
    static const struct {
        const char *host;
        double rate; /* 0.5: that of all others */
    } wanted[] = {{"n3.west", 3}, {"n1.west", 1}, {"z9", 9}, {"n1.east", 4}, {"n2.east", 2}, {"A", 7}, {"n3.east", 5}, {"k", 6},
                  {"n2", 2}, {"z9.west", 9}, {"n1", 0.5}, {"n3", 0.5}, {"n2.west", 0.5}, {"n4", 0.5}};
    for (int turn = 0; turn < LINES; turn++) {
        char text[256] = "";
        struct sk_rates *r = NULL;
        struct saikai_error err = {0};
        for (int i = 0; i < LINES; i++)
            sprintf(text + strlen(text), "%s\n", lines[(i + turn) % LINES]);
        write_file(text);
        assert_int_equal(sk_rates_open(path, 0.5, &r, &err), 0);
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            int known = 9;
            if (sk_rates_of(r, wanted[i].host, &known) != wanted[i].rate || known != (wanted[i].rate != 0.5))
                fail_msg("turn %d: %s: %g", turn, wanted[i].host, sk_rates_of(r, wanted[i].host, NULL));
        }
        sk_rates_free(r);
    }
}

static int add_up(void *arg, const char *host, double rate, struct saikai_error *err)
{
    double *sum = arg;
    *sum += rate;
    return strcmp(host, "stop") ? 0 : sk_fail(err, SAIKAI_ESTATE, "stopped");
}

/* More hosts than one page of the list holds: each is told once, by name, until somebody has heard enough. */
static void test_each_host_is_told(void **state)
{
    (void)state;
    struct sk_rates *r = NULL;
    struct saikai_error err = {0};
    double sum = 0;
    write_file("m[000-299] 2\nstop 1000\nz 5000\n");
    assert_int_equal(sk_rates_open(path, 0, &r, &err), 0);
    assert_int_equal(sk_rates_count(r), 302);
    for (int i = 0; i < 300; i++) {
        char host[16];
        int known;
        snprintf(host, sizeof host, "M%03d.site", i);
        assert_true(sk_rates_of(r, host, &known) == 2 && known);
    }
    assert_int_equal(sk_rates_each(r, add_up, &sum, &err), SAIKAI_ESTATE);
    assert_true(sum == 1600);
    sk_rates_free(r);
    write_file("a 1\nb 2\n");
    assert_int_equal(sk_rates_open(path, 0, &r, &err), 0);
    sum = 0;
    assert_int_equal(sk_rates_each(r, add_up, &sum, &err), 0);
    assert_true(sum == 3);
    sk_rates_free(r);
}

/* ---- a source of a component: it is asked before the form that takes any text ---- */

static int is_theirs(const uint8_t *head, size_t n)
{
    return n >= 3 && !memcmp(head, "XY ", 3);
}

static int load_theirs(const char *file, saikai_take_rate *take, void *to, char *why, size_t why_cap)
{
    char text[64] = "";
    FILE *f = fopen(file, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    if (strstr(text, "silent"))
        return -1;
    if (strstr(text, "broken")) {
        memset(why, 'w', why_cap); /* nor does it end its sentence */
        return -1;
    }
    int rc = take(to, "theirs", 4, 1);
    rc = rc ? rc : take(to, strstr(text, "nameless") ? NULL : "more", strstr(text, "negative") ? -1 : 8, 2);
    take(to, "last", 16, 3); /* whatever was said before */
    return rc;
}

static void test_a_component_reads(void **state)
{
    (void)state;
    static const struct saikai_failure_rates_ops ops = {is_theirs, load_theirs};
    static const struct saikai_component c = {SAIKAI_COMPONENT_ABI, sizeof c, SAIKAI_KIND_FAILURE_RATES, "xy", "of a test", &ops, sizeof ops};
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"XY silent", "it cannot be read (component 'xy')"},
        {"XY broken", "wwww (component 'xy')"},
        {"XY negative", "host 'more'"},
        {"XY nameless", "is no host name"},
    };
    struct sk_rates *r = NULL;
    struct saikai_error err = {0};
    int forms = 0;
    while (sk_rates_kind.form(forms, NULL))
        forms++;
    assert_null(sk_rates_kind.form(-1, NULL));
    assert_int_equal(sk_kind_form(&sk_rates_kind, "xy"), -1);
    sk_rates_kind.add(&c, 0);
    assert_int_equal(sk_kind_form(&sk_rates_kind, "xy"), forms);
    assert_null(sk_rates_kind.form(forms + 1, NULL));
    write_file("XY 1");
    assert_int_equal(sk_rates_open(path, 1, &r, &err), 0);
    assert_int_equal(sk_rates_count(r), 3);
    assert_true(sk_rates_of(r, "theirs", NULL) == 4 && sk_rates_of(r, "more", NULL) == 8 && sk_rates_of(r, "last", NULL) == 16);
    sk_rates_free(r);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(bad[i].text);
        r = NULL;
        assert_int_equal(sk_rates_open(path, 1, &r, &err), SAIKAI_ECONFIG);
        if (r || !strstr(err.text, bad[i].says) || strncmp(err.text, path, strlen(path)))
            fail_msg("'%s' says '%s'", bad[i].text, err.text);
    }
    write_file("XYZ 3\n"); /* a host of that name is none of theirs */
    assert_int_equal(sk_rates_open(path, 1, &r, &err), 0);
    assert_true(sk_rates_of(r, "XYZ", NULL) == 3);
    sk_rates_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate_parse),
        cmocka_unit_test(test_text_file),
        cmocka_unit_test(test_errors_name_the_line),
        cmocka_unit_test(test_sum_counts_each_host_once),
        cmocka_unit_test(test_no_database),
        cmocka_unit_test(test_sqlite),
#ifdef HAVE_SQLITE
        cmocka_unit_test(test_a_database_that_is_written),
#endif
        cmocka_unit_test(test_names_of_hosts),
        cmocka_unit_test(test_hosts_in_any_order),
        cmocka_unit_test(test_each_host_is_told),
        cmocka_unit_test(test_a_component_reads),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
