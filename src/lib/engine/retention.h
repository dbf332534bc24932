/* What of this rank stays, in the local directory and in the prefix. */
#ifndef SK_LIB_ENGINE_RETENTION_H
#define SK_LIB_ENGINE_RETENTION_H

#include "lib/engine/engine.h"

struct sk_held;

enum { SK_KEYS_MAX = 16 };
struct sk_keys {
    int64_t key[SK_KEYS_MAX];
    int count;
};
/* The ranks have agreed on what to go on from, and it was adopted: this rank's other files in the local directory, of starts from
 * first_incarnation on, go, but for those to be spared, until a newer generation is complete. also_unread: also what an earlier start could
 * not read. */
void sk_engine_remove_leftovers(struct sk_engine *e, uint32_t first_incarnation, const struct sk_keys *spare, int also_unread);

/* ---- for the files of the engine: called with the lock held, and may let go of it for a while ---- */

/* Give a committed generation's file up; its slot becomes free. */
int sk_engine_retire(struct sk_engine *e, struct sk_held *h, struct saikai_error *err);
int sk_engine_retain_local(struct sk_engine *e);
void sk_engine_retain_prefix(struct sk_engine *e);

#endif
