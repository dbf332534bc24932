/* What the parts of the engine share: the list of generations that are held, and leave to write and to remove. */
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

int sk_engine_may_write(const struct sk_engine *e, const char *root, double wait_s, struct saikai_error *err)
{
    if (!e->leased_root || strcmp(root, e->leased_root))
        return 0;
    return sk_lease_check(root, e->lease, wait_s, err);
}

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

void sk_engine_drop_all(struct sk_engine *e)
{
    while (e->all)
        sk_engine_drop(e, e->all, e->all->stage != COMMITTED);
}

void sk_engine_free_parts(struct sk_engine *e)
{
    sk_engine_drop_all(e);
    sk_scrub_free(e->scrub);
    if (e->orphaned)
        sk_ledger_free(e->ledger);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e->local_root);
    free(e->prefix_root);
    free(e->leased_root);
    free(e->set);
    sk_patience_free(e->patience);
    free(e);
}

void sk_engine_drop(struct sk_engine *e, struct held *h, int remove_file)
{
    struct held **at = &e->all;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    if (h->slot && h->lent) /* transfers that never ended may still read it */
        h->slot->map = NULL;
    sk_slot_free(h->slot, remove_file);
    sk_skc_index_free(h->index);
    free(h->wishes);
    free(h);
}

/* Something of this start is where copies last. */
static int has_own(const struct sk_engine *e)
{
    return e->prefix_root ? e->any_archived : e->complete_seq > 0;
}

int sk_engine_spares(const struct sk_engine *e, struct sk_gen g)
{
    return g.incarnation < e->spare_before && !has_own(e);
}

int sk_engine_earlier_may_go(const struct sk_engine *e)
{
    if (e->earlier == SK_EARLIER_UNUSED)
        return has_own(e);
    return e->earlier == SK_EARLIER_RESUMED;
}
