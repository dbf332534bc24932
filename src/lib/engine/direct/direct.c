/* A checkpoint without a slot: where node-local memory does not take it, it is written into the prefix piece by piece while the
 * program waits. Each rank does what it can: a generation counts when every rank has its file in one of the places. */
#include "lib/engine/direct/direct.h"

#include "base/file/io.h"
#include "base/host/headroom.h"
#include "lib/engine/engine_parts.h"
#include "store/form/coded.h"

#include <limits.h>
#include <stdlib.h>

/* One that counts as committed and has no file in the local directory. */
static void add_record(struct sk_engine *e, struct sk_held *h)
{
    sk_stock_committed(&e->stock, h);
    sk_stock_add(&e->stock, h);
    e->sealing.tip.known = 0; /* nothing can build on it here */
    e->trouble.breaks++;
    sk_threads_tell(&e->threads);
}

int sk_engine_write_directly(struct sk_engine *e, int64_t seq, struct sk_gen gen, const struct sk_skc_header *header,
                             const struct sk_piece *p, size_t count, uint64_t bytes, struct saikai_error *err)
{
    char path[PATH_MAX];
    if (!e->where.prefix_root)
        return sk_fail(err, SAIKAI_ENOSPC, "and there is no prefix to write to (store.prefix)");
    if (bytes > sk_headroom_largest_file())
        return sk_fail(err, SAIKAI_ENOSPC, "and none may be written to the prefix (ulimit -f)");
    int rc = sk_where_may_write(&e->where, e->where.prefix_root, SK_WHERE_LEASE_WAIT, err);
    if (!rc)
        rc = sk_where_tmp(&e->where, e->where.prefix_root, 0, path, err);
    if (rc)
        return rc;
    struct sk_held *h = calloc(1, sizeof *h);
    if (!h)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a generation's record");
    rc = sk_container_write(path, header, p, NULL, count, e->where.sync_prefix, NULL, NULL, err);
    if (!rc && !(rc = sk_where_may_write(&e->where, e->where.prefix_root, 0, err)))
        rc = sk_gen_commit(e->where.prefix_root, gen, e->where.rank, path, e->where.sync_prefix, err);
    if (rc) {
        sk_io_unlink(path, NULL);
        free(h);
        return rc;
    }
    *h = (struct sk_held){.stage = COMMITTED, .seq = seq, .gen = gen, .place = FAR};
    sk_ledger_mark(e->ledger, seq, SK_LEDGER_COMMITTED);
    sk_threads_lock(&e->threads);
    add_record(e, h);
    sk_threads_unlock(&e->threads);
    return 0;
}

void sk_engine_retire_far(struct sk_engine *e, struct sk_held *h)
{
    /* what all ranks have in the prefix, or older ones, is the business of the retention there */
    if (h->place == FAR && !h->replaced && h->seq > e->keep.pruned_request) {
        h->place = FAR_GONE;
        h->stage = FREE; /* without a slot: nobody's, until the archiver sees it */
        sk_threads_tell(&e->threads);
    } else {
        sk_stock_drop(&e->stock, h, 0);
    }
}

int sk_engine_remove_far(struct sk_engine *e)
{
    struct sk_held *h = e->stock.all;
    while (h && h->place != FAR_GONE)
        h = h->next;
    if (!h)
        return 0;
    struct sk_gen gen = h->gen;
    sk_stock_drop(&e->stock, h, 0);
    e->copying.busy = 1;
    sk_threads_unlock(&e->threads);
    if (!sk_where_may_write(&e->where, e->where.prefix_root, 0, NULL))
        sk_gen_remove(e->where.prefix_root, gen, e->where.rank, NULL);
    sk_threads_lock(&e->threads);
    e->copying.busy = 0;
    return 1;
}
