/* The failure database in SQLite. */
#include "schedule/learn/database.h"

#ifdef HAVE_SQLITE

#include "schedule/failure/weibull.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 1, APPLICATION = 0x53414b49 /* "SAKI" */, PATIENCE_MS = 2000 };
static const double week_s = 604800;

struct sk_database {
    sqlite3 *sql;
    char path[PATH_MAX];
};

static const char schema[] =
    "PRAGMA application_id = 1396788041; PRAGMA user_version = 1;"
    "CREATE TABLE exposure(side TEXT NOT NULL, name TEXT NOT NULL, week INTEGER NOT NULL, seconds REAL NOT NULL,"
    " PRIMARY KEY(side, name, week)) WITHOUT ROWID;"
    "CREATE TABLE event(time REAL NOT NULL, side TEXT NOT NULL, host TEXT NOT NULL, source TEXT NOT NULL, job TEXT NOT NULL,"
    " PRIMARY KEY(side, time, host, job)) WITHOUT ROWID;"
    "CREATE INDEX event_host ON event(side, host); CREATE INDEX event_job ON event(side, job);"
    "CREATE TABLE IF NOT EXISTS rates(host TEXT, rate REAL);";

static int code_of(int sqlite)
{
    switch (sqlite & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return SAIKAI_EBUSY;
    case SQLITE_NOMEM:
        return SAIKAI_ENOMEM;
    case SQLITE_FULL:
        return SAIKAI_ENOSPC;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_IOERR:
        return SAIKAI_EIO;
    default:
        return SAIKAI_EFORMAT;
    }
}

static int failed(struct sk_database *db, struct saikai_error *err)
{
    return sk_fail(err, code_of(db->sql ? sqlite3_errcode(db->sql) : SQLITE_NOMEM), "failure database %s: %s", db->path,
                   db->sql ? sqlite3_errmsg(db->sql) : "out of memory");
}

static int run(struct sk_database *db, const char *sql, struct saikai_error *err)
{
    return sqlite3_exec(db->sql, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(db, err);
}

static int number(struct sk_database *db, const char *sql, int64_t *out, struct saikai_error *err)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW ? 0 : failed(db, err);
    if (!rc)
        *out = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return rc;
}

/* ---- opening ---- */

static int is_ours(const char *path, const struct stat *st, struct saikai_error *err)
{
    if (st->st_uid == geteuid())
        return 0;
    return sk_fail(err, SAIKAI_EAUTH, "failure database: %s belongs to another user", path);
}

/* The folders of a path, for this user alone. */
static int make_folders(const char *path, struct saikai_error *err)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s", path);
    for (char *p = dir + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        if (mkdir(dir, 0700) && errno != EEXIST)
            return sk_fail_errno(err, errno, "failure database: cannot make %s", dir);
        *p = '/';
    }
    return 0;
}

