/* The engine's retention: which generations of this rank stay, in the local directory and in the prefix. */
#include "lib/engine/retention.h"

#include "archive/file/set.h"
#include "base/log.h"
#include "lib/engine/direct/direct.h"
#include "lib/engine/engine_parts.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Give a committed generation's file up; its slot becomes free. */
int sk_engine_retire(struct sk_engine *e, struct sk_held *h, struct saikai_error *err)
{
    h->base = (struct sk_gen){0};
    if (h->place != HERE) {
        sk_engine_retire_far(e, h);
        return 0;
    }
    if (h->replaced || /* the name is another one's: nothing of this is left but a mapping */
        sk_where_may_write(&e->where, e->where.local_root, 0, NULL)) {
        sk_stock_drop(&e->stock, h, 0);
        return 0;
    }
    int rc = h->slot ? sk_slot_retire(h->slot, e->where.local_root, h->gen, e->where.rank, err)
                     : sk_gen_remove(e->where.local_root, h->gen, e->where.rank, err);
    e->healing.list_stale = 1;
    if (rc) {
        sk_gen_remove(e->where.local_root, h->gen, e->where.rank, NULL);
        sk_stock_drop(&e->stock, h, 1);
        return rc == SAIKAI_ENOENT ? 0 : rc; /* somebody else removed it */
    }
    if (!h->slot)
        sk_stock_drop(&e->stock, h, 0);
    else
        h->stage = FREE;
    sk_threads_tell(&e->threads);
    return 0;
}

static int is_kept(struct sk_engine *e, const char *root, int64_t key)
{
    return root == e->where.local_root ? sk_stock_has(&e->stock, key) : sk_ledger_stays(e->ledger, key);
}

/* Does a kept generation build on rank's file of g? What this run's own ranks have in the local directory is in the stock; of
 * all else only the files tell. */
static int is_base(struct sk_engine *e, const char *root, const struct sk_gen_list *l, struct sk_gen g, int rank)
{
    for (size_t i = 0; i < l->count; i++) { /* newest first */
        struct sk_gen at = l->gen[i], base;
        if (sk_gen_key(at) <= sk_gen_key(g))
            break;
        for (int n = 0; is_kept(e, root, sk_gen_key(l->gen[i])) && n < SK_LINEAGE_MAX; n++, at = base)
            if (sk_lineage_base(root, at, rank, &base, NULL) || !base.incarnation)
                break;
            else if (sk_same_gen(base, g))
                return 1;
    }
    return 0;
}

/* How many files g has of ranks that an earlier start had and this one has not; they are removed when told so. Nobody else
 * will: each rank of the node may try, and finds them gone. */
static size_t strays(struct sk_engine *e, const char *root, const struct sk_gen_list *l, struct sk_gen g, int remove)
{
    int *ranks = NULL;
    size_t count = 0, found = 0;
    if (sk_gen_ranks(root, g, &ranks, &count, NULL))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (ranks[i] < e->where.nranks)
            continue;
        found++;
        if (remove && !is_base(e, root, l, g, ranks[i]))
            sk_gen_remove(root, g, ranks[i], NULL);
    }
    free(ranks);
    return found;
}

/* A run that came to its end needs it no more. */
static int is_of_finished(const struct sk_engine *e, struct sk_gen g)
{
    return e->keep.finished_from && g.incarnation >= e->keep.finished_from;
}

/* What nobody has used is not thrown away in silence. */
static void tell_removed(const struct sk_engine *e, const char *root, size_t count, struct sk_gen newest)
{
    if (count && !e->where.rank)
        sk_log(SK_LOG_NOTICE, "%zu generation%s of earlier starts, which this one did not use, removed from %s (the newest: iteration "
                              "%lld): a newer one of its own is complete%s",
               count, count == 1 ? "" : "s", root, (long long)newest.iteration, e->where.prefix_root ? " and archived" : "");
}

/* Files of earlier starts that are neither held nor newer than what counts; of what this start did not use only where that may
 * go. */
static void sweep(struct sk_engine *e, const char *root, int64_t below_key, int *with_strays, int may_go)
{
    struct sk_gen_list l;
    struct sk_gen newest = {0};
    size_t left = 0, removed = 0;
    if (sk_gen_scan(root, *with_strays ? -1 : e->where.rank, &l, NULL))
        return;
    for (size_t i = 0; i < l.count; i++) { /* newest first */
        int64_t key = sk_gen_key(l.gen[i]);
        int earlier = l.gen[i].incarnation < e->where.incarnation;
        int keep = key >= below_key || is_kept(e, root, key) || (earlier && !may_go) || sk_keep_spares(&e->keep, &e->stock, l.gen[i]) ||
                   (root == e->where.prefix_root && is_base(e, root, &l, l.gen[i], e->where.rank));
        if (!keep) {
            int unused = e->keep.earlier == SK_EARLIER_UNUSED || l.gen[i].incarnation < e->keep.spare_before;
            int told = earlier && unused && !is_of_finished(e, l.gen[i]);
            newest = removed ? newest : l.gen[i];
            removed += !sk_gen_remove(root, l.gen[i], e->where.rank, NULL) && told;
        }
        if (*with_strays && l.gen[i].incarnation < e->where.incarnation)
            left += strays(e, root, &l, l.gen[i], !keep) && (keep || root == e->where.local_root);
    }
    *with_strays = left > 0;
    sk_gen_list_free(&l);
    tell_removed(e, root, removed, newest);
}

