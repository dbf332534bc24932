#include "lib/engine_parts.h"

#include "base/log.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

void sk_engine_fail(struct sk_engine *e, const struct saikai_error *err)
{
    e->failures++;
    e->last_error = *err;
    sk_log(1, "rank %d: %s", e->rank, err->text);
}

struct held *sk_engine_find(struct sk_engine *e, int64_t seq)
{
    for (struct held *h = e->all; h; h = h->next)
        if (h->stage == COMMITTED && h->seq == seq)
            return h;
    return NULL;
}

struct held *sk_engine_next(struct sk_engine *e)
{
    struct held *best = NULL;
    for (struct held *h = e->all; h; h = h->next)
        if (h->stage == SUBMITTED && (!best || h->seq < best->seq))
            best = h;
    return best;
}

/* ---- interface ---- */

/* Signals of the program stay with its own threads. */
static int start_thread(pthread_t *t, void *(*fn)(void *), void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(t, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

static void free_parts(struct sk_engine *e)
{
    while (e->all)
        sk_engine_drop(e, e->all, e->all->stage != COMMITTED);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e->local_root);
    free(e->prefix_root);
    free(e);
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
    e->coding = c->coding;
    e->keep_local = c->keep_local < 1 ? 1 : c->keep_local;
    e->keep_prefix = c->keep_prefix < 1 ? 1 : c->keep_prefix > KEPT ? KEPT : c->keep_prefix;
    e->sync_local = c->sync_local;
    e->sync_prefix = c->sync_prefix;
    e->local_root = strdup(c->local_root);
    e->prefix_root = c->prefix_root ? strdup(c->prefix_root) : NULL;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    int rc = !e->local_root || (c->prefix_root && !e->prefix_root) ? SAIKAI_ENOMEM : 0;
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
        free_parts(e);
        return sk_fail(err, rc, "no memory or no threads for the checkpoint engine");
    }
    sk_slot_clean(e->local_root, e->incarnation, e->rank, e->nranks);
    *out = e;
    return 0;
}

void sk_engine_free(struct sk_engine *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&e->lock);
    e->stopping = 1;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->committer, NULL);
    pthread_join(e->archiver, NULL);
    free_parts(e);
}

void sk_engine_prepare(struct sk_engine *e, size_t size_bytes)
{
    pthread_mutex_lock(&e->lock);
    e->wanted_bytes = size_bytes;
    e->prepare = 1;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

/* With the lock: a free slot, rather one of the right size. */
static struct held *pick_free(struct sk_engine *e, size_t size_bytes)
{
    struct held *any = NULL;
    for (struct held *h = e->all; h; h = h->next) {
        if (h->stage != FREE || !h->slot)
            continue;
        if (h->slot->size_bytes == size_bytes)
            return h;
        any = h;
    }
    return any;
}

/* With the lock: the oldest generation that does not count (yet): when checkpoints come faster than the ranks learn
 * that one is complete, the ones between the newest complete and the newest of all may go. */
static struct held *pick_victim(struct sk_engine *e)
{
    struct held *best = NULL;
    for (struct held *h = e->all; h; h = h->next)
        if (h->stage == COMMITTED && !h->archiving && h->seq > e->complete_seq &&
            h->seq < e->committed_seq && sk_engine_older(h, best))
            best = h;
    return best;
}

static int new_slot(struct sk_engine *e, size_t size_bytes, struct held **out, struct saikai_error *err)
{
    struct held *h = calloc(1, sizeof *h);
    if (!h)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a checkpoint slot");
    int rc = sk_slot_new(e->local_root, e->incarnation, e->rank, e->slot_number++, size_bytes, &h->slot, err);
    if (rc) {
        free(h);
        return rc;
    }
    h->next = e->all;
    e->all = h;
    e->slots++;
    *out = h;
    return 0;
}

int sk_engine_acquire(struct sk_engine *e, size_t size_bytes, struct sk_slot **out,
                      struct saikai_error *err)
{
    struct held *h = NULL;
    int rc = 0;
    pthread_mutex_lock(&e->lock);
    while (!rc && !(h = pick_free(e, size_bytes))) {
        if (e->preparing || e->prepare || e->retired_seq < e->complete_seq)
            pthread_cond_wait(&e->changed, &e->lock);
        else if (e->slots < e->keep_local + 2 + sk_engine_held_back(e) &&
                 (!(rc = new_slot(e, size_bytes, &h, err)) || !(h = pick_victim(e))))
            continue;
        else if (!h && !(h = pick_victim(e)))
            pthread_cond_wait(&e->changed, &e->lock);
        else
            rc = sk_engine_retire(e, h, err);
    }
    if (!rc && h->slot->size_bytes != size_bytes)
        rc = sk_slot_resize(h->slot, size_bytes, err);
    if (!rc) {
        h->stage = TAKEN;
        *out = h->slot;
    }
    pthread_mutex_unlock(&e->lock);
    return rc;
}

void sk_engine_submit(struct sk_engine *e, struct sk_slot *slot, int64_t seq, struct sk_gen gen,
                      const struct sk_skc_header *header, struct sk_skc_index *index, struct sk_wish *wishes)
{
    pthread_mutex_lock(&e->lock);
    for (struct held *h = e->all; h; h = h->next)
        if (h->slot == slot) {
            h->stage = SUBMITTED;
            h->seq = seq;
            h->gen = gen;
            h->header = *header;
            h->index = index;
            h->wishes = wishes;
        }
    e->wanted_bytes = slot->size_bytes;
    e->prepare = !wishes; /* a coded one gives its slot back */ /* the next capture should not wait for fresh pages */
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

void sk_engine_archived(struct sk_engine *e, int64_t seq)
{
    pthread_mutex_lock(&e->lock);
    if (seq > e->pruned_request)
        e->pruned_request = seq;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

static struct held *find_gen(struct sk_engine *e, struct sk_gen gen)
{
    for (struct held *h = e->all; h; h = h->next)
        if (h->stage == COMMITTED && sk_gen_key(h->gen) == sk_gen_key(gen))
            return h;
    return NULL;
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

void sk_engine_adopt(struct sk_engine *e, struct sk_gen gen, int in_local, int in_prefix)
{
    pthread_mutex_lock(&e->lock);
    struct held *h = in_local ? calloc(1, sizeof *h) : NULL;
    if (h) { /* without memory the file is swept with the stale ones: nothing is lost that counts */
        *h = (struct held){.stage = COMMITTED, .gen = gen, .next = e->all};
        e->all = h;
    }
    if (in_prefix)
        e->kept[e->kept_count++] = gen;
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_status(struct sk_engine *e, struct sk_engine_status *out)
{
    pthread_mutex_lock(&e->lock);
    *out = (struct sk_engine_status){
        .committed_seq = e->committed_seq,
        .archived_seq = e->archived_seq,
        .archive_idle = !e->archive_seq && !e->busy_archive,
        .failures = e->failures,
        .last_error = e->last_error,
    };
    pthread_mutex_unlock(&e->lock);
}

void sk_engine_drain(struct sk_engine *e)
{
    pthread_mutex_lock(&e->lock);
    while (sk_engine_next(e) || e->busy_commit || e->archive_seq || e->busy_archive ||
           e->retired_seq < e->complete_seq || e->pruned_seq < e->pruned_request)
        pthread_cond_wait(&e->changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
}
