/* A checkpoint without a slot: where node-local memory does not take it, it is written into the prefix piece by piece while the
 * program waits. Each rank does what it can: a generation counts when every rank has its file in one of the places. */
#include "lib/engine/engine_parts.h"

#include "base/file/io.h"
#include "base/log.h"
#include "base/host/headroom.h"

#include <limits.h>
#include <stdlib.h>

/* One that counts as committed and has no file in the local directory. */
static void add_record(struct sk_engine *e, struct held *h)
{
    for (struct held *old = e->all; old; old = old->next) /* two checkpoints at one iteration */
        if (old->stage == COMMITTED && sk_gen_key(old->gen) == sk_gen_key(h->gen))
            old->replaced = 1;
    h->next = e->all;
    e->all = h;
    if (h->seq > e->committed_seq)
        e->committed_seq = h->seq;
    e->tip.known = 0; /* nothing can build on it here */
    e->breaks++;
    pthread_cond_broadcast(&e->changed);
}

int sk_engine_write_directly(struct sk_engine *e, int64_t seq, struct sk_gen gen, const struct sk_skc_header *header,
                             const struct sk_piece *p, size_t count, uint64_t bytes, struct saikai_error *err)
{
    char path[PATH_MAX];
    if (!e->prefix_root)
        return sk_fail(err, SAIKAI_ENOSPC, "and there is no prefix to write to (store.prefix)");
    if (bytes > sk_headroom_largest_file())
        return sk_fail(err, SAIKAI_ENOSPC, "and none may be written to the prefix (ulimit -f)");
    int rc = sk_engine_may_write(e, e->prefix_root, SK_ENGINE_LEASE_WAIT, err);
    if (rc)
        return rc;
    struct held *h = calloc(1, sizeof *h);
    rc = h ? sk_io_path(path, sizeof path, err, "%s/slot-%04u-%06d-%d.tmp", e->prefix_root, e->incarnation, e->rank,
                            INT_MAX)
               : sk_fail(err, SAIKAI_ENOMEM, "no memory for a generation's record");
    if (!rc)
        rc = sk_container_write(path, header, p, NULL, count, e->sync_prefix, NULL, NULL, err);
    if (!rc && !(rc = sk_engine_may_write(e, e->prefix_root, 0, err)))
        rc = sk_gen_commit(e->prefix_root, gen, e->rank, path, e->sync_prefix, err);
    if (rc)
        sk_io_unlink(path, NULL);
    if (rc) {
        free(h);
        return rc;
    }
    *h = (struct held){.stage = COMMITTED, .seq = seq, .gen = gen, .place = FAR};
    sk_ledger_mark(e->ledger, seq, SK_LEDGER_COMMITTED);
    pthread_mutex_lock(&e->lock);
    add_record(e, h);
    pthread_mutex_unlock(&e->lock);
    return 0;
}

void sk_engine_retire_far(struct sk_engine *e, struct held *h)
{
    /* what all ranks have in the prefix, or older ones, is the business of the retention there */
    if (h->place == FAR && !h->replaced && h->seq > e->pruned_request) {
        h->place = FAR_GONE;
        h->stage = FREE; /* without a slot: nobody's, until the archiver sees it */
        pthread_cond_broadcast(&e->changed);
    } else {
        sk_engine_drop(e, h, 0);
    }
}

int sk_engine_remove_far(struct sk_engine *e)
{
    struct held *h = e->all;
    while (h && h->place != FAR_GONE)
        h = h->next;
    if (!h)
        return 0;
    struct sk_gen gen = h->gen;
    sk_engine_drop(e, h, 0);
    e->busy_archive = 1;
    pthread_mutex_unlock(&e->lock);
    if (!sk_engine_may_write(e, e->prefix_root, 0, NULL))
        sk_gen_remove(e->prefix_root, gen, e->rank, NULL);
    pthread_mutex_lock(&e->lock);
    e->busy_archive = 0;
    return 1;
}
