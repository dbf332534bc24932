/* The engine's committer: seals captured slots, gives them their names, and does the housekeeping between. */
#include "lib/engine/engine_parts.h"

#include "base/file/io.h"
#include "base/log.h"
#include "store/form/lineage.h"

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
                                .scope = v->scope, .tile = v->tile,
                                .changes_only = !strcmp(v->codec, SK_LINEAGE_CODEC)};
        memcpy(p[i].name, v->name, sizeof p[i].name);
        for (int d = 0; d < v->ndims; d++)
            p[i].dims[d] = v->dims[d];
        if (v->chunk_count)
            p[i].data = h->slot->map + h->index->chunks[v->first_chunk].offset;
    }
    return p;
}

/* A temporary file beside the slots; swept like a slot when this process dies. */
static int tmp_path(const struct sk_engine *e, int number, char out[PATH_MAX], struct saikai_error *err)
{
    return sk_io_path(out, PATH_MAX, err, "%s/slot-%04u-%06d-%d.tmp", e->local_root, e->incarnation, e->rank,
                      INT_MAX - number);
}

/* Without the lock, from here on: code the slot's content into a file of its own. */
static int code(struct sk_engine *e, struct held *h, const char *path, struct saikai_error *err)
{
    struct sk_piece *p = pieces_of(h);
    int rc = p ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to code a checkpoint");
    if (!rc)
        rc = sk_coding_write(e->coding, path, &h->header, p, h->wishes, h->index->var_count, e->sync_local, err);
    free(p);
    return rc;
}

/* Coded, the file would be a second one beside the slot. Where there is no room for it, the slot is the file as it is. */
static void choose_form(struct sk_engine *e, struct held *h)
{
    struct saikai_error why = {0};
    if (!h->wishes || !sk_engine_room(e, h->slot->size_bytes, &why))
        return;
    sk_log(e->plain_told ? SK_LOG_DEBUG : SK_LOG_NOTICE,
           "rank %d: %s: iteration %lld is saved as it is, without codecs, and so is what comes, as long as there is no room", e->rank,
           why.text, (long long)h->gen.iteration);
    e->plain_told = 1;
    free(h->wishes);
    h->wishes = NULL;
}

/* The changes were captured for whatever the tip would be. */
static int seal_changes(struct held *h, const struct tip *tip, struct saikai_error *err)
{
    const struct sk_skc_var *v = sk_lineage_changes(h->index);
    char name[48];
    if (!h->base.incarnation)
        return 0;
    if (!tip->known || sk_gen_key(tip->gen) != sk_gen_key(h->base))
        return sk_fail(err, SAIKAI_ESTATE, "it builds on %s, which was not saved", sk_gen_name(h->base, name));
    if (!v)
        return sk_fail(err, SAIKAI_EINTERNAL, "it has no changes");
    uint8_t *delta = h->slot->map + h->index->chunks[v->first_chunk].offset;
    sk_delta_set_from(delta, tip->index_hash);
    sk_delta_seal_tables(delta);
    return 0;
}

/* Before it is read, and after: what somebody cut meanwhile was read as zeros. */
static int check_slot(const struct held *h, struct saikai_error *err)
{
    return sk_slot_is_whole(h->slot) ? 0 : sk_fail(err, SAIKAI_EDAMAGED, "somebody else cut or removed %s", h->slot->tmp_path);
}

/* The slot was as large as the one before it, or larger. */
static int cut(struct held *h, struct saikai_error *err)
{
    int rc = check_slot(h, err);
    if (rc)
        return rc;
    return h->slot->size_bytes > h->size_bytes ? sk_slot_resize(h->slot, h->size_bytes, err) : 0;
}

/* Make the delta in the file path a full generation in the file to_path, off the path of the program. */
static int fold(struct sk_engine *e, const char *path, const char *to_path, struct saikai_error *err)
{
    struct sk_container *c = NULL;
    int rc = sk_lineage_open_file(path, e->local_root, &c, err);
    if (!rc)
        rc = sk_container_copy(c, to_path, e->sync_local, err);
    sk_container_close(c);
    return rc;
}

