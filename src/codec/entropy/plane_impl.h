/* What writer and reader of planes share: how rows are dealt to lanes, and contexts. */
#ifndef SK_CODEC_ENTROPY_PLANE_IMPL_H
#define SK_CODEC_ENTROPY_PLANE_IMPL_H

#include "codec/entropy/plane.h"

enum {
    LANES = 8,
    BLOCK = 64,
    SUM_LIMIT = 1024, /* sums of unmasked values are below */
    SUM_MASKED = 1024,
    FINE = 88, /* contexts before they are merged, per set */
    CTX_FLAG = SK_PLANE_SETS * FINE,
    CONTEXTS = CTX_FLAG + 2,
    MAX_MODELS = 63,
};

/* The fine context of a sum: exact when small, then ever coarser. */
static inline unsigned fine_of(unsigned sum)
{
    if (sum < 16)
        return sum;
    if (sum < 64)
        return 16 + (sum - 16) / 4;
    return 28 + (sum - 64) / 16;
}

/* A plane as rows dealt to lanes: lane l has rows [l per_lane, (l + 1) per_lane). A single row is
 * cut into lanes. */
struct lanes {
    const struct sk_plane *p;
    size_t rows, per_lane, width;
    int cut; /* the rows are pieces of the only row */
};

static inline struct lanes lanes_of(const struct sk_plane *p)
{
    struct lanes v = {p, p->nb * p->nz * p->ny, 0, p->width, 0};
    if (v.rows == 1 && p->width >= 8 * LANES) {
        v.rows = LANES;
        v.width = p->width / LANES;
        v.cut = 1;
    }
    v.per_lane = (v.rows + LANES - 1) / LANES;
    return v;
}

static inline size_t row_origin(const struct lanes *v, size_t row)
{
    const struct sk_plane *p = v->p;
    if (v->cut)
        return p->origin + row * v->width;
    size_t y = row % p->ny, bz = row / p->ny;
    return p->origin + y * p->sy + bz % p->nz * p->sz + bz / p->nz * p->sb;
}

/* Is row a read before row b? All lanes read their k-th row at the same time. */
static inline int is_before(const struct lanes *v, size_t a, size_t b)
{
    return a % v->per_lane < b % v->per_lane;
}

/* Add up the contexts of columns [0, n) from element `at` of a row on, except those of the same
 * row. */
static inline __attribute__((always_inline)) void sum_block(const struct lanes *v,
                                                            const uint8_t *level, size_t row,
                                                            size_t at, size_t n, uint16_t *sum)
{
    const struct sk_plane *p = v->p;
    for (size_t i = 0; i < n; i++)
        sum[i] = 0;
    if (!v->cut && p->weights.up && row % p->ny && is_before(v, row - 1, row)) {
        const uint8_t *u = level + at - p->sy;
        unsigned w = p->weights.up, wl = p->weights.up_left, wr = p->weights.up_right;
        for (size_t i = 0; i < n; i++)
            sum[i] = (uint16_t)(sum[i] + w * u[i] + wl * *(u + i - 1) + wr * u[i + 1]);
    }
    if (!v->cut && p->weights.back && row / p->ny % p->nz && is_before(v, row - p->ny, row)) {
        const uint8_t *u = level + at - p->sz;
        unsigned w = p->weights.back;
        for (size_t i = 0; i < n; i++)
            sum[i] = (uint16_t)(sum[i] + w * u[i]);
    }
    for (int s = 0; s < p->n_sides; s++) {
        const uint8_t *u = p->side[s].level + (ptrdiff_t)at + p->side[s].shift;
        unsigned w = p->side[s].weight;
        for (size_t i = 0; i < n; i++)
            sum[i] = (uint16_t)(sum[i] + w * u[i]);
    }
    if (p->mask)
        for (size_t i = 0; i < n; i++)
            sum[i] = p->mask[at + i] ? SUM_MASKED : sum[i];
}

#endif
