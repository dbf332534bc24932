/* The database of rasdaemon: what is new in it, how bad that is, and databases that are none. */
#include "recovery/source/source.h"

#include "base/file/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#ifdef HAVE_SQLITE
#include <sqlite3.h>

static char dir[64], path[128];
static struct sk_host host[] = {{.name = "n1"}};
static struct sk_hosts hosts = {host, 1};
static struct sk_source_view view;
static struct sk_config *config;
static struct sk_teller *teller;
static void *own;

static void sql(const char *fmt, ...)
{
    char text[2000];
    sqlite3 *db = NULL;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-ras-XXXXXX");
    if (!mkdtemp(dir) || !(config = sk_config_new()))
        return -1;
    snprintf(path, sizeof path, "%s/ras.db", dir);
    view = (struct sk_source_view){config, &hosts, 0, NULL};
    own = NULL;
    teller = sk_teller_new("test", "none", 0, -1);
    return !teller || sk_config_set(config, "events.rasdaemon", path, SK_FROM_API, "test", NULL);
}

static int end(void **state)
{
    (void)state;
    sk_teller_free(teller);
    sk_config_free(config);
    sk_source_end(&sk_source_ras, own);
    return sk_io_rmtree(dir, NULL);
}

static const char *look(const char *field, int expected)
{
    static char text[4000];
    struct saikai_error err = {0};
    struct saikai_event e;
    int before = sk_teller_waiting(teller, -1, &e);
    assert_int_equal(sk_source_look(&sk_source_ras, &view, &own, teller, &err), expected);
    assert_true(!expected || strstr(err.text, "events.rasdaemon"));
    *text = 0;
    for (int i = before; i < sk_teller_waiting(teller, i, &e); i++) {
        const char *value = sk_event_field(&e, field);
        size_t n = strlen(text);
        assert_string_equal(e.host, "n1");
        snprintf(text + n, sizeof text - n, "%s%s %s %s", n ? "; " : "", e.name, sk_severity_name(e.severity), value ? value : "-");
    }
    return text;
}

static void make_memory(void)
{
    sql("CREATE TABLE mc_event (id INTEGER PRIMARY KEY, timestamp TEXT, err_count INTEGER, err_type TEXT, err_msg TEXT, label TEXT, mc INTEGER,"
        " top_layer INTEGER, middle_layer INTEGER, lower_layer INTEGER, address INTEGER, grain INTEGER, syndrome INTEGER, driver_detail TEXT)");
}

static void add_memory(const char *type, const char *label)
{
    sql("INSERT INTO mc_event (timestamp, err_count, err_type, err_msg, label) VALUES ('2026-01-02 03:04:05 +0000', 1, '%s', 'a bit', '%s')", type, label);
}

static void what_was_there_before_is_not_told(void **state)
{
    (void)state;
    make_memory();
    add_memory("Uncorrected", "old");
    assert_string_equal(look("label", 0), "");
    assert_string_equal(look("label", 0), "");
    add_memory("Corrected", "DIMM_A1");
    add_memory("Uncorrected", "DIMM_A2");
    assert_string_equal(look("label", 0), "memory info DIMM_A1; memory error DIMM_A2; notice warning -");
    assert_string_equal(look("label", 0), "");
    add_memory("Fatal", "DIMM_A3"); /* no second notice so soon */
    assert_string_equal(look("at", 0), "memory fatal 2026-01-02 03:04:05 +0000");
}

