/* Where to look for isolated values: stretches along an axis in which one second difference stands out. */
#ifndef SK_CODEC_SPIKES_LINES_H
#define SK_CODEC_SPIKES_LINES_H

#include "codec/codec.h"

#include <stddef.h>
#include <stdint.h>

/* Axis to look along: values of a line are `stride` elements apart, `length` of them; lines that lie beside each other are looked at together. */
struct sk_lines {
    int axis;
    size_t stride, length;
    const uint64_t *fill; /* bits of a value that is none; NULL */
    int has_strange;      /* some values are that, or not finite */
};

/* Sets all but fill and has_strange. -1: no axis is long enough. */
int sk_lines_choose(struct sk_lines *l, const struct sk_array *a);

enum { SK_LINES_STRETCH = 128 };
/* Does a distance of values[from, to) (at most so many) from the mean of both neighbours stand out of those of all of them, and is it above `least`? All neighbours are
 * in the array; distances from values that are none do not count. */
int sk_lines_stands_out(const struct sk_lines *l, const void *values, size_t size, size_t from, size_t to, double least);

#endif