/* 1: the delta is to become a full generation, and there is room for it. */
static int may_fold(struct sk_engine *e, const struct tip *tip, const struct held *h, uint64_t bytes)
{
    struct saikai_error why = {0};
    if (!h->base.incarnation || tip->spoiled || !sk_delta_base_is_due(&e->limits, tip->deltas, tip->delta_bytes, bytes, tip->full_bytes))
        return 0;
    if (!sk_engine_room(e, tip->full_bytes, &why))
        return 1;
    sk_log(e->fold_told ? SK_LOG_DEBUG : SK_LOG_NOTICE,
           "rank %d: %s: changes are not put together with what they build on, as long as there is no room", e->rank, why.text);
    e->fold_told = 1;
    return 0;
}

/* What the generation's file has become. */
static int describe_tip(struct sk_engine *e, struct held *h, int folded, uint64_t bytes, struct tip *tip,
                        struct saikai_error *err)
{
    char path[PATH_MAX];
    struct sk_container *c = NULL;
    int rc = sk_gen_file(e->local_root, h->gen, e->rank, path, sizeof path, err);
    if (!rc)
        rc = sk_container_open(path, &c, err);
    if (rc)
        return rc;
    int full = folded || !h->base.incarnation;
    *tip = (struct tip){1, h->gen, c->trailer.index_hash, full ? 0 : tip->deltas + 1,
                        full ? 0 : tip->delta_bytes + bytes, full ? c->trailer.file_bytes : tip->full_bytes,
                        full ? 0 : tip->spoiled};
    sk_container_close(c);
    return 0;
}

/* Give the generation its file: the slot, what codecs make of it, or the full generation that a delta is folded to.
 * *own_file 1: the slot is not that file. */
static int commit(struct sk_engine *e, struct held *h, struct tip *tip, int *own_file, struct saikai_error *err)
{
    char coded[PATH_MAX], whole[PATH_MAX];
    int rc = h->pending ? sk_saver_finish(h->pending, err) : 0, folded = 0;
    if (!rc)
        rc = cut(h, err);
    if (!rc)
        rc = seal_changes(h, tip, err);
    if (!rc)
        choose_form(e, h);
    if (!rc)
        rc = tmp_path(e, 0, coded, err);
    if (!rc)
        rc = tmp_path(e, 1, whole, err);
    if (!rc)
        rc = h->wishes ? code(e, h, coded, err)
                       : sk_container_seal(h->slot->map, h->slot->size_bytes, &h->header, h->index,
                                           h->hash_known ? &h->file_hash : NULL, err);
    if (!rc && (rc = check_slot(h, err)) && h->wishes)
        sk_io_unlink(coded, NULL);
    if (rc)
        return rc;
    const char *from = h->wishes ? coded : h->slot->tmp_path;
    uint64_t bytes = h->slot->size_bytes;
    struct saikai_error why = {0};
    if (may_fold(e, tip, h, bytes)) {
        folded = !fold(e, from, whole, &why);
        h->fold_failed = !folded;
        if (!folded) /* as a delta it is as good; whether something is damaged is looked at next */
            sk_log(SK_LOG_INFO, "rank %d: a delta stays one: %s", e->rank, why.text);
    }
    *own_file = folded || h->wishes;
    rc = sk_engine_may_write(e, e->local_root, SK_ENGINE_LEASE_WAIT, err);
    if (!rc && *own_file)
        rc = sk_gen_commit(e->local_root, h->gen, e->rank, folded ? whole : coded, e->sync_local, err);
    else if (!rc)
        rc = sk_slot_commit(h->slot, e->local_root, h->gen, e->rank, e->sync_local, err);
    if (rc && folded)
        sk_io_unlink(whole, NULL);
    if (h->wishes && (rc || folded))
        sk_io_unlink(coded, NULL);
    if (!rc && describe_tip(e, h, folded, bytes, tip, &why)) {
        tip->known = 0; /* the file is there; what comes next must be full */
        sk_log(SK_LOG_WARN, "rank %d: %s", e->rank, why.text);
    }
    if (!rc && folded)
        h->base = (struct sk_gen){0};
    return rc;
}

