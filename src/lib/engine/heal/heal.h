/* Files of this rank that are damaged or gone: found, and written anew. */
#ifndef SK_LIB_ENGINE_HEAL_H
#define SK_LIB_ENGINE_HEAL_H

#include "lib/engine/engine.h"

/* Something of this rank in the local directory could not be read: look at all of it now, and heal what is damaged. Does not
 * block. */
void sk_engine_suspect(struct sk_engine *e);

/* ---- for the files of the engine: called with the lock held, and may let go of it for a while ---- */

/* The committer: look at what is suspected, and heal what is damaged. */
void sk_engine_examine(struct sk_engine *e);
/* Tell the scrub what there is. */
void sk_engine_list_for_scrub(struct sk_engine *e);
/* The next checkpoint is to be full, and soon. */
void sk_engine_close_lineage(struct sk_engine *e);
/* For the scrub; takes the lock itself. */
void sk_engine_scrub_suspects(void *engine, struct sk_gen gen, int parity, const char *why);

#endif
