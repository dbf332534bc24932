/* The direct body: the exponent and the first bit of the mantissa are the class, the rest of the
 * mantissa and the sign plain bits. Particle velocities, white noise.
 *
 * Bytes: u16 lowest exponent | u64 size of the plain bits | the plain bits | classes. Exponents
 * below the lowest that has a class (class 0) are kept with all their bits. */
#include "codec/lossless/predict/predict.h"

#include <math.h>
#include <stdlib.h>

struct layout {
    unsigned width;    /* bits of a value after the shift */
    unsigned mantissa; /* of them */
    unsigned exponents;
};

static int layout_of(const struct sk_plan *p, struct layout *l)
{
    unsigned full = p->word == 4 ? 23 : 52;
    if (p->shift + 1 > full)
        return -1;
    *l = (struct layout){8 * (unsigned)p->word - p->shift, full - p->shift,
                         p->word == 4 ? 0xff : 0x7ff};
    return 0;
}

static uint64_t value_at(const struct sk_plan *p, const void *x, size_t i)
{
    return (p->word == 4 ? ((const uint32_t *)x)[i] : ((const uint64_t *)x)[i]) >> p->shift;
}

static inline unsigned class_of(uint64_t b, const struct layout *l, unsigned lowest)
{
    unsigned e = (unsigned)(b >> l->mantissa) & l->exponents;
    return e <= lowest ? 0 : 2 * (e - lowest) + ((unsigned)(b >> (l->mantissa - 1)) & 1);
}

/* The largest exponent has the highest class. */
static unsigned lowest_of(const struct sk_plan *p, const struct layout *l, const void *x,
                          size_t step)
{
    unsigned most = 0;
    for (size_t i = 0; i < p->shape.total; i += step) {
        unsigned e = (unsigned)(value_at(p, x, i) >> l->mantissa) & l->exponents;
        most = e > most ? e : most;
    }
    return most > 63 ? most - 63 : 0;
}

double sk_direct_cost(const struct sk_plan *p, const void *x)
{
    struct layout l;
    uint32_t h[SK_CLASSES] = {0};
    double bits = 0, n = 0;
    size_t step = p->shape.total / 4096 + 1;
    if (layout_of(p, &l))
        return INFINITY;
    unsigned lowest = lowest_of(p, &l, x, step);
    for (size_t i = 0; i < p->shape.total; i += step, n++)
        h[class_of(value_at(p, x, i), &l, lowest)]++;
    for (unsigned c = 0; c < SK_CLASSES; c++)
        if (h[c])
            bits += h[c] * ((c ? l.mantissa : l.width) + log2(n / h[c]));
    return bits / n;
}

int sk_direct_encode(const struct sk_plan *p, const void *x, struct sk_buf *out)
{
    struct layout l;
    size_t n = p->shape.total;
    uint8_t *class = malloc(n + 1), *raw = NULL;
    if (!class || layout_of(p, &l))
        goto out;
    unsigned lowest = lowest_of(p, &l, x, 1);
    sk_buf_put_u16(out, (uint16_t)lowest);
    size_t at = out->len;
    raw = sk_buf_extend(out, 8 + n * p->word + 16);
    if (!raw)
        goto out;
    struct sk_bits_out bits = {.p = raw + 8};
    uint64_t below = ((uint64_t)1 << (l.mantissa - 1)) - 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t b = value_at(p, x, i), sign = b >> (l.width - 1);
        unsigned c = class_of(b, &l, lowest);
        class[i] = (uint8_t)c;
        if (c)
            sk_bits_put(&bits, (b & below) << 1 | sign, l.mantissa);
        else
            sk_bits_put(&bits, b, l.width);
    }
    uint64_t bytes = (uint64_t)(sk_bits_end(&bits) - raw - 8);
    memcpy(raw, &bytes, 8);
    out->len = at + 8 + (size_t)bytes;
    struct sk_class_plane plane = sk_class_plane_of(p, NULL);
    sk_classes_encode(&plane, class, out);
out:
    if (!raw)
        out->failed = 1;
    free(class);
    return sk_buf_ok(out) ? 0 : -1;
}

