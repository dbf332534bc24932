/* The part of a chunk that may hold the dataset's own values.
 *
 * HDF5 hands a filter whole chunks: at the edges of a dataset they are padded, all with one value
 * (the fill value), and the filter is not told where. A range that counted the padding could be
 * many times the dataset's, and a bound relative to it worthless. So whatever could be padding is
 * left out: trailing slabs in which every element is equal to the chunk's last one. Leaving out too
 * much only makes the bound tighter. */
#ifndef SAIKAI_HDF5_VALID_H
#define SAIKAI_HDF5_VALID_H

#include "codec/codec.h"

/* Extents in extent[a->ndims] of the leading box of a chunk of f32 or f64 that is left, at least 1
 * each. Linear in the chunk's size. */
void chunk_valid_box(const struct sk_array *a, const void *data, size_t extent[SAIKAI_MAX_DIMS]);
/* max - min of the finite values in that box (0: none, or all equal), and its number of elements.
 */
double chunk_valid_range(const struct sk_array *a, const void *data, size_t *elements);

#endif
