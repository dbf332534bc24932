#include "lib/engine.h"

#include "base/io.h"
#include "base/log.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum stage {
    FREE,      /* the slot can be captured into */
    TAKEN,     /* the application is copying into it */
    SUBMITTED, /* waits for the committer, or is with it */
    COMMITTED, /* is a generation's file */
};

/* A slot and what it holds; slot NULL: a generation's file of an earlier start. */
struct held {
    enum stage stage;
    struct sk_slot *slot;
    int64_t seq;
    struct sk_gen gen;
    struct sk_skc_header header;
    struct sk_skc_index *index;
    struct sk_wish *wishes;
    int archiving;
    struct held *next;
};

enum { KEPT = 16 };

struct sk_engine {
    char *local_root, *prefix_root;
    const struct sk_coding_policy *coding;
    uint32_t incarnation;
    int rank, keep_local, keep_prefix, sync_local, sync_prefix;
    pthread_t committer, archiver;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int stopping, busy_commit, busy_archive;
    struct held *all; /* in no order */
    int slots, slot_number;
    size_t wanted_bytes; /* size of the slot to keep ready, 0: none */
    int prepare, preparing;
    int64_t complete_seq;  /* newest complete one, 0: the adopted one or none */
    int64_t retired_seq;   /* retention has been done up to here */
    int64_t archive_seq;   /* to be copied, 0: none */
    int64_t archived_seq;  /* newest copied by this rank */
    int64_t pruned_request, pruned_seq;
    struct sk_gen kept[KEPT]; /* complete ones in the prefix, oldest first */
    int kept_count;
    struct sk_gen archived_gen[KEPT]; /* of the newest ones copied, by seq % KEPT */
    int64_t committed_seq;
    int failures;
    struct saikai_error last_error;
};

static void fail(struct sk_engine *e, const struct saikai_error *err)
{
    e->failures++;
    e->last_error = *err;
    sk_log(1, "rank %d: %s", e->rank, err->text);
}

static struct held *find_seq(struct sk_engine *e, int64_t seq)
{
    for (struct held *h = e->all; h; h = h->next)
        if (h->stage == COMMITTED && h->seq == seq)
            return h;
    return NULL;
}

static void drop(struct sk_engine *e, struct held *h, int remove_file)
{
    struct held **at = &e->all;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    e->slots -= h->slot != NULL;
    sk_slot_free(h->slot, remove_file);
    sk_skc_index_free(h->index);
    free(h->wishes);
    free(h);
}

/* ---- committer; every function is called with the lock held and may let go of it for a while ---- */

/* The captured variables as they lie in a slot. */
static struct sk_piece *pieces_of(const struct held *h)
{
    struct sk_piece *p = calloc(h->index->var_count ? h->index->var_count : 1, sizeof *p);
    for (uint32_t i = 0; p && i < h->index->var_count; i++) {
        const struct sk_skc_var *v = &h->index->vars[i];
        p[i] = (struct sk_piece){.type = v->type, .ndims = v->ndims, .kind = v->kind, .size_bytes = v->raw_bytes};
        memcpy(p[i].name, v->name, sizeof p[i].name);
        for (int d = 0; d < v->ndims; d++)
            p[i].dims[d] = v->dims[d];
        if (v->chunk_count)
            p[i].data = h->slot->map + h->index->chunks[v->first_chunk].offset;
    }
    return p;
}

/* Without the lock: code the slot's content into a file of its own and give that the generation's name. */
static int commit_coded(struct sk_engine *e, struct held *h, struct saikai_error *err)
{
    char tmp[PATH_MAX];
    struct sk_piece *p = pieces_of(h);
    int rc = p ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to code a checkpoint");
    if (!rc)
        rc = sk_io_path(tmp, sizeof tmp, err, "%s/slot-%04u-%06d-%d.tmp", e->local_root, e->incarnation, e->rank,
                        INT_MAX); /* swept like a slot when this process dies */
    if (!rc)
        rc = sk_coding_write(e->coding, tmp, &h->header, p, h->wishes, h->index->var_count, e->sync_local, err);
    if (!rc && (rc = sk_gen_commit(e->local_root, h->gen, e->rank, tmp, e->sync_local, err)))
        sk_io_unlink(tmp, NULL);
    free(p);
    return rc;
}

static void add_committed(struct sk_engine *e, struct held *h)
{
    if (h->seq > e->committed_seq)
        e->committed_seq = h->seq;
    if (!h->wishes) {
        h->stage = COMMITTED;
        return;
    }
    /* the file is one of its own: the slot is free again, and a record without a slot stands for the file */
    struct held *file = calloc(1, sizeof *file);
    h->stage = FREE;
    if (file) { /* without memory it is swept as a stale one, later */
        *file = (struct held){.stage = COMMITTED, .seq = h->seq, .gen = h->gen, .next = e->all};
        e->all = file;
    }
}