static void every_table_has_its_severity(void **state)
{
    (void)state;
    make_memory();
    assert_string_equal(look("table", 0), "");
    sql("CREATE TABLE mce_record (id INTEGER PRIMARY KEY, timestamp TEXT, status INTEGER, cpu INTEGER, bank_name TEXT, error_msg TEXT);"
        "INSERT INTO mce_record (status, cpu, error_msg) VALUES (%lld, 1, 'corrected'), (%lld, 2, 'uncorrected'), (%lld, 3, 'corrupt');",
        1LL << 60, (long long)(1ULL << 63 | 1ULL << 61), (long long)(1ULL << 63 | 1ULL << 61 | 1ULL << 57));
    assert_string_equal(look("cpu", 0), "machine-check info 1; machine-check error 2; notice warning -; machine-check fatal 3");
    sql("CREATE TABLE aer_event (id INTEGER PRIMARY KEY, timestamp TEXT, err_type TEXT, err_msg TEXT);"
        "INSERT INTO aer_event (err_type, err_msg) VALUES ('Corrected', 'a'), ('Uncorrected (Non-Fatal)', 'b'), ('Uncorrected (Fatal)', 'c');");
    assert_string_equal(look("err_msg", 0), "pcie info a; pcie error b; pcie fatal c");
    sql("CREATE TABLE memory_failure_event (id INTEGER PRIMARY KEY, timestamp TEXT, pfn TEXT, page_type TEXT, action_result TEXT);"
        "INSERT INTO memory_failure_event (pfn, action_result) VALUES ('1', 'Recovered'), ('2', 'Ignored');"
        "CREATE TABLE disk_errors (id INTEGER PRIMARY KEY, timestamp TEXT, dev TEXT, error TEXT); INSERT INTO disk_errors (dev) VALUES ('sda');"
        "CREATE TABLE extlog_event (id INTEGER PRIMARY KEY, timestamp TEXT, severity INTEGER); INSERT INTO extlog_event (severity) VALUES (0), (7);");
    assert_string_equal(look("table", 0), "memory-failure error memory_failure_event; memory-failure warning memory_failure_event; "
                                          "firmware error extlog_event; firmware warning extlog_event; disk warning disk_errors");
}

static void a_database_may_come_later_or_be_replaced(void **state)
{
    char other[140];
    (void)state;
    assert_string_equal(look("label", SAIKAI_ENOENT), "");
    make_memory();
    add_memory("Corrected", "first");
    assert_string_equal(look("label", 0), "memory info first");
    snprintf(other, sizeof other, "%s.new", path);
    assert_int_equal(rename(path, other), 0);
    make_memory();
    add_memory("Corrected", "of another file");
    assert_string_equal(look("label", 0), "memory info of another file");
    sql("DELETE FROM mc_event");
    assert_string_equal(look("label", 0), "");
    add_memory("Corrected", "after all were gone");
    assert_string_equal(look("label", 0), "memory info after all were gone");
}

static void a_flood_is_told_in_part(void **state)
{
    struct saikai_event e;
    (void)state;
    make_memory();
    look("label", 0);
    sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO mc_event (err_type, label) SELECT 'Corrected', i FROM n");
    look("label", 0);
    assert_in_range(sk_teller_waiting(teller, -1, &e), 20, 64);
    int before = sk_teller_waiting(teller, -1, &e);
    look("label", 0);
    assert_int_equal(sk_teller_waiting(teller, -1, &e), before); /* the rest is not told later */
}

static void what_is_no_database_is_said(void **state)
{
    (void)state;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 5000; i++)
        fputc(i * 7, f);
    fclose(f);
    assert_string_equal(look("label", SAIKAI_EIO), "");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_string_equal(look("label", SAIKAI_EINVAL), "");
    assert_int_equal(rmdir(path), 0);
    sql("CREATE TABLE mc_event (label TEXT)"); /* without numbers */
    assert_string_equal(look("label", SAIKAI_EIO), "");
    sql("DROP TABLE mc_event; CREATE TABLE mc_event (id INTEGER PRIMARY KEY, label BLOB); INSERT INTO mc_event (label) VALUES (zeroblob(300000))");
    look("label", 0);
    sql("INSERT INTO mc_event (label) VALUES (zeroblob(3000)), (NULL), (1.5)");
    assert_string_equal(look("label", 0), "memory warning -; memory warning -; memory warning 1.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_there_before_is_not_told, begin, end),
        cmocka_unit_test_setup_teardown(every_table_has_its_severity, begin, end),
        cmocka_unit_test_setup_teardown(a_database_may_come_later_or_be_replaced, begin, end),
        cmocka_unit_test_setup_teardown(a_flood_is_told_in_part, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_database_is_said, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void)
{
    puts("skip: built without SQLite");
    return 77;
}
#endif
