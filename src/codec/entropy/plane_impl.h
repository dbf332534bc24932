/* What writer and reader of planes share: how rows are dealt to lanes, and contexts. */
#ifndef SK_CODEC_ENTROPY_PLANE_IMPL_H
#define SK_CODEC_ENTROPY_PLANE_IMPL_H

#include "codec/entropy/plane.h"

#include <string.h>

enum {
    LANES = 8,
    BLOCK = 64,
    SPARE = 16,
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
    int cut;            /* the rows are pieces of the only row */
    size_t back_before; /* the row behind was read before from this step on; 0: never */
    size_t step, active;
    size_t y[LANES], z[LANES], origin[LANES]; /* of each lane's row */
};

static inline struct lanes lanes_of(const struct sk_plane *p)
{
    struct lanes v = {.p = p, .rows = p->nb * p->nz * p->ny, .width = p->width};
    if (v.rows == 1 && p->width >= 8 * LANES) {
        v.rows = LANES;
        v.width = p->width / LANES;
        v.cut = 1;
    }
    v.per_lane = (v.rows + LANES - 1) / LANES;
    v.back_before = v.per_lane ? p->ny % v.per_lane : 0;
    for (size_t l = 0; l < LANES && l * v.per_lane < v.rows; l++) {
        size_t row = l * v.per_lane;
        v.active = l + 1;
        if (v.cut) {
            v.origin[l] = p->origin + row * v.width;
            continue;
        }
        v.y[l] = row % p->ny;
        v.z[l] = row / p->ny % p->nz;
        v.origin[l] = p->origin + v.y[l] * p->sy + v.z[l] * p->sz + row / p->ny / p->nz * p->sb;
    }
    return v;
}

/* Go on to the next row of each lane; the last lane may end before the others. */
static inline void lanes_next(struct lanes *v)
{
    const struct sk_plane *p = v->p;
    v->step++;
    if ((v->active - 1) * v->per_lane + v->step >= v->rows)
        v->active--;
    for (size_t l = 0; l < v->active; l++) {
        v->origin[l] += p->sy;
        if (++v->y[l] < p->ny)
            continue;
        v->y[l] = 0;
        v->origin[l] += p->sz - p->ny * p->sy;
        if (++v->z[l] < p->nz)
            continue;
        v->z[l] = 0;
        v->origin[l] += p->sb - p->nz * p->sz;
    }
}

/* n rounded up: the loops below run over whole vectors. Arrays have room behind for what they read
 * too much. */
static inline size_t whole(size_t n)
{
    return (n + SPARE - 1) / SPARE * SPARE;
}

static inline __attribute__((always_inline)) void
add_levels(uint16_t *restrict sum, const uint8_t *restrict u, unsigned w, size_t n)
{
    for (size_t i = 0; i < n; i += SPARE)
        for (size_t k = i; k < i + SPARE; k++)
            sum[k] = (uint16_t)(sum[k] + (uint16_t)w * u[k]);
}

/* Add up the contexts of columns [0, n) from element `at` of a lane's row on, except those of the
 * same row. */
static inline __attribute__((always_inline)) void sum_block(const struct lanes *v,
                                                            const uint8_t *level, size_t lane,
                                                            size_t at, size_t n, uint16_t *sum)
{
    const struct sk_plane *p = v->p;
    n = whole(n);
    memset(sum, 0, n * sizeof *sum);
    /* a lane reads its rows in order, all lanes at the same pace: neighbours read later do not
     * count */
    if (!v->cut && p->weights.up && v->y[lane] && v->step) {
        const uint8_t *u = level + at - p->sy;
        add_levels(sum, u, p->weights.up, n);
        if (p->weights.up_left)
            add_levels(sum, u - 1, p->weights.up_left, n);
        if (p->weights.up_right)
            add_levels(sum, u + 1, p->weights.up_right, n);
    }
    if (!v->cut && p->weights.back && v->z[lane] && v->back_before && v->step >= v->back_before)
        add_levels(sum, level + at - p->sz, p->weights.back, n);
    for (int s = 0; s < p->n_sides; s++)
        add_levels(sum, p->side[s].level + (ptrdiff_t)at + p->side[s].shift, p->side[s].weight, n);
    if (p->mask)
        for (size_t i = 0; i < n; i++)
            sum[i] = p->mask[at + i] ? SUM_MASKED : sum[i];
}

#endif
