/* Whole numbers as floating-point ones and back, or by zstd where that is as small: it is decoded faster.
 *
 * Bytes: u8 form | RAW: the array's bytes; LZ, SHUFFLED: a zstd frame; else the base (sign lowest) and what divides all, as numbers (number.h), and a
 * piece of single or double precision values. */
#include "codec/lossless/within/whole.h"

#include "base/error.h"
#include "base/types.h"
#include "codec/lossless/within/lz.h"
#include "codec/lossless/within/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RAW = 0, LZ = 1, SHUFFLED = 2, SINGLES = 3, DOUBLES = 4 };

#define MOST_SINGLE ((uint64_t)1 << 22) /* distances from the base that values have at most */
#define MOST_DOUBLE ((uint64_t)1 << 49)

/* How numbers are seen: x = base + divisor * value, modulo 2^64. */
struct view {
    uint64_t base, divisor;
    uint64_t most; /* the largest magnitude of a value */
};

/* ---- elements of each type: as 64 bits, and as values ---- */

/* The i-th number, those with a sign as others of 64 bits. */
static inline uint64_t number_at(int type, const void *x, size_t i)
{
    switch (type) {
    case SAIKAI_U8:
        return ((const uint8_t *)x)[i];
    case SAIKAI_I8:
        return (uint64_t)(int64_t)((const int8_t *)x)[i];
    case SAIKAI_U16:
        return ((const uint16_t *)x)[i];
    case SAIKAI_I16:
        return (uint64_t)(int64_t)((const int16_t *)x)[i];
    case SAIKAI_U32:
        return ((const uint32_t *)x)[i];
    case SAIKAI_I32:
        return (uint64_t)(int64_t)((const int32_t *)x)[i];
    default:
        return ((const uint64_t *)x)[i];
    }
}

/* What makes the order of unsigned 64 bits that of the type's numbers. */
static inline uint64_t turn_of(int type)
{
    return type == SAIKAI_U64 ? 0 : (uint64_t)1 << 63;
}

/* One loop for each type: F(type) is compiled with a type that is known. */
#define EACH_TYPE(type, F) \
    switch (type) {        \
    case SAIKAI_U8:        \
        F(SAIKAI_U8);      \
        break;             \
    case SAIKAI_I8:        \
        F(SAIKAI_I8);      \
        break;             \
    case SAIKAI_U16:       \
        F(SAIKAI_U16);     \
        break;             \
    case SAIKAI_I16:       \
        F(SAIKAI_I16);     \
        break;             \
    case SAIKAI_U32:       \
        F(SAIKAI_U32);     \
        break;             \
    case SAIKAI_I32:       \
        F(SAIKAI_I32);     \
        break;             \
    default:               \
        F(SAIKAI_I64);     \
    }

/* Its type is known where this is compiled into a loop. */
static inline __attribute__((always_inline)) void put_number(int type, void *x, size_t i, uint64_t v)
{
    if (type == SAIKAI_U8 || type == SAIKAI_I8)
        ((uint8_t *)x)[i] = (uint8_t)v;
    else if (type == SAIKAI_U16 || type == SAIKAI_I16)
        ((uint16_t *)x)[i] = (uint16_t)v;
    else if (type == SAIKAI_U32 || type == SAIKAI_I32)
        ((uint32_t *)x)[i] = (uint32_t)v;
    else
        ((uint64_t *)x)[i] = v;
}

/* The least and the largest, in the order of the type. */
static void range_of(int type, const void *x, size_t n, uint64_t *least, uint64_t *most)
{
    const uint64_t turn = turn_of(type);
    uint64_t low = UINT64_MAX, high = 0;
#define RANGE(t)                                          \
    for (size_t i = 0; i < n; i++) {                      \
        uint64_t v = number_at(t, x, i) ^ turn;           \
        low = v < low ? v : low;                          \
        high = v > high ? v : high;                       \
    }
    EACH_TYPE(type, RANGE)
#undef RANGE
    *least = low;
    *most = high;
}

static void to_floats(int type, const void *x, size_t n, const struct view *v, void *y, int doubles)
{
    const uint64_t base = v->base;
    const int64_t divisor = (int64_t)v->divisor;
    float *f = y;
    double *d = y;
#define FLOATS(t)                                                                        \
    if (divisor != 1)                                                                    \
        for (size_t i = 0; i < n; i++) {                                                 \
            int64_t k = (int64_t)(number_at(t, x, i) - base) / divisor;                  \
            if (doubles)                                                                 \
                d[i] = (double)k;                                                        \
            else                                                                         \
                f[i] = (float)k;                                                         \
        }                                                                                \
    else if (doubles)                                                                    \
        for (size_t i = 0; i < n; i++)                                                   \
            d[i] = (double)(int64_t)(number_at(t, x, i) - base);                         \
    else                                                                                 \
        for (size_t i = 0; i < n; i++)                                                   \
            f[i] = (float)(int32_t)(uint32_t)(number_at(t, x, i) - base);
    EACH_TYPE(type, FLOATS)
#undef FLOATS
}

