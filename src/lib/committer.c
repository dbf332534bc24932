/* The engine's committer: seals captured slots, gives them their names, and keeps a slot ready. */
#include "lib/engine_parts.h"

#include "base/io.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The captured variables as they lie in a slot. */
static struct sk_piece *pieces_of(const struct held *h)
{
    struct sk_piece *p = calloc(h->index->var_count ? h->index->var_count : 1, sizeof *p);
    for (uint32_t i = 0; p && i < h->index->var_count; i++) {
        const struct sk_skc_var *v = &h->index->vars[i];
        p[i] = (struct sk_piece){.type = v->type, .ndims = v->ndims, .kind = v->kind, .size_bytes = v->raw_bytes,
                                 .scope = v->scope, .tile = v->tile};
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
        sk_engine_fail(e, &err);
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
    if (free_slots(e) || e->slots > e->keep_local + sk_engine_held_back(e)) {
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

void *sk_engine_committer(void *arg)
{
    struct sk_engine *e = arg;
    pthread_mutex_lock(&e->lock);
    for (;;) {
        struct held *h = sk_engine_next(e);
        if (h)
            commit_one(e, h);
        else if (e->stopping)
            break;
        else if (e->retired_seq < e->complete_seq) {
            sk_engine_retain_local(e);
            pthread_cond_broadcast(&e->changed);
        } else if (e->prepare)
            prepare_one(e);
        else
            pthread_cond_wait(&e->changed, &e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}
