/* The engine's archiver: copies generations to the prefix. */
#include "lib/engine/engine_parts.h"

#include "base/file/io.h"
#include "base/log.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <unistd.h>

static int archive_one(struct sk_engine *e, struct sk_gen gen, struct saikai_error *err)
{
    char tmp[PATH_MAX];
    struct sk_container *c = NULL;
    int rc = sk_io_path(tmp, sizeof tmp, err, "%s/copy-%04u-%06d.tmp", e->prefix_root, e->incarnation, e->rank);
    if (!rc && access(e->prefix_root, F_OK))
        rc = sk_io_mkdirs(e->prefix_root, err);
    if (!rc)
        rc = sk_engine_may_write(e, e->prefix_root, SK_ENGINE_LEASE_WAIT, err);
    if (!rc)
        rc = sk_lineage_open(e->local_root, gen, e->rank, &c, err);
    if (!rc)
        rc = sk_container_copy(c, tmp, e->sync_prefix, err);
    if (!rc && (rc = sk_engine_may_write(e, e->prefix_root, 0, err)) == 0)
        rc = sk_gen_commit(e->prefix_root, gen, e->rank, tmp, e->sync_prefix, err);
    if (rc)
        sk_io_unlink(tmp, NULL);
    sk_container_close(c);
    return rc;
}

static int is_here(const struct sk_engine *e, struct sk_gen gen)
{
    char path[PATH_MAX];
    return !sk_gen_file(e->local_root, gen, e->rank, path, sizeof path, NULL) && !access(path, F_OK);
}

/* The prefix failed, or takes files again: said when it changes. */
static void tell(struct sk_engine *e, struct saikai_error *err, struct sk_gen gen)
{
    char name[48];
    sk_gen_name(gen, name);
    if (!*err->text) {
        if (e->archive_trouble)
            sk_log(SK_LOG_NOTICE, "rank %d: the prefix %s takes files again: generation %s is archived", e->rank,
                   e->prefix_root, name);
        e->archive_trouble = 0;
        return;
    }
    sk_error_prefix(err, "generation %s is not archived", name);
    e->failures++;
    e->last_error = *err;
    sk_log(e->archive_trouble ? SK_LOG_INFO : SK_LOG_WARN, "rank %d: %s; the next one is tried again", e->rank, err->text);
    e->archive_trouble = 1;
}

static void copy_to_prefix(struct sk_engine *e)
{
    struct saikai_error err = {0};
    struct held *h = sk_engine_find(e, e->archive_seq);
    int64_t seq = e->archive_seq;
    e->archive_seq = 0;
    if (!h)
        return;
    if (h->place == FAR) { /* it was written there */
        h->place = FAR_ARCHIVED;
        e->archived_seq = seq;
        sk_ledger_mark(e->ledger, seq, SK_LEDGER_COPIED);
        return;
    }
    h->archiving = e->busy_archive = 1;
    struct sk_gen gen = h->gen;
    pthread_mutex_unlock(&e->lock);
    int rc = archive_one(e, gen, &err);
    pthread_mutex_lock(&e->lock);
    e->busy_archive = 0;
    if ((h = sk_engine_find(e, seq))) /* the engine may be gone */
        h->archiving = 0;
    if (rc && !e->orphaned && (err.code == SAIKAI_EDAMAGED || (err.code == SAIKAI_ENOENT && !is_here(e, gen))))
        e->doubt.any = e->doubt.all = 1;
    if (!rc && !e->orphaned) {
        e->archived_seq = seq;
        sk_ledger_mark(e->ledger, seq, SK_LEDGER_COPIED);
    }
    if (!e->orphaned)
        tell(e, &err, gen);
    e->archiver_stuck = 0;
    e->retired_seq = -1; /* the copy may have held back a retirement */
    pthread_cond_broadcast(&e->changed);
}

void *sk_engine_archiver(void *arg)
{
    struct sk_engine *e = arg;
    if (e->prefix_root && !sk_engine_may_write(e, e->prefix_root, 0, NULL))
        sk_slot_clean(e->prefix_root, e->incarnation, e->rank, e->nranks);
    pthread_mutex_lock(&e->lock);
    while (!e->stopping) {
        if (sk_engine_remove_far(e))
            continue;
        if (!e->archive_seq && e->pruned_seq >= e->pruned_request) {
            pthread_cond_wait(&e->changed, &e->lock);
            continue;
        }
        if (e->archive_seq)
            copy_to_prefix(e);
        else
            sk_engine_retain_prefix(e);
        pthread_cond_broadcast(&e->changed);
    }
    e->archiver_ended = 1;
    pthread_cond_broadcast(&e->changed);
    int orphaned = e->orphaned;
    pthread_mutex_unlock(&e->lock);
    if (orphaned)
        sk_engine_free_parts(e);
    return NULL;
}
