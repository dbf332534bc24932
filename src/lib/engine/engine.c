/* The engine's interface to the session: starting and ending its threads, handing generations over,
 * and saying how far they got. */
#include "lib/engine/engine_parts.h"

#include "base/clock.h"
#include "base/host/guard.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/file/patience.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct held *find_gen(struct sk_engine *e, struct sk_gen gen)
{
    for (struct held *h = e->all; h; h = h->next)
        if (h->stage == COMMITTED && !h->replaced && h->place == HERE && sk_gen_key(h->gen) == sk_gen_key(gen))
            return h;
    return NULL;
}

/* ---- interface ---- */

/* Signals of the program stay with its own threads. */
static int start_thread(pthread_t *t, void *(*fn)(void *), void *arg)
{
    sigset_t all, old;
    sk_guard_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(t, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

/* Is there work that somebody should wait for? */
static int is_busy_here(struct sk_engine *e)
{
    return sk_engine_next(e) || e->busy_commit || e->doubt.any || e->retired_seq < e->complete_seq;
}

static int is_busy_far(struct sk_engine *e)
{
    return e->archive_seq || e->busy_archive || e->pruned_seq < e->pruned_request;
}

/* Wait with the lock for the archiver, until it has ended (or, with ended 0, has nothing to do): 0, or -1 when it has done
 * nothing for too long. A file system's pace is its own: what counts is whether anything moves. */
static int wait_for_archiver(struct sk_engine *e, int ended)
{
    unsigned long seen = sk_io_count();
    double since = sk_now();
    while (ended ? !e->archiver_ended : is_busy_here(e) || is_busy_far(e)) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += 50000000;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&e->changed, &e->lock, &t);
        unsigned long now = sk_io_count();
        if (now != seen || (!ended && is_busy_here(e))) {
            seen = now;
            since = sk_now();
        } else if (e->final_wait > 0 && sk_now() - since > e->final_wait) {
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
    e->rank = c->rank;
    e->nranks = c->nranks;
    e->strays_local = 1;
    e->strays_prefix = c->rank == 0; /* one rank is enough */
    e->incarnation = c->incarnation;
    e->ledger = c->ledger;
    e->coding = c->coding;
    e->keep_local = c->keep_local;
    e->keep_prefix = c->keep_prefix;
    e->sync_local = c->sync_local;
    e->sync_prefix = c->sync_prefix;
    e->limits = c->limits;
    e->final_wait = c->final_wait;
    e->finished_from = c->finished_from;
    e->local_root = strdup(c->local_root);
    e->prefix_root = c->prefix_root ? strdup(c->prefix_root) : NULL;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    e->leased_root = c->leased_root ? strdup(c->leased_root) : NULL;
    e->lease = c->lease;
    int rc = !e->local_root || (c->prefix_root && !e->prefix_root) || (c->leased_root && !e->leased_root) ? SAIKAI_ENOMEM : 0;
    if (!rc)
        rc = sk_patience_new(c->prefix_timeout, &e->patience, NULL);
    if (!rc && start_thread(&e->committer, sk_engine_committer, e))
        rc = SAIKAI_ENOMEM;
    if (!rc && start_thread(&e->archiver, sk_engine_archiver, e)) {
        rc = SAIKAI_ENOMEM;
        pthread_mutex_lock(&e->lock);
        e->stopping = 1;
        pthread_cond_broadcast(&e->changed);
        pthread_mutex_unlock(&e->lock);
        pthread_join(e->committer, NULL);
    }
    if (rc) {
        sk_engine_free_parts(e);
        return sk_fail(err, rc, "no memory or no threads for the checkpoint engine");
    }
    struct sk_scrub_config scrub = {e->local_root, e->rank, c->incarnation, c->scrub_period, c->scrub_share, sk_engine_scrub_suspects, e};
    struct saikai_error why = {0};
    if (sk_scrub_start(&scrub, &e->scrub, &why)) /* a checkpoint that is not scrubbed is as good */
        sk_log(SK_LOG_WARN, "rank %d: %s", e->rank, why.text);
    sk_slot_clean(e->local_root, e->incarnation, e->rank, e->nranks);
    sk_guard_open();
    *out = e;
    return 0;
}

void sk_engine_leave(struct sk_engine *e)
{
    sk_scrub_stop(e->scrub);
    pthread_mutex_lock(&e->lock);
    e->stopping = 1;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->committer, NULL);
    pthread_detach(e->archiver);
}

int sk_engine_free(struct sk_engine *e)
{
    if (!e)
        return 0;
    sk_scrub_stop(e->scrub);
    pthread_mutex_lock(&e->lock);
    e->stopping = 1;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->committer, NULL);
    pthread_mutex_lock(&e->lock);
    if (!e->archiver_stuck && wait_for_archiver(e, 1))
        e->archiver_stuck = 1;
    int left = e->archiver_stuck && !e->archiver_ended;
    e->orphaned = left;
    if (left) { /* it frees the rest when the prefix answers */
        pthread_detach(e->archiver);
        sk_engine_drop_all(e);
        pthread_mutex_unlock(&e->lock);
        sk_guard_close();
        return 1;
    }
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->archiver, NULL);
    sk_engine_free_parts(e);
    sk_guard_close();
    return 0;
}

