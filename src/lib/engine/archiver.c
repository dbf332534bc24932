/* The engine's archiver: copies generations to the prefix. */
#include "lib/engine/archiver.h"

#include "base/file/io.h"
#include "base/log.h"
#include "lib/engine/direct/direct.h"
#include "lib/engine/engine_parts.h"
#include "lib/engine/make_room.h"
#include "lib/engine/retention.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <unistd.h>

static int archive_one(const struct sk_where *w, struct sk_gen gen, struct saikai_error *err)
{
    char tmp[PATH_MAX];
    struct sk_container *c = NULL;
    int rc = sk_io_path(tmp, sizeof tmp, err, "%s/copy-%04u-%06d.tmp", w->prefix_root, w->incarnation, w->rank);
    if (!rc && access(w->prefix_root, F_OK))
        rc = sk_io_mkdirs(w->prefix_root, err);
    if (!rc)
        rc = sk_where_may_write(w, w->prefix_root, SK_WHERE_LEASE_WAIT, err);
    if (!rc)
        rc = sk_lineage_open(w->local_root, gen, w->rank, &c, err);
    if (!rc)
        rc = sk_container_copy(c, tmp, w->sync_prefix, err);
    if (!rc && (rc = sk_where_may_write(w, w->prefix_root, 0, err)) == 0)
        rc = sk_gen_commit(w->prefix_root, gen, w->rank, tmp, w->sync_prefix, err);
    if (rc)
        sk_io_unlink(tmp, NULL);
    sk_container_close(c);
    return rc;
}

/* The prefix failed, or takes files again: said when it changes. */
static void tell(struct sk_engine *e, struct saikai_error *err, struct sk_gen gen)
{
    char name[48];
    sk_gen_name(gen, name);
    if (!*err->text) {
        if (e->copying.in_trouble)
            sk_log(SK_LOG_NOTICE, "rank %d: the prefix %s takes files again: generation %s is archived", e->where.rank,
                   e->where.prefix_root, name);
        e->copying.in_trouble = 0;
        return;
    }
    sk_error_prefix(err, "generation %s is not archived", name);
    sk_trouble_note(&e->trouble, err);
    sk_log(e->copying.in_trouble ? SK_LOG_INFO : SK_LOG_WARN, "rank %d: %s; the next one is tried again", e->where.rank, err->text);
    e->copying.in_trouble = 1;
}

static void copy_to_prefix(struct sk_engine *e)
{
    struct saikai_error err = {0};
    struct sk_held *h = sk_stock_find(&e->stock, e->copying.wanted_seq);
    int64_t seq = e->copying.wanted_seq;
    e->copying.wanted_seq = 0;
    if (!h)
        return;
    if (h->place == FAR) { /* it was written there */
        h->place = FAR_ARCHIVED;
        e->copying.archived_seq = seq;
        sk_ledger_mark(e->ledger, seq, SK_LEDGER_COPIED);
        return;
    }
    h->users.archiving = e->copying.busy = 1;
    struct sk_gen gen = h->gen;
    sk_threads_unlock(&e->threads);
    int rc;
    do {
        err = (struct saikai_error){0};
        rc = archive_one(&e->where, gen, &err);
    } while (rc == SAIKAI_ENOSPC && sk_engine_make_room(e, gen));
    sk_threads_lock(&e->threads);
    e->copying.busy = 0;
    if ((h = sk_stock_find(&e->stock, seq))) /* the engine may be gone */
        h->users.archiving = 0;
    if (rc && !e->copying.orphaned && (err.code == SAIKAI_EDAMAGED || (err.code == SAIKAI_ENOENT && !sk_where_has_file(&e->where, gen))))
        sk_doubt_all(&e->healing.doubt);
    if (!rc && !e->copying.orphaned) {
        e->copying.archived_seq = seq;
        sk_ledger_mark(e->ledger, seq, SK_LEDGER_COPIED);
    }
    if (!e->copying.orphaned)
        tell(e, &err, gen);
    e->copying.stuck = 0;
    sk_keep_again(&e->keep); /* the copy may have held back a retirement */
    sk_threads_tell(&e->threads);
}

void *sk_engine_archiver(void *arg)
{
    struct sk_engine *e = arg;
    if (e->where.prefix_root && !sk_where_may_write(&e->where, e->where.prefix_root, 0, NULL))
        sk_slot_clean(e->where.prefix_root, e->where.incarnation, e->where.rank, e->where.nranks);
    sk_threads_lock(&e->threads);
    while (!e->threads.stopping) {
        if (sk_engine_remove_far(e))
            continue;
        if (!e->copying.wanted_seq && !sk_keep_prunes(&e->keep)) {
            sk_threads_wait(&e->threads);
            continue;
        }
        if (e->copying.wanted_seq)
            copy_to_prefix(e);
        else
            sk_engine_retain_prefix(e);
        sk_threads_tell(&e->threads);
    }
    e->copying.ended = 1;
    sk_threads_tell(&e->threads);
    int orphaned = e->copying.orphaned;
    sk_threads_unlock(&e->threads);
    if (orphaned)
        sk_engine_free_parts(e);
    return NULL;
}
