/* The failure database: what is added is believed, two writers do not lose anything, and whatever lies in its place is an error with
 * the file's name and never a crash. */
#include "schedule/learn/database.h"

#include "base/clock.h"
#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
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
#endif

#include "base/host/open_files_testing.h"

static char dir[64], path[128];
static const double now = 1.7e9;

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-learn-XXXXXX");
    snprintf(path, sizeof path, "%s/state/saikai/failures.db", mkdtemp(dir) ? dir : "/nowhere");
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

static void the_place_is_the_users(void **state)
{
    (void)state;
    char out[256];
    int own;
    struct saikai_error err = {0};
    setenv("XDG_STATE_HOME", "/x/state", 1);
    assert_int_equal(sk_database_place("auto", out, sizeof out, &own, &err), 0);
    assert_string_equal(out, "/x/state/saikai/failures.db");
    assert_int_equal(own, 1);
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", "/home/me", 1);
    assert_int_equal(sk_database_place("auto", out, sizeof out, &own, &err), 0);
    assert_string_equal(out, "/home/me/.local/state/saikai/failures.db");
    unsetenv("HOME");
    assert_int_equal(sk_database_place("auto", out, sizeof out, &own, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_database_place("none", out, sizeof out, &own, &err), 1);
    assert_int_equal(sk_database_place("", out, sizeof out, &own, &err), 1);
    assert_int_equal(sk_database_place("/site/failures.db", out, sizeof out, &own, &err), 0);
    assert_true(!own && !strcmp(out, "/site/failures.db"));
    assert_int_equal(sk_database_place("/site/failures.db", out, 5, &own, &err), SAIKAI_ECONFIG);
    assert_int_equal(sk_database_place("12345", out, 5, &own, &err), SAIKAI_ECONFIG);
    assert_int_equal(sk_database_place("1234", out, 5, &own, &err), 0);
    assert_string_equal(sk_side_name(SK_SIDE_NODE), "node");
    assert_string_equal(sk_side_name(SK_SIDE_PROGRAM), "program");
    assert_null(sk_side_name(-1));
    assert_null(sk_side_name(SK_SIDES));
}

#ifdef HAVE_SQLITE

static struct sk_database *opened(int write)
{
    struct sk_database *db = NULL;
    struct saikai_error err = {0};
    if (sk_database_open(path, 1, write, &db, &err))
        fail_msg("%s", err.text);
    return db;
}

static struct sk_fault_event event_at(double time, enum sk_side side, const char *host, const char *job)
{
    struct sk_fault_event e = {.time = time, .side = side, .source = "signal"};
    snprintf(e.host, sizeof e.host, "%s", host);
    snprintf(e.job, sizeof e.job, "%s", job);
    return e;
}

static int count_rows(void *arg, const struct sk_database_row *row)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

static void what_is_added_is_believed(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *db = NULL;
    struct sk_belief seen;
    double rate;
    assert_int_equal(sk_database_open(path, 1, 0, &db, &err), SAIKAI_ENOENT);
    db = opened(1);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(sk_database_begin(db, &err), 0);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "heat", now, 1000, 0, &err), 0);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "heat", now, 500, 0, &err), 0);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_NODE, "n1", now, 1500, 0, &err), 0);
    struct sk_fault_event e = event_at(now, SK_SIDE_PROGRAM, "n1", "heat");
    assert_int_equal(sk_database_add_event(db, &e, &err), 0);
    assert_int_equal(sk_database_add_event(db, &e, &err), 0); /* the same one */
    assert_int_equal(sk_database_add_rate(db, "N1", 3e-7, &err), 0);
    assert_int_equal(sk_database_commit(db, &err), 0);
    sk_database_close(db);
    db = opened(0);
    assert_int_equal(sk_database_seen(db, SK_SIDE_PROGRAM, "heat", 0, &seen, &err), 0);
    assert_true(seen.faults == 1 && seen.seconds == 1500);
    assert_int_equal(sk_database_seen(db, SK_SIDE_NODE, NULL, 0, &seen, &err), 0);
    assert_true(seen.faults == 0 && seen.seconds == 1500);
    assert_int_equal(sk_database_seen(db, SK_SIDE_NODE, "n2", 0, &seen, &err), 0);
    assert_true(seen.faults == 0 && seen.seconds == 0);
    assert_int_equal(sk_database_stated(db, "n1", &rate, &err), 0);
    assert_true(rate == 3e-7);
    assert_int_equal(sk_database_stated(db, "n2", &rate, &err), 0);
    assert_true(rate == -1);
    int rows = 0;
    assert_int_equal(sk_database_each(db, count_rows, &rows, &err), 0);
    assert_int_equal(rows, 2);
    sk_database_close(db);
}

