/* The walk over planes of zeros (sparse.h) that both writes and reads them, for one instruction set or another; all give the same bits. */
#ifndef SK_CODEC_ENTROPY_SPARSE_WALK_H
#define SK_CODEC_ENTROPY_SPARSE_WALK_H

#include "codec/entropy/adaptive/adaptive.h"
#include "codec/entropy/plane.h"

struct sk_sparse_models;
struct sk_sparse_lookup;
struct sk_sparse_walk {
    struct sk_adaptive coder;
    struct sk_sparse_models *m;
    const struct sk_sparse_lookup *lookup;
    unsigned n_planes;
    size_t most; /* encoder: as soon as it is longer, nobody wants it */
};

struct sk_sparse_kernel {
    /* The next plane, of which next are the values that are not zero. -1: memory is out. */
    int (*write)(struct sk_sparse_walk *w, const struct sk_plane *p, const uint8_t *level,
                 const int32_t **next);
    int (*read)(struct sk_sparse_walk *w, const struct sk_plane *p, int32_t *q, uint8_t *level);
};

/* The fastest one here. */
const struct sk_sparse_kernel *sk_sparse_kernel(void);
extern const struct sk_sparse_kernel sk_sparse_kernel_plain, sk_sparse_kernel_avx2; /* where they were built */

/* Contexts that have seen nothing. -1: memory is out. */
int sk_sparse_models_new(struct sk_sparse_walk *w);

#endif
