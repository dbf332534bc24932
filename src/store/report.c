/* The lines of `status`, one table for printing and for reading them, and the same as metrics. */
#include "store/report.h"

#include "base/file/io.h"
#include "store/note.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char title[] = "saikai-status 1";

enum kind { INTEGER, REAL, TEXT };

static const struct field {
    const char *key;
    enum kind kind;
    size_t at, size;
} fields[] = {
#define FIELD(name, kind, member) {name, kind, offsetof(struct sk_report, member), sizeof((struct sk_report *)0)->member}
    FIELD("at_ms", INTEGER, at_ms),
    FIELD("began_ms", INTEGER, began_ms),
    FIELD("start", INTEGER, start),
    FIELD("ranks", INTEGER, ranks),
    FIELD("nodes", INTEGER, nodes),
    FIELD("first_host", TEXT, host),
    FIELD("iteration", INTEGER, iteration),
    FIELD("tick", REAL, tick),
    FIELD("local", INTEGER, newest[SK_REPORT_LOCAL].iteration),
    FIELD("local_ms", INTEGER, newest[SK_REPORT_LOCAL].at_ms),
    FIELD("protected", INTEGER, newest[SK_REPORT_PROTECTED].iteration),
    FIELD("protected_ms", INTEGER, newest[SK_REPORT_PROTECTED].at_ms),
    FIELD("prefix", INTEGER, newest[SK_REPORT_PREFIX].iteration),
    FIELD("prefix_ms", INTEGER, newest[SK_REPORT_PREFIX].at_ms),
    FIELD("checkpoints", INTEGER, checkpoints),
    FIELD("failed", INTEGER, failed),
    FIELD("bytes", INTEGER, bytes),
    FIELD("cost", REAL, cost),
    FIELD("blocked", REAL, blocked),
    FIELD("every", INTEGER, every),
    FIELD("why", TEXT, why),
    FIELD("program_rate", REAL, program_rate),
    FIELD("host_rate", REAL, host_rate),
    FIELD("faults", INTEGER, faults),
    FIELD("past", REAL, past),
    FIELD("lost", REAL, lost),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };

void sk_report_print(const struct sk_report *r, struct sk_buf *out)
{
    sk_note_begin(out, title);
    for (int i = 0; i < FIELDS; i++) {
        const void *v = (const char *)r + fields[i].at;
        char text[64];
        if (fields[i].kind == INTEGER)
            snprintf(text, sizeof text, "%" PRId64, *(const int64_t *)v);
        else if (fields[i].kind == REAL)
            snprintf(text, sizeof text, "%.9g", *(const double *)v);
        sk_note_put(out, fields[i].key, fields[i].kind == TEXT ? v : text);
    }
    sk_note_end(out);
}

struct reading {
    struct sk_report r;
    unsigned char seen[FIELDS];
};

static int take_value(struct sk_report *r, const struct field *f, const char *text)
{
    void *v = (char *)r + f->at;
    char *end;
    errno = 0;
    if (f->kind == TEXT) {
        size_t n = strlen(text);
        if (n >= f->size)
            return -1;
        memcpy(v, text, n + 1);
        return 0;
    }
    if (f->kind == INTEGER) {
        long long i = strtoll(text, &end, 10);
        *(int64_t *)v = i;
        return errno || *end || end == text || i < -1 ? -1 : 0;
    }
    double d = strtod(text, &end);
    *(double *)v = d;
    return *end || end == text || !isfinite(d) || d < 0 ? -1 : 0;
}

/* Lines that a later version added are passed over; those that must be there come once. */
static int take_line(void *arg, const char *key, const char *value)
{
    struct reading *to = arg;
    for (int i = 0; i < FIELDS; i++)
        if (!strcmp(key, fields[i].key))
            return to->seen[i]++ ? -1 : take_value(&to->r, &fields[i], value);
    return 0;
}

int sk_report_decode(const char *text, size_t n, struct sk_report *out, struct saikai_error *err)
{
    struct reading to = {0};
    int rc = sk_note_decode(text, n, title, take_line, &to, err);
    for (int i = 0; i < FIELDS && !rc; i++)
        if (!to.seen[i])
            rc = sk_fail(err, SAIKAI_EDAMAGED, "it does not say '%s'", fields[i].key);
    if (!rc)
        *out = to.r;
    return rc;
}

int sk_report_load(const char *dir, struct sk_report *out, struct saikai_error *err)
{
    char path[PATH_MAX];
    void *text;
    size_t n;
    struct saikai_error why = {0};
    int rc = sk_io_path(path, sizeof path, err, "%s/" SK_REPORT_FILE, dir);
    if (rc || (rc = sk_io_slurp(path, 1 << 16, &text, &n, err)))
        return rc;
    rc = sk_report_decode(text, n, out, &why);
    free(text);
    return rc ? sk_fail(err, rc, "%s: %s", path, why.text) : 0;
}

