/* Lists of byte ranges of numbered regions: what a tracker reports, what a delta holds. */
#ifndef SK_CAPTURE_RANGES_H
#define SK_CAPTURE_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct sk_range {
    uint32_t region; /* the caller's number of the region */
    uint64_t offset, size_bytes;
};

/* A zeroed struct is an empty list. When memory runs out the list remembers it in `failed`: check
 * once at the end. */
struct sk_ranges {
    struct sk_range *v;
    size_t n, cap;
    int failed;
};

/* Append; a range that touches or overlaps the last one of the same region and begins not before it
 * grows that one. Empty ranges are dropped. */
void sk_ranges_add(struct sk_ranges *r, uint32_t region, uint64_t offset, uint64_t size_bytes);
/* Append all of b. */
void sk_ranges_add_all(struct sk_ranges *r, const struct sk_ranges *b);
/* Sort by region and offset and join what touches or overlaps: afterwards no byte is in two ranges.
 */
void sk_ranges_normalise(struct sk_ranges *r);
/* Join ranges of one region whose gap is at most gap_bytes (list must be normalised): fewer, longer
 * pieces. */
void sk_ranges_join(struct sk_ranges *r, uint64_t gap_bytes);
/* Sum of the sizes; of a normalised list: the number of distinct bytes. */
uint64_t sk_ranges_bytes(const struct sk_ranges *r);
/* Forget the content, keep the memory. */
void sk_ranges_clear(struct sk_ranges *r);
/* NULL is accepted; the list can be used again. */
void sk_ranges_free(struct sk_ranges *r);

#endif