int sk_engine_retain_local(struct sk_engine *e)
{
    struct saikai_error err = {0};
    struct sk_held *h;
    int64_t newest = 0; /* by its key: what it is known by here may go, when several came from an earlier start */
    for (h = e->stock.all; h; h = h->next)
        if (h->stage == COMMITTED && !h->replaced && h->seq <= e->stock.complete_seq && sk_gen_key(h->gen) > newest)
            newest = sk_gen_key(h->gen);
    e->keep.retired_seq = e->stock.complete_seq;
    if (!newest || sk_where_may_write(&e->where, e->where.local_root, 0, NULL))
        return 0;
    while ((h = sk_keep_unneeded(&e->keep, &e->stock, 1)))
        sk_engine_retire(e, h, &err);
    sweep(e, e->where.local_root, newest, &e->keep.strays_local, sk_keep_earlier_may_go(&e->keep, &e->stock));
    return 1;
}

static int is_any(void *arg, const char *root, struct sk_gen g)
{
    (void)arg;
    (void)root;
    (void)g;
    return 1;
}

/* Archives of older generations, which are nobody's own, and the empty directories of jobs that died early. What cannot be removed
 * now is by the next one; a set of which a part is gone does not count, so dying in between does no harm. */
static void sweep_archives(struct sk_engine *e, int64_t below_key, int may_go)
{
    struct sk_gen_list l;
    char dir[PATH_MAX];
    if (sk_gen_scan_if(e->where.prefix_root, is_any, NULL, &l, NULL))
        return;
    for (size_t i = l.count; i-- > 0;) {
        int64_t key = sk_gen_key(l.gen[i]);
        if (key < below_key && !is_kept(e, e->where.prefix_root, key) && (l.gen[i].incarnation >= e->where.incarnation || may_go) &&
            !sk_gen_dir(e->where.prefix_root, l.gen[i], dir, sizeof dir, NULL))
            sk_ska_set_remove(dir, NULL);
    }
    sk_gen_list_free(&l);
}

/* The file system takes its time: the lock is not held meanwhile. Nobody else writes strays_prefix, or what stays. */
void sk_engine_retain_prefix(struct sk_engine *e)
{
    int64_t seq = e->keep.pruned_request;
    struct sk_ledger_entry arrived;
    struct saikai_error err = {0};
    int rc = sk_ledger_find(e->ledger, seq, &arrived, &err);
    if (!rc)
        rc = sk_ledger_arrived(e->ledger, arrived.gen, (size_t)e->keep.keep_prefix, &err);
    int may_go = sk_keep_earlier_may_go(&e->keep, &e->stock);
    sk_threads_unlock(&e->threads);
    if (rc) { /* nothing goes until it is known what stays */
        sk_log(SK_LOG_WARN, "rank %d: older generations stay in %s: %s", e->where.rank, e->where.prefix_root, err.text);
    } else if (!sk_where_may_write(&e->where, e->where.prefix_root, 0, NULL)) {
        int64_t key = sk_gen_key(arrived.gen);
        sweep(e, e->where.prefix_root, key, &e->keep.strays_prefix, may_go);
        if (e->where.rank == 0)
            sweep_archives(e, key, may_go);
    }
    sk_threads_lock(&e->threads);
    e->keep.pruned_seq = seq;
}

void sk_engine_remove_leftovers(struct sk_engine *e, uint32_t first_incarnation, const struct sk_keys *spare, int also_unread)
{
    struct sk_gen_list l;
    sk_threads_lock(&e->threads);
    if (!sk_gen_scan(e->where.local_root, e->where.rank, &l, NULL)) {
        for (size_t i = 0; i < l.count; i++) { /* newest first: what builds on others goes before them */
            int held = l.gen[i].incarnation < first_incarnation || l.gen[i].incarnation >= e->where.incarnation ||
                       (!also_unread && sk_keep_spares(&e->keep, &e->stock, l.gen[i])) || sk_stock_has(&e->stock, sk_gen_key(l.gen[i]));
            for (int k = 0; k < spare->count && !held; k++)
                held = spare->key[k] == sk_gen_key(l.gen[i]);
            if (!held)
                sk_gen_remove(e->where.local_root, l.gen[i], e->where.rank, NULL);
        }
        sk_gen_list_free(&l);
    }
    sk_threads_unlock(&e->threads);
}
