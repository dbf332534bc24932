/* Fill values: a number far outside of all others that is there again and again, bit for bit, such
 * as 1e20 or -9999. It says that there is no value, and so belongs to no range. All local; nothing
 * blocks. */
#ifndef SK_CODEC_WAVELET_FILL_H
#define SK_CODEC_WAVELET_FILL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bits of the i-th of values of 4 or 8 bytes. */
static inline uint64_t sk_fill_bits_at(const void *in, size_t i, size_t size)
{
    uint64_t v = 0;
    memcpy(&v, (const uint8_t *)in + i * size, size);
    return v;
}

/* Of n values of 4 or 8 bytes whose finite ones lie in [*low, *high]: is the largest or the
 * smallest a fill value? Then *low and *high are those of the others, and *fill is it. */
int sk_fill_find(const void *in, size_t n, size_t size, double *low, double *high, double *fill);
/* max - min of the finite values, up to two fill values left out. */
double sk_fill_range(const void *in, size_t n, size_t size, double low, double high);

/* Values [from, to). */
struct sk_fill_stretch {
    size_t from, to;
};
enum { SK_FILL_STRETCHES = 16 };

/* Where several fields lie one behind the other, the number that is no value of one may be one of another. In which stretches of whole planes
 * (of so many values) does it take fewer bits within the bound to say where `fill` (its bits) stands than to code it as a value? Returns how many
 * stretches. */
int sk_fill_stretches(const void *in, size_t n, size_t size, size_t plane, uint64_t fill, double bound,
                      struct sk_fill_stretch out[SK_FILL_STRETCHES]);

#endif