/* A program that died thirty times says as much about the others as one that died once. */
static void each_program_counts_once_for_the_others(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_belief seen;
    struct sk_database *db = opened(1);
    for (int i = 0; i < 30; i++) {
        struct sk_fault_event e = event_at(now + i * 86400.0, SK_SIDE_PROGRAM, "n1", "broken");
        assert_int_equal(sk_database_add_event(db, &e, &err), 0);
    }
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "broken", now, 600, 0, &err), 0);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "sound", now, 5000, 0, &err), 0);
    assert_int_equal(sk_database_others(db, "heat", 0, &seen, &err), 0);
    assert_true(seen.faults == 1 && fabs(seen.seconds - (600.0 / 30 + 5000)) < 1e-9);
    assert_int_equal(sk_database_others(db, "broken", 0, &seen, &err), 0);
    assert_true(seen.faults == 1 && fabs(seen.seconds - 6500) < 1e-9); /* heat and sound */
    sk_database_close(db);
}

enum { WRITERS = 4, EACH = 10 };

static void *write_some(void *arg)
{
    struct saikai_error err = {0};
    for (int i = 0; i < EACH; i++) {
        struct sk_database *db = NULL;
        struct sk_fault_event e = event_at(now + i, SK_SIDE_NODE, arg, "two");
        int rc = sk_database_open(path, 1, 1, &db, &err);
        rc = rc ? rc : sk_database_begin(db, &err);
        rc = rc ? rc : sk_database_add_time(db, SK_SIDE_PROGRAM, "two", now, 1, 0, &err);
        rc = rc ? rc : sk_database_add_event(db, &e, &err);
        rc = rc ? rc : sk_database_commit(db, &err);
        sk_database_close(db);
        i -= rc == SAIKAI_EBUSY; /* a busy machine: another time, as saikai run does */
        if (rc && rc != SAIKAI_EBUSY)
            return "failed";
    }
    return NULL;
}

static void jobs_at_once_lose_nothing(void **state)
{
    (void)state;
    char *names[WRITERS] = {"a", "b", "c", "d"};
    pthread_t t[WRITERS];
    struct sk_belief seen;
    unlink(path); /* they also make it at once */
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, write_some, names[i]), 0);
    for (int i = 0; i < WRITERS; i++) {
        void *said = NULL;
        pthread_join(t[i], &said);
        assert_null(said);
    }
    struct sk_database *db = opened(0);
    assert_int_equal(sk_database_seen(db, SK_SIDE_PROGRAM, "two", 0, &seen, NULL), 0);
    assert_true(seen.seconds == WRITERS * EACH);
    assert_int_equal(sk_database_seen(db, SK_SIDE_NODE, NULL, 0, &seen, NULL), 0);
    assert_true(seen.faults == WRITERS * EACH);
    sk_database_close(db);
}

static void put(const char *text, size_t n)
{
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), (ssize_t)n);
    close(fd);
}

