/* What the files of the engine share: its end, and word of a failure. */
#include "lib/engine/engine_parts.h"

#include "base/log.h"

#include <stdlib.h>

void sk_engine_fail(struct sk_engine *e, const struct saikai_error *err)
{
    sk_trouble_note(&e->trouble, err);
    sk_log(1, "rank %d: %s", e->where.rank, err->text);
}

void sk_engine_free_parts(struct sk_engine *e)
{
    sk_stock_drop_all(&e->stock);
    sk_scrub_free(e->healing.scrub);
    if (e->copying.orphaned)
        sk_ledger_free(e->ledger);
    sk_threads_free(&e->threads);
    sk_where_free(&e->where);
    free(e->healing.set);
    sk_patience_free(e->healing.patience);
    free(e);
}
