/* A checkpoint that is written into the prefix while the program waits. */
#ifndef SK_LIB_ENGINE_DIRECT_H
#define SK_LIB_ENGINE_DIRECT_H

#include "lib/engine/engine.h"

struct sk_held;

/* Without a slot, when sk_engine_acquire said that there is no room: write the pieces, all in full, into a generation's file of
 * this rank in the prefix, plain and in bounded memory. Blocks. The generation then counts as committed. */
int sk_engine_write_directly(struct sk_engine *e, int64_t seq, struct sk_gen gen, const struct sk_skc_header *h,
                             const struct sk_piece *p, size_t count, uint64_t bytes, struct saikai_error *err);

/* ---- for the files of the engine: called with the lock held, and may let go of it for a while ---- */

/* The record of a file in the prefix alone is no longer needed: its file goes, by the archiver, unless it is archived. */
void sk_engine_retire_far(struct sk_engine *e, struct sk_held *h);
/* By the archiver: 1: a file was removed. */
int sk_engine_remove_far(struct sk_engine *e);

#endif
