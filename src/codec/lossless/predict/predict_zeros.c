/* Zeros that have a sign, among values on a grid: rounding to whole numbers or decimals leaves them, and no grid has one. They are coded as 0, and
 * their signs, of the zeros alone, apart.
 *
 * Bytes: u64 zeros | u8 form | nothing more where all have a sign, a bit each, or a mask as that of a fill value, of one row. */
#include "codec/lossless/predict/predict.h"

#include <math.h>
#include <stdlib.h>

#define SOME   1024 /* values that are looked at together */
#define PLACES 16
#define FILL   1e15 /* what fills regions without data is larger, or not finite */

enum { ALL = 0, BITS = 1, MASK = 2 };

static int is_zero(const void *x, size_t word, size_t i, int *negative)
{
    uint64_t b = word == 4 ? (uint64_t)((const uint32_t *)x)[i] << 32 : ((const uint64_t *)x)[i];
    *negative = b >> 63 != 0;
    return !(b << 1);
}

static void set_zero(void *x, size_t word, size_t i, int negative)
{
    if (word == 4)
        ((uint32_t *)x)[i] = (uint32_t)negative << 31;
    else
        ((uint64_t *)x)[i] = (uint64_t)negative << 63;
}

/* Some values as they will be without signs, and without what is no data. */
static void copy_some(const void *x, size_t word, size_t n, void *y)
{
    for (size_t i = 0; i < n; i++) {
        double v = word == 4 ? (double)((const float *)x)[i] : ((const double *)x)[i];
        if (v == 0 || !(fabs(v) < FILL))
            set_zero(y, word, i, 0);
        else
            memcpy((uint8_t *)y + i * word, (const uint8_t *)x + i * word, word);
    }
}

int sk_zeros_on_grid(const struct sk_plan *p, const void *x)
{
    uint64_t y[SOME];
    const size_t n = p->shape.total;
    int on = 0;
    for (size_t k = 0; n >= SOME && k < PLACES; k++) {
        struct sk_scale scale;
        copy_some((const uint8_t *)x + (n - SOME) / (PLACES - 1) * k * p->word, p->word, SOME, y);
        sk_grid_find(p, y, SOME, &scale);
        on += scale.step != 0;
    }
    return on >= PLACES / 4;
}

/* One row of zeros. */
static struct sk_shape row_of(size_t n)
{
    return (struct sk_shape){.axes = 1, .n = {n, 1, 1, 1}, .stride = {1, n, n, n}, .total = n};
}

/* In the form that takes the fewest bytes. */
static void put_signs(const uint8_t *sign, size_t zeros, struct sk_buf *b)
{
    const struct sk_shape row = row_of(zeros);
    const size_t all = (zeros + 7) / 8;
    struct sk_buf mask = {0};
    sk_buf_put_u64(b, zeros);
    if (!memchr(sign, 0, zeros)) {
        sk_buf_put_u8(b, ALL);
        return;
    }
    sk_mask_put(&mask, &row, sign);
    if (!sk_buf_ok(&mask) || mask.len >= all) {
        sk_buf_put_u8(b, BITS);
        uint8_t *bits = sk_buf_extend(b, all);
        if (bits)
            memset(bits, 0, all);
        for (size_t i = 0; bits && i < zeros; i++)
            bits[i / 8] = (uint8_t)(bits[i / 8] | sign[i] << i % 8);
    } else {
        sk_buf_put_u8(b, MASK);
        sk_buf_put(b, mask.data, mask.len);
    }
    sk_buf_free(&mask);
}

int sk_zeros_take(const void *x, size_t n, size_t word, void *y, struct sk_buf *signs)
{
    size_t zeros = 0;
    int negative;
    uint8_t *sign = malloc(n);
    if (!sign)
        return -1;
    memcpy(y, x, n * word);
    for (size_t i = 0; i < n; i++)
        if (is_zero(x, word, i, &negative)) {
            set_zero(y, word, i, 0);
            sign[zeros++] = (uint8_t)negative;
        }
    put_signs(sign, zeros, signs);
    free(sign);
    return sk_buf_ok(signs) ? 0 : -1;
}

int sk_zeros_get(struct sk_rd *r, size_t n, uint8_t **sign, size_t *zeros)
{
    uint64_t count = sk_rd_u64(r);
    int form = sk_rd_u8(r);
    if (r->bad || !count || count > n || form > MASK)
        return -1;
    const struct sk_shape row = row_of((size_t)count);
    const size_t all = (size_t)(count + 7) / 8;
    const uint8_t *bits = form == BITS && all <= sk_rd_left(r) ? sk_rd_bytes(r, all) : NULL;
    if (form == BITS && !bits)
        return -1;
    *zeros = (size_t)count;
    *sign = malloc(*zeros);
    if (!*sign)
        return SAIKAI_ENOMEM;
    if (form == MASK)
        return sk_mask_get(r, &row, *sign);
    for (size_t i = 0; i < *zeros; i++)
        (*sign)[i] = bits ? bits[i / 8] >> i % 8 & 1 : 1;
    return 0;
}

int sk_zeros_put(void *x, size_t n, size_t word, const uint8_t *sign, size_t zeros)
{
    size_t k = 0;
    int negative;
    for (size_t i = 0; i < n; i++) {
        if (!is_zero(x, word, i, &negative))
            continue;
        if (k == zeros || negative)
            return -1;
        set_zero(x, word, i, sign[k++]);
    }
    return k == zeros ? 0 : -1;
}
