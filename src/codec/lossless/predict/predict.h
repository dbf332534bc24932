/* Inside the codec "predict": what its files share.
 *
 * Prediction of each value from those before it (shape.h), its residual as a class and plain bits
 * below (kernel.h), the classes coded in context (classes.h), the bits as they are. */
#ifndef SK_CODEC_LOSSLESS_PREDICT_H
#define SK_CODEC_LOSSLESS_PREDICT_H

#include "codec/lossless/bits.h"
#include "codec/lossless/predict/classes/classes.h"
#include "codec/lossless/predict/kernel.h"

#define SK_CHUNK_VALUES 2048

/* A part of an array that is predicted at once: whole rows (from 0, to n[0]), or a part of one row; of the last segment also what is behind it. */
struct sk_chunk {
    size_t first;       /* of its first value */
    size_t rows;        /* 1 for a part of a row */
    size_t from, to;    /* within a row */
    size_t at[SK_AXES]; /* index of its first row on the outer axes */
    size_t next_row;
};

/* Start: {0}; returns 0 when there are no more. The same for encoder and decoder. */
int sk_chunk_next(struct sk_chunk *c, const struct sk_shape *s);
static inline size_t sk_chunk_values(const struct sk_chunk *c)
{
    return c->rows * (c->to - c->from);
}

/* A filter along the values of an array of one axis: the prediction of x[i] is - c[1] x[i-1] - … - c[weights] x[i-weights], of the first
 * ones the value before. weights is a multiple of 4; 0: there is none. */
struct sk_along {
    int weights;
    double c[SK_ALONG + 1];
};

/* How a piece is coded. */
struct sk_plan {
    struct sk_shape shape;
    struct sk_orders orders;
    struct sk_orders first; /* of the first step of the slowest axis, which has none before it; with apart */
    int apart;
    struct sk_along along; /* in place of orders */
    size_t split; /* row length the fastest axis was split into, 0: not */
    unsigned shift;
    int wide; /* classes in 32 lanes */
    int tame; /* values so small that no prediction overflows, and none that is not finite */
    size_t word;
    int whole; /* values are whole numbers: every chunk has the grid of step 1 */
    const struct sk_kernel *kernel;
    double cost;            /* bits per value, estimated */
    struct sk_scale affine; /* a grid that all values may lie on; step 0: none known */
    struct sk_scale parts;  /* the same as whole parts of one, whose nearest values they are */
};

/* The orders of rows whose index on the outer axes is at[1 …]. */
static inline const struct sk_orders *sk_orders_at(const struct sk_plan *p, const size_t at[SK_AXES])
{
    return p->apart && !at[p->shape.axes - 1] ? &p->first : &p->orders;
}

/* Chunks one after the other: what stays the same from row to row is made once. */
struct sk_predictor {
    const struct sk_plan *plan;
    const struct sk_orders *orders; /* what terms and degrees are of; NULL: none yet */
    struct sk_terms terms;
    int near[SK_AXES]; /* what terms are for */
    int degree[4];     /* along the row: for its first three values, and the others */
    double c[4][4];
};

void sk_predictor_init(struct sk_predictor *p, const struct sk_plan *plan);
/* Residuals of a chunk: r gets words. x is the whole array. */
void sk_predict_chunk(struct sk_predictor *p, const struct sk_chunk *c, const void *x,
                      const struct sk_scale *scale, void *r);
/* The inverse: values of the chunk from their classes and plain bits. skip and class are of the
 * whole array; skip may be NULL. */
void sk_restore_chunk(struct sk_predictor *p, const struct sk_chunk *c, void *x,
                      const struct sk_scale *scale, struct sk_bits_in *bits, const uint8_t *class,
                      const uint8_t *skip);
/* The same of this many whole rows from the chunk's first on, of one plane and scale, each with as many rows of its plane before it as terms ask for; none
 * of their values is skipped. */
void sk_restore_rows(struct sk_predictor *p, const struct sk_chunk *c, size_t rows, void *x, const struct sk_scale *scale,
                     struct sk_bits_in *bits, const uint8_t *class);

/* Choose orders (and a split) by trying them on a sample. plan->shape, word, kernel and shift are
 * set. */
void sk_plan_search(struct sk_plan *p, const void *x);
/* Then, where little but the steps before tells what a step of the slowest axis is, orders for its first one. */
void sk_plan_search_first(struct sk_plan *p, const void *x);
/* Bits per value that is not skipped, by the plan that was found. */
double sk_plan_cost(const struct sk_plan *p, const void *x, const uint8_t *skip);
/* Then, where no value is skipped: a filter along the values in place of what was found, where it is much shorter. line: the plan as it was before. */
void sk_plan_search_along(struct sk_plan *p, const struct sk_plan *line, const void *x);

