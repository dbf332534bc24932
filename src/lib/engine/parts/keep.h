/* What stays, in the local directory and in the prefix, and how far old ones were retired. With the engine's lock, but for what is
 * set when the engine begins. */
#ifndef SK_LIB_ENGINE_KEEP_H
#define SK_LIB_ENGINE_KEEP_H

#include "lib/engine/parts/stock.h"

struct sk_keep {
    int keep_local, keep_prefix; /* so many complete generations */
    int has_prefix;              /* copies last there, and not in the local directory */
    uint32_t incarnation;        /* this start */
    enum sk_earlier earlier;
    uint32_t finished_from, spare_before;
    int any_archived;    /* all ranks have a generation of this start in the prefix */
    int64_t retired_seq; /* retention has been done up to here; -1: it is to be done anew */
    int64_t pruned_request, pruned_seq;
    int strays_local, strays_prefix; /* files of ranks that this run does not have may be there */
};

void sk_keep_set(struct sk_keep *k, const struct sk_engine_config *c);
/* Something that may have held back a retirement is over. */
void sk_keep_again(struct sk_keep *k);
/* 1: retention has not been done since the newest one became complete, or sk_keep_again. */
int sk_keep_is_due(const struct sk_keep *k, const struct sk_stock *s);
/* The same for the prefix. */
int sk_keep_prunes(const struct sk_keep *k);
/* The oldest committed generation that nobody needs and nothing builds on, NULL: none. Needed are the newest complete ones
 * (keep_local of them), the newest of all, those that are being archived or held, with all_new every one that may still
 * become complete, and all that any of these builds on. */
struct sk_held *sk_keep_unneeded(const struct sk_keep *k, struct sk_stock *s, int all_new);
/* Slots that only somebody's hold keeps from being free: so many more than usual may be in use. */
int sk_keep_held_back(const struct sk_keep *k, struct sk_stock *s);
/* 1: it could not be read when it was wanted, and nothing of this start can take its place yet. */
int sk_keep_spares(const struct sk_keep *k, const struct sk_stock *s, struct sk_gen g);
/* As sk_engine_may_remove_earlier, without a look at what is spared. */
int sk_keep_earlier_may_go(const struct sk_keep *k, const struct sk_stock *s);

#endif
