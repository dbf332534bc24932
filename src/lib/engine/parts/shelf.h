/* The shelf: slots to capture into, of a size for full generations or for deltas, and what room a rank may take for them. With the
 * engine's lock, where not said otherwise. */
#ifndef SK_LIB_ENGINE_SHELF_H
#define SK_LIB_ENGINE_SHELF_H

#include "lib/engine/parts/stock.h"
#include "lib/engine/parts/where.h"

struct sk_shelf {
    size_t wanted_bytes[SK_SLOT_USES]; /* size of the slot to keep ready, 0: none */
    int prepare, preparing;
    int number;   /* of the next slot */
    double share; /* of what the node's ranks may have in the local directory together; 0: that is not looked at */
};

/* How many slots there are of a use: with committed 1 also those that are generations; with old 1, too, what earlier starts left as
 * a copy of everything. */
int sk_shelf_count(const struct sk_stock *s, enum sk_slot_use use, int committed, int old);
struct sk_held *sk_shelf_any(const struct sk_stock *s, enum sk_slot_use use);
/* Rather one of exactly this size, then the smallest that is larger, then the largest. */
struct sk_held *sk_shelf_pick(const struct sk_stock *s, enum sk_slot_use use, size_t size_bytes);
/* What is not complete, and nobody has been told of or builds on: the newest of them. */
struct sk_held *sk_shelf_newest_untold(const struct sk_stock *s);
/* Slots whose files somebody cut or removed go: to write into them would be a signal. */
void sk_shelf_drop_broken(struct sk_stock *s);
/* Give away what nobody wants, or is more than will be used: memory. deltas_bytes: what free slots for deltas may hold. */
void sk_shelf_trim(const struct sk_shelf *f, struct sk_stock *s, double deltas_bytes);

/* Make a slot, or make one larger, of what this rank may have. Without the lock, or with it. */
int sk_shelf_take_room(const struct sk_shelf *f, const struct sk_where *w, int number, size_t size_bytes, struct sk_slot **slot,
                       struct saikai_error *err);
/* Without the lock: 0 when so many bytes more are to be had in the local directory, and what working on them takes. */
int sk_shelf_room(const struct sk_shelf *f, const struct sk_where *w, uint64_t bytes, struct saikai_error *err);
/* One more free slot. */
int sk_shelf_new(struct sk_shelf *f, const struct sk_where *w, struct sk_stock *s, enum sk_slot_use use, size_t size_bytes,
                 struct saikai_error *err);

#endif
