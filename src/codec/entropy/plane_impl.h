/* What writer and reader of planes share: how rows are dealt to lanes, and contexts. */
#ifndef SK_CODEC_ENTROPY_PLANE_IMPL_H
#define SK_CODEC_ENTROPY_PLANE_IMPL_H

#include "codec/entropy/plane.h"
#include "codec/entropy/plane_kernel.h"

#include <string.h>

enum {
    LANES = 8,
    BLOCK = 64,
    SUM_LIMIT = PLANE_MASKED,
    FINE = 88, /* contexts before they are merged, per set */
    CTX_FLAG = SK_PLANE_SETS * FINE,
    CTX_MASKED = CTX_FLAG + 2,
    CONTEXTS = CTX_MASKED + 1,
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

static inline void row_add(struct plane_row *r, const uint8_t *level, unsigned weight)
{
    r->level[r->n] = level;
    r->weight[r->n] = (uint16_t)weight;
    r->n += weight != 0;
}

/* Which neighbours of lane's row make contexts, without those of the row itself. level: of the
 * plane. A lane reads its rows in order, all lanes at the same pace: neighbours read later do not
 * count. */
static inline void row_of(const struct lanes *v, size_t lane, const uint8_t *level,
                          struct plane_row *r)
{
    const struct sk_plane *p = v->p;
    const struct sk_plane_weights *w = &p->weights;
    const uint8_t *here = level + v->origin[lane];
    r->n = 0;
    r->mask = p->mask ? p->mask + v->origin[lane] : NULL;
    r->first = (unsigned)p->set * FINE;
    if (!v->cut && w->up && v->y[lane] && v->step) {
        row_add(r, here - p->sy, w->up);
        row_add(r, here - p->sy - 1, w->up_left);
        row_add(r, here - p->sy + 1, w->up_right);
    }
    if (!v->cut && v->z[lane] && v->back_before && v->step >= v->back_before)
        row_add(r, here - p->sz, w->back);
    for (int s = 0; s < p->n_sides; s++)
        row_add(r, p->side[s].level + (ptrdiff_t)v->origin[lane] + p->side[s].shift,
                p->side[s].weight);
}

#endif
