/* The questions of a job, and its additions, as calls of the database. */
#include "schedule/learn/exchange.h"

#include <stdlib.h>
#include <string.h>

static size_t size_of(int n)
{
    return sizeof(struct sk_rates_exchange) + (size_t)n * sizeof(struct sk_exchange_host);
}

struct sk_rates_exchange *sk_exchange_new(int n)
{
    struct sk_rates_exchange *x = n >= 0 && n <= SK_EXCHANGE_HOSTS ? calloc(1, size_of(n)) : NULL;
    if (!x)
        return NULL;
    x->memory = SK_BELIEF_MEMORY;
    x->n = n;
    for (int i = 0; i < n; i++)
        x->host[i].stated = -1;
    return x;
}

struct sk_rates_exchange *sk_exchange_copy(const struct sk_rates_exchange *x)
{
    struct sk_rates_exchange *c = malloc(size_of(x->n));
    return c ? memcpy(c, x, size_of(x->n)) : NULL;
}

struct sk_rates_exchange *sk_exchange_to_add(const struct sk_rates_exchange *x)
{
    struct sk_rates_exchange *c = sk_exchange_copy(x);
    if (!c)
        return NULL;
    c->n = 0;
    for (int i = 0; i < x->n; i++) {
        if (!(x->host[i].to_add > 0))
            continue;
        c->host[c->n] = x->host[i];
        c->host[c->n++].stated = -1;
    }
    return c;
}

int sk_exchange_ask(struct sk_database *db, struct sk_rates_exchange *x, struct saikai_error *err)
{
    int rc = sk_database_seen(db, SK_SIDE_NODE, NULL, x->memory, &x->nodes, err);
    if (!rc)
        rc = sk_database_others(db, x->job, x->memory, &x->others, err);
    if (!rc)
        rc = sk_database_seen(db, SK_SIDE_PROGRAM, x->job, x->memory, &x->seen, err);
    size_t times = 0;
    if (!rc)
        rc = sk_database_shape(db, SK_SIDE_NODE, &x->shape, &times, err);
    for (int i = 0; i < x->n && !rc; i++) {
        double stated = -1;
        rc = sk_database_seen(db, SK_SIDE_NODE, x->host[i].name, x->memory, &x->host[i].seen, err);
        if (!rc)
            rc = sk_database_stated(db, x->host[i].name, &stated, err);
        if (stated >= 0 && x->host[i].stated < 0)
            x->host[i].stated = stated;
    }
    return rc;
}

/* Between begin and commit. */
static int add(struct sk_database *db, const struct sk_rates_exchange *x, struct saikai_error *err)
{
    int rc = 0;
    if (x->job_seconds > 0)
        rc = sk_database_add_time(db, SK_SIDE_PROGRAM, x->job, x->now, x->job_seconds, 0, err);
    for (int i = 0; i < x->n && !rc; i++) {
        if (x->host[i].to_add > 0)
            rc = sk_database_add_time(db, SK_SIDE_NODE, x->host[i].name, x->now, x->host[i].to_add, 0, err);
        if (!rc && x->host[i].stated >= 0)
            rc = sk_database_add_rate(db, x->host[i].name, x->host[i].stated, err);
    }
    for (int i = 0; i < x->n_events && !rc; i++)
        rc = sk_database_add_event(db, &x->event[i], err);
    return rc;
}

int sk_exchange_add(struct sk_database *db, const struct sk_rates_exchange *x, struct saikai_error *err)
{
    int rc = sk_database_begin(db, err);
    if (!rc)
        rc = add(db, x, err);
    return rc ? rc : sk_database_commit(db, err);
}

int sk_exchange_add_once(struct sk_database *db, const struct sk_rates_exchange *x, struct sk_id id, struct saikai_error *err)
{
    int is_new = 0, rc = sk_database_begin(db, err);
    if (!rc)
        rc = sk_database_take(db, id, &is_new, err);
    if (!rc && is_new)
        rc = add(db, x, err);
    return rc ? rc : sk_database_commit(db, err);
}