/* The file as it is, or a new empty one. */
static int prepare_file(const char *path, int own, int write, struct saikai_error *err)
{
    struct stat st;
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s", path);
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
    if (write && own) {
        int rc = make_folders(path, err);
        if (rc)
            return rc;
    }
    if (own && slash && !stat(dir, &st) && is_ours(dir, &st, err))
        return SAIKAI_EAUTH;
    if (!stat(path, &st) && !S_ISREG(st.st_mode))
        return sk_fail(err, SAIKAI_EINVAL, "failure database: %s is no file", path);
    int fd = open(path, (write ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (own ? O_NOFOLLOW : 0),
                  own ? 0600 : 0666);
    if (fd < 0)
        return sk_fail_errno(err, errno, "failure database: cannot open %s", path);
    int rc = 0;
    if (fstat(fd, &st))
        rc = sk_fail_errno(err, errno, "failure database %s", path);
    else if (!S_ISREG(st.st_mode))
        rc = sk_fail(err, SAIKAI_EINVAL, "failure database: %s is no file", path);
    else if (own)
        rc = is_ours(path, &st, err);
    close(fd);
    return rc;
}

/* Two jobs may do this at once: whoever comes second finds it done. */
static int make_tables(struct sk_database *db, struct saikai_error *err)
{
    int64_t version = 0;
    int rc = run(db, "BEGIN IMMEDIATE", err);
    if (!rc)
        rc = number(db, "PRAGMA user_version", &version, err);
    if (!rc && !version)
        rc = run(db, schema, err);
    return rc ? rc : run(db, "COMMIT", err);
}

static int check(struct sk_database *db, int write, struct saikai_error *err)
{
    int64_t application = 0, version = 0, tables = 0;
    int rc = number(db, "SELECT count(*) FROM sqlite_master", &tables, err);
    if (!rc && !tables && !write)
        return sk_fail(err, SAIKAI_ENOENT, "failure database %s: is empty", db->path);
    if (!rc && !tables)
        rc = make_tables(db, err);
    if (!rc)
        rc = number(db, "PRAGMA application_id", &application, err);
    if (!rc)
        rc = number(db, "PRAGMA user_version", &version, err);
    if (!rc && application != APPLICATION)
        rc = sk_fail(err, SAIKAI_EFORMAT, "failure database: %s is another program's", db->path);
    if (!rc && version != VERSION)
        rc = sk_fail(err, SAIKAI_EFORMAT, "failure database %s: made by a newer release", db->path);
    return rc;
}

int sk_database_open(const char *path, int own, int write, struct sk_database **out, struct saikai_error *err)
{
    int rc = prepare_file(path, own, write, err);
    if (rc)
        return rc;
    struct sk_database *db = calloc(1, sizeof *db);
    if (!db)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the failure database");
    snprintf(db->path, sizeof db->path, "%s", path);
    if (sqlite3_open_v2(path, &db->sql, (write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_PRIVATECACHE, NULL) !=
        SQLITE_OK)
        rc = failed(db, err);
    if (!rc) {
        sqlite3_busy_timeout(db->sql, PATIENCE_MS);
        sqlite3_db_config(db->sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        rc = run(db, "PRAGMA trusted_schema = OFF", err);
    }
    if (!rc)
        rc = check(db, write, err);
    if (rc) {
        sk_database_close(db);
        return rc;
    }
    *out = db;
    return 0;
}

void sk_database_close(struct sk_database *db)
{
    if (!db)
        return;
    sqlite3_close(db->sql);
    free(db);
}

/* ---- adding ---- */

int sk_database_begin(struct sk_database *db, struct saikai_error *err)
{
    return run(db, "BEGIN IMMEDIATE", err);
}

int sk_database_commit(struct sk_database *db, struct saikai_error *err)
{
    return run(db, "COMMIT", err);
}

static int finish(struct sk_database *db, sqlite3_stmt *s, struct saikai_error *err)
{
    int step = sqlite3_step(s), rc = step == SQLITE_DONE || step == SQLITE_ROW ? 0 : failed(db, err);
    sqlite3_finalize(s);
    return rc;
}

/* The table is younger than the others, so it is made where it is missing. Numbers grow, so that the oldest ids go first. */
int sk_database_take(struct sk_database *db, struct sk_id id, int *is_new, struct saikai_error *err)
{
    static const char make[] = "CREATE TABLE IF NOT EXISTS taken(number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE)";
    sqlite3_stmt *s = NULL;
    int rc = run(db, make, err);
    if (!rc && sqlite3_prepare_v2(db->sql, "INSERT OR IGNORE INTO taken(id) VALUES(?1)", -1, &s, NULL) != SQLITE_OK)
        rc = failed(db, err);
    if (rc)
        return rc;
    sqlite3_bind_blob(s, 1, id.b, sizeof id.b, SQLITE_STATIC);
    rc = finish(db, s, err);
    *is_new = !rc && sqlite3_changes(db->sql) > 0;
    if (rc || !*is_new)
        return rc;
    if (sqlite3_prepare_v2(db->sql, "DELETE FROM taken WHERE number <= ?1", -1, &s, NULL) != SQLITE_OK)
        return failed(db, err);
    sqlite3_bind_int64(s, 1, sqlite3_last_insert_rowid(db->sql) - SK_DATABASE_TAKEN);
    return finish(db, s, err);
}

int sk_database_add_time(struct sk_database *db, enum sk_side side, const char *name, double at, double seconds, int replace,
                         struct saikai_error *err)
{
    sqlite3_stmt *s = NULL;
    if (!(seconds > 0) || !isfinite(seconds) || !(at >= 0) || at > 1e12)
        return 0;
    const char *sql = replace ? "INSERT OR REPLACE INTO exposure VALUES(?1, ?2, ?3, ?4)"
                              : "INSERT INTO exposure VALUES(?1, ?2, ?3, ?4) "
                                "ON CONFLICT(side, name, week) DO UPDATE SET seconds = seconds + excluded.seconds";
    if (sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) != SQLITE_OK)
        return failed(db, err);
    sqlite3_bind_text(s, 1, sk_side_name(side), -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, (int64_t)(at / week_s));
    sqlite3_bind_double(s, 4, seconds);
    return finish(db, s, err);
}

int sk_database_add_event(struct sk_database *db, const struct sk_fault_event *e, struct saikai_error *err)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db->sql, "INSERT OR IGNORE INTO event VALUES(?1, ?2, ?3, ?4, ?5)", -1, &s, NULL) != SQLITE_OK)
        return failed(db, err);
    sqlite3_bind_double(s, 1, e->time);
    sqlite3_bind_text(s, 2, sk_side_name(e->side), -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, e->host, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 4, e->source, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 5, e->job, -1, SQLITE_STATIC);
    return finish(db, s, err);
}

