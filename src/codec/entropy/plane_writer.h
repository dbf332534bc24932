/* Symbols of planes between their modelling (plane_writer.c) and their coding (plane_tables.c). */
#ifndef SK_CODEC_ENTROPY_PLANE_WRITER_H
#define SK_CODEC_ENTROPY_PLANE_WRITER_H

#include "codec/entropy/plane_impl.h"
#include "codec/entropy/adaptive/sparse.h"

enum { COUNTERS = 4, KINDS = CONTEXTS * SK_TOKENS };

/* What a flag says, and what follows it: `lanes` times n symbols, lane by lane. */
struct plane_block {
    uint8_t lanes, n; /* n 0: only zeros, no symbol */
    uint8_t context;  /* of the flag, from CTX_FLAG on */
};

struct sk_plane_writer {
    const struct plane_kernel *kernel;
    uint16_t *symbols; /* token | context << 7 */
    struct plane_block *blocks;
    size_t n, cap, n_blocks, cap_blocks;
    uint8_t *token; /* of the plane at hand, same geometry */
    size_t cap_token;
    struct sk_buf raw;
    uint64_t acc;
    unsigned acc_bits;
    int failed;
    unsigned last_flag;
    unsigned
        top[SK_PLANE_SETS + 1]; /* contexts of each set that may have occurred, and of the flags */
    /* By symbol. Equal symbols in a row would wait for each other, hence several. */
    uint32_t (*counts)[KINDS];
    int is_spread, is_clear; /* others than the first have counted; have ever been cleared */
    struct sk_sparse sparse;
};

/* Add all counters up in the first. */
void sk_plane_gather_counts(struct sk_plane_writer *w);
static inline uint32_t *plane_counts_of(struct sk_plane_writer *w, unsigned context)
{
    return w->counts[0] + context * SK_TOKENS;
}

#endif
