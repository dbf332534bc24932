/* The database of rasdaemon on this host: errors of memory, processors, buses and disks that the kernel reported. Opened anew for each look,
 * for reading alone; tables that are not there are passed over. */
#include "recovery/source/source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL_PLACE "/var/lib/rasdaemon/ras-mc_event.db"

static int is_there(const struct sk_source_view *v)
{
    const char *path = sk_config_text(v->config, "events.rasdaemon");
    return *path && strcmp(path, "none") && (strcmp(path, USUAL_PLACE) || !access(path, R_OK));
}

#ifdef HAVE_SQLITE
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

enum { ROWS = 64, FIELDS = 6, PATIENCE_MS = 2000 };

/* By what a column says: of one word, of the bits of a machine check, of a number as in a CPER record, or always the same. */
enum rule { BY_WORD, BY_STATUS, BY_NUMBER, BY_RESULT, WARNING };

static const struct table {
    const char *name, *event;
    enum rule rule;
    const char *column; /* of the rule */
    const char *field[FIELDS];
} tables[] = {
    {"mc_event", "hw.memory", BY_WORD, "err_type", {"err_type", "err_count", "err_msg", "label", "address", "driver_detail"}},
    {"mce_record", "hw.machine-check", BY_STATUS, "status", {"error_msg", "bank_name", "cpu", "mcistatus_msg", "mc_location", "addr"}},
    {"aer_event", "hw.pcie", BY_WORD, "err_type", {"err_type", "err_msg", "dev_name"}},
    {"memory_failure_event", "hw.memory-failure", BY_RESULT, "action_result", {"pfn", "page_type", "action_result"}},
    {"extlog_event", "hw.firmware", BY_NUMBER, "severity", {"etype", "error_count", "fru_text", "address"}},
    {"non_standard_event", "hw.ras", BY_WORD, "severity", {"severity", "fru_text", "sec_type"}},
    {"arm_event", "hw.processor", WARNING, NULL, {"error_count", "affinity", "mpidr"}},
    {"disk_errors", "hw.disk", WARNING, NULL, {"dev", "error", "sector", "rwbs"}},
    {"devlink_event", "hw.device", WARNING, NULL, {"bus_name", "dev_name", "driver_name", "reporter_name", "msg"}},
};
enum { TABLES = sizeof tables / sizeof *tables };

struct ras {
    int begun;
    ino_t file; /* that was read */
    int64_t last[TABLES];
};

struct reading {
    sqlite3 *db;
    const char *path, *host;
    int of_job; /* ranks sit here, as far as is known */
    struct sk_teller *t;
};

static int failed(const struct reading *r, struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EIO, "%s: %s (events.rasdaemon)", r->path, r->db ? sqlite3_errmsg(r->db) : "out of memory");
}

static int column(sqlite3_stmt *s, const char *name)
{
    for (int i = 0; name && i < sqlite3_column_count(s); i++)
        if (!strcmp(sqlite3_column_name(s, i), name))
            return i;
    return -1;
}

static int by_word(const char *word)
{
    int not_fatal = strcasestr(word, "non-fatal") || strcasestr(word, "nonfatal");
    if (strcasestr(word, "fatal") && !not_fatal)
        return SAIKAI_EVENT_FATAL;
    if (strcasestr(word, "uncorrect") || strcasestr(word, "recoverable") || not_fatal)
        return SAIKAI_EVENT_ERROR;
    return strcasestr(word, "corrected") || strcasestr(word, "info") ? SAIKAI_EVENT_INFO : SAIKAI_EVENT_WARNING;
}

static int severity_of(const struct table *at, sqlite3_stmt *s)
{
    static const int numbers[] = {SAIKAI_EVENT_ERROR, SAIKAI_EVENT_FATAL, SAIKAI_EVENT_INFO, SAIKAI_EVENT_INFO};
    int c = column(s, at->column);
    if (c < 0)
        return SAIKAI_EVENT_WARNING;
    const char *text = (const char *)sqlite3_column_text(s, c);
    int64_t n = sqlite3_column_int64(s, c);
    switch (at->rule) {
    case BY_WORD:
        return by_word(text ? text : "");
    case BY_STATUS: /* "context corrupt", "uncorrected" */
        return n >> 57 & 1 ? SAIKAI_EVENT_FATAL : n >> 61 & 1 ? SAIKAI_EVENT_ERROR : SAIKAI_EVENT_INFO;
    case BY_NUMBER:
        return n >= 0 && n < 4 ? numbers[n] : SAIKAI_EVENT_WARNING;
    case BY_RESULT:
        return text && strcasestr(text, "ignored") ? SAIKAI_EVENT_WARNING : SAIKAI_EVENT_ERROR;
    case WARNING:
        break;
    }
    return SAIKAI_EVENT_WARNING;
}