int sk_database_add_rate(struct sk_database *db, const char *host, double rate, struct saikai_error *err)
{
    static const char *const steps[] = {"DELETE FROM rates WHERE host = ?1 COLLATE NOCASE", "INSERT INTO rates VALUES(?1, ?2)"};
    int rc = 0;
    for (int i = 0; i < 2 && !rc; i++) {
        sqlite3_stmt *s = NULL;
        if (sqlite3_prepare_v2(db->sql, steps[i], -1, &s, NULL) != SQLITE_OK)
            return failed(db, err);
        sqlite3_bind_text(s, 1, host, -1, SQLITE_STATIC);
        if (i)
            sqlite3_bind_double(s, 2, rate);
        rc = finish(db, s, err);
    }
    return rc;
}

/* ---- asking ---- */

/* A row that begins with seconds and faults; whoever may write the file may write anything. */
static void take_period(struct sk_belief *b, sqlite3_stmt *s, double memory)
{
    double seconds = sqlite3_column_double(s, 0), faults = sqlite3_column_double(s, 1);
    if (isfinite(seconds) && isfinite(faults))
        sk_belief_period(b, fmax(0, seconds), fmax(0, faults), memory);
}

int sk_database_seen(struct sk_database *db, enum sk_side side, const char *name, double memory, struct sk_belief *seen,
                     struct saikai_error *err)
{
    static const char all[] = "SELECT sum(seconds), sum(faults) FROM ("
                              "SELECT week, seconds, 0 AS faults FROM exposure WHERE side = ?1 UNION ALL "
                              "SELECT CAST(time / 604800 AS INTEGER), 0, 1 FROM event WHERE side = ?1) GROUP BY week ORDER BY week";
    static const char *const one[SK_SIDES] = {
        "SELECT sum(seconds), sum(faults) FROM ("
        "SELECT week, seconds, 0 AS faults FROM exposure WHERE side = ?1 AND name = ?2 UNION ALL "
        "SELECT CAST(time / 604800 AS INTEGER), 0, 1 FROM event WHERE side = ?1 AND host = ?2) GROUP BY week ORDER BY week",
        "SELECT sum(seconds), sum(faults) FROM ("
        "SELECT week, seconds, 0 AS faults FROM exposure WHERE side = ?1 AND name = ?2 UNION ALL "
        "SELECT CAST(time / 604800 AS INTEGER), 0, 1 FROM event WHERE side = ?1 AND job = ?2) GROUP BY week ORDER BY week"};
    struct sk_belief b = {0, 0};
    sqlite3_stmt *s = NULL;
    int step;
    if (sqlite3_prepare_v2(db->sql, name ? one[side] : all, -1, &s, NULL) != SQLITE_OK)
        return failed(db, err);
    sqlite3_bind_text(s, 1, sk_side_name(side), -1, SQLITE_STATIC);
    if (name)
        sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
    while ((step = sqlite3_step(s)) == SQLITE_ROW)
        take_period(&b, s, memory);
    int rc = step == SQLITE_DONE ? 0 : failed(db, err);
    sqlite3_finalize(s);
    if (!rc)
        *seen = b;
    return rc;
}

