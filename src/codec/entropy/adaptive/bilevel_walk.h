/* The walk over a box of bits (bilevel.h) that both writes and reads them, for one instruction set or another; all give the same bytes. */
#ifndef SK_CODEC_ENTROPY_BILEVEL_WALK_H
#define SK_CODEC_ENTROPY_BILEVEL_WALK_H

#include "codec/entropy/adaptive/adaptive.h"
#include "codec/entropy/adaptive/bilevel.h"

/* -1: memory is out. */
struct sk_bilevel_kernel {
    int (*write)(struct sk_adaptive *c, const struct sk_bilevel *b);
    int (*read)(struct sk_adaptive *c, const struct sk_bilevel *b);
};

extern const struct sk_bilevel_kernel sk_bilevel_kernel_plain, sk_bilevel_kernel_avx2; /* where they were built */

#endif