static double used(const struct sk_report *r)
{
    return fmax(0, r->past) + fmax(0, (double)(r->at_ms - r->began_ms) / 1000);
}

static double share(double part, double of)
{
    return of > 0 ? fmin(part / of, 1) : 0;
}

double sk_report_share_blocked(const struct sk_report *r)
{
    return share(r->blocked, (double)(r->at_ms - r->began_ms) / 1000);
}

double sk_report_share_lost(const struct sk_report *r)
{
    return share(r->lost, used(r));
}

/* ---- metrics ---- */

/* A label's value: backslash, quote and line feed are escaped. */
static void put_label(struct sk_buf *out, const char *text)
{
    for (; *text; text++)
        sk_buf_printf(out, *text == '\\' || *text == '"' ? "\\%c" : "%c", *text);
}

static void put(struct sk_buf *out, const char *job, const char *name, const char *type, const char *unit, const char *help, double value)
{
    int counter = !strcmp(type, "counter");
    sk_buf_printf(out, "# TYPE saikai_%s %s\n", name, type);
    if (*unit)
        sk_buf_printf(out, "# UNIT saikai_%s %s\n", name, unit);
    sk_buf_printf(out, "# HELP saikai_%s %s\nsaikai_%s%s{job=\"", name, help, name, counter ? "_total" : "");
    put_label(out, job);
    sk_buf_printf(out, "\"} %.*g\n", strstr(name, "timestamp") ? 13 : 9, value);
}

static void put_levels(const struct sk_report *r, const char *job, struct sk_buf *out)
{
    static const char *const names[SK_REPORT_PLACES] = {"local", "protected", "prefix"};
    for (int pass = 0; pass < 2; pass++) {
        const char *name = pass ? "checkpoint_timestamp_seconds" : "checkpoint_iteration";
        sk_buf_printf(out, "# TYPE saikai_%s gauge\n", name);
        if (pass)
            sk_buf_printf(out, "# UNIT saikai_%s seconds\n", name);
        sk_buf_printf(out, "# HELP saikai_%s %s of the newest checkpoint that got so far.\n", name, pass ? "Time" : "Iteration");
        for (int i = 0; i < SK_REPORT_PLACES; i++) {
            const struct sk_report_newest *n = &r->newest[i];
            if (n->iteration < 0 || (pass && !n->at_ms))
                continue;
            sk_buf_printf(out, "saikai_%s{job=\"", name);
            put_label(out, job);
            if (pass)
                sk_buf_printf(out, "\",level=\"%s\"} %.3f\n", names[i], (double)n->at_ms / 1000);
            else
                sk_buf_printf(out, "\",level=\"%s\"} %" PRId64 "\n", names[i], n->iteration);
        }
    }
}

void sk_report_metrics(const struct sk_report *r, const char *job, struct sk_buf *out)
{
    put(out, job, "report_timestamp_seconds", "gauge", "seconds", "When the job reported.", (double)r->at_ms / 1000);
    put(out, job, "start_timestamp_seconds", "gauge", "seconds", "When this start of the job began.", (double)r->began_ms / 1000);
    put(out, job, "starts", "gauge", "", "Starts of the job so far.", (double)r->start);
    put(out, job, "ranks", "gauge", "", "Ranks of the job.", (double)r->ranks);
    put(out, job, "nodes", "gauge", "", "Nodes that they run on.", (double)r->nodes);
    put(out, job, "iteration", "gauge", "", "Iteration that the program is at.", (double)r->iteration);
    put_levels(r, job, out);
    put(out, job, "checkpoints", "counter", "", "Checkpoints of this start.", (double)r->checkpoints);
    put(out, job, "checkpoints_failed", "counter", "", "Checkpoints of this start that failed.", (double)r->failed);
    put(out, job, "checkpoint_cost_seconds", "gauge", "seconds", "Time that the newest checkpoint held the program up.", r->cost);
    put(out, job, "blocked_seconds", "counter", "seconds", "Time that checkpoints held this start up.", r->blocked);
    put(out, job, "interval_seconds", "gauge", "seconds", "Time between two checkpoints, 0: none is planned.", (double)r->every * r->tick);
    put(out, job, "program_failures_per_second", "gauge", "", "Expected rate of the program's faults.", r->program_rate);
    put(out, job, "host_failures_per_second", "gauge", "", "Expected rate of all hosts' faults.", r->host_rate);
    put(out, job, "faults", "counter", "", "Faults that earlier starts of this job died of.", (double)r->faults);
    put(out, job, "lost_seconds", "counter", "seconds", "Time that was lost to them, restarts included.", r->lost);
    sk_buf_printf(out, "# EOF\n");
}
