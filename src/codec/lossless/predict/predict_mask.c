/* Fill values: which part of an array is not data. */
#include "codec/lossless/predict/predict.h"

#include <stdlib.h>

#define PROBES 512
#define OFTEN  4096 /* values, of which one more or less that is not finite is no matter */

static uint64_t word_at(const void *x, size_t word, size_t i)
{
    uint32_t w4;
    uint64_t w8;
    if (word == 4) {
        memcpy(&w4, (const uint8_t *)x + 4 * i, 4);
        return w4;
    }
    memcpy(&w8, (const uint8_t *)x + 8 * i, 8);
    return w8;
}

int sk_mask_find(const void *x, size_t n, size_t word, uint64_t *fill)
{
    uint64_t v[PROBES];
    int best = 0;
    if (n < 4 * PROBES)
        return 0;
    for (int i = 0; i < PROBES;
         i++) /* a stride that is no multiple of a row's length, most likely */
        v[i] = word_at(x, word, (size_t)((double)(n - 31) * i / PROBES) + (size_t)i * 7919 % 31);
    /* few candidates need counting: a fill value is a neighbour of itself */
    for (int i = 0; i < PROBES; i += 8) {
        int same = 0;
        for (int k = 0; k < PROBES; k++)
            same += v[k] == v[i];
        if (same > best)
            best = same, *fill = v[i];
    }
    return best >= PROBES / 32 && best <= PROBES - PROBES / 50;
}

int sk_mask_not_finite(const void *x, size_t n, size_t word, uint64_t *fill)
{
    const uint64_t top = word == 4 ? 0xff : 0x7ff;
    const unsigned below = word == 4 ? 23 : 52;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = word_at(x, word, i);
        if ((v >> below & top) != top)
            continue;
        *fill = count ? *fill : v;
        count += v == *fill;
    }
    return count > n / OFTEN + 4;
}

void sk_mask_apply(const void *x, size_t n, size_t word, uint64_t fill, uint8_t *skip, void *y)
{
    if (word == 4) {
        const uint32_t *from = x;
        uint32_t *to = y, last = 0;
        for (size_t i = 0; i < n; i++) {
            skip[i] = from[i] == (uint32_t)fill;
            to[i] = last = skip[i] ? last : from[i];
        }
    } else {
        const uint64_t *from = x;
        uint64_t *to = y, last = 0;
        for (size_t i = 0; i < n; i++) {
            skip[i] = from[i] == fill;
            to[i] = last = skip[i] ? last : from[i];
        }
    }
}

#define PACK(NAME, W)                                                                              \
    static size_t NAME(const W *x, size_t n, W fill, uint8_t *skip, W *y)                          \
    {                                                                                              \
        size_t k = 0;                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            W v = x[i];                                                                            \
            y[k] = v;                                                                              \
            skip[i] = v == fill;                                                                   \
            k += v != fill;                                                                        \
        }                                                                                          \
        return k;                                                                                  \
    }                                                                                              \
    static void un##NAME(const W *y, size_t n, W fill, const uint8_t *skip, W *x)                  \
    {                                                                                              \
        size_t k = 0;                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            if (skip[i])                                                                           \
                x[i] = fill;                                                                       \
            else                                                                                   \
                x[i] = y[k++];                                                                     \
        }                                                                                          \
    }

PACK(pack4, uint32_t)
PACK(pack8, uint64_t)

size_t sk_mask_pack(const void *x, size_t n, size_t word, uint64_t fill, uint8_t *skip, void *y)
{
    return word == 4 ? pack4(x, n, (uint32_t)fill, skip, y) : pack8(x, n, fill, skip, y);
}

void sk_mask_unpack(const void *y, size_t n, size_t word, uint64_t fill, const uint8_t *skip,
                    void *x)
{
    if (word == 4)
        unpack4(y, n, (uint32_t)fill, skip, x);
    else
        unpack8(y, n, fill, skip, x);
}

static size_t lag_of(const struct sk_shape *s, int which)
{
    return which ? s->stride[which] : s->total;
}

/* d[i] = 1 where the mask differs from what is expected: the value a lag before, near the start the
 * one before it. Returns how many. */
static size_t differences(const uint8_t *m, size_t n, size_t lag, uint8_t *d)
{
    size_t sum = 0, start = lag < n ? lag : n;
    if (n)
        d[0] = m[0];
    for (size_t i = 1; i < start; i++)
        d[i] = m[i] ^ m[i - 1];
    for (size_t i = start; i < n; i++)
        d[i] = m[i] ^ m[i - lag];
    for (size_t at = 0; at < n;
         at += 128) { /* sums of few bytes fit a byte: this is how a compiler makes vectors */
        size_t end = n - at < 128 ? n : at + 128;
        uint8_t part = 0;
        for (size_t i = at; i < end; i++)
            part = (uint8_t)(part + d[i]);
        sum += part;
    }
    return sum;
}