/* Filters along the values (predict_along.c). The plain difference of an order up to 7, and one of SK_ALONG weights fitted to m samples of an array,
 * of n[k] values from x[k] on, after as many differences; each counts as part of its largest difference, or of what the filter before, if any, misses of it.
 * 0, or -1: there is no such filter. */
void sk_along_difference(struct sk_along *a, int order);
int sk_along_fit(struct sk_along *a, const struct sk_plan *p, const void *const x[], const size_t n[], int m, int differences, const struct sk_along *before);
/* Sums that cannot overflow where a plan is tame, and numbers that are finite: of one that is read, too. */
int sk_along_usable(const struct sk_along *a);
void sk_along_put(struct sk_buf *b, const struct sk_along *a);
int sk_along_get(struct sk_rd *r, struct sk_along *a); /* 0, or -1: damaged */

/* The scale of a chunk's values when they lie on a decimal or binary grid; step 0 in *scale: they
 * do not. */
void sk_grid_find(const struct sk_plan *p, const void *x, size_t n, struct sk_scale *scale);
/* One byte of kind and what it needs; before is the scale of the chunk before (NULL: none), when
 * reading it is in *scale. Reading checks what it reads. */
void sk_grid_put(struct sk_buf *b, const struct sk_scale *scale, const struct sk_scale *before);
int sk_grid_get(struct sk_rd *r, struct sk_scale *scale);
/* 1: both are the same scale of one array; b may be NULL. */
int sk_grid_same(const struct sk_scale *a, const struct sk_scale *b);
/* The grid offset + k * step of packed values (netCDF), from a sample, into p->affine, and what of it is k / a whole number into p->parts. */
void sk_affine_find(struct sk_plan *p, const void *x);

/* A value that fills a part of the array (land, outside a body): 1 and its bits in *fill, 0: there
 * is none. */
int sk_mask_find(const void *x, size_t n, size_t word, uint64_t *fill);
/* The same of the first value that is not finite, where there are some of it: no grid has it, so it stands in the way of a grid also where it is rare. */
int sk_mask_not_finite(const void *x, size_t n, size_t word, uint64_t *fill);
/* skip[i] = x[i] is fill; y: x with each filled value replaced by the one before it. */
void sk_mask_apply(const void *x, size_t n, size_t word, uint64_t fill, uint8_t *skip, void *y);
/* skip as above; the other values without gaps into y; returns how many. And the inverse, into x.
 */
size_t sk_mask_pack(const void *x, size_t n, size_t word, uint64_t fill, uint8_t *skip, void *y);
void sk_mask_unpack(const void *y, size_t n, size_t word, uint64_t fill, const uint8_t *skip,
                    void *x);
/* The mask as bytes: changes against the row or plane before, as lengths of runs. Reading: 0, SAIKAI_ENOMEM, or -1:
 * damaged. */
void sk_mask_put(struct sk_buf *b, const struct sk_shape *s, const uint8_t *skip);
int sk_mask_get(struct sk_rd *r, const struct sk_shape *s, uint8_t *skip);

/* Zeros with a sign, which no grid has. 1: without it these values, some of which are such zeros, lie on grids for a good part. */
int sk_zeros_on_grid(const struct sk_plan *p, const void *x);
/* y: x with zeros that have none; which of the zeros had one, as bytes. 0, or -1: no memory. Reading gives 1 in *sign (to be freed) for each zero that has
 * one: 0, SAIKAI_ENOMEM, or -1: damaged; and put gives the zeros of x their signs: 0, or -1: they are not as many. */
int sk_zeros_take(const void *x, size_t n, size_t word, void *y, struct sk_buf *signs);
int sk_zeros_get(struct sk_rd *r, size_t n, uint8_t **sign, size_t *zeros);
int sk_zeros_put(void *x, size_t n, size_t word, const uint8_t *sign, size_t zeros);

/* Lags of a plan's classes. */
struct sk_class_plane sk_class_plane_of(const struct sk_plan *p, const uint8_t *skip);

/* Bodies, appended to out or read from in. Encoding: 0, or -1: no memory; decoding: 0, SAIKAI_ENOMEM, or -1: damaged. skip
 * may be NULL; x of a skipped value is the one before it. */
int sk_body_encode(const struct sk_plan *p, const void *x, const uint8_t *skip, struct sk_buf *out);
int sk_body_decode(const struct sk_plan *p, struct sk_rd *in, const uint8_t *skip, void *x);

/* Exponents as classes, mantissas as bits: for noise that no neighbour tells anything about. */
double sk_direct_cost(const struct sk_plan *p, const void *x);
int sk_direct_encode(const struct sk_plan *p, const void *x, struct sk_buf *out);
int sk_direct_decode(const struct sk_plan *p, struct sk_rd *in, void *x);

#endif