static void expect_refused(int code, const char *says)
{
    for (int w = 0; w < 2; w++) {
        struct sk_database *db = NULL;
        struct saikai_error err = {0};
        int rc = sk_database_open(path, 1, w, &db, &err);
        if (rc != code || db || !strstr(err.text, says) || !strstr(err.text, path))
            fail_msg("write %d: %d '%s', expected %d '%s'", w, rc, err.text, code, says);
    }
}

static void whatever_lies_there_is_an_error(void **state)
{
    (void)state;
    put("no database at all, and long enough to be read as the head of one: no database at all, no database at all", 100);
    expect_refused(SAIKAI_EFORMAT, "not a database");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refused(SAIKAI_EINVAL, path);
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct sk_database *db = NULL;
    struct saikai_error err = {0};
    assert_int_equal(sk_database_open(path, 1, 0, &db, &err), SAIKAI_EINVAL); /* and is not waited for */
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0); /* nobody leads us elsewhere */
    assert_true(sk_database_open(path, 1, 1, &db, &err) < 0);
    unlink(path);
    if (!geteuid()) {
        sk_database_close(opened(1));
        assert_int_equal(chown(path, 4711, 4711), 0);
        expect_refused(SAIKAI_EAUTH, "belongs to another user");
        assert_int_equal(sk_database_open(path, 0, 0, &db, &err), 0); /* the site's own, named by the user */
        sk_database_close(db);
        unlink(path);
    }
    db = NULL;
    snprintf(path, sizeof path, "/dev/null/failures.db");
    assert_true(sk_database_open(path, 1, 1, &db, &err) < 0);
    assert_null(db);
    snprintf(path, sizeof path, "%s/state/saikai/failures.db", dir);
}

static void change(const char *sql)
{
    sqlite3 *raw = NULL;
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    assert_int_equal(sqlite3_exec(raw, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(raw);
}

/* A database of another program, or of a later release, is left as it is; an empty one becomes ours, but not by reading. */
static void whose_database_it_is(void **state)
{
    (void)state;
    struct sk_database *db = NULL;
    struct saikai_error err = {0};
    struct stat before, after;
    unlink(path);
    change("CREATE TABLE theirs(x)");
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(stat(path, &before), 0);
    expect_refused(SAIKAI_EFORMAT, "another program's");
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    unlink(path);
    sk_database_close(opened(1));
    change("PRAGMA user_version = 2");
    expect_refused(SAIKAI_EFORMAT, "made by a newer release");
    put("", 0);
    assert_int_equal(sk_database_open(path, 1, 0, &db, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "is empty"));
    assert_null(db);
    sk_database_close(opened(1));
    sk_database_close(opened(0));
    unlink(path);
    if (geteuid())
        return;
    /* a folder of another user's is not written to, although it could be */
    char folder[128];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    assert_int_equal(chown(folder, 1, (gid_t)-1), 0);
    assert_int_equal(sk_database_open(path, 1, 1, &db, &err), SAIKAI_EAUTH);
    assert_true(strstr(err.text, folder) && strstr(err.text, "belongs to another user") && access(path, F_OK));
    assert_int_equal(chown(folder, 0, (gid_t)-1), 0);
}

/* Locked by somebody who does not end: it is said so, and what was there stays. */
static void a_lock_is_not_waited_for_for_ever(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *first = opened(1), *second = opened(1);
    assert_int_equal(sk_database_begin(first, &err), 0);
    double began = sk_now();
    assert_int_equal(sk_database_begin(second, &err), SAIKAI_EBUSY);
    assert_true(sk_now() - began > 1.5); /* it may be for a moment only */
    assert_non_null(strstr(err.text, path));
    assert_int_equal(sk_database_commit(second, &err), SAIKAI_EFORMAT); /* it has not begun */
    sk_database_close(first); /* not committed */
    assert_int_equal(sk_database_begin(second, &err), 0);
    assert_int_equal(sk_database_commit(second, &err), 0);
    sk_database_close(second);
    sk_database_close(NULL);
    unlink(path);
}

static struct sk_belief seen_of(struct sk_database *db, const char *name)
{
    struct sk_belief b = {-1, -1};
    assert_int_equal(sk_database_seen(db, SK_SIDE_PROGRAM, name, 0, &b, NULL), 0);
    return b;
}

/* Time that cannot be is not counted; a week can be told anew; what was stated is what was stated last. */
static void what_counts(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *db = opened(1);
    const double week = 604800;
    static const double no_time[] = {0, -5, NAN, INFINITY}, no_date[] = {-1, 2e12, NAN};
    for (size_t i = 0; i < sizeof no_time / sizeof *no_time; i++)
        assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "p", now, no_time[i], 0, &err), 0);
    for (size_t i = 0; i < sizeof no_date / sizeof *no_date; i++)
        assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "p", no_date[i], 7, 0, &err), 0);
    assert_true(seen_of(db, "p").seconds == 0);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "p", 0, 1, 0, &err), 0); /* 1970 is a date */
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "p", 1e12, 2, 0, &err), 0);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "p", week * 5, 10, 0, &err), 0);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "p", week * 6 - 1, 20, 0, &err), 0); /* the same week */
    assert_true(seen_of(db, "p").seconds == 33);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "p", week * 5.5, 100, 1, &err), 0);
    assert_true(seen_of(db, "p").seconds == 103);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "p", week * 6, 1000, 1, &err), 0); /* the next one */
    assert_true(seen_of(db, "p").seconds == 1103);
    double rate;
    assert_int_equal(sk_database_add_rate(db, "n1", 3, &err), 0);
    assert_int_equal(sk_database_add_rate(db, "N1", 4, &err), 0);
    assert_int_equal(sk_database_add_rate(db, "n2", INFINITY, &err), 0);
    assert_int_equal(sk_database_stated(db, "n1", &rate, &err), 0);
    assert_true(rate == 4);
    assert_int_equal(sk_database_stated(db, "n2", &rate, &err), 0);
    assert_true(rate == -1);
    assert_int_equal(sk_database_add_rate(db, "*", 0, &err), 0); /* of all others */
    assert_int_equal(sk_database_stated(db, "n3", &rate, &err), 0);
    assert_true(rate == 0);
    assert_int_equal(sk_database_stated(db, "n1", &rate, &err), 0);
    assert_true(rate == 4);
    sk_database_close(db);
    unlink(path);
}

