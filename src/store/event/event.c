/* Limits of events, and their lines: written by the JSON writer, read by a reader of exactly what that writes. */
#include "store/event/event.h"

#include "base/clock.h"
#include "base/config/units.h"
#include "base/hash.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

static const char *const severities[] = {"debug", "info", "warning", "error", "fatal"};
enum { SEVERITIES = sizeof severities / sizeof *severities };
static const char *const spaces[] = {"hw", "mw", "app"};
enum { SPACES = sizeof spaces / sizeof *spaces };

/* What a field may not be called: the event has these already. */
static const char *const own_keys[] = {"space", "name", "severity", "rank", "host", "job", "time_ms", "deadline_ms"};

const char *sk_severity_name(int severity)
{
    return severity >= 0 && severity < SEVERITIES ? severities[severity] : "?";
}

int sk_severity_parse(const char *word)
{
    for (int i = 0; i < SEVERITIES; i++)
        if (!strcmp(word, severities[i]))
            return i;
    return -1;
}

static int is_space(const char *text)
{
    for (int i = 0; i < SPACES; i++)
        if (!strcmp(text, spaces[i]))
            return 1;
    return 0;
}

/* ---- making ---- */

static int is_name(const char *text)
{
    if (!islower((unsigned char)*text))
        return 0;
    return !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-")];
}

static int is_key(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return 0;
    for (const char *p = text; *p; p++)
        if (!isascii(*p) || (!isalnum((unsigned char)*p) && !strchr("._-", *p)))
            return 0;
    for (size_t i = 0; i < sizeof own_keys / sizeof *own_keys; i++)
        if (!strcmp(text, own_keys[i]))
            return 0;
    return 1;
}

int sk_event_begin(struct saikai_event *e, const char *name, int severity, struct saikai_error *err)
{
    const char *plain = name;
    *e = (struct saikai_event){.severity = severity, .rank = -1, .time_ms = sk_wall_ms()};
    strcpy(e->space, "app");
    for (int i = 0; i < SPACES; i++) {
        size_t n = strlen(spaces[i]);
        if (!strncmp(name, spaces[i], n) && name[n] == '.') {
            strcpy(e->space, spaces[i]);
            plain = name + n + 1;
        }
    }
    if (!is_name(plain) || strlen(plain) >= sizeof e->name)
        return sk_fail(err, SAIKAI_EINVAL,
                       "'%.60s' is no name of an event: small letters, digits, '.', '-' and '_', at most %zu, behind hw., mw. or app.", name,
                       sizeof e->name - 1);
    if (severity < 0 || severity >= SEVERITIES)
        return sk_fail(err, SAIKAI_EINVAL, "%d is no severity of an event: debug, info, warning, error or fatal", severity);
    strcpy(e->name, plain);
    return 0;
}

/* What is no UTF-8 becomes '?', and what does not fit is cut between characters. 1: it was cut. */
static int copy_text(char *out, size_t cap, const char *text)
{
    size_t n = 0;
    while (*text) {
        int bytes = sk_json_utf8((const unsigned char *)text), take = bytes ? bytes : 1;
        if (n + (size_t)take >= cap)
            break;
        memcpy(out + n, bytes ? text : "?", (size_t)take);
        n += (size_t)take;
        text += take;
    }
    out[n] = 0;
    return *text != 0;
}

static int take_deadline(struct saikai_event *e, const char *text, struct saikai_error *err)
{
    double s;
    if (sk_parse_time(text, &s) || s > 1e9)
        return sk_fail(err, SAIKAI_EINVAL, "deadline=%.40s is no time from now, such as 120 or 5min", text);
    e->deadline_ms = e->time_ms + llround(s * 1000);
    return 0;
}