static void add_one_of_many(struct sk_belief *all, const struct sk_belief *one)
{
    double most = fmax(1, one->faults);
    all->faults += one->faults / most;
    all->seconds += one->seconds / most;
}

int sk_database_others(struct sk_database *db, const char *except, double memory, struct sk_belief *seen, struct saikai_error *err)
{
    static const char sql[] = "SELECT sum(seconds), sum(faults), name FROM ("
                              "SELECT name, week, seconds, 0 AS faults FROM exposure WHERE side = 'program' UNION ALL "
                              "SELECT job, CAST(time / 604800 AS INTEGER), 0, 1 FROM event WHERE side = 'program') "
                              "WHERE ?1 IS NULL OR name <> ?1 GROUP BY name, week ORDER BY name, week";
    struct sk_belief all = {0, 0}, one = {0, 0};
    char last[SK_NAME_BYTES] = "";
    sqlite3_stmt *s = NULL;
    int step;
    if (sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) != SQLITE_OK)
        return failed(db, err);
    if (except)
        sqlite3_bind_text(s, 1, except, -1, SQLITE_STATIC);
    while ((step = sqlite3_step(s)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(s, 2);
        if (name && strncmp(last, name, sizeof last - 1)) {
            add_one_of_many(&all, &one);
            one = (struct sk_belief){0, 0};
            snprintf(last, sizeof last, "%s", name);
        }
        take_period(&one, s, memory);
    }
    add_one_of_many(&all, &one);
    int rc = step == SQLITE_DONE ? 0 : failed(db, err);
    sqlite3_finalize(s);
    if (!rc)
        *seen = all;
    return rc;
}

int sk_database_shape(struct sk_database *db, enum sk_side side, double *shape, size_t *n, struct saikai_error *err)
{
    enum { MOST = 65536 };
    static const double one_s = 600;
    double *times = malloc(MOST * sizeof *times), last = 0;
    sqlite3_stmt *s = NULL;
    int step = SQLITE_DONE, first = 1;
    *n = 0;
    if (!times)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the times of failures");
    int rc = sqlite3_prepare_v2(db->sql, "SELECT time FROM event WHERE side = ?1 ORDER BY time DESC LIMIT 65537", -1, &s, NULL) == SQLITE_OK
                 ? 0 : failed(db, err);
    if (!rc)
        sqlite3_bind_text(s, 1, sk_side_name(side), -1, SQLITE_STATIC);
    while (!rc && (step = sqlite3_step(s)) == SQLITE_ROW && *n < MOST) {
        double at = sqlite3_column_double(s, 0);
        if (!first && last - at > one_s)
            times[(*n)++] = last - at;
        last = at;
        first = 0;
    }
    if (!rc && step != SQLITE_DONE && step != SQLITE_ROW)
        rc = failed(db, err);
    sqlite3_finalize(s);
    *shape = sk_weibull_shape(times, *n);
    free(times);
    return rc;
}

int sk_database_stated(struct sk_database *db, const char *host, double *rate, struct saikai_error *err)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db->sql, "SELECT rate FROM rates WHERE host = ?1 COLLATE NOCASE OR host = '*' ORDER BY host = '*' LIMIT 1", -1,
                           &s, NULL) != SQLITE_OK)
        return failed(db, err);
    sqlite3_bind_text(s, 1, host, -1, SQLITE_STATIC);
    int step = sqlite3_step(s);
    double v = step == SQLITE_ROW ? sqlite3_column_double(s, 0) : -1;
    int rc = step == SQLITE_ROW || step == SQLITE_DONE ? 0 : failed(db, err);
    sqlite3_finalize(s);
    if (!rc)
        *rate = v >= 0 && isfinite(v) ? v : -1;
    return rc;
}