/* Lengths of runs without a difference, as classes and bits. */
struct runs {
    uint8_t *class;
    size_t n;
    struct sk_bits_out bits;
};

static void put_run(struct runs *r, uint64_t length)
{
    unsigned l = 64 - (unsigned)__builtin_clzll(length);
    r->class[r->n++] = (uint8_t)(l < 2 ? 1 : 2 * l - 2 + (length >> (l - 2) & 1));
    if (l > 2)
        sk_bits_put(&r->bits, length & (((uint64_t)1 << (l - 2)) - 1), l - 2);
}

/* Runs between the ones of d. */
static void put_runs(struct runs *r, const uint8_t *d, size_t n)
{
    size_t last = 0, i = 0;
    while (i < n) {
        uint64_t eight = 1;
        if (n - i >= 8)
            memcpy(&eight, d + i, 8);
        if (!eight) {
            i += 8;
            continue;
        }
        if (d[i]) {
            put_run(r, i + 1 - last);
            last = i + 1;
        }
        i++;
    }
    put_run(r, n + 1 - last);
}

void sk_mask_put(struct sk_buf *b, const struct sk_shape *s, const uint8_t *skip)
{
    int which = 0;
    size_t n = s->total;
    struct runs r = {0};
    uint8_t *d = malloc(n + 1), *raw = NULL;
    if (!d)
        goto out;
    size_t count = differences(skip, n, n, d), least = count;
    for (int k = 1; k < s->axes; k++) {
        size_t c = differences(skip, n, s->stride[k], d);
        if (c < least)
            least = c, which = k;
    }
    differences(skip, n, lag_of(s, which), d);
    raw = malloc((least + 1) * 8 + 16);
    r.class = malloc(least + 1);
    if (!raw || !r.class)
        goto out;
    r.bits.p = raw;
    put_runs(&r, d, n);
    size_t bytes = (size_t)(sk_bits_end(&r.bits) - raw);
    sk_buf_put_u8(b, (uint8_t)which);
    sk_buf_put_u64(b, r.n);
    sk_buf_put_u64(b, bytes);
    sk_buf_put(b, raw, bytes);
    struct sk_class_plane p = {.n = r.n};
    sk_class_lags(&p, 0, 0);
    sk_classes_encode(&p, r.class, b);
out:
    if (!raw || !r.class)
        b->failed = 1;
    free(d);
    free(raw);
    free(r.class);
}

static int put_mask(uint8_t *skip, size_t n, size_t lag, const uint8_t *class, size_t count,
                    struct sk_bits_in *bits)
{
    size_t at = 0;
    for (size_t k = 0; k < count; k++) {
        unsigned c = class[k], l = c < 2 ? 1 : c / 2 + 1;
        if (!c)
            return -1;
        uint64_t length = c < 2 ? 1 : (uint64_t)(2 | (c & 1)) << (l - 2);
        length |= l > 2 ? sk_bits_get(bits, l - 2) : 0;
        if (length > n + 1 - at)
            return -1;
        for (size_t end = at + length; at < end && at < n; at++)
            skip[at] = (uint8_t)(at >= lag ? skip[at - lag]
                                 : at      ? skip[at - 1]
                                           : 0) ^
                       (at + 1 == end);
        if (at == n)
            return k + 1 == count || (k + 2 == count && class[k + 1] == 1) ? 0 : -1;
    }
    return -1;
}

int sk_mask_get(struct sk_rd *r, const struct sk_shape *s, uint8_t *skip)
{
    int which = sk_rd_u8(r), rc = -1;
    uint64_t count = sk_rd_u64(r), bytes = sk_rd_u64(r), need = 0;
    uint8_t *class = NULL;
    if (r->bad || which >= s->axes || count > s->total + 1 || bytes > sk_rd_left(r))
        return -1;
    const uint8_t *raw = sk_rd_bytes(r, (size_t)bytes);
    struct sk_class_plane p = {.n = (size_t)count};
    sk_class_lags(&p, 0, 0);
    class = malloc((size_t)count + 1);
    if (!class)
        rc = SAIKAI_ENOMEM;
    if (!raw || !class)
        goto out;
    int classes = sk_classes_decode(&p, r, class);
    if (classes) {
        rc = classes;
        goto out;
    }
    for (size_t k = 0; k < count; k++)
        need += class[k] > 3 ? class[k] / 2 - 1u : 0;
    /* the class stream behind the bits is longer than the reader looks ahead */
    struct sk_bits_in bits = {.p = raw};
    if ((need + 7) / 8 == bytes)
        rc = put_mask(skip, s->total, lag_of(s, which), class, (size_t)count, &bits);
out:
    free(class);
    return rc;
}