/* Faults of long ago fade by weeks: memory is how many of them count. */
static void old_weeks_fade(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *db = opened(1);
    struct sk_belief seen, all;
    for (int w = 0; w < 40; w++) {
        assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "p", now + 604800.0 * w, 100, 0, &err), 0);
        struct sk_fault_event e = event_at(now + 604800.0 * w, SK_SIDE_PROGRAM, "n", "p");
        assert_int_equal(sk_database_add_event(db, &e, &err), 0);
    }
    assert_int_equal(sk_database_seen(db, SK_SIDE_PROGRAM, "p", 4, &seen, &err), 0);
    assert_true(fabs(seen.faults - 4) < 1e-3 && fabs(seen.seconds - 350) < 1); /* 50 before and 50 after each */
    assert_int_equal(sk_database_seen(db, SK_SIDE_PROGRAM, NULL, 4, &all, &err), 0);
    assert_true(all.faults == seen.faults && all.seconds == seen.seconds);
    assert_true(seen_of(db, "p").faults == 40 && seen_of(db, "p").seconds == 4000);
    sk_database_close(db);
    unlink(path);
}

static struct sk_database_row listed[8];
static char listed_names[8][16];
static int n_rows;

static int keep_row(void *arg, const struct sk_database_row *row)
{
    snprintf(listed_names[n_rows], sizeof *listed_names, "%s", row->name);
    listed[n_rows++] = *row;
    return n_rows == *(int *)arg;
}