static int add(struct saikai_event *e, const char *key, const char *value, int cut, struct saikai_error *err)
{
    if (strlen(key) >= SAIKAI_EVENT_KEY || !is_key(key))
        return sk_fail(err, SAIKAI_EINVAL, "'%.60s' is no key of a field: letters, digits, '.', '-' and '_', at most %d, and no part of each event",
                       key, SAIKAI_EVENT_KEY - 1);
    if (sk_event_field(e, key))
        return sk_fail(err, SAIKAI_EINVAL, "the field '%s' is there twice", key);
    if (e->n_fields == SAIKAI_EVENT_FIELDS)
        return sk_fail(err, SAIKAI_EINVAL, "an event has at most %d fields: '%s' is one too many", SAIKAI_EVENT_FIELDS, key);
    struct saikai_event_field *f = &e->field[e->n_fields];
    if (copy_text(f->value, sizeof f->value, value) && !cut)
        return sk_fail(err, SAIKAI_EINVAL, "the field '%s' has more than %d bytes", key, SAIKAI_EVENT_VALUE - 1);
    strcpy(f->key, key);
    e->n_fields++;
    return 0;
}

int sk_event_take(struct saikai_event *e, const char *text, struct saikai_error *err)
{
    char key[SAIKAI_EVENT_KEY];
    const char *is = strchr(text, '=');
    if (!is || is == text || (size_t)(is - text) >= sizeof key)
        return sk_fail(err, SAIKAI_EINVAL, "'%.60s' is no field: KEY=VALUE, with a key of at most %d bytes", text, SAIKAI_EVENT_KEY - 1);
    memcpy(key, text, (size_t)(is - text));
    key[is - text] = 0;
    return strcmp(key, "deadline") ? add(e, key, is + 1, 0, err) : take_deadline(e, is + 1, err);
}

void sk_event_put(struct saikai_event *e, const char *key, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (*text)
        add(e, key, text, 1, NULL);
}

const char *sk_event_field(const struct saikai_event *e, const char *key)
{
    for (int i = 0; i < e->n_fields; i++)
        if (!strcmp(e->field[i].key, key))
            return e->field[i].value;
    return NULL;
}

int sk_event_is_notice(const struct saikai_event *e)
{
    return !strcmp(e->name, SK_EVENT_NOTICE);
}

/* ---- writing ---- */

void sk_event_json(struct sk_json *j, const char *key, const struct saikai_event *e)
{
    sk_json_object(j, key);
    sk_json_int(j, "version", VERSION);
    sk_json_int(j, "time_ms", e->time_ms);
    sk_json_text(j, "space", e->space);
    sk_json_text(j, "name", e->name);
    sk_json_text(j, "severity", sk_severity_name(e->severity));
    sk_json_text(j, "job", e->job);
    sk_json_text(j, "host", e->host);
    sk_json_int(j, "rank", e->rank);
    sk_json_int(j, "deadline_ms", e->deadline_ms);
    sk_json_object(j, "fields");
    for (int i = 0; i < e->n_fields; i++)
        sk_json_text(j, e->field[i].key, e->field[i].value);
    sk_json_end(j);
    sk_json_end(j);
}

int sk_event_print(const struct saikai_event *e, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_json j = {.compact = 1};
    sk_event_json(&j, NULL, e);
    size_t n = j.out.len;
    int ok = sk_buf_ok(&j.out);
    if (ok && n + 18 <= SK_EVENT_LINE) {
        sk_buf_put(out, j.out.data, n);
        sk_buf_printf(out, " %016llx\n", (unsigned long long)sk_hash64(j.out.data, n));
    }
    sk_json_free(&j);
    if (!ok || !sk_buf_ok(out))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for an event");
    return n + 18 <= SK_EVENT_LINE ? 0 : sk_fail(err, SAIKAI_EINVAL, "an event of %zu bytes: at most %d are possible", n, SK_EVENT_LINE - 18);
}

/* ---- reading ---- */

struct cut {
    const char *p, *end;
    int bad;
};

static void expect(struct cut *c, const char *text)
{
    size_t n = strlen(text);
    c->bad |= (size_t)(c->end - c->p) < n || memcmp(c->p, text, n) != 0;
    c->p += c->bad ? 0 : n;
}

static int next_is(const struct cut *c, char which)
{
    return !c->bad && c->p < c->end && *c->p == which;
}

