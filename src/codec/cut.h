/* How an array is cut into pieces: along its slowest dimension, or the next ones where one step of
 * it is larger than a piece. Depends on the array and the size aimed at, on nothing else. */
#ifndef SK_CODEC_CUT_H
#define SK_CODEC_CUT_H

#include "codec/codec.h"

struct sk_cut {
    struct sk_array whole;
    int axis;           /* dimension that is cut; those before it are stepped through one by one */
    size_t row_bytes;   /* of one step along the axis */
    size_t rows;        /* steps per piece; the last piece of each outer index may have fewer */
    uint64_t per_outer; /* pieces for each index of the dimensions before the axis */
    uint64_t pieces;
};

struct sk_cut_piece {
    struct sk_array array;
    size_t offset, size; /* bytes */
    uint64_t first_row, rows;
};

/* The size of pieces that suits an array. */
size_t sk_cut_default_bytes(const struct sk_array *a);
/* The same for codecs that keep a bound: what lies before a piece is lost to prediction, and their
 * tables cost most where data shrink most; so only large arrays are cut. */
size_t sk_cut_bounded_bytes(const struct sk_array *a);
/* 0, or -1 when the array has no size. piece_bytes is an aim: fewer than 8 steps of the axis are
 * not cut apart before a piece is 32 MiB, so that prediction along the slowest dimension has
 * something to work on. */
int sk_cut_init(struct sk_cut *c, const struct sk_array *a, size_t piece_bytes);
struct sk_cut_piece sk_cut_piece(const struct sk_cut *c, uint64_t i);

#endif
