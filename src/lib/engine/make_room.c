/* Lets go of generations in a prefix that is full, one at a time and never the newest that is whole. */
#include "lib/engine/make_room.h"

#include "base/log.h"
#include "lib/engine/retention.h"
#include "store/form/container.h"

#include <limits.h>

/* A generation of this start that was copied here and did not arrive on all ranks: a newer one takes its place. */
static int remove_half(struct sk_engine *e, struct sk_gen gen)
{
    struct sk_gen_list l;
    const char *root = e->where.prefix_root;
    int removed = 0;
    if (sk_gen_scan(root, e->where.rank, &l, NULL))
        return 0;
    for (size_t i = l.count; i-- > 0 && !removed;)
        if (l.gen[i].incarnation == e->where.incarnation && sk_gen_key(l.gen[i]) < sk_gen_key(gen) &&
            !sk_ledger_stays(e->ledger, sk_gen_key(l.gen[i])))
            removed = !sk_gen_remove(root, l.gen[i], e->where.rank, NULL);
    sk_gen_list_free(&l);
    return removed;
}

/* 1: this rank's file of it is there with all that it says. */
static int is_good(const struct sk_engine *e, struct sk_gen gen)
{
    char path[PATH_MAX];
    struct sk_container *c = NULL;
    int rc = sk_gen_file(e->where.prefix_root, gen, e->where.rank, path, sizeof path, NULL);
    if (!rc)
        rc = sk_container_open(path, &c, NULL);
    if (!rc)
        rc = sk_container_verify(c, NULL);
    sk_container_close(c);
    return !rc;
}

static void tell(struct sk_engine *e, struct sk_gen gone, struct sk_gen stays)
{
    char a[48], b[48];
    sk_threads_lock(&e->threads);
    int first = !e->copying.made_room;
    e->copying.made_room = 1;
    sk_threads_unlock(&e->threads);
    sk_log(first ? SK_LOG_WARN : SK_LOG_INFO,
           "rank %d: %s is full: generation %s makes room for a newer one, and %s stays until that is there%s", e->where.rank, e->where.prefix_root,
           sk_gen_name(gone, a), sk_gen_name(stays, b), first ? "; from now on without a word (store.keep_prefix: fewer, or more room)" : "");
}

int sk_engine_make_room(struct sk_engine *e, struct sk_gen gen)
{
    struct sk_gen oldest, newest;
    sk_threads_lock(&e->threads);
    int pruned = sk_keep_prunes(&e->keep);
    if (pruned)
        sk_engine_retain_prefix(e);
    sk_threads_unlock(&e->threads);
    if (pruned)
        return 1;
    if (sk_where_may_write(&e->where, e->where.prefix_root, 0, NULL))
        return 0;
    if (remove_half(e, gen))
        return 1;
    if (!sk_ledger_ends(e->ledger, &oldest, &newest) || !is_good(e, newest) || sk_gen_remove(e->where.prefix_root, oldest, e->where.rank, NULL))
        return 0;
    sk_ledger_let_go(e->ledger, oldest);
    tell(e, oldest, newest);
    return 1;
}
