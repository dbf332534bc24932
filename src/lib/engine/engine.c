/* The engine's interface to the session: starting and ending its threads, handing generations over,
 * and saying how far they got. */
#include "lib/engine/engine_parts.h"

#include "base/clock.h"
#include "base/host/guard.h"
#include "base/file/io.h"
#include "base/log.h"
#include "lib/engine/archiver.h"
#include "lib/engine/committer.h"
#include "lib/engine/heal/heal.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Is there work that somebody should wait for? */
static int is_busy_here(struct sk_engine *e)
{
    return sk_stock_next(&e->stock) || e->sealing.busy || e->healing.doubt.any || sk_keep_is_due(&e->keep, &e->stock);
}

static int is_busy_far(struct sk_engine *e)
{
    return !sk_copying_is_idle(&e->copying) || sk_keep_prunes(&e->keep);
}

/* Wait with the lock for the archiver, until it has ended (or, with ended 0, has nothing to do): 0, or -1 when it has done
 * nothing for too long. A file system's pace is its own: what counts is whether anything moves. */
static int wait_for_archiver(struct sk_engine *e, int ended)
{
    unsigned long seen = sk_io_count();
    double since = sk_now();
    while (ended ? !e->copying.ended : is_busy_here(e) || is_busy_far(e)) {
        sk_threads_wait_for(&e->threads, 0.05);
        unsigned long now = sk_io_count();
        if (now != seen || (!ended && is_busy_here(e))) {
            seen = now;
            since = sk_now();
        } else if (e->copying.final_wait > 0 && sk_now() - since > e->copying.final_wait) {
            return -1;
        }
    }
    return 0;
}

int sk_engine_new(const struct sk_engine_config *c, struct sk_engine **out, struct saikai_error *err)
{
    struct sk_engine *e = calloc(1, sizeof *e);
    if (!e)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the checkpoint engine");
    e->ledger = c->ledger;
    e->sealing.coding = c->coding;
    e->sealing.limits = c->limits;
    e->copying.final_wait = c->final_wait;
    sk_keep_set(&e->keep, c);
    sk_threads_set(&e->threads);
    int rc = sk_where_set(&e->where, c);
    if (!rc)
        rc = sk_patience_new(c->prefix_timeout, &e->healing.patience, NULL);
    if (!rc && sk_threads_start(&e->threads, sk_engine_committer, sk_engine_archiver, e))
        rc = SAIKAI_ENOMEM;
    if (rc) {
        sk_engine_free_parts(e);
        return sk_fail(err, rc, "no memory or no threads for the checkpoint engine");
    }
    struct sk_scrub_config scrub = {e->where.local_root, c->rank, c->incarnation, c->scrub_period, c->scrub_share,
                                    sk_engine_scrub_suspects, e};
    struct saikai_error why = {0};
    if (sk_scrub_start(&scrub, &e->healing.scrub, &why)) /* a checkpoint that is not scrubbed is as good */
        sk_log(SK_LOG_WARN, "rank %d: %s", e->where.rank, why.text);
    sk_slot_clean(e->where.local_root, e->where.incarnation, e->where.rank, e->where.nranks);
    sk_guard_open();
    *out = e;
    return 0;
}

void sk_engine_leave(struct sk_engine *e)
{
    sk_scrub_stop(e->healing.scrub);
    sk_threads_stop(&e->threads);
    pthread_join(e->threads.committer, NULL);
    pthread_detach(e->threads.archiver);
}

int sk_engine_free(struct sk_engine *e)
{
    if (!e)
        return 0;
    sk_scrub_stop(e->healing.scrub);
    sk_threads_stop(&e->threads);
    pthread_join(e->threads.committer, NULL);
    sk_threads_lock(&e->threads);
    if (!e->copying.stuck && wait_for_archiver(e, 1))
        e->copying.stuck = 1;
    int left = e->copying.stuck && !e->copying.ended;
    e->copying.orphaned = left;
    if (left) { /* it frees the rest when the prefix answers */
        pthread_detach(e->threads.archiver);
        sk_stock_drop_all(&e->stock);
        sk_threads_unlock(&e->threads);
        sk_guard_close();
        return 1;
    }
    sk_threads_unlock(&e->threads);
    pthread_join(e->threads.archiver, NULL);
    sk_engine_free_parts(e);
    sk_guard_close();
    return 0;
}