static void tell_row(struct reading *r, const struct table *at, sqlite3_stmt *s)
{
    struct saikai_event e;
    char why[200];
    int severity = severity_of(at, s), c = column(s, "timestamp");
    if (sk_event_begin(&e, at->event, severity, NULL))
        return;
    sk_event_put(&e, "table", "%s", at->name);
    for (int i = -1; i < FIELDS && (i < 0 || at->field[i]); i++) {
        int k = i < 0 ? c : column(s, at->field[i]);
        const char *text = k < 0 ? NULL : (const char *)sqlite3_column_text(s, k);
        if (text)
            sk_event_put(&e, i < 0 ? "at" : at->field[i], "%s", text);
    }
    sk_teller_tell(r->t, &e, r->host);
    if (severity < SAIKAI_EVENT_ERROR || !r->of_job)
        return;
    snprintf(why, sizeof why, "%s of rasdaemon tells an error that was not corrected", at->name);
    sk_teller_notice(r->t, r->host, why);
}

/* The one number that a statement yields; *known 0: there is no such table. */
static int newest(struct reading *r, const char *table, int64_t *out, int *known, struct saikai_error *err)
{
    char sql[160];
    sqlite3_stmt *s = NULL;
    *known = 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '%s'", table);
    int rc = sqlite3_prepare_v2(r->db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW ? 0 : failed(r, err);
    if (!rc)
        *known = sqlite3_column_int(s, 0) > 0;
    sqlite3_finalize(s);
    if (rc || !*known)
        return rc;
    snprintf(sql, sizeof sql, "SELECT coalesce(max(id), 0) FROM %s", table);
    s = NULL;
    rc = sqlite3_prepare_v2(r->db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW ? 0 : failed(r, err);
    if (!rc)
        *out = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return rc;
}

/* Rows behind *last: of very many the oldest, and how many there are besides. */
static int read_table(struct reading *r, const struct table *at, int silent, int64_t *last, struct saikai_error *err)
{
    int64_t top = 0;
    int known, step = SQLITE_OK, rows = 0, rc = newest(r, at->name, &top, &known, err);
    char sql[160];
    sqlite3_stmt *s = NULL;
    if (rc || !known || silent || top <= *last) {
        *last = !rc && known ? top : *last;
        return rc;
    }
    snprintf(sql, sizeof sql, "SELECT * FROM %s WHERE id > %lld ORDER BY id LIMIT %d", at->name, (long long)*last, ROWS);
    if (sqlite3_prepare_v2(r->db, sql, -1, &s, NULL) != SQLITE_OK)
        return failed(r, err);
    for (; (step = sqlite3_step(s)) == SQLITE_ROW; rows++) {
        int k = column(s, "id");
        int64_t id = k < 0 ? top : sqlite3_column_int64(s, k);
        tell_row(r, at, s);
        *last = id > *last ? id : *last;
    }
    sqlite3_finalize(s);
    if (step != SQLITE_DONE)
        return failed(r, err);
    if (rows == ROWS && top > *last)
        sk_teller_drop(r->t, top - *last > 1000000 ? 1000000 : (int)(top - *last));
    *last = top;
    return 0;
}

/* By which name the job knows this host. */
static void find_self(const struct sk_source_view *v, char *host, size_t cap, struct reading *r)
{
    gethostname(host, cap - 1);
    int at = v->told_hosts ? sk_hosts_find(v->hosts, host) : 0;
    r->of_job = at >= 0 && v->hosts->host[at].state != SK_HOST_SPARE;
    if (at >= 0)
        snprintf(host, cap, "%s", v->hosts->host[at].name);
}

static int look(const struct sk_source_view *v, void **state, struct sk_teller *t, struct saikai_error *err)
{
    struct ras *s = *state ? *state : (*state = calloc(1, sizeof *s));
    char host[256] = "";
    struct stat st;
    struct reading r = {.path = sk_config_text(v->config, "events.rasdaemon"), .host = host, .t = t};
    int rc = 0;
    if (!s)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the database of rasdaemon");
    find_self(v, host, sizeof host, &r);
    if (stat(r.path, &st)) {
        s->begun = 1;
        return sk_fail(err, SAIKAI_ENOENT, "%s is not there (events.rasdaemon)", r.path);
    }
    if (!S_ISREG(st.st_mode))
        return sk_fail(err, SAIKAI_EINVAL, "%s is no file (events.rasdaemon)", r.path);
    if (s->file && s->file != st.st_ino) /* another one has taken its place */
        memset(s->last, 0, sizeof s->last);
    s->file = st.st_ino;
    if (sqlite3_open_v2(r.path, &r.db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        rc = failed(&r, err);
    else
        sqlite3_busy_timeout(r.db, PATIENCE_MS);
    for (int i = 0; i < TABLES && !rc; i++) /* what is there at the start was there before */
        rc = read_table(&r, &tables[i], !s->begun, &s->last[i], err);
    s->begun |= !rc;
    sqlite3_close(r.db);
    return rc;
}

#else

static int look(const struct sk_source_view *v, void **state, struct sk_teller *t, struct saikai_error *err)
{
    (void)v, (void)state, (void)t;
    return sk_fail(err, SAIKAI_ENOTSUP, "the database of rasdaemon is in SQLite, but Saikai was built without that");
}

#endif

const struct sk_source_ops sk_source_ras = {
    .name = "rasdaemon",
    .description = "errors of memory, processors, buses and disks of this host, from the database events.rasdaemon",
    .here = is_there,
    .look = look,
    .end = free,
};
