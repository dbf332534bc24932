/* How LZMA is to put bytes into contexts: by the byte before (lc bits of it), and by their place in a word (lp bits of it; pb: of repeats). Numbers want the one,
 * text the other. */
#ifndef SK_CODEC_GENERAL_CONTEXTS_H
#define SK_CODEC_GENERAL_CONTEXTS_H

#include <stddef.h>
#include <stdint.h>

struct sk_lzma_contexts {
    uint8_t lc, lp, pb;
};

/* What leaves the least of n bytes, as pieces of them tell. */
struct sk_lzma_contexts sk_contexts_choose(const uint8_t *in, size_t n);

#endif
