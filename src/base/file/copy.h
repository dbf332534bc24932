/* Copying memory that is not read again soon, as into a checkpoint: the stores go past the caches
 * where the processor can, which saves reading what is overwritten, and several pages are read at a
 * time, since a processor reads ahead only as far as the end of a page. Local; never fails. */
#ifndef SK_BASE_COPY_H
#define SK_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>

/* Copy n bytes; no overlap. Another thread that is told of the copy afterwards, in whatever way,
 * sees all of it. */
void sk_copy_past_cache(uint8_t *to, const uint8_t *from, size_t n);

/* The same for many pieces, one after the other, as short as single pages and wherever they are.
 * Begin with {.to = where the first piece goes}, give the pieces, of any size, to sk_gather_add in
 * the order in which they are to lie; all is copied after sk_gather_end, and may be read at any
 * time until then. */
enum { SK_GATHER_LANES = 4 };
struct sk_gather {
    uint8_t *to;
    struct sk_gather_part {
        uint8_t *to;
        const uint8_t *from;
        size_t n;
    } part[2 * SK_GATHER_LANES]; /* to copy next, and what is then fetched already */
    int parts;
};
void sk_gather_add(struct sk_gather *g, const uint8_t *from, size_t n);
void sk_gather_end(struct sk_gather *g);

#endif
