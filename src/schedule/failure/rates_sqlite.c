/* Failure rates in SQLite: the table rates(host TEXT, rate REAL), failures per second. */
#include "schedule/failure/rates.h"

#include <string.h>

static int recognises(const uint8_t *head, size_t n)
{
    return n == 16 && !memcmp(head, "SQLite format 3", 16); /* with its terminating zero */
}

#ifdef HAVE_SQLITE
#include <sqlite3.h>

static int add_row(const char *path, sqlite3_stmt *s, int64_t row, struct sk_rates *into,
                   struct saikai_error *err)
{
    int type = sqlite3_column_type(s, 1);
    const char *host =
        sqlite3_column_type(s, 0) == SQLITE_TEXT ? (const char *)sqlite3_column_text(s, 0) : NULL;
    int rc;
    if (!host)
        rc = sk_fail(err, SAIKAI_ECONFIG, "the host is no text");
    else if (type != SQLITE_FLOAT && type != SQLITE_INTEGER)
        rc = sk_fail(err, SAIKAI_ECONFIG,
                     "host '%.80s': the rate is no number (failures per second)", host);
    else
        rc = sk_rates_add(into, host, sqlite3_column_double(s, 1), row, err);
    if (rc)
        sk_error_prefix(err, "%s, table rates, row %lld", path, (long long)row);
    return rc;
}

static int load(const char *path, struct sk_rates *into, struct saikai_error *err)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    int rc = 0, step = SQLITE_OK;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        goto sqlite_failed;
    sqlite3_busy_timeout(db, 5000);
    if (sqlite3_prepare_v2(db, "SELECT host, rate FROM rates", -1, &s, NULL) != SQLITE_OK)
        goto sqlite_failed;
    for (int64_t row = 1; !rc && (step = sqlite3_step(s)) == SQLITE_ROW; row++)
        rc = add_row(path, s, row, into, err);
    if (!rc && step != SQLITE_DONE)
        goto sqlite_failed;
    goto out;
sqlite_failed:
    rc = sk_fail(err, SAIKAI_ECONFIG, "%s: %s; a table rates(host TEXT, rate REAL) is expected",
                 path, db ? sqlite3_errmsg(db) : "out of memory");
out:
    sqlite3_finalize(s);
    sqlite3_close(db);
    return rc;
}

#else

static int load(const char *path, struct sk_rates *into, struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOTSUP,
                   "%s is an SQLite database, but Saikai was built without SQLite: use a text file",
                   path);
}

#endif

const struct sk_rates_ops sk_rates_sqlite = {"sqlite", "a database with a table of hosts and rates", recognises, load};
