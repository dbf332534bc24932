/* Shrinks a chunk from its far ends as long as a slab holds nothing but the padding, and takes the
 * range of the values that are left. */
#include "valid.h"

#include "base/types.h"
#include "codec/quality/difference.h"

#include <math.h>
#include <string.h>

/* 1 when elements [first, first + n) are all the same bytes as `pad`. */
static int all_padding(const char *first, size_t n, size_t size, const char *pad)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(first + i * size, pad, size))
            return 0;
    return 1;
}

/* Is the slab at this index of dimension d (the others within extent) padding? */
static int slab_is_padding(const struct sk_array *a, const char *data, const size_t *extent, int d,
                           size_t index, const char *pad)
{
    size_t size = sk_type_size(a->type), at[SAIKAI_MAX_DIMS] = {0};
    int last = a->ndims - 1;
    at[d] = index;
    for (;;) {
        size_t offset = 0;
        for (int i = 0; i < a->ndims; i++)
            offset = offset * a->dims[i] + at[i];
        size_t run = d == last ? 1 : extent[last];
        if (!all_padding(data + offset * size, run, size, pad))
            return 0;
        int i = d == last ? last : last - 1;
        for (; i >= 0; i--) {
            if (i == d)
                continue;
            if (++at[i] < extent[i])
                break;
            at[i] = 0;
        }
        if (i < 0)
            return 1;
    }
}

void chunk_valid_box(const struct sk_array *a, const void *data, size_t extent[SAIKAI_MAX_DIMS])
{
    size_t count = 1, size = sk_type_size(a->type);
    for (int d = 0; d < a->ndims; d++) {
        extent[d] = a->dims[d];
        count *= a->dims[d];
    }
    if (!count)
        return;
    const char *pad = (const char *)data + (count - 1) * size;
    for (int d = 0; d < a->ndims; d++)
        while (extent[d] > 1 && slab_is_padding(a, data, extent, d, extent[d] - 1, pad))
            extent[d]--;
}

double chunk_valid_range(const struct sk_array *a, const void *data, size_t *elements)
{
    size_t extent[SAIKAI_MAX_DIMS] = {0}, at[SAIKAI_MAX_DIMS] = {0}, n = 1;
    double low = INFINITY, high = -INFINITY;
    chunk_valid_box(a, data, extent);
    for (int d = 0; d < a->ndims; d++)
        n *= extent[d];
    for (size_t k = 0; k < n; k++) {
        size_t offset = 0;
        double v;
        for (int i = 0; i < a->ndims; i++)
            offset = offset * a->dims[i] + at[i];
        sk_as_doubles(a->type, data, offset, 1, &v);
        if (isfinite(v)) {
            low = fmin(low, v);
            high = fmax(high, v);
        }
        for (int i = a->ndims - 1; i >= 0 && ++at[i] == extent[i]; i--)
            at[i] = 0;
    }
    *elements = n;
    return high > low ? high - low : 0;
}