/* The whole number that a value is, and of what a damaged piece made of it some number: without a conversion that vectors do not have. */
static inline uint64_t whole_of_double(double d)
{
    uint64_t bits;
    d = d >= -0x1p50 ? d : -0x1p50; /* NaN too */
    d = (d < 0x1p50 ? d : 0x1p50) + 0x1.8p52;
    memcpy(&bits, &d, sizeof bits);
    return (bits & (((uint64_t)1 << 52) - 1)) - ((uint64_t)1 << 51);
}

static inline uint32_t whole_of_single(float f)
{
    f = f >= -0x1p24f ? f : -0x1p24f;
    return (uint32_t)(int32_t)(f < 0x1p24f ? f : 0x1p24f);
}

static inline __attribute__((always_inline)) void from_singles(int type, void *x, size_t n, const struct view *v, const float *f)
{
    const uint64_t base = v->base, divisor = v->divisor;
    const uint32_t low = (uint32_t)base, by = (uint32_t)divisor;
    if (type == SAIKAI_I64) /* as long as any, and U64 with it */
        for (size_t i = 0; i < n; i++)
            put_number(type, x, i, base + divisor * (uint64_t)(int64_t)(int32_t)whole_of_single(f[i]));
    else if (by == 1)
        for (size_t i = 0; i < n; i++)
            put_number(type, x, i, low + whole_of_single(f[i]));
    else
        for (size_t i = 0; i < n; i++)
            put_number(type, x, i, low + by * whole_of_single(f[i]));
}

static inline __attribute__((always_inline)) void from_doubles(int type, void *x, size_t n, const struct view *v, const double *d)
{
    const uint64_t base = v->base, divisor = v->divisor;
    if (divisor == 1)
        for (size_t i = 0; i < n; i++)
            put_number(type, x, i, base + whole_of_double(d[i]));
    else
        for (size_t i = 0; i < n; i++)
            put_number(type, x, i, base + divisor * whole_of_double(d[i]));
}

static void from_floats(int type, void *x, size_t n, const struct view *v, const void *y, int doubles)
{
#define WHOLE(t)                       \
    if (doubles)                       \
        from_doubles(t, x, n, v, y);   \
    else                               \
        from_singles(t, x, n, v, y);
    EACH_TYPE(type, WHOLE)
#undef WHOLE
}

/* ---- the view ---- */

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* One of the numbers, in the middle of them; and what divides the differences of some. */
static void look(int type, const void *x, size_t n, struct view *v)
{
    enum { SOME = 255 };
    uint64_t some[SOME];
    const uint64_t turn = turn_of(type);
    size_t m = n < SOME ? n : SOME;
    for (size_t k = 0; k < m; k++)
        some[k] = number_at(type, x, (size_t)((double)n * ((double)k + 0.5) / (double)m)) ^ turn;
    qsort(some, m, sizeof *some, by_size);
    v->base = some[m / 2] ^ turn;
    v->divisor = 0;
    for (size_t k = 1; k < m && v->divisor != 1; k++)
        v->divisor = sk_common_divisor(some[k] - some[k - 1], v->divisor);
}

static int divides_all(int type, const void *x, size_t n, const struct view *v)
{
    uint64_t rest = 0;
    for (size_t i = 0; i < n && !rest; i++) {
        uint64_t d = number_at(type, x, i) - v->base;
        rest = ((int64_t)d < 0 ? 0 - d : d) % v->divisor;
    }
    return !rest;
}

/* 0: numbers are so far from each other that they are no values. */
static int find_view(int type, const void *x, size_t n, struct view *v)
{
    uint64_t least, most, turn = turn_of(type);
    range_of(type, x, n, &least, &most);
    look(type, x, n, v);
    v->most = most - (v->base ^ turn) > (v->base ^ turn) - least ? most - (v->base ^ turn) : (v->base ^ turn) - least;
    if (v->most >> 62)
        return 0;
    if (v->divisor < 2 || v->divisor >> 62 || !divides_all(type, x, n, v))
        v->divisor = 1;
    v->most /= v->divisor;
    return v->most < MOST_DOUBLE;
}

/* ---- forms ---- */

static struct sk_array array_of(const struct sk_array *a, int doubles)
{
    struct sk_array floats = *a;
    floats.type = doubles ? SAIKAI_F64 : SAIKAI_F32;
    floats.ndims += !a->ndims && a->type == SAIKAI_U8; /* so many bytes */
    return floats;
}

/* Bytes that zstd is thought to take, by some stretches. */
static double lz_thought(const struct sk_words *l, const uint8_t *x, int *form)
{
    enum { STRETCHES = 3, EACH = 4096 };
    double plain = 0, shuffled = 0;
    struct sk_words some = {.word = l->word, .words = l->words < EACH ? l->words : EACH};
    for (size_t k = 0; k < STRETCHES; k++) {
        const uint8_t *at = x + (l->words - some.words) / 2 * k * l->word;
        plain += sk_lz_cost(&some, at, 0) / STRETCHES;
        shuffled += l->word > 1 ? sk_lz_cost(&some, at, 1) / STRETCHES : INFINITY;
    }
    *form = plain < shuffled ? LZ : SHUFFLED;
    return fmin(plain, shuffled) / 8 * (double)l->words;
}