void sk_engine_expect(struct sk_engine *e, size_t full_bytes, size_t delta_bytes)
{
    sk_threads_lock(&e->threads);
    e->shelf.wanted_bytes[SK_SLOT_FULL] = full_bytes;
    e->shelf.wanted_bytes[SK_SLOT_DELTA] = delta_bytes;
    e->shelf.prepare = 1;
    sk_threads_tell_and_unlock(&e->threads);
}

void sk_engine_set_share(struct sk_engine *e, double share)
{
    sk_threads_lock(&e->threads);
    e->shelf.share = share;
    sk_threads_unlock(&e->threads);
}

void sk_engine_submit(struct sk_engine *e, struct sk_slot *slot, int64_t seq, struct sk_gen gen,
                      const struct sk_skc_header *header, struct sk_skc_index *index, struct sk_wish *wishes,
                      struct sk_saver *pending)
{
    sk_threads_lock(&e->threads);
    struct sk_held *h = sk_stock_of_slot(&e->stock, slot);
    if (h) {
        h->stage = SUBMITTED;
        h->seq = seq;
        h->gen = gen;
        h->base = (struct sk_gen){header->base_incarnation, header->base_iteration, header->base_place};
        h->given = (struct sk_given){*header, index, wishes, pending};
    }
    sk_threads_tell_and_unlock(&e->threads);
}

void sk_engine_complete(struct sk_engine *e, int64_t seq)
{
    sk_threads_lock(&e->threads);
    if (seq > e->stock.complete_seq)
        e->stock.complete_seq = seq;
    sk_threads_tell_and_unlock(&e->threads);
}

void sk_engine_archive(struct sk_engine *e, int64_t seq)
{
    sk_threads_lock(&e->threads);
    if (e->where.prefix_root)
        e->copying.wanted_seq = seq;
    sk_threads_tell_and_unlock(&e->threads);
}

void sk_engine_note_archived(struct sk_engine *e, int64_t seq)
{
    sk_ledger_mark(e->ledger, seq, SK_LEDGER_COPIED);
}

void sk_engine_archived(struct sk_engine *e, int64_t seq)
{
    sk_threads_lock(&e->threads);
    if (seq > e->keep.pruned_request)
        e->keep.pruned_request = seq;
    if (!e->keep.any_archived && (e->keep.earlier == SK_EARLIER_UNUSED || e->keep.spare_before))
        sk_keep_again(&e->keep); /* what earlier starts left may go now */
    e->keep.any_archived = 1;
    sk_threads_tell_and_unlock(&e->threads);
}

int sk_engine_hold(struct sk_engine *e, struct sk_gen gen, struct saikai_error *err)
{
    sk_threads_lock(&e->threads);
    struct sk_held *h = sk_stock_at(&e->stock, gen);
    if (h)
        h->users.holds++;
    sk_threads_unlock(&e->threads);
    char name[48];
    return h ? 0 : sk_fail(err, SAIKAI_ENOENT, "%s has no generation %s of rank %d", e->where.local_root,
                           sk_gen_name(gen, name), e->where.rank);
}

void sk_engine_release(struct sk_engine *e, struct sk_gen gen)
{
    sk_threads_lock(&e->threads);
    struct sk_held *h = sk_stock_at(&e->stock, gen);
    if (h && h->users.holds > 0 && !--h->users.holds)
        sk_keep_again(&e->keep); /* it may have been the last reason to stay */
    sk_threads_tell_and_unlock(&e->threads);
}

void sk_engine_hash_files(struct sk_engine *e)
{
    sk_threads_lock(&e->threads);
    e->sealing.hash_files = 1;
    sk_threads_unlock(&e->threads);
}

int sk_engine_has_room(struct sk_engine *e, uint64_t bytes, struct saikai_error *err)
{
    return sk_shelf_room(&e->shelf, &e->where, bytes, err); /* what that looks at is set before the threads begin */
}

void sk_engine_protecting(struct sk_engine *e, const struct sk_parity_set *set, size_t count)
{
    struct sk_parity_set *copy = malloc((count + 1) * sizeof *copy);
    if (copy && count)
        memcpy(copy, set, count * sizeof *copy);
    sk_threads_lock(&e->threads);
    free(e->healing.set);
    e->healing.set = copy;
    e->healing.sets = copy ? count : 0; /* without memory none is scrubbed for a while */
    e->healing.list_stale = 1;
    sk_threads_tell_and_unlock(&e->threads);
}