static void commit_one(struct sk_engine *e, struct held *h)
{
    struct saikai_error err = {0};
    int rc;
    e->busy_commit = 1;
    pthread_mutex_unlock(&e->lock);
    if (h->wishes) {
        rc = commit_coded(e, h, &err);
    } else {
        rc = sk_container_seal(h->slot->map, h->slot->size_bytes, &h->header, h->index, &err);
        if (!rc)
            rc = sk_slot_commit(h->slot, e->local_root, h->gen, e->rank, e->sync_local, &err);
    }
    pthread_mutex_lock(&e->lock);
    e->busy_commit = 0;
    if (rc) {
        char name[48];
        sk_error_prefix(&err, "generation %s is not saved", sk_gen_name(h->gen, name));
        fail(e, &err);
        h->stage = FREE;
    } else {
        add_committed(e, h);
    }
    sk_skc_index_free(h->index);
    free(h->wishes);
    h->index = NULL;
    h->wishes = NULL;
    pthread_cond_broadcast(&e->changed);
}

static int free_slots(struct sk_engine *e)
{
    int n = 0;
    for (struct held *h = e->all; h; h = h->next)
        n += h->stage == FREE && h->slot;
    return n;
}

static void prepare_one(struct sk_engine *e)
{
    struct saikai_error err = {0};
    struct sk_slot *slot = NULL;
    size_t n = e->wanted_bytes;
    e->prepare = 0;
    /* one more than is kept is enough: the retired one becomes free in time */
    if (free_slots(e) || e->slots > e->keep_local) {
        pthread_cond_broadcast(&e->changed);
        return;
    }
    struct held *h = calloc(1, sizeof *h);
    int number = e->slot_number++;
    e->preparing = 1;
    pthread_mutex_unlock(&e->lock);
    int rc = h ? sk_slot_new(e->local_root, e->incarnation, e->rank, number, n, &slot, &err) : SAIKAI_ENOMEM;
    pthread_mutex_lock(&e->lock);
    e->preparing = 0;
    if (rc) {
        free(h); /* whoever needs it will try again and get the error */
    } else {
        *h = (struct held){.stage = FREE, .slot = slot, .next = e->all};
        e->all = h;
        e->slots++;
    }
    pthread_cond_broadcast(&e->changed);
}

/* Give a committed generation's file up; its slot becomes free. */
static int retire(struct sk_engine *e, struct held *h, struct saikai_error *err)
{
    int rc = h->slot ? sk_slot_retire(h->slot, e->local_root, h->gen, e->rank, err)
                     : sk_gen_remove(e->local_root, h->gen, e->rank, err);
    if (rc) {
        sk_gen_remove(e->local_root, h->gen, e->rank, NULL);
        drop(e, h, 1);
        return rc;
    }
    if (!h->slot)
        drop(e, h, 0);
    else
        h->stage = FREE;
    pthread_cond_broadcast(&e->changed);
    return 0;
}

static int older(const struct held *h, const struct held *other)
{
    return !other || sk_gen_key(h->gen) < sk_gen_key(other->gen);
}

/* Files of earlier starts that are neither held nor newer than what counts. */
static void sweep(struct sk_engine *e, const char *root, int64_t below_key)
{
    struct sk_gen_list l;
    if (sk_gen_scan(root, e->rank, &l, NULL))
        return;
    for (size_t i = 0; i < l.count; i++) {
        int64_t key = sk_gen_key(l.gen[i]);
        int keep = key >= below_key;
        if (root == e->local_root)
            for (struct held *h = e->all; h; h = h->next)
                keep |= h->stage == COMMITTED && sk_gen_key(h->gen) == key;
        else
            for (int k = 0; k < e->kept_count; k++)
                keep |= sk_gen_key(e->kept[k]) == key;
        if (!keep)
            sk_gen_remove(root, l.gen[i], e->rank, NULL);
    }
    sk_gen_list_free(&l);
}

static void retain_local(struct sk_engine *e)
{
    struct held *newest = find_seq(e, e->complete_seq);
    struct saikai_error err = {0};
    e->retired_seq = e->complete_seq;
    if (!newest)
        return;
    for (;;) {
        struct held *oldest = NULL;
        int count = 0;
        for (struct held *h = e->all; h; h = h->next) {
            if (h->stage != COMMITTED || h->seq > e->complete_seq)
                continue;
            count++;
            if (!h->archiving && older(h, oldest))
                oldest = h;
        }
        if (count <= e->keep_local || !oldest || oldest == newest)
            break;
        retire(e, oldest, &err);
    }
    sweep(e, e->local_root, sk_gen_key(newest->gen));
    /* more free slots than one are memory that nobody uses */
    int seen = 0;
    for (struct held *h = e->all, *next; h; h = next) {
        next = h->next;
        if (h->stage == FREE && h->slot && seen++ > 0)
            drop(e, h, 1);
    }
}

