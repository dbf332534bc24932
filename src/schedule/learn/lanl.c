/* Reads LANL's public failure log: columns are found by the names in the first line. */
#include "schedule/learn/lanl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_FIELDS = 64 };

struct table {
    char *head[MOST_FIELDS];
    int n;
    int system, nodes, node, begun, ended, first_cause;
};

/* The fields of a line, in place; quotes may hold commas. */
static int split(char *line, char *field[MOST_FIELDS])
{
    int n = 0;
    for (char *p = line; p && n < MOST_FIELDS;) {
        char *out = p;
        int quoted = 0;
        field[n++] = p;
        for (; *p && (quoted || *p != ','); p++) {
            if (*p == '"')
                quoted = !quoted;
            else
                *out++ = *p;
        }
        int more = *p == ',';
        p++;
        *out = 0;
        if (!more)
            break;
    }
    return n;
}

static const char *trimmed(char *s)
{
    s += strspn(s, " \t\r");
    size_t n = strlen(s);
    while (n && strchr(" \t\r", s[n - 1]))
        s[--n] = 0;
    return s;
}

static int column(const struct table *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (!strcasecmp(t->head[i], name))
            return i;
    return -1;
}

/* Days from 1970-01-01 to a day of the Gregorian calendar (H. Hinnant, chrono-compatible low-level date algorithms). */
static long days_from_civil(long y, int m, int d)
{
    y -= m <= 2;
    long era = y / 400, yoe = y - era * 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* "6/21/2005 10:54"; 0: it is none. */
static double parse_time(const char *s)
{
    int month, day, year, hour, minute, end = -1;
    if (sscanf(s, "%2d/%2d/%4d %2d:%2d%n", &month, &day, &year, &hour, &minute, &end) != 5 || s[end] || month < 1 || month > 12 ||
        day < 1 || day > 31 || year < 1970 || hour < 0 || hour > 23 || minute < 0 || minute > 59)
        return 0;
    return (double)days_from_civil(year, month, day) * 86400 + hour * 3600.0 + minute * 60.0;
}

static int parse_count(const char *s, int *out)
{
    char *end;
    long v = strtol(s, &end, 10);
    if (end == s || *end || v < 0 || v > 10000000)
        return -1;
    *out = (int)v;
    return 0;
}

static int parse_record(const struct table *t, char *line, struct sk_lanl_record *r)
{
    char *f[MOST_FIELDS];
    int n = split(line, f);
    *r = (struct sk_lanl_record){.cause = ""};
    if (n <= t->system || n <= t->node || n <= t->begun || parse_count(trimmed(f[t->system]), &r->system) ||
        parse_count(trimmed(f[t->node]), &r->node) || !((r->begun = parse_time(trimmed(f[t->begun]))) > 0))
        return -1;
    if (t->nodes >= 0 && t->nodes < n)
        parse_count(trimmed(f[t->nodes]), &r->nodes);
    if (t->ended >= 0 && t->ended < n)
        r->ended = parse_time(trimmed(f[t->ended]));
    for (int i = t->first_cause; i >= 0 && i < n && i < t->n && !*r->cause && strcasecmp(t->head[i], "Same Event"); i++)
        if (*trimmed(f[i]))
            r->cause = t->head[i];
    return 0;
}

int sk_lanl_recognises(const char *text, size_t n)
{
    size_t head = 0;
    while (head < n && head < 1000 && text[head] != '\n')
        head++;
    return head > 8 && !strncasecmp(text, "System,", 7) && memmem(text, head, "Prob Started", 12) != NULL;
}

static int read_head(struct table *t, char *line, const char *path, struct saikai_error *err)
{
    t->n = split(line, t->head);
    for (int i = 0; i < t->n; i++)
        t->head[i] = (char *)trimmed(t->head[i]);
    t->system = column(t, "System");
    t->nodes = column(t, "nodes");
    t->node = column(t, "nodenum");
    t->begun = column(t, "Prob Started");
    t->ended = column(t, "Prob Fixed");
    t->first_cause = column(t, "Facilities");
    if (t->system < 0 || t->node < 0 || t->begun < 0)
        return sk_fail(err, SAIKAI_ECONFIG, "%s:1: the columns System, nodenum and Prob Started are expected", path);
    return 0;
}

int sk_lanl_parse(char *text, size_t n, const char *path,
                  int (*each)(void *arg, const struct sk_lanl_record *r, struct saikai_error *err), void *arg,
                  size_t *skipped, struct saikai_error *err)
{
    struct table t = {.n = 0};
    size_t bad = 0;
    int rc = 0;
    if (!n)
        return sk_fail(err, SAIKAI_ECONFIG, "%s: is empty", path);
    char *at = text, *end = text + n;
    for (int line = 0; !rc && at < end; line++) {
        struct sk_lanl_record r;
        char *next = memchr(at, '\n', (size_t)(end - at));
        next = next ? next : end;
        *next = 0; /* text[n] is ours */
        if (!line)
            rc = read_head(&t, at, path, err);
        else if (!at[strspn(at, " \t\r")])
            ; /* an empty line */
        else if (parse_record(&t, at, &r))
            bad++;
        else
            rc = each(arg, &r, err);
        at = next + 1;
    }
    if (skipped)
        *skipped = bad;
    return rc;
}