void sk_engine_lend(struct sk_engine *e, struct sk_gen gen, struct sk_source *out)
{
    *out = (struct sk_source){0};
    sk_threads_lock(&e->threads);
    struct sk_held *h = sk_stock_at(&e->stock, gen);
    if (h && h->slot && h->slot->map && sk_slot_is_whole(h->slot)) {
        h->users.lent++;
        *out = (struct sk_source){h->slot->map, h->slot->size_bytes, h->file_hash, h->hash_known};
    }
    sk_threads_unlock(&e->threads);
}

void sk_engine_take_back(struct sk_engine *e, const struct sk_source *lent)
{
    sk_threads_lock(&e->threads);
    for (struct sk_held *h = lent->map ? e->stock.all : NULL; h; h = h->next)
        if (h->slot && h->slot->map == lent->map && h->users.lent > 0 && !--h->users.lent)
            sk_keep_again(&e->keep); /* as in sk_engine_release */
    sk_threads_tell_and_unlock(&e->threads);
}

/* 0: it cannot be read, which will be found when it is scrubbed. */
static uint64_t index_hash(const struct sk_where *w, struct sk_gen gen)
{
    struct sk_container *c = NULL;
    char path[PATH_MAX];
    if (sk_gen_file(w->local_root, gen, w->rank, path, sizeof path, NULL) || sk_container_open(path, &c, NULL))
        return 0;
    uint64_t hash = c->trailer.index_hash;
    sk_container_close(c);
    return hash;
}

/* The generation and all that it builds on. */
static void adopt_local(struct sk_engine *e, struct sk_gen gen)
{
    for (int n = 0; gen.incarnation && n < SK_LINEAGE_MAX; n++) {
        struct sk_gen base = {0};
        struct sk_held *h = sk_stock_at(&e->stock, gen) ? NULL : calloc(1, sizeof *h);
        if (!h) /* known already; or without memory, and swept with the stale ones: nothing is lost that counts */
            return;
        if (sk_lineage_base(e->where.local_root, gen, e->where.rank, &base, NULL))
            base.incarnation = 0;
        *h = (struct sk_held){.stage = COMMITTED, .gen = gen, .base = base, .index_hash = index_hash(&e->where, gen)};
        sk_stock_add(&e->stock, h);
        e->healing.list_stale = 1;
        gen = base;
    }
}

void sk_engine_adopt(struct sk_engine *e, struct sk_gen gen)
{
    sk_threads_lock(&e->threads);
    adopt_local(e, gen);
    sk_threads_tell_and_unlock(&e->threads);
}

void sk_engine_set_earlier(struct sk_engine *e, enum sk_earlier earlier)
{
    sk_threads_lock(&e->threads);
    e->keep.earlier = earlier;
    sk_threads_unlock(&e->threads);
}

void sk_engine_spare(struct sk_engine *e, uint32_t before)
{
    sk_threads_lock(&e->threads);
    e->keep.spare_before = before;
    sk_threads_unlock(&e->threads);
}

int sk_engine_may_remove_earlier(struct sk_engine *e)
{
    sk_threads_lock(&e->threads);
    int may = sk_keep_earlier_may_go(&e->keep, &e->stock) && !sk_keep_spares(&e->keep, &e->stock, (struct sk_gen){0});
    sk_threads_unlock(&e->threads);
    return may;
}

void sk_engine_status(struct sk_engine *e, struct sk_engine_status *out)
{
    sk_threads_lock(&e->threads);
    *out = (struct sk_engine_status){
        .committed_seq = e->stock.committed_seq,
        .archived_seq = e->copying.archived_seq,
        .archive_idle = sk_copying_is_idle(&e->copying),
        .failures = e->trouble.failures,
        .breaks = e->trouble.breaks,
        .damages = e->trouble.damages,
        .last_error = e->trouble.last_error,
    };
    sk_threads_unlock(&e->threads);
}

void sk_engine_report(struct sk_engine *e, struct sk_engine_status *out)
{
    sk_engine_status(e, out);
    sk_threads_lock(&e->threads);
    e->stock.told_seq = out->committed_seq;
    sk_ledger_mark(e->ledger, e->stock.told_seq, SK_LEDGER_TOLD);
    sk_threads_unlock(&e->threads);
}

void sk_engine_drain(struct sk_engine *e)
{
    sk_threads_lock(&e->threads);
    if (e->copying.stuck)
        while (is_busy_here(e))
            sk_threads_wait(&e->threads);
    else if (wait_for_archiver(e, 0)) {
        e->copying.stuck = 1;
        sk_log(SK_LOG_WARN, "rank %d: the prefix %s has made no progress for %.3g s: going on without it", e->where.rank,
               e->where.prefix_root, e->copying.final_wait);
    }
    sk_threads_unlock(&e->threads);
}
