/* Chooses from the priced predictors of all fields: one for each, and the order of the fields that
 * takes the fewest bits. */
#include "archive/plan/sample/select.h"

#include "archive/plan/sample/predictors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The best predictor of each field if fields become known in this order; the sum of their bits. */
static double best_in_order(const struct sk_search *f, const int *order,
                            struct sk_field_predictor **chosen)
{
    int known[SK_SAMPLE_FIELDS] = {0}, n = f->s->fields;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        int field = order[i];
        struct sk_field_predictor *best = NULL;
        for (int k = f->first[field]; k < f->first[field + 1]; k++) {
            struct sk_field_predictor *w = &f->predictors[k];
            int ok = !best || w->bits < best->bits;
            for (int u = 0; u < n && ok; u++)
                ok = known[u] || !(w->uses >> u & 1);
            if (ok)
                best = w;
        }
        chosen[field] = best; /* never NULL: the predictor alone uses nothing */
        sum += best->bits;
        known[field] = 1;
    }
    return sum;
}

static void move_in_order(int *order, int from, int to)
{
    int field = order[from];
    if (from < to)
        memmove(order + from, order + from + 1, (size_t)(to - from) * sizeof *order);
    else
        memmove(order + to + 1, order + to, (size_t)(from - to) * sizeof *order);
    order[to] = field;
}

/* Hill climbing over orders: move one field at a time while that saves bits. */
static void choose(struct sk_search *f, struct sk_field_predictor **chosen)
{
    int n = f->s->fields, order[SK_SAMPLE_FIELDS] = {0};
    for (int i = 0; i < n; i++)
        order[i] = i;
    double best = best_in_order(f, order, chosen);
    for (int better = 1, round = 0; better && round < 20; round++) {
        better = 0;
        for (int from = 0; from < n; from++)
            for (int to = 0; to < n; to++) {
                move_in_order(order, from, to);
                double now = best_in_order(f, order, chosen);
                if (now < best - 1e-9) {
                    best = now;
                    better = 1;
                } else {
                    move_in_order(order, to, from);
                }
            }
    }
    best_in_order(f, order, chosen);
}

/* Parts in an order in which sources come first; relations are rewritten to part numbers. */
static void arrange(const struct sk_search *f, struct sk_field_predictor *const *chosen,
                    struct sk_recipe *recipes, int *order, double *bits)
{
    int n = f->s->fields, part_of[SK_SAMPLE_FIELDS], placed = 0;
    for (int i = 0; i < n; i++)
        part_of[i] = -1;
    while (placed < n)
        for (int i = 0; i < n; i++) {
            int ready = part_of[i] < 0;
            for (int k = 0; k < n && ready; k++)
                ready = !(chosen[i]->uses >> k & 1) || part_of[k] >= 0;
            if (!ready)
                continue;
            struct sk_recipe *r = &recipes[placed];
            *r =
                (struct sk_recipe){.form = SK_FORM_PREDICT, .backend = SK_BACKEND_ZSTD, .level = 1};
            r->stencil = chosen[i]->stencil;
            memcpy(r->weights, chosen[i]->weights, sizeof r->weights);
            r->relation = chosen[i]->relation;
            for (int t = 0; t < SK_TERMS; t++) {
                struct sk_term *u = &r->relation.term[t], *v = &r->relation.under[t];
                if (t < r->relation.num) {
                    u->a = u->a < 0 ? -1 : part_of[u->a];
                    u->b = u->b < 0 ? -1 : part_of[u->b];
                }
                if (t < r->relation.den) {
                    v->a = v->a < 0 ? -1 : part_of[v->a];
                    v->b = v->b < 0 ? -1 : part_of[v->b];
                }
            }
            if (bits)
                bits[placed] = chosen[i]->bits;
            order[placed] = i;
            part_of[i] = placed++;
        }
}

/* One thread's share: every `step`-th field from `from` on. */
struct share {
    struct sk_search *f;
    int from, step;
    int begin[SK_SAMPLE_FIELDS], end[SK_SAMPLE_FIELDS];
};

static void *find(void *arg)
{
    struct share *h = arg;
    struct sk_search *f = h->f;
    for (int i = h->from; i < f->s->fields; i += h->step) {
        h->begin[i] = f->count;
        sk_search_try(f, i);
        h->end[i] = f->count;
    }
    return NULL;
}

/* All predictors, by field: what is chosen must not depend on the number of threads. */
static void gather(struct sk_search *all, const struct share *shares, int n)
{
    for (int i = 0; i < all->s->fields; i++) {
        const struct share *h = &shares[i % n];
        all->first[i] = all->count;
        for (int k = h->begin[i]; k < h->end[i]; k++)
            all->predictors[all->count++] = h->f->predictors[k];
    }
    all->first[all->s->fields] = all->count;
}

int sk_select_predictors(const struct sk_sample_set *s, int threads, struct sk_recipe *recipes,
                         int *order, double *bits)
{
    enum { MOST = 8 };
    struct share shares[MOST];
    pthread_t t[MOST];
    struct sk_field_predictor *chosen[SK_SAMPLE_FIELDS] = {NULL};
    struct sk_search *all = sk_search_new(s);
    int n = threads > MOST        ? MOST
            : threads > s->fields ? s->fields
                                  : threads,
        rc = all ? 0 : SAIKAI_ENOMEM, made = 0;
    if (n < 1)
        n = 1;
    for (int i = 0; i < n; i++) {
        shares[i] = (struct share){.f = sk_search_new(s), .from = i, .step = n};
        if (!shares[i].f)
            rc = SAIKAI_ENOMEM;
    }
    while (!rc && made < n - 1 && !pthread_create(&t[made], NULL, find, &shares[made]))
        made++;
    for (int i = made; !rc && i < n; i++)
        find(&shares[i]);
    for (int i = 0; i < made; i++)
        pthread_join(t[i], NULL);
    if (!rc) {
        gather(all, shares, n);
        choose(all, chosen);
        arrange(all, chosen, recipes, order, bits);
    }
    for (int i = 0; i < n; i++)
        sk_search_free(shares[i].f);
    sk_search_free(all);
    return rc;
}
