/* Codes boxes of an array without a loss, to tell what all of it would take. */
#include "codec/quality/exactly.h"

#include "base/types.h"
#include "codec/array.h"
#include "codec/lossless/lossless.h"
#include "codec/lossless/within/reach.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Boxes, bytes of a tiny one, of a small one and of a large one, and of what codes have beside the values. */
enum { BOXES = 4, TINY = 2 << 10, LITTLE = 4 << 10, LARGE = 16 << 10, TABLES = 256 };

/* Values of an array, of which most repeat the one before them here and there: boxes are laid where others lie. */
struct looked {
    const struct sk_array *a;
    const uint8_t *in;
    size_t size, count; /* bytes of a value, values */
    double changes;     /* share of those that are not as the one before */
};

static int is_other(const struct looked *l, size_t i)
{
    uint64_t x = 0, before = 0;
    if (!i)
        return 0;
    if (l->size == sizeof(float)) {
        memcpy(&x, l->in + i * sizeof(float), sizeof(float));
        memcpy(&before, l->in + (i - 1) * sizeof(float), sizeof(float));
    } else {
        memcpy(&x, l->in + i * sizeof(double), sizeof(double));
        memcpy(&before, l->in + (i - 1) * sizeof(double), sizeof(double));
    }
    return x != before;
}

/* ---- where ---- */

/* Places all over the array, in an order that leaves no part of it out for long: an additive recurrence by the golden ratio. */
static size_t place(const struct looked *l, size_t k)
{
    double part = fmod(0.5 + 0.6180339887498949 * (double)k, 1);
    size_t i = (size_t)(part * (double)l->count);
    return i < l->count ? i : l->count - 1;
}

static double share_of_changes(const struct looked *l)
{
    enum { PROBES = 1024 };
    size_t seen = 0;
    for (size_t k = 0; k < PROBES; k++)
        seen += (size_t)is_other(l, place(l, k));
    return (double)seen / PROBES;
}

/* Lines of 2^n - 3 values have no rows within them that the codec would look for. */
static void leave_no_rows(struct sk_array *box)
{
    enum { LESS = 3 };
    size_t *n = &box->dims[box->ndims - 1];
    *n -= *n > 2 * LESS ? LESS : 0;
}

/* Extents of a box of about `bytes`: the fastest dimensions grow first, and three of them at most. What is rough comes in rows and planes more often than not: so boxes are
 * thin, to meet few of these. */
static void extents(const struct sk_array *a, size_t bytes, struct sk_array *box)
{
    enum { THIN = 8 };
    size_t n = sk_type_size(a->type), thin = THIN;
    const int last = a->ndims - 1, least = last > 2 ? last - 2 : 0;
    *box = *a;
    for (int d = 0; d <= last; d++)
        box->dims[d] = 1;
    while (n < bytes) {
        size_t before = n;
        for (int d = last; d >= least && n < bytes; d--) {
            size_t most = d == last || thin > a->dims[d] ? a->dims[d] : thin, more = 2 * box->dims[d] < most ? 2 * box->dims[d] : most;
            n = n / box->dims[d] * more;
            box->dims[d] = more;
        }
        if (n == before && thin == SIZE_MAX)
            return;
        thin = n == before ? SIZE_MAX : thin;
    }
}

/* The first value of a box around value i, or as near as the array's sides let it. */
static size_t corner(const struct sk_array *a, const struct sk_array *box, size_t i)
{
    size_t at = 0, stride = 1;
    for (int d = a->ndims - 1; d >= 0; d--) {
        size_t x = i % a->dims[d], half = box->dims[d] / 2, most = a->dims[d] - box->dims[d];
        x = x > half ? x - half : 0;
        at += stride * (x < most ? x : most);
        stride *= a->dims[d];
        i /= a->dims[d];
    }
    return at;
}