static struct held *next_submitted(struct sk_engine *e)
{
    struct held *best = NULL;
    for (struct held *h = e->all; h; h = h->next)
        if (h->stage == SUBMITTED && (!best || h->seq < best->seq))
            best = h;
    return best;
}

static void *committer(void *arg)
{
    struct sk_engine *e = arg;
    pthread_mutex_lock(&e->lock);
    for (;;) {
        struct held *h = next_submitted(e);
        if (h)
            commit_one(e, h);
        else if (e->stopping)
            break;
        else if (e->retired_seq < e->complete_seq) {
            retain_local(e);
            pthread_cond_broadcast(&e->changed);
        } else if (e->prepare)
            prepare_one(e);
        else
            pthread_cond_wait(&e->changed, &e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- archiver ---- */

static int archive_one(struct sk_engine *e, struct sk_gen gen, struct saikai_error *err)
{
    char from[PATH_MAX], tmp[PATH_MAX];
    struct sk_container *c = NULL;
    int rc = sk_gen_file(e->local_root, gen, e->rank, from, sizeof from, err);
    if (!rc)
        rc = sk_io_path(tmp, sizeof tmp, err, "%s/copy-%04u-%06d.tmp", e->prefix_root, e->incarnation, e->rank);
    if (!rc)
        rc = sk_container_open(from, &c, err);
    if (!rc)
        rc = sk_container_copy(c, tmp, e->sync_prefix, err);
    if (!rc && (rc = sk_gen_commit(e->prefix_root, gen, e->rank, tmp, e->sync_prefix, err)))
        sk_io_unlink(tmp, NULL);
    sk_container_close(c);
    return rc;
}

static void copy_to_prefix(struct sk_engine *e)
{
    struct saikai_error err = {0};
    struct held *h = find_seq(e, e->archive_seq);
    int64_t seq = e->archive_seq;
    e->archive_seq = 0;
    if (!h)
        return;
    h->archiving = e->busy_archive = 1;
    struct sk_gen gen = h->gen;
    pthread_mutex_unlock(&e->lock);
    int rc = archive_one(e, gen, &err);
    pthread_mutex_lock(&e->lock);
    h->archiving = e->busy_archive = 0;
    if (rc) {
        char name[48];
        sk_error_prefix(&err, "generation %s is not archived", sk_gen_name(gen, name));
        fail(e, &err);
    } else {
        e->archived_seq = seq;
        e->archived_gen[seq % KEPT] = gen;
    }
    e->retired_seq = -1; /* the copy may have held back a retirement */
    pthread_cond_broadcast(&e->changed);
}

static void retain_prefix(struct sk_engine *e)
{
    struct sk_gen gen = e->archived_gen[e->pruned_request % KEPT];
    e->pruned_seq = e->pruned_request;
    if (e->kept_count == KEPT)
        memmove(e->kept, e->kept + 1, (size_t)--e->kept_count * sizeof *e->kept);
    e->kept[e->kept_count++] = gen;
    int drop_count = e->kept_count - e->keep_prefix;
    if (drop_count > 0) {
        e->kept_count -= drop_count;
        memmove(e->kept, e->kept + drop_count, (size_t)e->kept_count * sizeof *e->kept);
    }
    sweep(e, e->prefix_root, sk_gen_key(gen));
}

static void *archiver(void *arg)
{
    struct sk_engine *e = arg;
    pthread_mutex_lock(&e->lock);
    while (!e->stopping) {
        if (!e->archive_seq && e->pruned_seq >= e->pruned_request) {
            pthread_cond_wait(&e->changed, &e->lock);
            continue;
        }
        if (e->archive_seq)
            copy_to_prefix(e);
        else
            retain_prefix(e);
        pthread_cond_broadcast(&e->changed);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
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
        drop(e, e->all, e->all->stage != COMMITTED);
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
    if (!rc && start_thread(&e->committer, committer, e))
        rc = SAIKAI_ENOMEM;
    if (!rc && start_thread(&e->archiver, archiver, e)) {
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
    sk_slot_clean(e->local_root, e->incarnation, e->rank);
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
            h->seq < e->committed_seq && older(h, best))
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
        else if (e->slots < e->keep_local + 2 &&
                 (!(rc = new_slot(e, size_bytes, &h, err)) || !(h = pick_victim(e))))
            continue;
        else if (!h && !(h = pick_victim(e)))
            pthread_cond_wait(&e->changed, &e->lock);
        else
            rc = retire(e, h, err);
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
    while (next_submitted(e) || e->busy_commit || e->archive_seq || e->busy_archive ||
           e->retired_seq < e->complete_seq || e->pruned_seq < e->pruned_request)
        pthread_cond_wait(&e->changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
}

