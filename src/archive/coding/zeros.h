/* Zeros of a masked field (land in an ocean model, vacuum in a tree) as a bitmap of their own:
 * nearly the same in the plane above, and often exactly that of another field of the same place,
 * where the symbols of the other values are noise. */
#ifndef SK_ARCHIVE_CODING_ZEROS_H
#define SK_ARCHIVE_CODING_ZEROS_H

#include "archive/coding/part.h"

/* The bitmap's changes of n symbols to bits[(n + 7) / 8]. source: a field whose zeros are expected
 * to be the same, or NULL: the plane above. */
void sk_zeros_find(const struct sk_part *p, const uint8_t *symbols, size_t n,
                   const struct sk_field *source, uint8_t *bits);
/* The part before i whose zeros agree best with part i's, -1: none is better than the plane above.
 */
int sk_zeros_source(const struct sk_part *parts, int i, const uint8_t *symbols, size_t n);

/* The bitmap from its changes, in place. Returns the number of values that are not zero. */
size_t sk_zeros_restore(const struct sk_part *p, const struct sk_field *source, uint8_t *bits,
                        size_t n);
#endif
