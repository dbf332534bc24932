/* Boxes of zeros and ones, such as where an ocean is, coded with probabilities that adapt
 * (adaptive.h) to the ones and zeros around. All local; nothing blocks. */
#ifndef SK_CODEC_ENTROPY_BILEVEL_H
#define SK_CODEC_ENTROPY_BILEVEL_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* nb boxes of nz planes of ny rows; a row has SK_BILEVEL_EDGE bytes of zeros, its values, and as
 * many zeros again. Behind the last one there is room, of which nothing is asked but that it can be read. */
enum { SK_BILEVEL_EDGE = 8, SK_BILEVEL_ROOM = 16 };
struct sk_bilevel {
    size_t nb, nz, ny, width;
    uint8_t *bit;
};

static inline size_t sk_bilevel_row_bytes(const struct sk_bilevel *b)
{
    return b->width + 2 * SK_BILEVEL_EDGE;
}

/* What bit[] holds in all. */
static inline size_t sk_bilevel_bytes(const struct sk_bilevel *b)
{
    return b->nb * b->nz * b->ny * sk_bilevel_row_bytes(b) + SK_BILEVEL_ROOM;
}

/* Append the box to out. -1: memory is out. */
int sk_bilevel_put(const struct sk_bilevel *b, struct sk_buf *out);
/* Read it into b->bit, which holds zeros. -1: memory is out, or in[] does not end as it must. */
int sk_bilevel_get(struct sk_bilevel *b, const void *in, size_t n);

#endif
