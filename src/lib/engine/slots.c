/* The engine's slots: one to capture into when it is wanted, and what is done when there is none (parts/shelf.h has the slots). */
#include "lib/engine/slots.h"

#include "lib/engine/engine_parts.h"
#include "lib/engine/retention.h"

#include <stdlib.h>

/* Deltas that may be on their way to the committer at a time. */
enum { DELTAS_AHEAD = 3 };

/* Full ones are also those that are generations, and what earlier starts left, unless that is not to go. */
static int count_full(const struct sk_engine *e)
{
    return sk_shelf_count(&e->stock, SK_SLOT_FULL, 1, e->keep.earlier != SK_EARLIER_STAY);
}

/* 1: a generation stays beside the newest complete one and the newest of all, because the ranks are about to learn whether
 * it is complete. */
static int told_back(const struct sk_stock *s)
{
    return s->told_seq > s->complete_seq && s->told_seq < s->committed_seq;
}

static int may_make(struct sk_engine *e, enum sk_slot_use use)
{
    return use == SK_SLOT_FULL
               ? count_full(e) < e->keep.keep_local + 2 + told_back(&e->stock) + sk_keep_held_back(&e->keep, &e->stock)
               : sk_shelf_count(&e->stock, use, 0, 0) < DELTAS_AHEAD;
}

/* Give back what somebody else could use: 1 when there was something. */
static int make_room(struct sk_engine *e, enum sk_slot_use use)
{
    struct sk_held *h = sk_shelf_any(&e->stock, use == SK_SLOT_FULL ? SK_SLOT_DELTA : SK_SLOT_FULL);
    if (h)
        sk_stock_drop(&e->stock, h, 1);
    else if ((h = sk_keep_unneeded(&e->keep, &e->stock, 0)))
        sk_engine_retire(e, h, NULL);
    return h != NULL;
}

/* All slots are generations that must stay for now, until this rank goes on or a slow prefix has its copy: neither is waited
 * for. The newest one makes room for one that is newer still, or there is one more slot: beside what is kept, what is on its
 * way to the prefix and what the ranks were told of, there is never more than one. */
static int find_anyhow(struct sk_engine *e, enum sk_slot_use use, size_t size_bytes, struct saikai_error *err)
{
    struct sk_held *h = use == SK_SLOT_FULL ? sk_shelf_newest_untold(&e->stock) : NULL;
    return h ? sk_engine_retire(e, h, err) : sk_shelf_new(&e->shelf, &e->where, &e->stock, use, size_bytes, err);
}

/* When checkpoints come faster than the ranks learn that one is complete, the ones between the newest complete and the
 * newest of all may go. */
int sk_engine_acquire(struct sk_engine *e, enum sk_slot_use use, size_t size_bytes, struct sk_slot **out,
                      struct saikai_error *err)
{
    struct sk_held *h = NULL, *victim;
    int rc = 0;
    sk_threads_lock(&e->threads);
    sk_shelf_drop_broken(&e->stock);
    while (!rc && !(h = sk_shelf_pick(&e->stock, use, size_bytes))) {
        if (e->shelf.preparing || e->shelf.prepare || sk_keep_is_due(&e->keep, &e->stock))
            sk_threads_wait(&e->threads);
        else if (may_make(e, use))
            rc = (rc = sk_shelf_new(&e->shelf, &e->where, &e->stock, use, size_bytes, err)) && make_room(e, use) ? 0 : rc;
        else if ((victim = sk_keep_unneeded(&e->keep, &e->stock, 0)))
            rc = sk_engine_retire(e, victim, err);
        else if (e->sealing.busy || sk_stock_next(&e->stock))
            sk_threads_wait(&e->threads);
        else
            rc = find_anyhow(e, use, size_bytes, err);
        sk_shelf_drop_broken(&e->stock); /* also what was retired just now */
    }
    if (!rc && h->slot->size_bytes < size_bytes) /* one that is too large is cut by the committer */
        rc = sk_shelf_take_room(&e->shelf, &e->where, 0, size_bytes, &h->slot, err);
    if (!rc) {
        h->stage = TAKEN;
        h->size_bytes = size_bytes;
        *out = h->slot;
    }
    sk_threads_unlock(&e->threads);
    return rc;
}

void sk_engine_give_back(struct sk_engine *e, struct sk_slot *slot)
{
    sk_threads_lock(&e->threads);
    struct sk_held *h = sk_stock_of_slot(&e->stock, slot);
    if (h)
        h->stage = FREE;
    sk_threads_tell_and_unlock(&e->threads);
}

/* A new slot, or a free one made larger; without the lock for the while. */
static void prepare(struct sk_engine *e, enum sk_slot_use use, size_t size_bytes)
{
    struct saikai_error err = {0}; /* whoever needs the slot will try again and get the error */
    struct sk_held *h = sk_shelf_pick(&e->stock, use, size_bytes);
    /* one more than is kept is enough: the retired one becomes free in time */
    if (h ? h->slot->size_bytes >= size_bytes || use == SK_SLOT_FULL
          : use == SK_SLOT_FULL && count_full(e) > e->keep.keep_local + sk_keep_held_back(&e->keep, &e->stock))
        return;
    int number = e->shelf.number++, rc;
    struct sk_slot *slot = h ? h->slot : NULL;
    if (h)
        h->stage = TAKEN;
    e->shelf.preparing = 1;
    sk_threads_unlock(&e->threads);
    rc = sk_shelf_take_room(&e->shelf, &e->where, number, size_bytes, &slot, &err);
    sk_threads_lock(&e->threads);
    e->shelf.preparing = 0;
    if (h) {
        h->stage = FREE;
    } else if (!rc && (h = calloc(1, sizeof *h))) {
        *h = (struct sk_held){.stage = FREE, .slot = slot, .use = use};
        sk_stock_add(&e->stock, h);
    } else if (!rc) {
        sk_slot_free(slot, 1);
    }
}

void sk_engine_prepare_slots(struct sk_engine *e)
{
    e->shelf.prepare = 0;
    sk_shelf_drop_broken(&e->stock);
    for (int use = 0; use < SK_SLOT_USES; use++)
        if (e->shelf.wanted_bytes[use])
            prepare(e, (enum sk_slot_use)use, e->shelf.wanted_bytes[use]);
    sk_threads_tell(&e->threads);
}
