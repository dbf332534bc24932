/* Boxes of zeros and ones, such as where an ocean is, coded with probabilities that adapt
 * (adaptive.h) to the ones and zeros around. All local; nothing blocks. */
#ifndef SK_CODEC_ENTROPY_BILEVEL_H
#define SK_CODEC_ENTROPY_BILEVEL_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* nb boxes of nz planes of ny rows; a row has SK_BILEVEL_EDGE bytes of zeros, its values, and as
 * many zeros again. */
enum { SK_BILEVEL_EDGE = 8 };
struct sk_bilevel {
    size_t nb, nz, ny, width;
    uint8_t *bit;
};

static inline size_t sk_bilevel_row_bytes(const struct sk_bilevel *b)
{
    return b->width + 2 * SK_BILEVEL_EDGE;
}

/* Append the box to out. -1: memory is out. */
int sk_bilevel_put(const struct sk_bilevel *b, struct sk_buf *out);
/* Read it into b->bit, which holds zeros. -1: memory is out, or in[] does not end as it must. */
int sk_bilevel_get(struct sk_bilevel *b, const void *in, size_t n);

#endif
