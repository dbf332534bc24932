/* Terms of a filter, and whether an event passes them. */
#include "store/event/filter.h"

#include <stdio.h>
#include <string.h>

static int bad(struct saikai_error *err, const char *term)
{
    return sk_fail(err, SAIKAI_EINVAL,
                   "'%.60s' is no term of a filter: KEY=VALUE, KEY!=VALUE (VALUE may end with '*') or severity>=WORD, with commas between them",
                   term);
}

static int parse_least(const char *term, struct sk_filter_term *t, struct saikai_error *err)
{
    t->least = sk_severity_parse(t->value);
    if (strcmp(t->key, "severity") || t->least < 0)
        return bad(err, term);
    return 0;
}

static int parse_term(const char *term, struct sk_filter_term *t, struct saikai_error *err)
{
    size_t n = strcspn(term, "!>=");
    const char *is = strchr(term, '=');
    *t = (struct sk_filter_term){.least = -1};
    if (!n || n >= sizeof t->key || !is || (size_t)(is - term) > n + 1 || strlen(is + 1) >= sizeof t->value)
        return bad(err, term);
    memcpy(t->key, term, n);
    strcpy(t->value, is + 1);
    if (term[n] == '>')
        return parse_least(term, t, err);
    t->not = term[n] == '!';
    size_t bytes = strlen(t->value);
    if (!strcmp(t->key, "severity") && sk_severity_parse(t->value) < 0)
        return bad(err, term);
    if (bytes && t->value[bytes - 1] == '*') {
        t->value[bytes - 1] = 0;
        t->prefix = 1;
    }
    return 0;
}

int sk_filter_parse(const char *text, struct sk_filter *out, struct saikai_error *err)
{
    char copy[SK_FILTER_TEXT], *save = NULL;
    out->n = 0;
    if (strlen(text) >= sizeof copy)
        return sk_fail(err, SAIKAI_EINVAL, "the filter is longer than %zu bytes", sizeof copy - 1);
    strcpy(copy, text);
    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        if (out->n == SK_FILTER_TERMS)
            return sk_fail(err, SAIKAI_EINVAL, "a filter has at most %d terms: '%.60s' is one too many", SK_FILTER_TERMS, p);
        int rc = parse_term(p, &out->term[out->n], err);
        if (rc)
            return rc;
        out->n++;
    }
    return 0;
}

/* "": it has none. */
static const char *value_of(const struct saikai_event *e, const char *key, char number[24])
{
    if (!strcmp(key, "space"))
        return e->space;
    if (!strcmp(key, "name"))
        return e->name;
    if (!strcmp(key, "severity"))
        return sk_severity_name(e->severity);
    if (!strcmp(key, "host"))
        return e->host;
    if (!strcmp(key, "job"))
        return e->job;
    if (!strcmp(key, "rank")) {
        snprintf(number, 24, "%d", e->rank);
        return number;
    }
    const char *field = sk_event_field(e, key);
    return field ? field : "";
}

static int holds(const struct sk_filter_term *t, const struct saikai_event *e)
{
    char number[24];
    if (t->least >= 0)
        return e->severity >= t->least;
    const char *v = value_of(e, t->key, number);
    int same = t->prefix ? !strncmp(v, t->value, strlen(t->value)) : !strcmp(v, t->value);
    return same != t->not;
}

int sk_filter_passes(const struct sk_filter *f, const struct saikai_event *e)
{
    for (int i = 0; i < f->n; i++)
        if (!holds(&f->term[i], e))
            return 0;
    return 1;
}
