/* Slots: choosing among those that are there, making more, and giving away what is too much. */
#include "lib/engine/parts/shelf.h"

#include "lib/engine/room.h"

#include <stdlib.h>

/* A file of an earlier start that is a copy of everything. */
static int is_old_copy(const struct sk_held *h)
{
    return h->stage == COMMITTED && !h->slot && !h->seq && !h->base.incarnation;
}

int sk_shelf_count(const struct sk_stock *s, enum sk_slot_use use, int committed, int old)
{
    int n = 0;
    for (const struct sk_held *h = s->all; h; h = h->next)
        n += h->slot ? h->use == use && (committed || h->stage != COMMITTED)
                     : committed && old && use == SK_SLOT_FULL && is_old_copy(h);
    return n;
}

struct sk_held *sk_shelf_any(const struct sk_stock *s, enum sk_slot_use use)
{
    struct sk_held *h = s->all;
    while (h && !(h->stage == FREE && h->slot && h->use == use))
        h = h->next;
    return h;
}

struct sk_held *sk_shelf_pick(const struct sk_stock *s, enum sk_slot_use use, size_t size_bytes)
{
    struct sk_held *best = NULL;
    for (struct sk_held *h = s->all; h; h = h->next) {
        if (h->stage != FREE || !h->slot || h->use != use)
            continue;
        size_t now = h->slot->size_bytes, was = best ? best->slot->size_bytes : 0;
        if (!best || (was < size_bytes ? now > was : now >= size_bytes && now < was))
            best = h;
    }
    return best;
}

struct sk_held *sk_shelf_newest_untold(const struct sk_stock *s)
{
    struct sk_held *best = NULL;
    for (struct sk_held *h = s->all; h; h = h->next) {
        if (h->stage != COMMITTED || !h->slot || h->use != SK_SLOT_FULL || h->seq <= s->complete_seq ||
            h->seq == s->told_seq || h->users.archiving || h->users.holds || h->users.lent || (best && h->seq < best->seq))
            continue;
        int used = 0;
        for (const struct sk_held *d = s->all; d; d = d->next)
            used |= d->base.incarnation && sk_same_gen(d->base, h->gen);
        best = used ? best : h;
    }
    return best;
}

void sk_shelf_drop_broken(struct sk_stock *s)
{
    for (struct sk_held *h = s->all, *next; h; h = next) {
        next = h->next;
        if (h->stage == FREE && h->slot && !sk_slot_is_whole(h->slot))
            sk_stock_drop(s, h, 1);
    }
}

void sk_shelf_trim(const struct sk_shelf *f, struct sk_stock *s, double deltas_bytes)
{
    const double may_stay[SK_SLOT_USES] = {[SK_SLOT_DELTA] = deltas_bytes}; /* beside the first of each use */
    int seen[SK_SLOT_USES] = {0};
    double sum[SK_SLOT_USES] = {0};
    for (struct sk_held *h = s->all, *next; h; h = next) {
        next = h->next;
        if (h->stage != FREE || !h->slot)
            continue;
        sum[h->use] += (double)h->slot->size_bytes;
        if ((seen[h->use]++ && sum[h->use] > may_stay[h->use]) ||
            (!f->wanted_bytes[h->use] && (f->wanted_bytes[0] || f->wanted_bytes[1])))
            sk_stock_drop(s, h, 1);
    }
}

int sk_shelf_take_room(const struct sk_shelf *f, const struct sk_where *w, int number, size_t size_bytes, struct sk_slot **slot,
                       struct saikai_error *err)
{
    int lock;
    size_t had = *slot ? (*slot)->size_bytes : 0;
    int rc = sk_room_enter(w->local_root, w->rank, f->share, size_bytes > had ? size_bytes - had : 0, &lock, err);
    if (rc)
        return rc;
    rc = *slot ? sk_slot_resize(*slot, size_bytes, err)
               : sk_slot_new(w->local_root, w->incarnation, w->rank, number, size_bytes, slot, err);
    sk_room_leave(lock);
    return rc;
}

int sk_shelf_room(const struct sk_shelf *f, const struct sk_where *w, uint64_t bytes, struct saikai_error *err)
{
    static const uint64_t to_work = 16 << 20; /* buffers of codecs and copies */
    int lock, rc = sk_room_enter(w->local_root, w->rank, f->share, bytes + to_work, &lock, err);
    if (!rc)
        sk_room_leave(lock); /* nobody takes more than its share: it is still there when it is taken */
    return rc;
}

int sk_shelf_new(struct sk_shelf *f, const struct sk_where *w, struct sk_stock *s, enum sk_slot_use use, size_t size_bytes,
                 struct saikai_error *err)
{
    struct sk_held *h = calloc(1, sizeof *h);
    if (!h)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a checkpoint slot");
    int rc = sk_shelf_take_room(f, w, f->number++, size_bytes, &h->slot, err);
    if (rc) {
        free(h);
        return rc;
    }
    h->use = use;
    sk_stock_add(s, h);
    return 0;
}
