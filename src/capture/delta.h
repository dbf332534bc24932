/* Deltas: what changed between two states of a set of regions, as one block of bytes.
 *
 * Pure functions on buffers, any thread. A state has a 64-bit identity: that of a base is the
 * caller's choice (the checksum of its file), that of any later one is made of the delta that leads
 * to it. A delta names the state it starts from and the one it leads to, so that a chain can
 * neither be applied to the wrong base nor out of order.
 *
 * Layout, little-endian:
 *
 *   offset  size
 *        0     4  "SKDL"
 *        4     2  version, 1
 *        6     2  zero
 *        8     8  identity of the state it starts from
 *       16     8  identity of the state it leads to
 *       24     8  R, number of regions
 *       32     8  N, number of ranges
 *       40     8  P, bytes of the payload
 *       48     8  XXH3-64 of the payload
 *       56  16 R  the regions as they are afterwards, by ascending id:
 *                 id (4), zero (4), size in bytes (8)
 *            24 N the ranges, ascending and disjoint:
 *                 index of the region in this table (4), zero (4), offset (8), size (8)
 *               8 XXH3-64 of everything up to here
 *               P the bytes of the ranges, one after the other
 *
 * A region that was not there before, or had another size, is covered wholly; one that is gone is
 * not in the table. */
#ifndef SK_CAPTURE_DELTA_H
#define SK_CAPTURE_DELTA_H

#include "base/error.h"
#include "capture/cow/cow.h"
#include "capture/ranges.h"

/* A region in memory. Arrays of them are sorted by ascending id. */
struct sk_memory {
    uint32_t id;
    uint8_t *addr;
    uint64_t size_bytes;
};

/* A delta that was opened: pointers into the caller's buffer, which must outlive it. */
struct sk_delta {
    uint64_t from, to;
    uint64_t region_count, range_count, payload_bytes;
    uint64_t payload_hash;
    const uint8_t *regions, *ranges, *payload;
    size_t size_bytes; /* of the whole delta; more may follow it in the buffer */
};

/* Bytes a delta of these ranges takes; SIZE_MAX when that overflows. */
size_t sk_delta_size(size_t region_count, const struct sk_ranges *changed);

/* Write the delta that leads from state `from` to what the memory now holds. changed: normalised,
 * as sk_dirty_collect gives it. out: sk_delta_size() bytes; *to is the identity of the new state.
 * The memory is copied once and the copy is hashed while it is in the cache. SAIKAI_EINVAL
 * (unsorted regions, a range that is not inside its region), SAIKAI_ENOSPC (cap is too small),
 * SAIKAI_ENOMEM. */
int sk_delta_encode(uint64_t from, const struct sk_memory *regions, size_t region_count,
                    const struct sk_ranges *changed, void *out, size_t cap, uint64_t *to,
                    struct saikai_error *err);

/* The same in three steps, for bytes that come later and in any order, as from a snapshot: start
 * writes the tables and says where the payload goes; pieces lists what to save, with the place in
 * the payload as each piece's offset (freed by the caller; changed.n of them); seal, when all bytes
 * are in place, makes the checksums. */
int sk_delta_start(uint64_t from, const struct sk_memory *regions, size_t region_count,
                   const struct sk_ranges *changed, void *out, size_t cap, uint8_t **payload,
                   struct saikai_error *err);
int sk_delta_pieces(const struct sk_memory *regions, size_t region_count,
                    const struct sk_ranges *changed, struct sk_memory_extent **out,
                    struct saikai_error *err);
/* out: what start was given. Returns the identity of the new state. */
uint64_t sk_delta_seal(void *out);
/* The same for a delta that is stored where its payload has checksums already: the payload is not read, and its checksum is
 * 0, with which sk_delta_apply and sk_delta_fold take the delta for a damaged one. */
void sk_delta_seal_tables(void *out);

/* The state it starts from, when that is known only after start; before seal. */
void sk_delta_set_from(void *out, uint64_t from);

/* Open and check everything but the payload, which is not looked at: n is the size of the whole delta, and data need only
 * reach up to the payload (56 bytes, the tables that they announce, 8 bytes). Any bytes give a valid delta, SAIKAI_EFORMAT (not a
 * delta, or of a newer version) or SAIKAI_EDAMAGED. */
int sk_delta_open(const void *data, size_t n, struct sk_delta *out, struct saikai_error *err);
/* SAIKAI_EDAMAGED when the payload is not the one that was written. */
int sk_delta_check_payload(const struct sk_delta *d, struct saikai_error *err);
/* The i-th region and the i-th range of the table. The range's `region` is the region's id. */
void sk_delta_region(const struct sk_delta *d, uint64_t i, uint32_t *id, uint64_t *size_bytes);
struct sk_range sk_delta_range(const struct sk_delta *d, uint64_t i);

/* Bring the memory from state `base` to the state the last delta leads to, and give its identity in
 * *to (n 0: base). regions are the regions of that last state and hold the base's content where the
 * base has them with the same size (whatever else where it has not; base_sizes tells: ids and sizes
 * of the base, addresses unused). Everything is checked before the first byte is changed: the
 * links, that every region is complete, and all payloads. SAIKAI_EINVAL (a link does not fit),
 * SAIKAI_ECHANGED (regions are not those of the last delta), SAIKAI_EDAMAGED. */
int sk_delta_apply(const struct sk_delta *chain, size_t n, uint64_t base,
                   const struct sk_memory *base_sizes, size_t base_count,
                   const struct sk_memory *regions, size_t region_count, uint64_t *to,
                   struct saikai_error *err);

/* One delta that does what the chain does: from its first state to its last. out is malloc'ed,
 * *size_bytes long. SAIKAI_EINVAL (empty, a link does not fit), SAIKAI_EDAMAGED, SAIKAI_ENOMEM. */
int sk_delta_fold(const struct sk_delta *chain, size_t n, void **out, size_t *size_bytes,
                  struct saikai_error *err);

/* The parts of the ranges `in` (normalised) where `now` differs from `before`, for regions that are
 * in both with the same size; all of the range for others. Looks at cells of 32 bytes: cells that
 * are equal are left out, and the ends are exact to the byte. For callers who have the last state
 * at hand, such as its file in memory: pages are coarse, and programs write the value that was
 * there. Reads both once; *out is replaced; sorted, disjoint. SAIKAI_EINVAL, SAIKAI_ENOMEM. */
int sk_delta_tighten(const struct sk_memory *now, size_t now_count, const struct sk_memory *before,
                     size_t before_count, const struct sk_ranges *in, struct sk_ranges *out,
                     struct saikai_error *err);

/* How long a chain may grow before a new base (or a fold) is due: a longer one costs restart time
 * and space. */
struct sk_delta_limits {
    unsigned max_deltas; /* 0: 16 */
    double max_ratio;    /* bytes of all deltas together, against those of the base; 0: 1.0 */
};

/* 1 when a delta of next_bytes should not be added to a chain of n deltas with sum_bytes on a base
 * of base_bytes: write a base instead. limits may be NULL. */
int sk_delta_base_is_due(const struct sk_delta_limits *limits, unsigned n, uint64_t sum_bytes,
                         uint64_t next_bytes, uint64_t base_bytes);

#endif
