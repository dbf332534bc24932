/* Questions and additions as calls of the database. It is opened for each: whatever happens to its file meanwhile is a sentence in an answer,
 * and who is killed loses nothing that was answered. */
#include "backbone/rates/serve.h"

#include <stdio.h>
#include <stdlib.h>

static void refuse(struct sk_rates_message *a, const struct saikai_error *err)
{
    sk_rates_message_free(a);
    a->kind = SK_RATES_REFUSED;
    snprintf(a->why, sizeof a->why, "%.*s", (int)sizeof a->why - 1, err->text);
}

static int ask(const struct sk_rates_store *s, const struct sk_rates_exchange *x, struct sk_rates_message *a, struct saikai_error *err)
{
    struct sk_database *db = NULL;
    int rc = 0;
    a->kind = SK_RATES_TOLD;
    a->x = sk_exchange_copy(x);
    if (!a->x)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for an answer");
    rc = sk_database_open(s->path, s->own, 0, &db, err);
    if (!rc)
        rc = sk_exchange_ask(db, a->x, err);
    else if (rc == SAIKAI_ENOENT) /* nobody has learnt anything yet */
        rc = 0;
    sk_database_close(db);
    return rc;
}

/* The id is kept beside what it added: whoever asks again has no answer, whatever became of the server meanwhile. */
static int add(const struct sk_rates_store *s, const struct sk_rates_message *q, struct sk_rates_message *a, struct saikai_error *err)
{
    struct sk_database *db = NULL;
    a->kind = SK_RATES_ADDED;
    int rc = sk_database_open(s->path, s->own, 1, &db, err);
    if (!rc)
        rc = sk_exchange_add_once(db, q->x, q->id, err);
    sk_database_close(db);
    return rc;
}

struct list {
    struct sk_rates_message *a;
    size_t cap;
    int failed;
};

static int keep(void *arg, const struct sk_database_row *row)
{
    struct list *l = arg;
    if (l->a->n_rows == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        struct sk_rates_row *more = realloc(l->a->row, cap * sizeof *more);
        if (!more)
            return SAIKAI_ENOMEM;
        l->a->row = more;
        l->cap = cap;
    }
    struct sk_rates_row *r = &l->a->row[l->a->n_rows++];
    *r = (struct sk_rates_row){.side = row->side, .seconds = row->seconds, .faults = row->faults, .newest = row->newest, .stated = -1};
    snprintf(r->name, sizeof r->name, "%s", row->name);
    return 0;
}

int sk_rates_list(struct sk_database *db, struct sk_rates_message *a, struct saikai_error *err)
{
    struct list l = {.a = a};
    int rc = sk_database_seen(db, SK_SIDE_NODE, NULL, SK_BELIEF_MEMORY, &a->nodes, err);
    if (!rc)
        rc = sk_database_others(db, NULL, SK_BELIEF_MEMORY, &a->others, err);
    if (!rc && (rc = sk_database_each(db, keep, &l, err)) == SAIKAI_ENOMEM)
        sk_fail(err, rc, "no memory for an answer");
    for (uint32_t i = 0; i < a->n_rows && !rc; i++) {
        struct sk_rates_row *r = &a->row[i];
        rc = sk_database_seen(db, r->side, r->name, SK_BELIEF_MEMORY, &r->own, err);
        if (!rc && r->side == SK_SIDE_NODE)
            rc = sk_database_stated(db, r->name, &r->stated, err);
        if (!rc && r->side == SK_SIDE_PROGRAM)
            rc = sk_database_others(db, r->name, SK_BELIEF_MEMORY, &r->others, err);
    }
    return rc;
}

static int list(const struct sk_rates_store *s, struct sk_rates_message *a, struct saikai_error *err)
{
    struct sk_database *db = NULL;
    a->kind = SK_RATES_ROWS;
    int rc = sk_database_open(s->path, s->own, 0, &db, err);
    if (!rc)
        rc = sk_rates_list(db, a, err);
    sk_database_close(db);
    if (!rc && a->n_rows > SK_RATES_ROWS_MOST)
        rc = sk_fail(err, SAIKAI_EINVAL, "it knows more than %d hosts and programs: ask where its database is", SK_RATES_ROWS_MOST);
    return rc == SAIKAI_ENOENT ? 0 : rc;
}

void sk_rates_serve(const struct sk_rates_store *s, const struct sk_rates_message *q, struct sk_rates_message *a)
{
    struct saikai_error err = {0};
    int rc = q->kind == SK_RATES_ASK ? ask(s, q->x, a, &err) : q->kind == SK_RATES_ADD ? add(s, q, a, &err) : list(s, a, &err);
    if (rc)
        refuse(a, &err);
}