/* Hosts first, then programs, each by name, with what is known of them in all. */
static void everything_is_listed(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_database *db = opened(1);
    struct sk_fault_event of_node = event_at(now + 5, SK_SIDE_NODE, "n2", "p"), of_program = event_at(now + 9, SK_SIDE_PROGRAM, "n2", "q");
    int most = 9;
    assert_int_equal(sk_database_add_event(db, &of_node, &err), 0);
    of_node.time = now + 3;
    assert_int_equal(sk_database_add_event(db, &of_node, &err), 0);
    assert_int_equal(sk_database_add_event(db, &of_program, &err), 0);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_NODE, "n1", now, 10, 0, &err), 0);
    assert_int_equal(sk_database_add_time(db, SK_SIDE_PROGRAM, "q", now, 20, 0, &err), 0);
    n_rows = 0;
    assert_int_equal(sk_database_each(db, keep_row, &most, &err), 0);
    assert_int_equal(n_rows, 3);
    assert_true(!strcmp(listed_names[0], "n1") && listed[0].side == SK_SIDE_NODE && listed[0].seconds == 10 && !listed[0].faults && !listed[0].newest);
    assert_true(!strcmp(listed_names[1], "n2") && listed[1].side == SK_SIDE_NODE && !listed[1].seconds && listed[1].faults == 2 && listed[1].newest == now + 5);
    assert_true(!strcmp(listed_names[2], "q") && listed[2].side == SK_SIDE_PROGRAM && listed[2].seconds == 20 && listed[2].faults == 1 && listed[2].newest == now + 9);
    n_rows = 0;
    most = 2;
    assert_int_equal(sk_database_each(db, keep_row, &most, &err), 1);
    assert_int_equal(n_rows, 2);
    sqlite3 *raw = NULL; /* what else is kept of an event, for people */
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(raw, "SELECT count(*) FROM event WHERE source = 'signal' AND host = 'n2' AND job IN ('p', 'q')", -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(s, 0), 3);
    sqlite3_finalize(s);
    sqlite3_close(raw);
    sk_database_close(db);
    unlink(path);
}

/* Bytes changed anywhere: an error or numbers, and never a crash. */
static void damage_does_no_harm(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    what_is_added_is_believed(state);
    uint8_t image[65536];
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, image, sizeof image);
    close(fd);
    assert_true(n > 4096);
    uint64_t x = 88172645463325252u;
    for (int trial = 0; trial < 300; trial++) {
        uint8_t copy[65536];
        memcpy(copy, image, (size_t)n);
        for (int k = 0; k < 1 + trial % 7; k++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            copy[x % (uint64_t)n] = (uint8_t)(x >> 40);
        }
        put((const char *)copy, trial % 10 ? (size_t)n : (size_t)(x % (uint64_t)n));
        struct sk_database *db = NULL;
        struct sk_belief seen = {0, 0};
        double rate = -1;
        int rows = 0;
        if (sk_database_open(path, 1, 0, &db, &err))
            continue;
        sk_database_seen(db, SK_SIDE_PROGRAM, NULL, 25, &seen, &err);
        sk_database_others(db, "heat", 25, &seen, &err);
        sk_database_stated(db, "n1", &rate, &err);
        sk_database_each(db, count_rows, &rows, &err);
        double shape = 1;
        size_t times = 0;
        sk_database_shape(db, SK_SIDE_PROGRAM, &shape, &times, &err);
        assert_true(isfinite(shape) && shape > 0);
        assert_true(seen.faults >= 0 && isfinite(seen.seconds) && seen.seconds >= 0);
        sk_database_close(db);
    }
    unlink(path);
}

/* One of them, in a transaction of its own or one that is given up. */
static int take(struct sk_id id, int commit)
{
    struct saikai_error err = {0};
    struct sk_database *db = opened(1);
    int is_new = -1;
    assert_int_equal(sk_database_begin(db, &err), 0);
    assert_int_equal(sk_database_take(db, id, &is_new, &err), 0);
    if (commit)
        assert_int_equal(sk_database_commit(db, &err), 0);
    sk_database_close(db);
    return is_new;
}