/* *made is more than n where numbers do not take less. */
static int encode_numbers(const struct sk_whole_ops *ops, const struct sk_array *a, const void *in, size_t n, int level, uint8_t *out, size_t *made)
{
    struct view v;
    size_t size = sk_type_size(a->type), count = n / size;
    *made = n + 1;
    if (!find_view(a->type, in, count, &v))
        return 0;
    const int doubles = v.most >= MOST_SINGLE;
    const struct sk_array floats = array_of(a, doubles);
    const size_t word = doubles ? sizeof(double) : sizeof(float);
    void *x = malloc(count * word);
    uint8_t *piece = malloc(count * word + 1);
    struct sk_buf head = {0};
    sk_buf_put_u8(&head, doubles ? DOUBLES : SINGLES);
    sk_number_put(&head, v.base << 1 ^ (0 - (v.base >> 63)));
    sk_number_put(&head, v.divisor);
    int rc = x && piece && sk_buf_ok(&head) ? 0 : -1;
    if (!rc) {
        size_t some = 0;
        to_floats(a->type, in, count, &v, x, doubles);
        rc = ops->encode(&floats, x, level, piece, &some);
        if (!rc && head.len + some <= n) {
            memcpy(out, head.data, head.len);
            memcpy(out + head.len, piece, some);
            *made = head.len + some;
        }
    }
    sk_buf_free(&head);
    free(x);
    free(piece);
    return rc;
}

/* By zstd in place of what was made, where that takes hardly more. */
static int try_lz(const struct sk_words *l, const void *in, int form, int level, uint8_t *out, size_t *made)
{
    const double worth = 1.02;
    const size_t n = l->words * l->word, cap = fmin(worth * (double)*made, (double)n) - 1;
    uint8_t *tmp = malloc(cap);
    if (!tmp)
        return -1;
    size_t less = sk_lz_encode(l, in, form == SHUFFLED, level, tmp, cap);
    if (less <= cap) {
        out[0] = (uint8_t)form;
        memcpy(out + 1, tmp, less);
        *made = less + 1;
    }
    free(tmp);
    return 0;
}

int sk_whole_encode(const struct sk_whole_ops *ops, const struct sk_array *a, const void *in, size_t n, int level, uint8_t *out, size_t *made)
{
    enum { HARDLY_VARIES = 12 }; /* times smaller: repeats may be farther apart than what is looked at */
    const double hardly_more = 0.95;
    const struct sk_words l = {.word = sk_type_size(a->type), .words = n / sk_type_size(a->type)};
    int form = LZ, rc = encode_numbers(ops, a, in, n, level, out, made);
    double thought = rc || n <= 64 ? INFINITY : lz_thought(&l, in, &form);
    if (thought < INFINITY && (hardly_more * thought < (double)*made || *made < n / HARDLY_VARIES))
        rc = try_lz(&l, in, form, level, out, made);
    if (!rc && *made > n) {
        out[0] = RAW;
        memcpy(out + 1, in, n);
        *made = n + 1;
    }
    return rc;
}

static int decode_numbers(const struct sk_whole_ops *ops, const struct sk_array *a, int doubles, struct sk_rd *r, void *out, size_t bytes)
{
    size_t count = bytes / sk_type_size(a->type);
    const struct sk_array floats = array_of(a, doubles);
    uint64_t base = sk_number_get(r);
    const struct view v = {.base = base >> 1 ^ (0 - (base & 1)), .divisor = sk_number_get(r)};
    if (r->bad || count > SIZE_MAX / sizeof(double))
        return -1;
    void *y = malloc(count * (doubles ? sizeof(double) : sizeof(float)));
    int rc = y ? ops->decode(&floats, r->p, sk_rd_left(r), y) : SAIKAI_ENOMEM;
    if (!rc)
        from_floats(a->type, out, count, &v, y, doubles);
    free(y);
    return rc;
}

int sk_whole_decode(const struct sk_whole_ops *ops, const struct sk_array *a, const uint8_t *in, size_t n, void *out, size_t bytes)
{
    const struct sk_words l = {.word = sk_type_size(a->type), .words = bytes / sk_type_size(a->type)};
    struct sk_rd r = sk_rd_init(in, n);
    int form = sk_rd_u8(&r);
    if (r.bad || form > DOUBLES)
        return -1;
    if (form >= SINGLES)
        return decode_numbers(ops, a, form == DOUBLES, &r, out, bytes);
    if (form != RAW)
        return sk_lz_decode(&l, r.p, sk_rd_left(&r), form == SHUFFLED, out);
    if (sk_rd_left(&r) != bytes)
        return -1;
    memcpy(out, r.p, bytes);
    return 0;
}
