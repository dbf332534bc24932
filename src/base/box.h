/* Boxes of arrays: where a box of one array lies in bytes, copying between bytes in C order and a
 * block in memory that may have gaps (ghost cells, a section of a larger array), and whether boxes
 * cover another one. No I/O; all functions are local. The first dimension varies slowest. */
#ifndef SK_BASE_BOX_H
#define SK_BASE_BOX_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Elements low[d] … low[d] + size[d] - 1 in each dimension; empty when a size is 0. */
struct sk_box {
    int ndims; /* 1…SAIKAI_MAX_DIMS */
    uint64_t low[SAIKAI_MAX_DIMS], size[SAIKAI_MAX_DIMS];
};

/* What a and b have in common into *out; 1, or 0 when that is empty. */
int sk_box_meet(const struct sk_box *a, const struct sk_box *b, struct sk_box *out);

/* Is there a part of whole that none of box[count] covers? 1 and one such part in *gap, 0, or
 * SAIKAI_ENOMEM. The boxes may overlap and reach beyond whole. Divides whole at sides of the boxes
 * until each part is covered by one or touched by none: O(n log² n) steps for n boxes that tile a
 * grid. */
int sk_box_gap(const struct sk_box *whole, const struct sk_box *box, size_t count,
               struct sk_box *gap);

/* "[0:4, 10:20]" (first to one behind the last of each dimension) into out[cap]. */
char *sk_box_text(const struct sk_box *b, char *out, size_t cap);

/* A box of an array that is stored in C order, and the block of memory that holds its elements. */
struct sk_box_map {
    int ndims;
    uint64_t rows;                     /* runs of bytes that are contiguous in the array */
    uint64_t size[SAIKAI_MAX_DIMS];    /* of the box; elements, the last one too */
    uint64_t step[SAIKAI_MAX_DIMS];    /* bytes between neighbours in the array */
    ptrdiff_t stride[SAIKAI_MAX_DIMS]; /* and in memory */
    uint64_t first;                    /* byte of the box's first element in the array */
    size_t element;                    /* bytes of an element */
    uint64_t row_bytes;
    uint8_t *memory; /* of the box's first element */
};

/* The box of an array dims[ndims] (of which it must be a part), and memory for it: strides in bytes
 * for each dimension, NULL for C order without gaps. Dimensions that are contiguous on both sides
 * become one. */
void sk_box_map(struct sk_box_map *m, const struct sk_box *box, const uint64_t *dims,
                size_t element_bytes, void *memory, const ptrdiff_t *strides);
/* 1: without gaps in memory, m->memory is the box's bytes in order. */
int sk_box_is_plain(const struct sk_box_map *m);
/* 1 when bytes [at, at + n) of the array have one of the box. */
int sk_box_wants(const struct sk_box_map *m, uint64_t at, uint64_t n);
/* Of bytes [at, at + n) of the array, given in data, copy those of the box to their places in
 * memory … */
void sk_box_put(const struct sk_box_map *m, uint64_t at, const void *data, uint64_t n);
/* … or from there into data. Bytes of data that are not of the box are untouched. */
void sk_box_get(const struct sk_box_map *m, uint64_t at, void *data, uint64_t n);

#endif
