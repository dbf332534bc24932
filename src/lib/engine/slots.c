/* The engine's slots: one to capture into when it is wanted, of a size for full generations or for deltas. */
#include "lib/engine/engine_parts.h"

#include "lib/engine/room.h"

#include <stdlib.h>
#include <string.h>

/* Deltas that may be on their way to the committer at a time. */
enum { DELTAS_AHEAD = 3 };

/* A file of an earlier start that is a copy of everything. */
static int is_old_copy(const struct held *h)
{
    return h->stage == COMMITTED && !h->slot && !h->seq && !h->base.incarnation;
}

/* How many slots there are of a use: with committed 1 also those that are generations, and what earlier starts left, unless
 * that is not to go. */
static int count_slots(const struct sk_engine *e, enum sk_slot_use use, int committed)
{
    int n = 0;
    for (const struct held *h = e->all; h; h = h->next)
        n += h->slot ? h->use == use && (committed || h->stage != COMMITTED)
                     : committed && use == SK_SLOT_FULL && is_old_copy(h) && e->earlier != SK_EARLIER_STAY;
    return n;
}

static struct held *any_free(const struct sk_engine *e, enum sk_slot_use use)
{
    struct held *h = e->all;
    while (h && !(h->stage == FREE && h->slot && h->use == use))
        h = h->next;
    return h;
}

/* Rather one of exactly this size, then the smallest that is larger, then the largest. */
static struct held *pick_free(const struct sk_engine *e, enum sk_slot_use use, size_t size_bytes)
{
    struct held *best = NULL;
    for (struct held *h = e->all; h; h = h->next) {
        if (h->stage != FREE || !h->slot || h->use != use)
            continue;
        size_t now = h->slot->size_bytes, was = best ? best->slot->size_bytes : 0;
        if (!best || (was < size_bytes ? now > was : now >= size_bytes && now < was))
            best = h;
    }
    return best;
}

/* Make a slot, or make one larger, of what this rank may have. */
static int take_room(struct sk_engine *e, int number, size_t size_bytes, struct sk_slot **slot, struct saikai_error *err)
{
    int lock;
    size_t had = *slot ? (*slot)->size_bytes : 0;
    int rc = sk_room_enter(e->local_root, e->rank, e->share, size_bytes > had ? size_bytes - had : 0, &lock, err);
    if (rc)
        return rc;
    rc = *slot ? sk_slot_resize(*slot, size_bytes, err)
               : sk_slot_new(e->local_root, e->incarnation, e->rank, number, size_bytes, slot, err);
    sk_room_leave(lock);
    return rc;
}

int sk_engine_room(const struct sk_engine *e, uint64_t bytes, struct saikai_error *err)
{
    static const uint64_t to_work = 16 << 20; /* buffers of codecs and copies */
    int lock, rc = sk_room_enter(e->local_root, e->rank, e->share, bytes + to_work, &lock, err);
    if (!rc)
        sk_room_leave(lock); /* nobody takes more than its share: it is still there when it is taken */
    return rc;
}

static int new_slot(struct sk_engine *e, enum sk_slot_use use, size_t size_bytes, struct saikai_error *err)
{
    struct held *h = calloc(1, sizeof *h);
    if (!h)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a checkpoint slot");
    int rc = take_room(e, e->slot_number++, size_bytes, &h->slot, err);
    if (rc) {
        free(h);
        return rc;
    }
    h->use = use;
    h->next = e->all;
    e->all = h;
    return 0;
}

/* 1: a generation stays beside the newest complete one and the newest of all, because the ranks are about to learn whether
 * it is complete. */
static int told_back(const struct sk_engine *e)
{
    return e->told_seq > e->complete_seq && e->told_seq < e->committed_seq;
}

static int may_make(struct sk_engine *e, enum sk_slot_use use)
{
    return use == SK_SLOT_FULL
               ? count_slots(e, use, 1) < e->keep_local + 2 + told_back(e) + sk_engine_held_back(e)
               : count_slots(e, use, 0) < DELTAS_AHEAD;
}

/* Give back what somebody else could use: 1 when there was something. */
static int make_room(struct sk_engine *e, enum sk_slot_use use)
{
    struct held *h = any_free(e, use == SK_SLOT_FULL ? SK_SLOT_DELTA : SK_SLOT_FULL);
    if (h)
        sk_engine_drop(e, h, 1);
    else if ((h = sk_engine_unneeded(e, 0)))
        sk_engine_retire(e, h, NULL);
    return h != NULL;
}

/* Slots whose files somebody cut or removed: to write into them would be a signal. */
static void drop_broken(struct sk_engine *e)
{
    for (struct held *h = e->all, *next; h; h = next) {
        next = h->next;
        if (h->stage == FREE && h->slot && !sk_slot_is_whole(h->slot))
            sk_engine_drop(e, h, 1);
    }
}

/* What is not complete, and nobody has been told of or builds on: the newest of them. */
static struct held *newest_untold(const struct sk_engine *e)
{
    struct held *best = NULL;
    for (struct held *h = e->all; h; h = h->next) {
        if (h->stage != COMMITTED || !h->slot || h->use != SK_SLOT_FULL || h->seq <= e->complete_seq ||
            h->seq == e->told_seq || h->archiving || h->holds || h->lent || (best && h->seq < best->seq))
            continue;
        int used = 0;
        for (const struct held *d = e->all; d; d = d->next)
            used |= d->base.incarnation && sk_gen_key(d->base) == sk_gen_key(h->gen);
        best = used ? best : h;
    }
    return best;
}