/* ---- with the lock again ---- */

static void add_committed(struct sk_engine *e, struct held *h, int own_file)
{
    if (h->seq > e->committed_seq)
        e->committed_seq = h->seq;
    sk_ledger_mark(e->ledger, h->seq, SK_LEDGER_COMMITTED);
    for (struct held *old = e->all; old; old = old->next) /* two checkpoints at one iteration */
        if (old != h && old->stage == COMMITTED && sk_gen_key(old->gen) == sk_gen_key(h->gen))
            old->replaced = 1;
    if (!own_file) {
        h->stage = COMMITTED;
        return;
    }
    /* the file is one of its own: the slot is free again, and a record without a slot stands for the file */
    struct held *file = calloc(1, sizeof *file);
    if (file) { /* without memory it is swept as a stale one, later */
        *file = (struct held){.stage = COMMITTED, .seq = h->seq, .gen = h->gen, .base = h->base, .index_hash = h->index_hash,
                               .next = e->all};
        e->all = file;
    }
    h->stage = FREE;
    h->base = (struct sk_gen){0};
}

static void commit_one(struct sk_engine *e, struct held *h)
{
    struct saikai_error err = {0};
    struct tip tip = e->tip;
    int own_file = 0, folded = h->base.incarnation != 0; /* and builds on nothing when it is committed */
    e->busy_commit = 1;
    h->hash_known = e->hash_files && !h->wishes;
    h->damaged = h->fold_failed = 0;
    h->index_hash = 0;
    pthread_mutex_unlock(&e->lock);
    sk_scrub_pause(e->scrub, 1);
    int rc = commit(e, h, &tip, &own_file, &err);
    sk_scrub_pause(e->scrub, 0);
    pthread_mutex_lock(&e->lock);
    e->busy_commit = 0;
    e->list_stale = 1;
    e->doubt.any |= h->fold_failed;
    e->doubt.all |= h->fold_failed;
    e->tip = tip;
    e->tip.known = !rc && tip.known;
    e->breaks += !e->tip.known;
    if (rc) {
        char name[48];
        sk_error_prefix(&err, "generation %s is not saved", sk_gen_name(h->gen, name));
        sk_engine_fail(e, &err);
        sk_ledger_mark(e->ledger, h->seq, SK_LEDGER_LOST);
        e->damages += !sk_slot_is_whole(h->slot); /* the next one has another slot: not only when it is due */
        h->stage = FREE;
        h->base = (struct sk_gen){0};
    } else {
        h->index_hash = tip.known ? tip.index_hash : 0;
        if (!e->rank)
            sk_log(SK_LOG_DEBUG, "iteration %lld is committed: %llu bytes, %s", (long long)h->gen.iteration,
                   (unsigned long long)h->slot->size_bytes,
                   h->base.incarnation ? "changes only" : folded ? "changes, made full" : "in full");
        add_committed(e, h, own_file);
    }
    sk_skc_index_free(h->index);
    free(h->wishes);
    h->index = NULL;
    h->wishes = NULL;
    h->pending = NULL;
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
        else if (e->doubt.any)
            sk_engine_examine(e);
        else if (e->list_stale)
            sk_engine_list_for_scrub(e);
        else if (e->retired_seq < e->complete_seq) {
            if (sk_engine_retain_local(e))
                sk_engine_trim_slots(e);
            pthread_cond_broadcast(&e->changed);
        } else if (e->prepare)
            sk_engine_prepare_slots(e);
        else
            pthread_cond_wait(&e->changed, &e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}
