/* Lines of health checks. */
#include "recovery/source/health_line.h"

#include "recovery/launch/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 2048 };
#define EVENT "event"

static int is_event(const char *line, size_t n)
{
    size_t k = strlen(EVENT);
    return n > k && !memcmp(line, EVENT, k) && (line[k] == ' ' || line[k] == '\t');
}

static int make(const struct sk_command *words, struct saikai_event *e, struct saikai_error *err)
{
    char name[80];
    if (words->n < 3)
        return sk_fail(err, SAIKAI_EINVAL, "write: " EVENT " SEVERITY NAME [KEY=VALUE...]");
    int severity = sk_severity_parse(words->argv[1]);
    if (severity < 0)
        return sk_fail(err, SAIKAI_EINVAL, "'%.60s' is no severity: debug, info, warning, error or fatal", words->argv[1]);
    const char *given = words->argv[2], *dot = strchr(given, '.');
    size_t space = dot ? (size_t)(dot - given) : 0;
    int has_space = (space == 2 && (!memcmp(given, "hw", 2) || !memcmp(given, "mw", 2))) || (space == 3 && !memcmp(given, "app", 3));
    snprintf(name, sizeof name, "%s%.70s", has_space ? "" : "hw.", given);
    int rc = sk_event_begin(e, name, severity, err);
    for (int i = 3; !rc && i < words->n; i++)
        rc = sk_event_take(e, words->argv[i], err);
    return rc;
}

int sk_health_line(const char *line, size_t n, struct saikai_event *e, struct saikai_error *err)
{
    char text[LONGEST];
    struct sk_command words = {.hosts_fd = -1};
    if (!is_event(line, n))
        return 0;
    if (n >= sizeof text || memchr(line, 0, n))
        return sk_fail(err, SAIKAI_EINVAL, "a line of an event has at most %d bytes", LONGEST - 1);
    memcpy(text, line, n);
    text[n] = 0;
    int rc = sk_command_split(&words, EVENT, text, err);
    if (!rc && words.failed)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for an event");
    if (!rc)
        rc = make(&words, e, err);
    sk_command_free(&words);
    return !rc ? 1 : rc == SAIKAI_ENOMEM ? rc : err ? (err->code = SAIKAI_EINVAL) : SAIKAI_EINVAL;
}

/* Where the line before `end` begins. */
static size_t line_before(const char *output, size_t end)
{
    while (end && output[end - 1] != '\n')
        end--;
    return end;
}

int sk_health_exit(const char *output, size_t *n)
{
    static const char mark[] = SK_HEALTH_EXIT " ";
    size_t end = *n && output[*n - 1] == '\n' ? *n - 1 : *n, from = line_before(output, end), k = sizeof mark - 1;
    int code = 0;
    if (end - from <= k || end - from > k + 3 || memcmp(output + from, mark, k))
        return -1;
    for (size_t i = from + k; i < end; i++) {
        if (output[i] < '0' || output[i] > '9')
            return -1;
        code = 10 * code + output[i] - '0';
    }
    *n = from;
    return code;
}

void sk_health_words(const char *output, size_t n, char *out, size_t cap)
{
    *out = 0;
    for (size_t end = n; end;) {
        size_t from = line_before(output, end), length = end - from;
        if (length && !is_event(output + from, length) && !memchr(output + from, 0, length)) {
            snprintf(out, cap, "%.*s", (int)(length < cap ? length : cap - 1), output + from);
            for (char *p = out; *p; p++)
                if ((unsigned char)*p < ' ' || *p == 127)
                    *p = ' ';
            if (out[strspn(out, " ")])
                return;
            *out = 0;
        }
        end = from ? from - 1 : 0;
    }
}
