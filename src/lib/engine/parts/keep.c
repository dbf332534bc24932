/* Which generations of the stock stay: pure rules, no files. */
#include "lib/engine/parts/keep.h"

void sk_keep_set(struct sk_keep *k, const struct sk_engine_config *c)
{
    *k = (struct sk_keep){
        .keep_local = c->keep_local,
        .keep_prefix = c->keep_prefix,
        .has_prefix = c->prefix_root != NULL,
        .incarnation = c->incarnation,
        .finished_from = c->finished_from,
        .strays_local = 1,
        .strays_prefix = c->rank == 0, /* one rank is enough */
    };
}

void sk_keep_again(struct sk_keep *k)
{
    k->retired_seq = -1;
}

int sk_keep_is_due(const struct sk_keep *k, const struct sk_stock *s)
{
    return k->retired_seq < s->complete_seq;
}

int sk_keep_prunes(const struct sk_keep *k)
{
    return k->pruned_seq < k->pruned_request;
}

/* Something of this start is where copies last. */
static int has_own(const struct sk_keep *k, const struct sk_stock *s)
{
    return k->has_prefix ? k->any_archived : s->complete_seq > 0;
}

int sk_keep_spares(const struct sk_keep *k, const struct sk_stock *s, struct sk_gen g)
{
    return g.incarnation < k->spare_before && !has_own(k, s);
}

int sk_keep_earlier_may_go(const struct sk_keep *k, const struct sk_stock *s)
{
    if (k->earlier == SK_EARLIER_UNUSED)
        return has_own(k, s);
    return k->earlier == SK_EARLIER_RESUMED;
}

static int any_damaged(const struct sk_stock *s)
{
    const struct sk_held *h = s->all;
    while (h && !h->health.damaged)
        h = h->next;
    return h != NULL;
}

/* The newest complete generation that is not marked yet; one that can be read before one that cannot. */
static struct sk_held *next_complete(const struct sk_stock *s)
{
    struct sk_held *best = NULL;
    int look = any_damaged(s), best_is_good = 0;
    for (struct sk_held *h = s->all; h; h = h->next) {
        if (h->stage != COMMITTED || h->replaced || h->kept || h->seq > s->complete_seq)
            continue;
        int good = !look || !sk_stock_is_spoiled(s, h);
        if (!best || good > best_is_good || (good == best_is_good && sk_gen_key(h->gen) > sk_gen_key(best->gen))) {
            best = h;
            best_is_good = good;
        }
    }
    return best;
}

/* It has a use of its own, whatever else is there. */
static int is_needed(const struct sk_keep *k, const struct sk_stock *s, const struct sk_held *h, int all_new, int with_holds)
{
    if (h->stage != COMMITTED || h->users.archiving || (with_holds && (h->users.holds || h->users.lent)))
        return 1;
    if (h->gen.incarnation < k->incarnation && (k->earlier == SK_EARLIER_STAY || sk_keep_spares(k, s, h->gen)))
        return 1;
    return !h->replaced && h->seq > s->complete_seq && (all_new || h->seq == s->committed_seq || h->seq == s->told_seq);
}

/* Mark what is needed for itself, then what it builds on. */
static void mark(const struct sk_keep *k, struct sk_stock *s, int all_new, int with_holds)
{
    for (struct sk_held *h = s->all; h; h = h->next)
        h->kept = 0;
    struct sk_held *h;
    for (int n = 0; n < k->keep_local && (h = next_complete(s)); n++)
        h->kept = 1;
    for (h = s->all; h; h = h->next)
        h->kept |= is_needed(k, s, h, all_new, with_holds);
    for (int more = 1; more;) {
        more = 0;
        for (h = s->all; h; h = h->next)
            for (struct sk_held *b = h->kept && h->base.incarnation ? s->all : NULL; b; b = b->next) /* else: on nothing */
                if (b->stage == COMMITTED && !b->kept && sk_same_gen(b->gen, h->base))
                    b->kept = more = 1;
    }
}

int sk_keep_held_back(const struct sk_keep *k, struct sk_stock *s)
{
    int n = 0;
    mark(k, s, 1, 0);
    for (struct sk_held *h = s->all; h; h = h->next)
        n -= h->slot && h->kept;
    mark(k, s, 1, 1);
    for (struct sk_held *h = s->all; h; h = h->next)
        n += h->slot && h->kept;
    return n;
}

struct sk_held *sk_keep_unneeded(const struct sk_keep *k, struct sk_stock *s, int all_new)
{
    struct sk_held *best = NULL;
    mark(k, s, all_new, 1);
    for (struct sk_held *h = s->all; h; h = h->next) {
        if (h->kept || h->stage != COMMITTED || (best && sk_gen_key(h->gen) >= sk_gen_key(best->gen)))
            continue;
        int used = 0; /* whatever builds on it goes first, so that nothing is left that cannot be read */
        for (const struct sk_held *d = s->all; d; d = d->next)
            used |= !d->kept && d->base.incarnation && sk_same_gen(d->base, h->gen);
        if (!used || h->replaced)
            best = h;
    }
    return best;
}
