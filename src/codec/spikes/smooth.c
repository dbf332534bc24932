/* What stands around an isolated value, in its place: the mean of what the lines through it say. */
#include "codec/spikes/smooth.h"
#include "codec/spikes/near.h"

#include "base/types.h"

#include <stdlib.h>
#include <string.h>

enum { REACH = 6 };

static int is_taken(const struct sk_spikes *s, size_t at)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->at[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n && s->at[low] == at;
}

/* Is there a number that says something of others? */
static int tells(const struct sk_spikes *s, const void *values, size_t size, size_t at, const uint64_t *fill)
{
    return sk_near_is_number(values, at, size, fill) && !is_taken(s, at);
}

/* The guess along one axis, place `at` of `length`; 0: there is none. */
static int along(const struct sk_spikes *s, const void *values, size_t size, const uint64_t *fill, size_t element, size_t stride,
                 size_t at, size_t length, double *guess)
{
    struct sk_near l = {0};
    size_t from = at < REACH ? 0 : at - REACH, to = at + REACH < length ? at + REACH + 1 : length;
    for (size_t i = from; i < to; i++, l.n++) {
        size_t e = element + i * stride - at * stride;
        l.x[l.n] = sk_near_value(values, e, size);
        l.out[l.n] = !tells(s, values, size, e, fill);
    }
    return sk_near_between(&l, (int)(at - from), guess);
}

/* The nearest value before or behind in memory that is not taken out. */
static double nearest(const struct sk_spikes *s, const void *values, size_t n, size_t size, size_t at, const uint64_t *fill)
{
    for (size_t d = 1; d < n; d++) {
        if (d <= at && tells(s, values, size, at - d, fill))
            return sk_near_value(values, at - d, size);
        if (d < n - at && tells(s, values, size, at + d, fill))
            return sk_near_value(values, at + d, size);
    }
    return 0;
}

void sk_spikes_smooth(const struct sk_spikes *s, const struct sk_array *a, void *values, const uint64_t *fill)
{
    size_t size = sk_type_size(a->type), n = 1;
    for (int d = 0; d < a->ndims; d++)
        n *= a->dims[d];
    for (size_t k = 0; k < s->n; k++) {
        size_t i = s->at[k], stride = 1;
        double sum = 0, guess;
        int used = 0;
        for (int d = a->ndims - 1; d >= 0; stride *= a->dims[d--])
            if (along(s, values, size, fill, i, stride, i / stride % a->dims[d], a->dims[d], &guess)) {
                sum += guess;
                used++;
            }
        guess = used ? sum / used : nearest(s, values, n, size, i, fill);
        if (size == sizeof(float))
            ((float *)values)[i] = (float)guess;
        else
            ((double *)values)[i] = guess;
    }
}