/* All slots are generations that must stay for now, until this rank goes on or a slow prefix has its copy: neither is waited
 * for. The newest one makes room for one that is newer still, or there is one more slot: beside what is kept, what is on its
 * way to the prefix and what the ranks were told of, there is never more than one. */
static int find_anyhow(struct sk_engine *e, enum sk_slot_use use, size_t size_bytes, struct saikai_error *err)
{
    struct held *h = use == SK_SLOT_FULL ? newest_untold(e) : NULL;
    return h ? sk_engine_retire(e, h, err) : new_slot(e, use, size_bytes, err);
}

/* When checkpoints come faster than the ranks learn that one is complete, the ones between the newest complete and the
 * newest of all may go. */
int sk_engine_acquire(struct sk_engine *e, enum sk_slot_use use, size_t size_bytes, struct sk_slot **out,
                      struct saikai_error *err)
{
    struct held *h = NULL, *victim;
    int rc = 0;
    pthread_mutex_lock(&e->lock);
    drop_broken(e);
    while (!rc && !(h = pick_free(e, use, size_bytes))) {
        if (e->preparing || e->prepare || e->retired_seq < e->complete_seq)
            pthread_cond_wait(&e->changed, &e->lock);
        else if (may_make(e, use))
            rc = (rc = new_slot(e, use, size_bytes, err)) && make_room(e, use) ? 0 : rc;
        else if ((victim = sk_engine_unneeded(e, 0)))
            rc = sk_engine_retire(e, victim, err);
        else if (e->busy_commit || sk_engine_next(e))
            pthread_cond_wait(&e->changed, &e->lock);
        else
            rc = find_anyhow(e, use, size_bytes, err);
        drop_broken(e); /* also what was retired just now */
    }
    if (!rc && h->slot->size_bytes < size_bytes) /* one that is too large is cut by the committer */
        rc = take_room(e, 0, size_bytes, &h->slot, err);
    if (!rc) {
        h->stage = TAKEN;
        h->size_bytes = size_bytes;
        *out = h->slot;
    }
    pthread_mutex_unlock(&e->lock);
    return rc;
}

void sk_engine_give_back(struct sk_engine *e, struct sk_slot *slot)
{
    pthread_mutex_lock(&e->lock);
    for (struct held *h = e->all; h; h = h->next)
        if (h->slot == slot)
            h->stage = FREE;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

/* A new slot, or a free one made larger; without the lock for the while. */
static void prepare(struct sk_engine *e, enum sk_slot_use use, size_t size_bytes)
{
    struct saikai_error err = {0}; /* whoever needs the slot will try again and get the error */
    struct held *h = pick_free(e, use, size_bytes);
    /* one more than is kept is enough: the retired one becomes free in time */
    if (h ? h->slot->size_bytes >= size_bytes || use == SK_SLOT_FULL
          : use == SK_SLOT_FULL && count_slots(e, use, 1) > e->keep_local + sk_engine_held_back(e))
        return;
    int number = e->slot_number++, rc;
    struct sk_slot *slot = h ? h->slot : NULL;
    if (h)
        h->stage = TAKEN;
    e->preparing = 1;
    pthread_mutex_unlock(&e->lock);
    rc = take_room(e, number, size_bytes, &slot, &err);
    pthread_mutex_lock(&e->lock);
    e->preparing = 0;
    if (h) {
        h->stage = FREE;
    } else if (!rc && (h = calloc(1, sizeof *h))) {
        *h = (struct held){.stage = FREE, .slot = slot, .use = use, .next = e->all};
        e->all = h;
    } else if (!rc) {
        sk_slot_free(slot, 1);
    }
}

void sk_engine_prepare_slots(struct sk_engine *e)
{
    e->prepare = 0;
    drop_broken(e);
    for (int use = 0; use < SK_SLOT_USES; use++)
        if (e->wanted_bytes[use])
            prepare(e, (enum sk_slot_use)use, e->wanted_bytes[use]);
    pthread_cond_broadcast(&e->changed);
}

/* How much memory free slots of a use may hold. Of full ones, one. Of those for deltas, as much as the deltas on the next
 * full generation may take (the limits of store/form/lineage.h): the slots of one lineage come free together when it is folded,
 * and to fill pages that are there takes a fraction of the time that new ones take. */
static double may_stay_free(const struct sk_engine *e, enum sk_slot_use use)
{
    double ratio = e->limits.max_ratio > 0 ? e->limits.max_ratio : 1;
    return use == SK_SLOT_DELTA ? ratio * (double)e->tip.full_bytes : 0;
}

void sk_engine_trim_slots(struct sk_engine *e)
{
    int seen[SK_SLOT_USES] = {0};
    double sum[SK_SLOT_USES] = {0};
    for (struct held *h = e->all, *next; h; h = next) {
        next = h->next;
        if (h->stage != FREE || !h->slot)
            continue;
        sum[h->use] += (double)h->slot->size_bytes;
        /* what nobody wants, or is more than will be used, is memory that nobody uses */
        if ((seen[h->use]++ && sum[h->use] > may_stay_free(e, h->use)) ||
            (!e->wanted_bytes[h->use] && (e->wanted_bytes[0] || e->wanted_bytes[1])))
            sk_engine_drop(e, h, 1);
    }
}
