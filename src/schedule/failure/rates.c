/* Collects the rates of hosts, finds a host by its full or its short name, and sums the rates of
 * a job's hosts. */
#include "schedule/failure/rates.h"

#include "base/config/hostlist.h"
#include "base/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct entry {
    char *host;
    double rate;
    int64_t where;
};

struct sk_rates {
    struct entry *e; /* by full name */
    uint32_t *by_short_name;
    size_t n, cap;
    double rest; /* of hosts that are not named */
};

struct sk_rates *sk_rates_new(double default_rate)
{
    struct sk_rates *r = calloc(1, sizeof *r);
    if (r)
        r->rest = default_rate;
    return r;
}

void sk_rates_free(struct sk_rates *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++)
        free(r->e[i].host);
    free(r->e);
    free(r->by_short_name);
    free(r);
}

int sk_rates_add(struct sk_rates *r, const char *host, double rate, int64_t where,
                 struct saikai_error *err)
{
    if (!(rate >= 0) || isinf(rate))
        return sk_fail(err, SAIKAI_ECONFIG, "host '%.80s': a failure rate is a number of 0 or more",
                       host);
    if (!*host || strlen(host) > SK_HOST_MAX)
        return sk_fail(err, SAIKAI_ECONFIG, "'%.80s' is no host name", host);
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        struct entry *e = cap < UINT32_MAX ? realloc(r->e, cap * sizeof *e) : NULL;
        if (!e)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for the rates of %zu hosts", cap);
        r->e = e;
        r->cap = cap;
    }
    char *copy = strdup(host);
    if (!copy)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a host name");
    r->e[r->n++] = (struct entry){copy, rate, where};
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int d = strcasecmp(x->host, y->host);
    return d ? d : (x->where > y->where) - (x->where < y->where);
}

static size_t short_length(const char *host)
{
    return strcspn(host, ".");
}

static int compare_short(const char *a, const char *b)
{
    size_t n = short_length(a), m = short_length(b);
    int d = strncasecmp(a, b, n < m ? n : m);
    return d ? d : (n > m) - (n < m);
}

static int by_short_name(const void *a, const void *b, void *entries)
{
    const struct entry *e = entries;
    return compare_short(e[*(const uint32_t *)a].host, e[*(const uint32_t *)b].host);
}

int sk_rates_finish(struct sk_rates *r, const char *path, struct saikai_error *err)
{
    if (!r->n)
        return 0;
    qsort(r->e, r->n, sizeof *r->e, by_name);
    for (size_t i = 1; i < r->n; i++)
        if (!strcasecmp(r->e[i - 1].host, r->e[i].host))
            return sk_fail(err, SAIKAI_ECONFIG,
                           "%s:%lld: host '%s' has a rate already (line %lld): keep one of the two",
                           path, (long long)r->e[i].where, r->e[i].host,
                           (long long)r->e[i - 1].where);
    uint32_t *index = malloc(r->n * sizeof *index);
    if (!index)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the rates of %zu hosts", r->n);
    for (size_t i = 0; i < r->n; i++)
        index[i] = (uint32_t)i;
    qsort_r(index, r->n, sizeof *index, by_short_name, r->e);
    free(r->by_short_name);
    r->by_short_name = index;
    int known;
    double rest = sk_rates_of(r, "*", &known);
    if (known)
        r->rest = rest;
    return 0;
}

size_t sk_rates_count(const struct sk_rates *r)
{
    return r->n;
}

int sk_rates_each(const struct sk_rates *r, int (*each)(void *arg, const char *host, double rate, struct saikai_error *err), void *arg,
                  struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->n && !rc; i++)
        rc = each(arg, r->e[i].host, r->e[i].rate, err);
    return rc;
}

static const struct entry *find_full(const struct sk_rates *r, const char *host)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int d = strcasecmp(host, r->e[mid].host);
        if (!d)
            return &r->e[mid];
        if (d < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

/* The entry for a host whose name is the other's up to the first dot; not when two could be meant.
 */
static const struct entry *find_short(const struct sk_rates *r, const char *host)
{
    size_t low = 0, high = r->n;
    while (low < high) { /* the first that is not below */
        size_t mid = low + (high - low) / 2;
        if (compare_short(r->e[r->by_short_name[mid]].host, host) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    const struct entry *found = NULL;
    int host_is_short = !host[short_length(host)];
    for (; low < r->n && !compare_short(r->e[r->by_short_name[low]].host, host); low++) {
        const struct entry *e = &r->e[r->by_short_name[low]];
        int entry_is_short = !e->host[short_length(e->host)];
        if (!host_is_short && !entry_is_short)
            continue;
        if (found)
            return NULL;
        found = e;
    }
    return found;
}

double sk_rates_of(const struct sk_rates *r, const char *host, int *known)
{
    const struct entry *e = find_full(r, host);
    if (!e && r->n)
        e = find_short(r, host);
    if (known)
        *known = e != NULL;
    return e ? e->rate : r->rest;
}

static int by_text(const void *a, const void *b)
{
    return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return SK_ORDER(x, y);
}

int sk_rates_sum(const struct sk_rates *r, const char *const *hosts, size_t n, double *rate,
                 size_t *unknown, struct saikai_error *err)
{
    const char **sorted = malloc((n + 1) * sizeof *sorted);
    double *rates = malloc((n + 1) * sizeof *rates), sum = 0;
    size_t distinct = 0, missing = 0;
    int rc = 0;
    if (!sorted || !rates) {
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the rates of %zu hosts", n);
        goto out;
    }
    if (n)
        memcpy(sorted, hosts, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_text);
    for (size_t i = 0; i < n; i++) {
        int known;
        if (i && !strcasecmp(sorted[i - 1], sorted[i]))
            continue;
        rates[distinct++] = sk_rates_of(r, sorted[i], &known);
        missing += !known;
    }
    qsort(rates, distinct, sizeof *rates, by_value); /* small ones first: the least rounding */
    for (size_t i = 0; i < distinct; i++)
        sum += rates[i];
    *rate = sum;
    if (unknown)
        *unknown = missing;
out:
    free(sorted);
    free(rates);
    return rc;
}
