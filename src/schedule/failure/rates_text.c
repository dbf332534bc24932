/* Failure rates in a text file: "HOST RATE" per line. */
#include "schedule/failure/rates.h"

#include "base/config/hostlist.h"
#include "base/file/io.h"
#include "base/config/units.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_HOSTS = 4000000 };

/* "5y", "h", "year", "2 weeks": seconds; -1: no time, or none at all. */
static int parse_period(const char *s, double *seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } words[] = {
        {"s", 1},           {"second", 1},   {"min", 60},
        {"minute", 60},     {"h", 3600},     {"hour", 3600},
        {"d", 86400},       {"day", 86400},  {"week", 7 * 86400},
        {"month", 2629800}, {"y", 31557600}, {"year", 31557600},
    };
    char *unit;
    s += strspn(s, " \t");
    double count = 1;
    if (isdigit((unsigned char)*s) || *s == '.')
        count = strtod(s, &unit);
    else
        unit = (char *)s;
    unit += strspn(unit, " \t");
    size_t n = strcspn(unit, " \t");
    if (unit[n + strspn(unit + n, " \t")] || !(count > 0) || isinf(count))
        return -1;
    for (size_t i = 0; n && i < sizeof words / sizeof *words; i++) {
        size_t m = strlen(words[i].name);
        int plural = m > 2 && n == m + 1 && tolower((unsigned char)unit[m]) == 's';
        if ((n == m || plural) && !strncasecmp(unit, words[i].name, m)) {
            *seconds = count * words[i].seconds;
            return *seconds > 0 && isfinite(*seconds) ? 0 : -1;
        }
    }
    return -1;
}

/* What is no number is none at all: *rate stays. */
static int give(double v, double *rate)
{
    if (!isfinite(v))
        return -1;
    *rate = v;
    return 0;
}

static int parse_mtbf(const char *s, double *rate)
{
    double seconds;
    s += strspn(s, " \t=");
    return parse_period(s, &seconds) ? -1 : give(1 / seconds, rate);
}

int sk_rate_parse(const char *text, double *rate)
{
    char *end;
    double seconds;
    text += strspn(text, " \t");
    if (!strncasecmp(text, "mtbf", 4))
        return parse_mtbf(text + 4, rate);
    if (!isdigit((unsigned char)*text) && *text != '.')
        return -1;
    double v = strtod(text, &end);
    int per_second = end > text && !*end;
    end += strspn(end, " \t");
    if (end == text || !isfinite(v))
        return -1;
    if (!*end)
        per_second = 1;
    if (per_second)
        seconds = 1;
    else if (!strcasecmp(end, "FIT"))
        seconds = 1e9 * 3600;
    else if (*end == '/' || (!strncasecmp(end, "per", 3) && isspace((unsigned char)end[3]))) {
        if (parse_period(end + (*end == '/' ? 1 : 3), &seconds))
            return -1;
    } else {
        return -1;
    }
    return give(v / seconds, rate);
}

static char *trimmed(char *s)
{
    s += strspn(s, " \t\r");
    size_t n = strlen(s);
    while (n && strchr(" \t\r", s[n - 1]))
        n--;
    s[n] = 0;
    return s;
}

static int add_pattern(struct sk_rates *r, const char *pattern, double rate, int64_t line,
                       struct saikai_error *err)
{
    struct sk_hostlist hosts = {0};
    size_t have = sk_rates_count(r);
    int rc = sk_hostlist_expand(&hosts, pattern, have < MOST_HOSTS ? MOST_HOSTS - have : 0, err);
    for (size_t i = 0; i < hosts.n && !rc; i++)
        rc = sk_rates_add(r, hosts.name[i], rate, line, err);
    sk_hostlist_free(&hosts);
    return rc == SAIKAI_EINVAL ? SAIKAI_ECONFIG : rc;
}

static int parse_line(struct sk_rates *r, char *line, int64_t number, struct saikai_error *err)
{
    for (char *p = line; *p; p++)
        if (*p == '#') {
            *p = 0;
            break;
        }
    line = trimmed(line);
    if (!*line)
        return 0;
    size_t n = strcspn(line, " \t");
    char *host = line, *text = trimmed(line + n);
    double rate;
    if (!*text)
        return sk_fail(err, SAIKAI_ECONFIG,
                       "'%.80s' has no rate: write HOST RATE, for example 'n1 mtbf=5y'", line);
    if (sk_rate_parse(text, &rate))
        return sk_fail(err, SAIKAI_ECONFIG,
                       "'%.80s' is no failure rate: write mtbf=5y, 1/5y, 0.2 per year, "
                       "2500 FIT or failures per second",
                       text);
    host[n] = 0;
    return add_pattern(r, host, rate, number, err);
}

int sk_rates_parse_text(struct sk_rates *r, const char *name, char *text, size_t n,
                        struct saikai_error *err)
{
    if (memchr(text, 0, n))
        return sk_fail(err, SAIKAI_ECONFIG, "%s holds a zero byte: neither a text file nor SQLite",
                       name);
    char *next = text;
    for (int64_t number = 1; next; number++) {
        char *line = next;
        if ((next = strchr(line, '\n')))
            *next++ = 0;
        int rc = parse_line(r, line, number, err);
        if (rc) {
            sk_error_prefix(err, "%s:%lld", name, (long long)number);
            if (err)
                err->code = rc;
            return rc;
        }
    }
    return 0;
}

static int load(const char *path, struct sk_rates *into, struct saikai_error *err)
{
    void *data;
    size_t n;
    int rc = sk_io_slurp(path, 256u << 20, &data, &n, err);
    if (rc)
        return rc;
    rc = sk_rates_parse_text(into, path, data, n, err);
    free(data);
    return rc;
}

const struct sk_rates_ops sk_rates_text = {"text", "a file of host patterns and rates", NULL, load};
