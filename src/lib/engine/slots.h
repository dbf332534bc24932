/* Slots to capture into. */
#ifndef SK_LIB_ENGINE_SLOTS_H
#define SK_LIB_ENGINE_SLOTS_H

#include "lib/engine/engine.h"

/* A slot to capture into. Blocks while one is being prepared, or while all are still being committed. SAIKAI_ENOSPC: there is no
 * room for one in the local directory. */
int sk_engine_acquire(struct sk_engine *e, enum sk_slot_use use, size_t size_bytes, struct sk_slot **out,
                      struct saikai_error *err);
/* The slot is not needed after all. */
void sk_engine_give_back(struct sk_engine *e, struct sk_slot *slot);

/* ---- for the files of the engine: called with the lock held, and may let go of it for a while ---- */

/* Have the wanted slots ready; give away what nobody wants. */
void sk_engine_prepare_slots(struct sk_engine *e);

#endif