int sk_database_each(struct sk_database *db, int (*each)(void *arg, const struct sk_database_row *row), void *arg,
                     struct saikai_error *err)
{
    static const char sql[] =
        "SELECT side, name, sum(seconds), sum(faults), max(newest) FROM ("
        "SELECT side, name, seconds, 0 AS faults, 0 AS newest FROM exposure UNION ALL "
        "SELECT side, CASE side WHEN 'node' THEN host ELSE job END, 0, 1, time FROM event) GROUP BY side, name ORDER BY side, name";
    sqlite3_stmt *s = NULL;
    int rc = 0, step = SQLITE_DONE;
    if (sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) != SQLITE_OK)
        return failed(db, err);
    while (!rc && (step = sqlite3_step(s)) == SQLITE_ROW) {
        const char *side = (const char *)sqlite3_column_text(s, 0), *name = (const char *)sqlite3_column_text(s, 1);
        struct sk_database_row row = {.side = side && !strcmp(side, "node") ? SK_SIDE_NODE : SK_SIDE_PROGRAM,
                                      .name = name ? name : "?",
                                      .seconds = sqlite3_column_double(s, 2),
                                      .faults = sqlite3_column_double(s, 3),
                                      .newest = sqlite3_column_double(s, 4)};
        rc = each(arg, &row);
    }
    if (!rc && step != SQLITE_DONE)
        rc = failed(db, err);
    sqlite3_finalize(s);
    return rc;
}

#else

int sk_database_open(const char *path, int own, int write, struct sk_database **out, struct saikai_error *err)
{
    (void)own, (void)write, (void)out;
    return sk_fail(err, SAIKAI_ENOTSUP, "failure database %s: built without SQLite", path);
}

void sk_database_close(struct sk_database *db)
{
    (void)db;
}

static int nothing_open(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOTSUP, "no failure database is open");
}

int sk_database_begin(struct sk_database *db, struct saikai_error *err)
{
    (void)db;
    return nothing_open(err);
}

int sk_database_commit(struct sk_database *db, struct saikai_error *err)
{
    (void)db;
    return nothing_open(err);
}

int sk_database_take(struct sk_database *db, struct sk_id id, int *is_new, struct saikai_error *err)
{
    (void)db, (void)id, (void)is_new;
    return nothing_open(err);
}

int sk_database_add_time(struct sk_database *db, enum sk_side side, const char *name, double at, double seconds, int replace, struct saikai_error *err)
{
    (void)db, (void)side, (void)name, (void)at, (void)seconds, (void)replace;
    return nothing_open(err);
}

int sk_database_add_event(struct sk_database *db, const struct sk_fault_event *e, struct saikai_error *err)
{
    (void)db, (void)e;
    return nothing_open(err);
}

int sk_database_add_rate(struct sk_database *db, const char *host, double rate, struct saikai_error *err)
{
    (void)db, (void)host, (void)rate;
    return nothing_open(err);
}

int sk_database_seen(struct sk_database *db, enum sk_side side, const char *name, double memory, struct sk_belief *seen, struct saikai_error *err)
{
    (void)db, (void)side, (void)name, (void)memory, (void)seen;
    return nothing_open(err);
}

int sk_database_others(struct sk_database *db, const char *except, double memory, struct sk_belief *seen, struct saikai_error *err)
{
    (void)db, (void)except, (void)memory, (void)seen;
    return nothing_open(err);
}

int sk_database_shape(struct sk_database *db, enum sk_side side, double *shape, size_t *n, struct saikai_error *err)
{
    (void)db, (void)side, (void)shape, (void)n;
    return nothing_open(err);
}

int sk_database_stated(struct sk_database *db, const char *host, double *rate, struct saikai_error *err)
{
    (void)db, (void)host, (void)rate;
    return nothing_open(err);
}

int sk_database_each(struct sk_database *db, int (*each)(void *arg, const struct sk_database_row *row), void *arg, struct saikai_error *err)
{
    (void)db, (void)each, (void)arg;
    return nothing_open(err);
}

#endif
