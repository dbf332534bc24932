/* The engine's committer: seals captured slots, gives them their names, and does the housekeeping between. */
#include "lib/engine/committer.h"

#include "base/file/io.h"
#include "base/log.h"
#include "lib/engine/engine_parts.h"
#include "lib/engine/heal/heal.h"
#include "lib/engine/retention.h"
#include "lib/engine/slots.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The captured variables as they lie in a slot. */
static struct sk_piece *pieces_of(const struct sk_held *h)
{
    const struct sk_skc_index *index = h->given.index;
    struct sk_piece *p = calloc(index->var_count ? index->var_count : 1, sizeof *p);
    for (uint32_t i = 0; p && i < index->var_count; i++) {
        const struct sk_skc_var *v = &index->vars[i];
        p[i] = (struct sk_piece){.type = v->type, .ndims = v->ndims, .kind = v->kind, .size_bytes = v->raw_bytes,
                                .scope = v->scope, .tile = v->tile,
                                .changes_only = !strcmp(v->codec, SK_LINEAGE_CODEC)};
        memcpy(p[i].name, v->name, sizeof p[i].name);
        for (int d = 0; d < v->ndims; d++)
            p[i].dims[d] = v->dims[d];
        if (v->chunk_count)
            p[i].data = h->slot->map + index->chunks[v->first_chunk].offset;
    }
    return p;
}

/* Without the lock, from here on: code the slot's content into a file of its own. */
static int code(struct sk_engine *e, struct sk_held *h, const char *path, struct saikai_error *err)
{
    struct sk_piece *p = pieces_of(h);
    int rc = p ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to code a checkpoint");
    if (!rc)
        rc = sk_coding_write(e->sealing.coding, path, &h->given.header, p, h->given.wishes, h->given.index->var_count,
                             e->where.sync_local, err);
    free(p);
    return rc;
}

/* Coded, the file would be a second one beside the slot. Where there is no room for it, the slot is the file as it is. */
static void choose_form(struct sk_engine *e, struct sk_held *h)
{
    struct saikai_error why = {0};
    if (!h->given.wishes || !sk_shelf_room(&e->shelf, &e->where, h->slot->size_bytes, &why))
        return;
    sk_log(e->sealing.plain_told ? SK_LOG_DEBUG : SK_LOG_NOTICE,
           "rank %d: %s: iteration %lld is saved as it is, without codecs, and so is what comes, as long as there is no room",
           e->where.rank, why.text, (long long)h->gen.iteration);
    e->sealing.plain_told = 1;
    free(h->given.wishes);
    h->given.wishes = NULL;
}

/* The changes were captured for whatever the tip would be. */
static int seal_changes(struct sk_held *h, const struct sk_tip *tip, struct saikai_error *err)
{
    const struct sk_skc_var *v = sk_lineage_changes(h->given.index);
    char name[48];
    if (!h->base.incarnation)
        return 0;
    if (!tip->known || sk_gen_key(tip->gen) != sk_gen_key(h->base))
        return sk_fail(err, SAIKAI_ESTATE, "it builds on %s, which was not saved", sk_gen_name(h->base, name));
    if (!v)
        return sk_fail(err, SAIKAI_EINTERNAL, "it has no changes");
    uint8_t *delta = h->slot->map + h->given.index->chunks[v->first_chunk].offset;
    sk_delta_set_from(delta, tip->index_hash);
    sk_delta_seal_tables(delta);
    return 0;
}

/* Before it is read, and after: what somebody cut meanwhile was read as zeros. */
static int check_slot(const struct sk_held *h, struct saikai_error *err)
{
    return sk_slot_is_whole(h->slot) ? 0 : sk_fail(err, SAIKAI_EDAMAGED, "somebody else cut or removed %s", h->slot->tmp_path);
}

/* The slot was as large as the one before it, or larger. */
static int cut(struct sk_held *h, struct saikai_error *err)
{
    int rc = check_slot(h, err);
    if (rc)
        return rc;
    return h->slot->size_bytes > h->size_bytes ? sk_slot_resize(h->slot, h->size_bytes, err) : 0;
}

