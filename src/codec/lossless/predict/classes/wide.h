/* Classes in 32 lanes, side by side in vectors: what classes.h does with four runs, for pieces that are large enough for it.
 *
 * States of 32 bits that take 16 at a time from one stream of words, each from where the one before it left off (F. Giesen, "Interleaved entropy
 * coders", 2014, arXiv:1402.3392, sections 2 and 4).
 *
 * Lane k has the rows k, k + 32, … one after the other, and begins `skew` steps behind the lane before it: so all that a context looks at in rows
 * above is there (the wavefront of kernel_side.inc). Value t of a lane, from its beginning on, stands in step t + skew * k; what a lane is not
 * busy with is the class `first`. Rows are those of the array, or planes of short rows; where there are neither, each lane has one row of
 * ceil(n / 32) values. Lanes of a step are coded in the order of sk_wide_lane. The context of a value is that of classes.h, its neighbours
 * at the places that wide_way says.
 *
 * Bytes: u8 first class | u8 tables | map of contexts | the tables | u32 words | 32 × u32 states, in the order of a step | the words, u16 each. */
#ifndef SK_CODEC_LOSSLESS_CLASSES_WIDE_H
#define SK_CODEC_LOSSLESS_CLASSES_WIDE_H

#include "codec/lossless/predict/classes/classes_runs.h"

#define WIDE       32
#define WIDE_LEAST 2048 /* values */
#define WIDE_LOW   ((uint32_t)1 << 16) /* states live in [WIDE_LOW, WIDE_LOW << 16) */

/* The lane that is number q of a step: as vectors of 32 bytes come apart into four of longer numbers. */
static inline unsigned sk_wide_lane(unsigned q)
{
    return (q >> 3) * 4 + (q & 3) + (q >> 2 & 1) * 16;
}

/* A neighbour: lane k finds it `near` steps back in lane k - lanes; those below `lanes` do, `far` steps back, in lane k - lanes + 32. */
struct wide_lag {
    size_t lanes, near, far;
};

static inline size_t wide_lag_most(const struct wide_lag *l)
{
    return l->far > l->near ? l->far : l->near;
}

/* How values are dealt to steps and lanes. */
struct wide_way {
    size_t n, row, skew, steps;
    size_t busy, idle; /* from the one to before the other all lanes are at work */
    size_t before;     /* steps before the first that neighbours may be looked for in */
    struct wide_lag up, back;
    size_t back_from;           /* the step from which there is a plane before; `up` stands in for it until then */
    uint32_t begin[WIDE], values[WIDE]; /* of each lane */
};

void sk_wide_way(const struct sk_class_plane *p, struct wide_way *w);

/* The place of value `col` of a row. */
static inline size_t wide_place(const struct wide_way *w, size_t row, size_t col)
{
    return (row / WIDE * w->row + col + w->skew * (row % WIDE)) * WIDE + row % WIDE;
}

/* Whether a lane has a value in a step. */
static inline int wide_works(const struct wide_way *w, size_t step, unsigned lane)
{
    return (uint32_t)step - w->begin[lane] < w->values[lane];
}

/* The contexts of a step whose classes are at c; back: the neighbour of the plane before. */
static inline __attribute__((always_inline)) void wide_contexts(const uint8_t *c, const struct wide_lag *up, const struct wide_lag *back,
                                                                 uint8_t context[WIDE])
{
    const uint8_t *a = c - WIDE * up->near - up->lanes, *b = c - WIDE * back->near - back->lanes;
    uint16_t sum[WIDE];
    for (int k = 0; k < WIDE; k++)
        sum[k] = (uint16_t)(2 * a[k] + a[k + WIDE] + a[k - WIDE]);
    a = c - WIDE * up->far - up->lanes + WIDE;
    for (size_t k = 0; k < up->lanes; k++)
        sum[k] = (uint16_t)(2 * a[k] + a[k + WIDE] + (a - WIDE)[k]);
    uint8_t before[WIDE];
    memcpy(before, b, WIDE);
    b = c - WIDE * back->far - back->lanes + WIDE;
    for (size_t k = 0; k < back->lanes; k++)
        before[k] = b[k];
    for (int k = 0; k < WIDE; k++)
        context[k] = (uint8_t)((uint16_t)(sum[k] + before[k] + 2 * c[k - WIDE] + c[k - 2 * WIDE] + 7) >> 4);
}

/* As classes.h says of these; p->skip is NULL and p->n at least WIDE_LEAST, else decoding says damaged. */
void sk_wide_encode(const struct sk_class_plane *p, const uint8_t *classes, struct sk_buf *out);

/* class | (slot - start) << 8 | freq << 20 */
typedef uint32_t wide_slot;

/* What decoding goes on with. */
struct wide_in {
    struct wide_way way;
    uint32_t x[WIDE];       /* in the order of a step */
    const uint8_t *p, *end; /* words that are left */
    const wide_slot *slot;  /* the tables */
    uint8_t map[CONTEXTS];  /* of contexts to tables */
    uint8_t first;
    uint8_t *c;             /* classes of step i, by lane: c[i * WIDE …] */
};

/* Steps from … to - 1; returns the one before which fewer words were left than a step may take, or `to`. all: every lane is at work. */
typedef size_t wide_steps(struct wide_in *w, size_t from, size_t to, const struct wide_lag *back, int all);
/* 0 for any processor, 1 AVX2; NULL when this processor or build cannot. */
wide_steps *sk_wide_steps_at(int level);
/* The fastest. */
wide_steps *sk_wide_steps(void);
int sk_wide_decode(const struct sk_class_plane *p, struct sk_rd *in, uint8_t *classes, wide_steps *steps);
wide_steps sk_wide_steps_avx2; /* in builds for x86-64 */

#endif