static void ids_are_taken_once(void **state)
{
    struct sk_id a = sk_id_random(), b = sk_id_random();
    (void)state;
    assert_int_equal(take(a, 0), 1); /* nothing came of it */
    assert_int_equal(take(a, 1), 1);
    assert_int_equal(take(a, 1), 0);
    assert_int_equal(take(b, 1), 1);
    assert_int_equal(take(a, 1), 0);
    sqlite3 *sql = NULL; /* the oldest go when there are too many */
    assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
    assert_int_equal(sqlite3_exec(sql, "INSERT INTO taken VALUES(65537, x'00')", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(sql);
    assert_int_equal(take(sk_id_random(), 1), 1); /* it is the 65538th, so the first two are old */
    assert_int_equal(take(a, 1), 1);
    unlink(path);
}

static void bursts_have_a_shape(void **state)
{
    struct saikai_error err = {0};
    struct sk_database *db = opened(1);
    double shape = 0, at = now;
    size_t n = 9;
    (void)state;
    assert_int_equal(sk_database_shape(db, SK_SIDE_NODE, &shape, &n, &err), 0);
    assert_true(shape == 1 && n == 0);
    assert_int_equal(sk_database_begin(db, &err), 0);
    for (int i = 0; i < 200; i++) { /* four an hour apart, then none for a month; each is told by three hosts */
        at += i % 4 ? 3600 : 30 * 86400;
        for (int k = 0; k < 3; k++) {
            struct sk_fault_event e = event_at(at + k, SK_SIDE_NODE, k ? k > 1 ? "n2" : "n1" : "n0", "");
            assert_int_equal(sk_database_add_event(db, &e, &err), 0);
        }
    }
    assert_int_equal(sk_database_commit(db, &err), 0);
    assert_int_equal(sk_database_shape(db, SK_SIDE_NODE, &shape, &n, &err), 0);
    assert_int_equal(n, 199);
    assert_true(shape > 0.2 && shape < 0.6);
    assert_int_equal(sk_database_shape(db, SK_SIDE_PROGRAM, &shape, &n, &err), 0);
    assert_int_equal(n, 0);
    sk_database_close(db);
    unlink(path);
}

/* What many hosts tell within ten minutes is one fault; what comes after them is another one. */
static void ten_minutes_are_one_fault(void **state)
{
    struct saikai_error err = {0};
    struct sk_database *db = opened(1);
    static const double after[] = {0, 600, 1200, 1800.5, 2400.5, 3001};
    static const size_t times[] = {0, 0, 0, 1, 1, 2};
    double shape;
    (void)state;
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        struct sk_fault_event e = event_at(1e6 + after[i], SK_SIDE_NODE, "n1", "");
        size_t n = 9;
        assert_int_equal(sk_database_add_event(db, &e, &err), 0);
        assert_int_equal(sk_database_shape(db, SK_SIDE_NODE, &shape, &n, &err), 0);
        assert_int_equal(n, times[i]);
    }
    sk_database_close(db);
    unlink(path);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_files),
        cmocka_unit_test(the_place_is_the_users),
#ifdef HAVE_SQLITE
        cmocka_unit_test(what_is_added_is_believed),
        cmocka_unit_test(each_program_counts_once_for_the_others),
        cmocka_unit_test(jobs_at_once_lose_nothing),
        cmocka_unit_test(whatever_lies_there_is_an_error),
        cmocka_unit_test(damage_does_no_harm),
        cmocka_unit_test(whose_database_it_is),
        cmocka_unit_test(a_lock_is_not_waited_for_for_ever),
        cmocka_unit_test(what_counts),
        cmocka_unit_test(old_weeks_fade),
        cmocka_unit_test(everything_is_listed),
        cmocka_unit_test(ids_are_taken_once),
        cmocka_unit_test(bursts_have_a_shape),
        cmocka_unit_test(ten_minutes_are_one_fault),
#endif
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