/* Make the delta in the file path a full generation in the file to_path, off the path of the program. */
static int fold(const struct sk_where *w, const char *path, const char *to_path, struct saikai_error *err)
{
    struct sk_container *c = NULL;
    int rc = sk_lineage_open_file(path, w->local_root, &c, err);
    if (!rc)
        rc = sk_container_copy(c, to_path, w->sync_local, err);
    sk_container_close(c);
    return rc;
}

/* 1: the delta is to become a full generation, and there is room for it. */
static int may_fold(struct sk_engine *e, const struct sk_tip *tip, const struct sk_held *h, uint64_t bytes)
{
    struct saikai_error why = {0};
    if (!h->base.incarnation || tip->spoiled ||
        !sk_delta_base_is_due(&e->sealing.limits, tip->deltas, tip->delta_bytes, bytes, tip->full_bytes))
        return 0;
    if (!sk_shelf_room(&e->shelf, &e->where, tip->full_bytes, &why))
        return 1;
    sk_log(e->sealing.fold_told ? SK_LOG_DEBUG : SK_LOG_NOTICE,
           "rank %d: %s: changes are not put together with what they build on, as long as there is no room", e->where.rank, why.text);
    e->sealing.fold_told = 1;
    return 0;
}

/* What the generation's file has become. */
static int describe_tip(const struct sk_where *w, const struct sk_held *h, int folded, uint64_t bytes, struct sk_tip *tip,
                        struct saikai_error *err)
{
    char path[PATH_MAX];
    struct sk_container *c = NULL;
    int rc = sk_gen_file(w->local_root, h->gen, w->rank, path, sizeof path, err);
    if (!rc)
        rc = sk_container_open(path, &c, err);
    if (rc)
        return rc;
    int full = folded || !h->base.incarnation;
    *tip = (struct sk_tip){1, h->gen, c->trailer.index_hash, full ? 0 : tip->deltas + 1,
                           full ? 0 : tip->delta_bytes + bytes, full ? c->trailer.file_bytes : tip->full_bytes,
                           full ? 0 : tip->spoiled};
    sk_container_close(c);
    return 0;
}

/* Give the generation its file: the slot, what codecs make of it, or the full generation that a delta is folded to.
 * *own_file 1: the slot is not that file. */
static int commit(struct sk_engine *e, struct sk_held *h, struct sk_tip *tip, int *own_file, struct saikai_error *err)
{
    const struct sk_where *w = &e->where;
    char coded[PATH_MAX], whole[PATH_MAX];
    int rc = h->given.pending ? sk_saver_finish(h->given.pending, err) : 0, folded = 0;
    if (!rc)
        rc = cut(h, err);
    if (!rc)
        rc = seal_changes(h, tip, err);
    if (!rc)
        choose_form(e, h);
    if (!rc)
        rc = sk_where_tmp(w, w->local_root, 0, coded, err);
    if (!rc)
        rc = sk_where_tmp(w, w->local_root, 1, whole, err);
    if (!rc)
        rc = h->given.wishes ? code(e, h, coded, err)
                             : sk_container_seal(h->slot->map, h->slot->size_bytes, &h->given.header, h->given.index,
                                                 h->hash_known ? &h->file_hash : NULL, err);
    if (!rc && (rc = check_slot(h, err)) && h->given.wishes)
        sk_io_unlink(coded, NULL);
    if (rc)
        return rc;
    const char *from = h->given.wishes ? coded : h->slot->tmp_path;
    uint64_t bytes = h->slot->size_bytes;
    struct saikai_error why = {0};
    if (may_fold(e, tip, h, bytes)) {
        folded = !fold(w, from, whole, &why);
        h->health.fold_failed = !folded;
        if (!folded) /* as a delta it is as good; whether something is damaged is looked at next */
            sk_log(SK_LOG_INFO, "rank %d: a delta stays one: %s", w->rank, why.text);
    }
    *own_file = folded || h->given.wishes;
    rc = sk_where_may_write(w, w->local_root, SK_WHERE_LEASE_WAIT, err);
    if (!rc && *own_file)
        rc = sk_gen_commit(w->local_root, h->gen, w->rank, folded ? whole : coded, w->sync_local, err);
    else if (!rc)
        rc = sk_slot_commit(h->slot, w->local_root, h->gen, w->rank, w->sync_local, err);
    if (rc && folded)
        sk_io_unlink(whole, NULL);
    if (h->given.wishes && (rc || folded))
        sk_io_unlink(coded, NULL);
    if (!rc && describe_tip(w, h, folded, bytes, tip, &why)) {
        tip->known = 0; /* the file is there; what comes next must be full */
        sk_log(SK_LOG_WARN, "rank %d: %s", w->rank, why.text);
    }
    if (!rc && folded)
        h->base = (struct sk_gen){0};
    return rc;
}