/* 1: classes are possible, and their plain bits are so many bytes. */
static int right(const struct layout *l, unsigned lowest, const uint8_t *class, size_t n, uint64_t bytes)
{
    uint64_t zeros = 0;
    unsigned ones = 0, most = 0;
    for (size_t at = 0; at < n; at += 128) { /* in numbers that vectors have many of */
        size_t end = n - at < 128 ? n : at + 128;
        uint8_t none = 0;
        for (size_t i = at; i < end; i++)
            none = (uint8_t)(none + !class[i]);
        zeros += none;
    }
    for (size_t i = 0; i < n; i++) {
        ones |= class[i] == 1;
        most = class[i] > most ? class[i] : most;
    }
    return !ones && lowest + most / 2 <= l->exponents && (zeros * l->width + (n - zeros) * l->mantissa + 7) / 8 == bytes;
}

/* Values of n classes, none of which is 0: each has the same number of bits, so that none waits for the one before it. */
#define GET_VALUES(NAME, W)                                                                                                     \
    static void NAME(struct sk_bits_in *from, const uint8_t *class, size_t n, const struct layout *l, unsigned lowest,          \
                     unsigned shift, W *x)                                                                                      \
    {                                                                                                                           \
        const uint8_t *p = from->p;                                                                                             \
        const uint64_t at = from->at, below = ((uint64_t)1 << l->mantissa) - 1;                                                 \
        const unsigned mantissa = l->mantissa, sign = l->width - 1;                                                             \
        for (size_t i = 0; i < n; i++) {                                                                                        \
            uint64_t bit = at + i * mantissa, b;                                                                                \
            memcpy(&b, p + (bit >> 3), 8);                                                                                      \
            b = b >> (bit & 7) & below;                                                                                         \
            b = b >> 1 | (uint64_t)(class[i] + 2 * lowest) << (mantissa - 1) | (b & 1) << sign;                                 \
            x[i] = (W)(b << shift);                                                                                             \
        }                                                                                                                       \
        from->at += n * mantissa;                                                                                               \
    }

GET_VALUES(get_values4, uint32_t)
GET_VALUES(get_values8, uint64_t)

static void get_values(struct sk_bits_in *bits, const uint8_t *class, size_t n, const struct layout *l, unsigned lowest,
                       const struct sk_plan *p, void *x, size_t at)
{
    if (p->word == 4)
        get_values4(bits, class, n, l, lowest, p->shift, (uint32_t *)x + at);
    else
        get_values8(bits, class, n, l, lowest, p->shift, (uint64_t *)x + at);
}

int sk_direct_decode(const struct sk_plan *p, struct sk_rd *in, void *x)
{
    struct layout l;
    size_t n = p->shape.total;
    uint8_t *class = malloc(n + 1);
    int rc = class ? -1 : SAIKAI_ENOMEM;
    if (!class || layout_of(p, &l))
        goto out;
    unsigned lowest = sk_rd_u16(in);
    uint64_t bytes = sk_rd_u64(in);
    const uint8_t *raw = bytes <= sk_rd_left(in) ? sk_rd_bytes(in, (size_t)bytes) : NULL;
    struct sk_class_plane plane = sk_class_plane_of(p, NULL);
    if (!raw || lowest > l.exponents)
        goto out;
    rc = sk_classes_decode(&plane, in, class);
    if (rc)
        goto out;
    rc = -1;
    if (!right(&l, lowest, class, n, bytes))
        goto out;
    struct sk_bits_in bits = {.p = raw};
    for (size_t i = 0; i < n;) {
        const uint8_t *zero = memchr(class + i, 0, n - i);
        size_t even = zero ? (size_t)(zero - class) - i : n - i;
        get_values(&bits, class + i, even, &l, lowest, p, x, i);
        i += even;
        if (i == n)
            break;
        uint64_t b = sk_bits_get(&bits, l.width) << p->shift;
        if (p->word == 4)
            ((uint32_t *)x)[i++] = (uint32_t)b;
        else
            ((uint64_t *)x)[i++] = b;
    }
    rc = 0;
out:
    free(class);
    return rc;
}