/* Copy the box whose first element is at `from`; returns past what was written. */
static uint8_t *copy_box(const struct sk_array *a, const struct sk_array *box, int d, const uint8_t *from, uint8_t *to)
{
    size_t size = sk_type_size(a->type), stride = size;
    for (int k = d + 1; k < a->ndims; k++)
        stride *= a->dims[k];
    if (d == a->ndims - 1) {
        memcpy(to, from, size * box->dims[d]);
        return to + size * box->dims[d];
    }
    for (size_t i = 0; i < box->dims[d]; i++)
        to = copy_box(a, box, d + 1, from + i * stride, to);
    return to;
}

/* ---- how much ---- */

/* Encoded bytes of a value that is not as the one before, from one box. Negative: no memory. */
static double bytes_of_change(const struct sk_array *box, const uint8_t *values, uint8_t *out, size_t room)
{
    struct looked l = {.a = box, .in = values, .size = sk_type_size(box->type), .count = sk_array_size_bytes(box) / sk_type_size(box->type)};
    size_t n = 0, changes = 1;
    if (sk_codec_predict.encode(box, values, &(struct sk_codec_options){0}, out, room, &n, NULL))
        return -1;
    for (size_t i = 1; i < l.count; i++)
        changes += (size_t)is_other(&l, i);
    return n > TABLES ? (double)(n - TABLES) / (double)changes : 0;
}

/* What part of the array is left, as so many boxes of about so many bytes tell, beside what does not grow with it, and without the one that tells the most: one rough value is
 * enough to spoil a box. As soon as it must be more than `enough`, that. INFINITY: no memory. */
static double share_left(const struct looked *l, size_t bytes, int boxes, double enough)
{
    struct sk_array box;
    extents(l->a, bytes, &box);
    if (bytes == TINY)
        leave_no_rows(&box);
    size_t room = sk_codec_predict.max_encoded(&box);
    uint8_t *values = malloc(sk_array_size_bytes(&box)), *out = malloc(room);
    double part = l->changes / ((double)l->size * (boxes - 1)), all = 0, most = 0, one = values && out ? 0 : -1;
    for (size_t k = 0, n = 0; n < (size_t)boxes && one >= 0 && all - most <= enough; k++) {
        if (!is_other(l, place(l, k)))
            continue; /* which not all are */
        copy_box(l->a, &box, 0, l->in + corner(l->a, &box, place(l, k)) * l->size, values);
        one = part * bytes_of_change(&box, values, out, room);
        all += one;
        most = one > most ? one : most;
        n++;
    }
    free(values);
    free(out);
    return one < 0 ? INFINITY : all - most;
}

/* The share that small boxes tell; INFINITY where tiny ones leave no doubt that it is far more than `wanted`, as for most arrays. */
static double share_soon(const struct looked *l, double wanted)
{
    const double enough = 2, farther = 4;
    return share_left(l, TINY, 2, farther * wanted) > farther * wanted ? INFINITY : share_left(l, LITTLE, BOXES, enough * wanted);
}

int sk_exactly_may_win(const struct sk_array *a, const void *in, size_t size)
{
    enum { SMALLEST = 16 /* of the array, all large boxes */, QUICK = 2 << 20 /* bytes in which repeats are found soon */ };
    const double near = 1.3, far = 2, least_left = 1.0 / 16;
    struct looked l = {.a = a, .in = in, .size = sk_type_size(a->type)};
    size_t bytes = sk_array_size_bytes(a);
    if (bytes < size * 3 / 2 + 64 || bytes < (size_t)SMALLEST * BOXES * LITTLE || a->ndims < 1)
        return 1;
    l.count = bytes / l.size;
    l.changes = share_of_changes(&l);
    double wanted = (double)size / (double)bytes;
    if (l.changes == 0)
        return 1;
    int repeats = sk_repeats_beyond(a, in, (size_t)BOXES * LARGE, bytes);
    if (repeats && bytes > QUICK && share_soon(&l, wanted / least_left) > far * wanted / least_left)
        return 0;
    if (repeats)
        wanted /= sk_repeats_left(a, in);
    double share = share_soon(&l, wanted);
    if (share <= wanted || share > far * wanted)
        return share <= wanted; /* larger boxes have less beside the values */
    return bytes < (size_t)SMALLEST * BOXES * LARGE || share_left(&l, LARGE, BOXES, near * wanted) <= near * wanted;
}