void sk_engine_expect(struct sk_engine *e, size_t full_bytes, size_t delta_bytes)
{
    pthread_mutex_lock(&e->lock);
    e->wanted_bytes[SK_SLOT_FULL] = full_bytes;
    e->wanted_bytes[SK_SLOT_DELTA] = delta_bytes;
    e->prepare = 1;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_set_share(struct sk_engine *e, double share)
{
    pthread_mutex_lock(&e->lock);
    e->share = share;
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_submit(struct sk_engine *e, struct sk_slot *slot, int64_t seq, struct sk_gen gen,
                      const struct sk_skc_header *header, struct sk_skc_index *index, struct sk_wish *wishes,
                      struct sk_saver *pending)
{
    pthread_mutex_lock(&e->lock);
    for (struct held *h = e->all; h; h = h->next)
        if (h->slot == slot) {
            h->stage = SUBMITTED;
            h->seq = seq;
            h->gen = gen;
            h->header = *header;
            h->base = (struct sk_gen){header->base_incarnation, header->base_iteration, header->base_place};
            h->index = index;
            h->wishes = wishes;
            h->pending = pending;
        }
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_complete(struct sk_engine *e, int64_t seq)
{
    pthread_mutex_lock(&e->lock);
    if (seq > e->complete_seq)
        e->complete_seq = seq;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_archive(struct sk_engine *e, int64_t seq)
{
    pthread_mutex_lock(&e->lock);
    if (e->prefix_root)
        e->archive_seq = seq;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_note_archived(struct sk_engine *e, int64_t seq)
{
    sk_ledger_mark(e->ledger, seq, SK_LEDGER_COPIED);
}

void sk_engine_archived(struct sk_engine *e, int64_t seq)
{
    pthread_mutex_lock(&e->lock);
    if (seq > e->pruned_request)
        e->pruned_request = seq;
    if (!e->any_archived && (e->earlier == SK_EARLIER_UNUSED || e->spare_before))
        e->retired_seq = -1; /* what earlier starts left may go now */
    e->any_archived = 1;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

int sk_engine_hold(struct sk_engine *e, struct sk_gen gen, struct saikai_error *err)
{
    pthread_mutex_lock(&e->lock);
    struct held *h = find_gen(e, gen);
    if (h)
        h->holds++;
    pthread_mutex_unlock(&e->lock);
    char name[48];
    return h ? 0 : sk_fail(err, SAIKAI_ENOENT, "%s has no generation %s of rank %d", e->local_root,
                           sk_gen_name(gen, name), e->rank);
}

void sk_engine_release(struct sk_engine *e, struct sk_gen gen)
{
    pthread_mutex_lock(&e->lock);
    struct held *h = find_gen(e, gen);
    if (h && h->holds > 0 && !--h->holds)
        e->retired_seq = -1; /* it may have been the last reason to stay */
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_hash_files(struct sk_engine *e)
{
    pthread_mutex_lock(&e->lock);
    e->hash_files = 1;
    pthread_mutex_unlock(&e->lock);
}

int sk_engine_has_room(struct sk_engine *e, uint64_t bytes, struct saikai_error *err)
{
    return sk_engine_room(e, bytes, err); /* what that looks at is set before the threads begin */
}

void sk_engine_protecting(struct sk_engine *e, const struct sk_parity_set *set, size_t count)
{
    struct sk_parity_set *copy = malloc((count + 1) * sizeof *copy);
    if (copy && count)
        memcpy(copy, set, count * sizeof *copy);
    pthread_mutex_lock(&e->lock);
    free(e->set);
    e->set = copy;
    e->sets = copy ? count : 0; /* without memory none is scrubbed for a while */
    e->list_stale = 1;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_lend(struct sk_engine *e, struct sk_gen gen, struct sk_source *out)
{
    *out = (struct sk_source){0};
    pthread_mutex_lock(&e->lock);
    struct held *h = find_gen(e, gen);
    if (h && h->slot && h->slot->map && sk_slot_is_whole(h->slot)) {
        h->lent++;
        *out = (struct sk_source){h->slot->map, h->slot->size_bytes, h->file_hash, h->hash_known};
    }
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_take_back(struct sk_engine *e, const struct sk_source *lent)
{
    pthread_mutex_lock(&e->lock);
    for (struct held *h = lent->map ? e->all : NULL; h; h = h->next)
        if (h->slot && h->slot->map == lent->map && h->lent > 0 && !--h->lent)
            e->retired_seq = -1; /* as in sk_engine_release */
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

/* 0: it cannot be read, which will be found when it is scrubbed. */
static uint64_t index_hash(const struct sk_engine *e, struct sk_gen gen)
{
    struct sk_container *c = NULL;
    char path[PATH_MAX];
    if (sk_gen_file(e->local_root, gen, e->rank, path, sizeof path, NULL) || sk_container_open(path, &c, NULL))
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
        struct held *h = find_gen(e, gen) ? NULL : calloc(1, sizeof *h);
        if (!h) /* known already; or without memory, and swept with the stale ones: nothing is lost that counts */
            return;
        if (sk_lineage_base(e->local_root, gen, e->rank, &base, NULL))
            base.incarnation = 0;
        *h = (struct held){.stage = COMMITTED, .gen = gen, .base = base, .index_hash = index_hash(e, gen), .next = e->all};
        e->all = h;
        e->list_stale = 1;
        gen = base;
    }
}

void sk_engine_adopt(struct sk_engine *e, struct sk_gen gen)
{
    pthread_mutex_lock(&e->lock);
    adopt_local(e, gen);
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_set_earlier(struct sk_engine *e, enum sk_earlier earlier)
{
    pthread_mutex_lock(&e->lock);
    e->earlier = earlier;
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_spare(struct sk_engine *e, uint32_t before)
{
    pthread_mutex_lock(&e->lock);
    e->spare_before = before;
    pthread_mutex_unlock(&e->lock);
}

int sk_engine_may_remove_earlier(struct sk_engine *e)
{
    pthread_mutex_lock(&e->lock);
    int may = sk_engine_earlier_may_go(e) && !sk_engine_spares(e, (struct sk_gen){0});
    pthread_mutex_unlock(&e->lock);
    return may;
}

void sk_engine_status(struct sk_engine *e, struct sk_engine_status *out)
{
    pthread_mutex_lock(&e->lock);
    *out = (struct sk_engine_status){
        .committed_seq = e->committed_seq,
        .archived_seq = e->archived_seq,
        .archive_idle = !e->archive_seq && !e->busy_archive,
        .failures = e->failures,
        .breaks = e->breaks,
        .damages = e->damages,
        .last_error = e->last_error,
    };
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_report(struct sk_engine *e, struct sk_engine_status *out)
{
    sk_engine_status(e, out);
    pthread_mutex_lock(&e->lock);
    e->told_seq = out->committed_seq;
    sk_ledger_mark(e->ledger, e->told_seq, SK_LEDGER_TOLD);
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_drain(struct sk_engine *e)
{
    pthread_mutex_lock(&e->lock);
    if (e->archiver_stuck)
        while (is_busy_here(e))
            pthread_cond_wait(&e->changed, &e->lock);
    else if (wait_for_archiver(e, 0)) {
        e->archiver_stuck = 1;
        sk_log(SK_LOG_WARN, "rank %d: the prefix %s has made no progress for %.3g s: going on without it", e->rank,
               e->prefix_root, e->final_wait);
    }
    pthread_mutex_unlock(&e->lock);
}