/* The character that an escape stands for; 0: none that the writer makes. */
static int take_escape(struct cut *c)
{
    static const char from[] = "\"\\nt", to[] = "\"\\\n\t";
    const char *at = c->p < c->end && *c->p ? strchr(from, *c->p) : NULL;
    unsigned v = 0;
    if (at) {
        c->p++;
        return to[at - from];
    }
    if (c->end - c->p < 5 || memcmp(c->p, "u00", 3) || !isxdigit((unsigned char)c->p[3]) || !isxdigit((unsigned char)c->p[4]))
        return 0;
    sscanf(c->p + 3, "%2x", &v);
    c->p += 5;
    return v < 0x20 || v == 0x7f ? (int)v : 0;
}

static void take_text(struct cut *c, char *out, size_t cap)
{
    size_t n = 0;
    expect(c, "\"");
    while (!c->bad && !next_is(c, '"')) {
        char escaped;
        const char *from = c->p;
        size_t bytes = 1;
        if (c->p >= c->end || (unsigned char)*c->p < 0x20 || *c->p == 0x7f) {
            c->bad = 1;
            return;
        }
        if (*c->p == '\\') {
            c->p++;
            escaped = (char)take_escape(c);
            c->bad |= !escaped;
            from = &escaped;
        } else {
            char character[5] = {0}; /* it may be cut off by the end */
            memcpy(character, c->p, c->end - c->p < 4 ? (size_t)(c->end - c->p) : 4);
            bytes = (size_t)sk_json_utf8((const unsigned char *)character);
            c->bad |= !bytes;
            c->p += bytes;
        }
        c->bad |= n + bytes >= cap;
        if (!c->bad)
            memcpy(out + n, from, bytes);
        n += bytes;
    }
    expect(c, "\"");
    out[c->bad ? 0 : n] = 0;
}

static long long take_number(struct cut *c, long long least, long long most)
{
    char text[24] = "", *end;
    size_t n = 0;
    while (c->p < c->end && n < sizeof text - 1 && (isdigit((unsigned char)*c->p) || *c->p == '-'))
        text[n++] = *c->p++;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    c->bad |= end == text || *end || errno || v < least || v > most;
    return v;
}

static void take_fields(struct cut *c, struct saikai_event *e)
{
    char key[SAIKAI_EVENT_KEY], value[SAIKAI_EVENT_VALUE];
    expect(c, "{");
    while (!c->bad && !next_is(c, '}')) {
        if (e->n_fields)
            expect(c, ",");
        take_text(c, key, sizeof key);
        expect(c, ":");
        take_text(c, value, sizeof value);
        c->bad |= !c->bad && add(e, key, value, 0, NULL);
    }
    expect(c, "}");
}

static void take_event(struct cut *c, struct saikai_event *e)
{
    char word[16];
    expect(c, "{\"version\":1,\"time_ms\":");
    e->time_ms = take_number(c, 0, LLONG_MAX / 4);
    expect(c, ",\"space\":");
    take_text(c, e->space, sizeof e->space);
    expect(c, ",\"name\":");
    take_text(c, e->name, sizeof e->name);
    expect(c, ",\"severity\":");
    take_text(c, word, sizeof word);
    e->severity = c->bad ? -1 : sk_severity_parse(word);
    expect(c, ",\"job\":");
    take_text(c, e->job, sizeof e->job);
    expect(c, ",\"host\":");
    take_text(c, e->host, sizeof e->host);
    expect(c, ",\"rank\":");
    e->rank = (int)take_number(c, -1, INT_MAX);
    expect(c, ",\"deadline_ms\":");
    e->deadline_ms = take_number(c, 0, LLONG_MAX / 4);
    expect(c, ",\"fields\":");
    take_fields(c, e);
    expect(c, "}");
    c->bad |= c->bad || !is_space(e->space) || !is_name(e->name) || e->severity < 0;
}

int sk_event_parse(const char *line, size_t n, struct saikai_event *out)
{
    char check[20];
    if (n < 18 || n >= SK_EVENT_LINE)
        return SAIKAI_EDAMAGED;
    snprintf(check, sizeof check, " %016llx", (unsigned long long)sk_hash64(line, n - 17));
    if (memcmp(check, line + n - 17, 17))
        return SAIKAI_EDAMAGED;
    struct cut c = {line, line + n - 17, 0};
    memset(out, 0, sizeof *out);
    take_event(&c, out);
    return c.bad || c.p != c.end ? SAIKAI_EDAMAGED : 0;
}