/* ---- with the lock again ---- */

static void add_committed(struct sk_engine *e, struct sk_held *h, int own_file)
{
    sk_stock_committed(&e->stock, h);
    sk_ledger_mark(e->ledger, h->seq, SK_LEDGER_COMMITTED);
    if (!own_file) {
        h->stage = COMMITTED;
        return;
    }
    /* the file is one of its own: the slot is free again, and a record without a slot stands for the file */
    struct sk_held *file = calloc(1, sizeof *file);
    if (file) { /* without memory it is swept as a stale one, later */
        *file = (struct sk_held){.stage = COMMITTED, .seq = h->seq, .gen = h->gen, .base = h->base, .index_hash = h->index_hash};
        sk_stock_add(&e->stock, file);
    }
    h->stage = FREE;
    h->base = (struct sk_gen){0};
}

/* Without the lock while it is written. What fails leaves the slot free, and what builds on it fails as well. */
static void commit_one(struct sk_engine *e, struct sk_held *h)
{
    struct saikai_error err = {0};
    struct sk_tip tip = e->sealing.tip;
    int own_file = 0, folded = h->base.incarnation != 0; /* and builds on nothing when it is committed */
    e->sealing.busy = 1;
    h->hash_known = e->sealing.hash_files && !h->given.wishes;
    h->health.damaged = h->health.fold_failed = 0;
    h->index_hash = 0;
    sk_threads_unlock(&e->threads);
    sk_scrub_pause(e->healing.scrub, 1);
    int rc = commit(e, h, &tip, &own_file, &err);
    sk_scrub_pause(e->healing.scrub, 0);
    sk_threads_lock(&e->threads);
    e->sealing.busy = 0;
    e->healing.list_stale = 1;
    e->healing.doubt.any |= h->health.fold_failed;
    e->healing.doubt.all |= h->health.fold_failed;
    e->sealing.tip = tip;
    e->sealing.tip.known = !rc && tip.known;
    e->trouble.breaks += !e->sealing.tip.known;
    if (rc) {
        char name[48];
        sk_error_prefix(&err, "generation %s is not saved", sk_gen_name(h->gen, name));
        sk_engine_fail(e, &err);
        sk_ledger_mark(e->ledger, h->seq, SK_LEDGER_LOST);
        e->trouble.damages += !sk_slot_is_whole(h->slot); /* the next one has another slot: not only when it is due */
        h->stage = FREE;
        h->base = (struct sk_gen){0};
    } else {
        h->index_hash = tip.known ? tip.index_hash : 0;
        if (!e->where.rank)
            sk_log(SK_LOG_DEBUG, "iteration %lld is committed: %llu bytes, %s", (long long)h->gen.iteration,
                   (unsigned long long)h->slot->size_bytes,
                   h->base.incarnation ? "changes only" : folded ? "changes, made full" : "in full");
        add_committed(e, h, own_file);
    }
    sk_skc_index_free(h->given.index);
    free(h->given.wishes);
    h->given = (struct sk_given){0};
    sk_threads_tell(&e->threads);
}

void *sk_engine_committer(void *arg)
{
    struct sk_engine *e = arg;
    sk_threads_lock(&e->threads);
    for (;;) {
        struct sk_held *h = sk_stock_next(&e->stock);
        if (h)
            commit_one(e, h);
        else if (e->threads.stopping)
            break;
        else if (e->healing.doubt.any)
            sk_engine_examine(e);
        else if (e->healing.list_stale)
            sk_engine_list_for_scrub(e);
        else if (sk_keep_is_due(&e->keep, &e->stock)) {
            if (sk_engine_retain_local(e))
                sk_shelf_trim(&e->shelf, &e->stock, sk_sealing_deltas_bytes(&e->sealing));
            sk_threads_tell(&e->threads);
        } else if (e->shelf.prepare)
            sk_engine_prepare_slots(e);
        else
            sk_threads_wait(&e->threads);
    }
    sk_threads_unlock(&e->threads);
    return NULL;
}
