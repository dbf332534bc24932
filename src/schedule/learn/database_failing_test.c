/* The failure database when SQLite fails at a step of something: it is said which file, with the code that tells what may help, and
 * what was asked for is left as it was. */
#include "schedule/learn/database.h"

#include "base/file/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#ifdef HAVE_SQLITE
#include <sqlite3.h>

#include "base/host/open_files_testing.h"

static char dir[64], path[128];
static const double now = 1.7e9;

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-learn-XXXXXX");
    snprintf(path, sizeof path, "%s/failures.db", mkdtemp(dir) ? dir : "/nowhere");
    return access(dir, W_OK);
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* A statement that is not given up keeps its connection, and so its file, open. The number 0 stays taken: SQLite uses none below 3. */
static void remember_files(void **state)
{
    (void)state;
    open_files_before = open_files();
}

/* A new one, and then this is done to it behind its back. */
static struct sk_database *opened(int write, const char *sql)
{
    struct sk_database *db = NULL;
    struct saikai_error err = {0};
    sqlite3 *raw = NULL;
    char *why = NULL;
    unlink(path);
    if (sk_database_open(path, 1, 1, &db, &err))
        fail_msg("%s", err.text);
    sk_database_close(db);
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    if (sqlite3_exec(raw, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s", why);
    sqlite3_close(raw);
    db = NULL;
    if (sk_database_open(path, 1, write, &db, &err))
        fail_msg("%s", err.text);
    return db;
}

/* ---- everything that is asked of it, one after the other; what each one leaves when it fails is looked at ---- */

enum { TIME, TIME_ANEW, EVENT, RATE, TAKE, ADDED, SEEN = ADDED, SEEN_ONE, OTHERS, SHAPE, STATED, EACH, OPS };

static int never(void *arg, const struct sk_database_row *row)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

static int ask(struct sk_database *db, int op, struct saikai_error *err)
{
    const struct sk_fault_event e = {.time = now, .side = SK_SIDE_NODE, .host = "n1", .job = "p", .source = "signal"};
    struct sk_belief seen = {-3, -4};
    double number = -5;
    size_t n = 9;
    int is_new = 9, rows = 0, rc = 0;
    switch (op) {
    case TIME: return sk_database_add_time(db, SK_SIDE_PROGRAM, "p", now, 5, 0, err);
    case TIME_ANEW: return sk_database_add_time(db, SK_SIDE_PROGRAM, "p", now, 5, 1, err);
    case EVENT: return sk_database_add_event(db, &e, err);
    case RATE: return sk_database_add_rate(db, "n1", 3, err);
    case TAKE:
        rc = sk_database_take(db, sk_id_random(), &is_new, err);
        return rc;
    case SEEN: rc = sk_database_seen(db, SK_SIDE_PROGRAM, NULL, 0, &seen, err); break;
    case SEEN_ONE: rc = sk_database_seen(db, SK_SIDE_PROGRAM, "p", 0, &seen, err); break;
    case OTHERS: rc = sk_database_others(db, "q", 0, &seen, err); break;
    case SHAPE: rc = sk_database_shape(db, SK_SIDE_NODE, &number, &n, err); break;
    case STATED: rc = sk_database_stated(db, "n1", &number, err); break;
    default: rc = sk_database_each(db, never, &rows, err); break;
    }
    if (rc && (seen.faults != -3 || seen.seconds != -4 || rows))
        fail_msg("operation %d fails, and answers", op);
    if (rc && op == STATED)
        assert_true(number == -5);
    return rc;
}

/* The operations in `which` fail with this code, all others work. */
static void expect(const char *sql, int write, unsigned which, int code)
{
    for (int op = 0; op < OPS; op++) {
        struct saikai_error err = {0};
        struct sk_database *db = opened(write, sql);
        int rc = ask(db, op, &err), wanted = which >> op & 1 ? code : 0;
        if (rc != wanted || (rc && (err.code != rc || !strstr(err.text, path))))
            fail_msg("'%s', operation %d: %d '%s', expected %d", sql, op, rc, err.text, wanted);
        sk_database_close(db);
    }
}

enum { ALL_ADD = (1 << ADDED) - 1, OF_TIME = 1 << TIME | 1 << TIME_ANEW, ASKS_TIME = 1 << SEEN | 1 << SEEN_ONE | 1 << OTHERS | 1 << EACH,
       ASKS_EVENTS = ASKS_TIME | 1 << SHAPE };

static void all_is_well(void **state)
{
    (void)state;
    expect("INSERT INTO rates VALUES('n1', 7)", 1, 0, 0);
}

static void tables_are_missing(void **state)
{
    (void)state;
    expect("DROP TABLE exposure", 1, OF_TIME | ASKS_TIME, SAIKAI_EFORMAT);
    expect("DROP TABLE event", 1, 1 << EVENT | ASKS_EVENTS, SAIKAI_EFORMAT);
    expect("DROP TABLE rates", 1, 1 << RATE | 1 << STATED, SAIKAI_EFORMAT);
    expect("CREATE VIEW taken AS SELECT 1 AS number, x'00' AS id", 1, 1 << TAKE, SAIKAI_EFORMAT);
}

/* It is prepared, and then fails. */
static void a_step_fails(void **state)
{
    (void)state;
    static const char too_large[] = "abs(-9223372036854775807 - 1)";
    char sql[512];
    expect("CREATE TRIGGER t BEFORE INSERT ON exposure BEGIN SELECT RAISE(ABORT, 'no'); END", 1, OF_TIME, SAIKAI_EFORMAT);
    expect("CREATE TRIGGER t BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'no'); END", 1, 1 << EVENT, SAIKAI_EFORMAT);
    expect("CREATE TRIGGER t BEFORE INSERT ON rates BEGIN SELECT RAISE(ABORT, 'no'); END", 1, 1 << RATE, SAIKAI_EFORMAT);
    expect("INSERT INTO rates VALUES('n1', 1); CREATE TRIGGER t BEFORE DELETE ON rates BEGIN SELECT RAISE(ABORT, 'no'); END", 1, 1 << RATE,
           SAIKAI_EFORMAT);
    expect("CREATE TABLE taken(number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE);"
           "CREATE TRIGGER t BEFORE INSERT ON taken BEGIN SELECT RAISE(ABORT, 'no'); END", 1, 1 << TAKE, SAIKAI_EFORMAT);
    expect("CREATE TABLE taken(number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE);"
           "INSERT INTO taken VALUES(1, x'00'); INSERT INTO taken VALUES(70000, x'01');"
           "CREATE TRIGGER t BEFORE DELETE ON taken BEGIN SELECT RAISE(ABORT, 'no'); END", 1, 1 << TAKE, SAIKAI_EFORMAT);
    expect("CREATE TABLE taken(id BLOB NOT NULL UNIQUE)", 1, 1 << TAKE, SAIKAI_EFORMAT); /* it is added, and the oldest are not found */
    snprintf(sql, sizeof sql, "DROP TABLE exposure; CREATE VIEW exposure AS SELECT 'program' AS side, 'p' AS name, 1 AS week, %s AS seconds", too_large);
    expect(sql, 1, OF_TIME | ASKS_TIME, SAIKAI_EFORMAT);
    snprintf(sql, sizeof sql, "DROP TABLE event; CREATE VIEW event AS SELECT %s AS time, 'node' AS side, 'n1' AS host, 's' AS source, 'p' AS job UNION "
                              "SELECT %s, 'program', 'n1', 's', 'p'", too_large, too_large);
    expect(sql, 1, 1 << EVENT | ASKS_EVENTS, SAIKAI_EFORMAT);
    snprintf(sql, sizeof sql, "DROP TABLE rates; CREATE VIEW rates AS SELECT 'n1' AS host, %s AS rate", too_large);
    expect(sql, 1, 1 << RATE | 1 << STATED, SAIKAI_EFORMAT);
}

/* Asking works, and adding says that it cannot: a database of the site, say, that was opened to be read. */
static void it_cannot_be_written(void **state)
{
    (void)state;
    expect("INSERT INTO rates VALUES('n1', 7)", 0, ALL_ADD, SAIKAI_EIO);
}

/* Somebody else has it for longer than is waited for. */
static void it_is_locked(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *db = opened(1, ""), *other = NULL;
    assert_int_equal(sk_database_open(path, 1, 1, &other, &err), 0);
    assert_int_equal(sk_database_begin(other, &err), 0);
    assert_int_equal(ask(db, TIME, &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(sk_database_commit(other, &err), 0);
    assert_int_equal(ask(db, TIME, &err), 0);
    sk_database_close(other);
    sk_database_close(db);
}

/* There is no memory, for opening it and for each question: that may pass. */
static void memory_is_out(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *db = opened(1, "INSERT INTO rates VALUES('n1', 7)"), *another = NULL;
    for (int op = 0; op < OPS; op++) {
        sqlite3_hard_heap_limit64(1);
        int rc = ask(db, op, &err);
        sqlite3_hard_heap_limit64(0);
        if (rc != SAIKAI_ENOMEM || !strstr(err.text, path))
            fail_msg("operation %d: %d '%s'", op, rc, err.text);
    }
    assert_int_equal(ask(db, STATED, &err), 0);
    sk_database_close(db);
    sqlite3_hard_heap_limit64(1);
    int rc = sk_database_open(path, 1, 1, &another, &err);
    sqlite3_hard_heap_limit64(0);
    assert_int_equal(rc, SAIKAI_ENOMEM);
    assert_null(another);
    assert_non_null(strstr(err.text, path));
}

/* Whoever may write the file may put views in place of its tables: these reach nothing but the file's own tables. */
static void views_reach_tables_alone(void **state)
{
    (void)state;
    sqlite3 *raw = NULL;
    assert_int_equal(sqlite3_open(":memory:", &raw), SQLITE_OK);
    int has_dbstat = sqlite3_exec(raw, "SELECT count(*) FROM dbstat", NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(raw);
    if (!has_dbstat)
        skip();
    expect("DROP TABLE exposure; CREATE VIEW exposure AS SELECT 'program' AS side, name, 1 AS week, 1.0 AS seconds FROM dbstat", 1,
           OF_TIME | ASKS_TIME, SAIKAI_EFORMAT);
}

/* Nor does a trigger of theirs write what an index of SQLite's own is made of. */
static void triggers_write_no_shadow_tables(void **state)
{
    (void)state;
    sqlite3 *raw = NULL;
    assert_int_equal(sqlite3_open(":memory:", &raw), SQLITE_OK);
    int has_index = sqlite3_exec(raw, "CREATE VIRTUAL TABLE f USING fts5(x)", NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(raw);
    if (!has_index)
        skip();
    expect("CREATE VIRTUAL TABLE f USING fts5(x); CREATE TRIGGER t AFTER INSERT ON exposure BEGIN INSERT INTO f_content VALUES(1, 'y'); END", 1,
           OF_TIME, SAIKAI_EFORMAT);
}

/* For each connection that is opened: the file may not grow. */
static int no_growth(sqlite3 *sql, char **why, const void *api)
{
    (void)why;
    (void)api;
    return sqlite3_exec(sql, "PRAGMA max_page_count = 1", NULL, NULL, NULL); /* as many as there are */
}

static void the_disk_is_full(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *db = NULL;
    char name[32];
    int rc = 0;
    sk_database_close(opened(1, ""));
    assert_int_equal(sqlite3_auto_extension((void (*)(void))no_growth), SQLITE_OK);
    assert_int_equal(sk_database_open(path, 1, 1, &db, &err), 0);
    sqlite3_reset_auto_extension();
    for (int i = 0; i < 10000 && !rc; i++) {
        snprintf(name, sizeof name, "program %d", i);
        rc = sk_database_add_time(db, SK_SIDE_PROGRAM, name, now, 5, 0, &err);
    }
    assert_int_equal(rc, SAIKAI_ENOSPC);
    assert_non_null(strstr(err.text, path));
    sk_database_close(db);
}

/* A file stands where a folder is needed. */
static void there_can_be_no_folder(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *db = NULL;
    char file[160], below[192];
    snprintf(file, sizeof file, "%s/plain", dir);
    snprintf(below, sizeof below, "%s/more/failures.db", file);
    assert_int_equal(sk_io_replace(file, "x", 1, NULL), 0);
    assert_true(sk_database_open(below, 1, 1, &db, &err) < 0);
    assert_non_null(strstr(err.text, "cannot make "));
    assert_non_null(strstr(err.text, file));
    assert_true(sk_database_open(below, 1, 0, &db, &err) < 0);
    assert_non_null(strstr(err.text, "cannot open "));
    assert_null(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_files), cmocka_unit_test(all_is_well), cmocka_unit_test(tables_are_missing), cmocka_unit_test(a_step_fails),
        cmocka_unit_test(it_cannot_be_written), cmocka_unit_test(it_is_locked), cmocka_unit_test(views_reach_tables_alone), cmocka_unit_test(memory_is_out), cmocka_unit_test(the_disk_is_full),
        cmocka_unit_test(there_can_be_no_folder), cmocka_unit_test(triggers_write_no_shadow_tables),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

#else

int main(void)
{
    return 77;
}

#endif
