/* The list of what a rank holds, and questions about it. */
#include "lib/engine/parts/stock.h"

#include <stdlib.h>

void sk_stock_add(struct sk_stock *s, struct sk_held *h)
{
    h->next = s->all;
    s->all = h;
}

void sk_stock_drop(struct sk_stock *s, struct sk_held *h, int remove_file)
{
    struct sk_held **at = &s->all;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    if (h->slot && h->users.lent) /* transfers that never ended may still read it */
        h->slot->map = NULL;
    sk_slot_free(h->slot, remove_file);
    sk_skc_index_free(h->given.index);
    free(h->given.wishes);
    free(h);
}

void sk_stock_drop_all(struct sk_stock *s)
{
    while (s->all)
        sk_stock_drop(s, s->all, s->all->stage != COMMITTED);
}

struct sk_held *sk_stock_find(const struct sk_stock *s, int64_t seq)
{
    struct sk_held *h = s->all;
    while (h && !(h->stage == COMMITTED && h->seq == seq))
        h = h->next;
    return h;
}

static int is_named(const struct sk_held *h)
{
    return h->stage == COMMITTED && h->place == HERE && !h->replaced;
}

struct sk_held *sk_stock_at(const struct sk_stock *s, struct sk_gen gen)
{
    struct sk_held *h = s->all;
    while (h && !(is_named(h) && sk_same_gen(h->gen, gen)))
        h = h->next;
    return h;
}

int sk_stock_has(const struct sk_stock *s, int64_t key)
{
    const struct sk_held *h = s->all;
    while (h && !(h->stage == COMMITTED && sk_gen_key(h->gen) == key))
        h = h->next;
    return h != NULL;
}

struct sk_held *sk_stock_of_slot(const struct sk_stock *s, const struct sk_slot *slot)
{
    struct sk_held *h = s->all;
    while (h && h->slot != slot)
        h = h->next;
    return h;
}

struct sk_held *sk_stock_next(const struct sk_stock *s)
{
    struct sk_held *best = NULL;
    for (struct sk_held *h = s->all; h; h = h->next)
        if (h->stage == SUBMITTED && (!best || h->seq < best->seq))
            best = h;
    return best;
}

struct sk_held *sk_stock_newest(const struct sk_stock *s)
{
    struct sk_held *best = NULL;
    for (struct sk_held *h = s->all; h; h = h->next)
        if (is_named(h) && (!best || sk_gen_key(h->gen) > sk_gen_key(best->gen)))
            best = h;
    return best;
}

void sk_stock_committed(struct sk_stock *s, const struct sk_held *h)
{
    if (h->seq > s->committed_seq)
        s->committed_seq = h->seq;
    for (struct sk_held *old = s->all; old; old = old->next)
        if (old != h && old->stage == COMMITTED && sk_same_gen(old->gen, h->gen))
            old->replaced = 1;
}

int sk_stock_builds_on(const struct sk_stock *s, const struct sk_held *h, const struct sk_held *base)
{
    while (h && h != base)
        h = h->base.incarnation ? sk_stock_at(s, h->base) : NULL;
    return h != NULL;
}

int sk_stock_is_spoiled(const struct sk_stock *s, const struct sk_held *h)
{
    while (h && !h->health.damaged && h->base.incarnation)
        h = sk_stock_at(s, h->base);
    return !h || h->health.damaged;
}
