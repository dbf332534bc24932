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

static struct sk_class_plane plane_of(const struct sk_plan *p)
{
    struct sk_class_plane c = {.n = p->shape.total};
    sk_class_lags(&c, p->shape.axes > 1 ? p->shape.stride[1] : 0,
                  p->shape.axes > 2 ? p->shape.stride[2] : 0);
    return c;
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
    struct sk_class_plane plane = plane_of(p);
    sk_classes_encode(&plane, class, out);
out:
    if (!raw)
        out->failed = 1;
    free(class);
    return sk_buf_ok(out) ? 0 : -1;
}

int sk_direct_decode(const struct sk_plan *p, struct sk_rd *in, void *x)
{
    struct layout l;
    size_t n = p->shape.total;
    uint64_t need = 0;
    uint8_t *class = malloc(n + 1);
    int rc = class ? -1 : SAIKAI_ENOMEM;
    if (!class || layout_of(p, &l))
        goto out;
    unsigned lowest = sk_rd_u16(in);
    uint64_t bytes = sk_rd_u64(in);
    const uint8_t *raw = bytes <= sk_rd_left(in) ? sk_rd_bytes(in, (size_t)bytes) : NULL;
    struct sk_class_plane plane = plane_of(p);
    if (!raw || lowest > l.exponents)
        goto out;
    rc = sk_classes_decode(&plane, in, class);
    if (rc)
        goto out;
    rc = -1;
    for (size_t i = 0; i < n; i++) {
        need += class[i] ? l.mantissa : l.width;
        if (class[i] == 1 || lowest + class[i] / 2 > l.exponents)
            goto out;
    }
    if ((need + 7) / 8 != bytes)
        goto out;
    struct sk_bits_in bits = {.p = raw};
    for (size_t i = 0; i < n; i++) {
        unsigned c = class[i];
        uint64_t b = sk_bits_get(&bits, c ? l.mantissa : l.width);
        if (c)
            b = b >> 1 | (uint64_t)(c & 1) << (l.mantissa - 1) |
                (uint64_t)(lowest + c / 2) << l.mantissa | (b & 1) << (l.width - 1);
        b <<= p->shift;
        if (p->word == 4)
            ((uint32_t *)x)[i] = (uint32_t)b;
        else
            ((uint64_t *)x)[i] = b;
    }
    rc = 0;
out:
    free(class);
    return rc;
}
