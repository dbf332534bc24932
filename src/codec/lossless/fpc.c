/* FPC: lossless compression of doubles (and floats) by two value predictors.
 *
 * Source: M. Burtscher, P. Ratanaworabhan, "High throughput compression of double-precision
 * floating-point data" (DCC 2007) and "FPC: a high-speed compressor for double-precision
 * floating-point data" (IEEE Trans. Computers 58(1), 2009), sections 3 and 4: a finite-context
 * predictor (FCM) and a differential one (DFCM), each a hash table of 2^level entries; the
 * prediction that shares more leading zero bytes after XOR is named by one bit, the number of zero
 * bytes by three (eight doubles' counts into 0…7 by giving up 4), two values' codes to a byte, then
 * the other bytes. For floats the same with four bytes and hashes of matching width.
 *
 * A piece: u8 level | ceil(n/2) bytes of codes | the bytes that are left, lowest first. */
#include "codec/lossless/lossless.h"
#include "codec/array.h"

#include "base/types.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LEVEL 16
#define MAX_LEVEL     24

/* FCM hashes the upper bits of values, DFCM those of differences, so that near values fall
 * together. */
#define FPC(NAME, W, BITS, FCM_SHIFT, FCM_DROP, DFCM_SHIFT, DFCM_DROP, CLZ)                        \
    struct NAME {                                                                                  \
        W *fcm, *dfcm;                                                                             \
        size_t mask, h1, h2;                                                                       \
        W last;                                                                                    \
    };                                                                                             \
    static inline void NAME##_predict(const struct NAME *p, W guess[2])                            \
    {                                                                                              \
        guess[0] = p->fcm[p->h1];                                                                  \
        guess[1] = p->dfcm[p->h2] + p->last;                                                       \
    }                                                                                              \
    static inline void NAME##_learn(struct NAME *p, W v)                                           \
    {                                                                                              \
        W d = v - p->last;                                                                         \
        p->fcm[p->h1] = v;                                                                         \
        p->h1 = ((p->h1 << FCM_SHIFT) ^ (size_t)(v >> FCM_DROP)) & p->mask;                        \
        p->dfcm[p->h2] = d;                                                                        \
        p->h2 = ((p->h2 << DFCM_SHIFT) ^ (size_t)(d >> DFCM_DROP)) & p->mask;                      \
        p->last = v;                                                                               \
    }                                                                                              \
    static size_t NAME##_encode(struct NAME *p, const uint8_t *in, size_t n, uint8_t *codes,       \
                                uint8_t *rest)                                                     \
    {                                                                                              \
        uint8_t *start = rest;                                                                     \
        for (size_t i = 0; i < n; i++) {                                                           \
            W v, guess[2];                                                                         \
            memcpy(&v, in + i * sizeof v, sizeof v);                                               \
            NAME##_predict(p, guess);                                                              \
            NAME##_learn(p, v);                                                                    \
            W x = v ^ guess[0], y = v ^ guess[1];                                                  \
            unsigned which = y < x;                                                                \
            x = which ? y : x;                                                                     \
            unsigned zeros = x ? (unsigned)CLZ(x) / 8 : BITS / 8;                                  \
            unsigned code = BITS == 64 ? zeros - (zeros >= 4) : zeros;                             \
            unsigned keep = BITS / 8 - (BITS == 64 && zeros == 4 ? 3 : zeros);                     \
            memcpy(rest, &x, sizeof x);                                                            \
            rest += keep;                                                                          \
            code |= which << 3;                                                                    \
            codes[i / 2] = (uint8_t)(i & 1 ? codes[i / 2] | code << 4 : code);                     \
        }                                                                                          \
        return (size_t)(rest - start);                                                             \
    }                                                                                              \
    static int NAME##_decode(struct NAME *p, const uint8_t *codes, const uint8_t *rest,            \
                             size_t left, size_t n, uint8_t *out)                                  \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            W x = 0, guess[2];                                                                     \
            unsigned code = i & 1 ? codes[i / 2] >> 4 : codes[i / 2] & 15u;                        \
            unsigned zeros = code & 7u;                                                            \
            zeros += BITS == 64 && zeros >= 4;                                                     \
            if (zeros > BITS / 8 || BITS / 8 - zeros > left)                                       \
                return -1;                                                                         \
            unsigned keep = BITS / 8 - zeros;                                                      \
            if (left >= sizeof x) {                                                                \
                memcpy(&x, rest, sizeof x);                                                        \
                x = keep == BITS / 8 ? x : x & (((W)1 << 8 * keep) - 1);                           \
            } else {                                                                               \
                memcpy(&x, rest, keep);                                                            \
            }                                                                                      \
            rest += keep, left -= keep;                                                            \
            NAME##_predict(p, guess);                                                              \
            W v = x ^ guess[code >> 3];                                                            \
            NAME##_learn(p, v);                                                                    \
            memcpy(out + i * sizeof v, &v, sizeof v);                                              \
        }                                                                                          \
        return left ? -1 : 0;                                                                      \
    }                                                                                              \
    static int NAME##_start(struct NAME *p, int level)                                             \
    {                                                                                              \
        *p = (struct NAME){.mask = ((size_t)1 << level) - 1};                                      \
        p->fcm = calloc((size_t)2 << level, sizeof *p->fcm);                                       \
        p->dfcm = p->fcm ? p->fcm + p->mask + 1 : NULL;                                            \
        return p->fcm ? 0 : -1;                                                                    \
    }

FPC(fpc64, uint64_t, 64, 6, 48, 2, 40, __builtin_clzll)
FPC(fpc32, uint32_t, 32, 5, 18, 2, 12, __builtin_clz)

static size_t count_of(int type, size_t n_bytes, int *wide)
{
    *wide = type == SAIKAI_F64 || type == SAIKAI_C128;
    return n_bytes / (*wide ? 8 : 4);
}

/* A table of more than twice as many entries as values gains nothing, and a damaged level must not
 * ask for much memory. */
static int highest_level(size_t n)
{
    int level = 10;
    while (level < MAX_LEVEL && (size_t)1 << level < 2 * n)
        level++;
    return level;
}

static size_t max_encoded(const struct sk_array *a)
{
    int wide;
    size_t n = sk_array_size_bytes(a);
    return n > SIZE_MAX / 2 ? (size_t)-1 : 1 + count_of(a->type, n, &wide) / 2 + 1 + n + 8;
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    size_t bytes = 0;
    int wide, rc = sk_lossless_begin(a, sk_codec_fpc.name, &bytes, err);
    int level = opt && opt->level > 0 ? opt->level : DEFAULT_LEVEL;
    if (rc)
        return rc;
    if (cap < max_encoded(a))
        return sk_fail(err, SAIKAI_ENOSPC, "codec fpc: needs room for %zu bytes, not %zu",
                       max_encoded(a), cap);
    size_t n = count_of(a->type, bytes, &wide), made;
    level = level > highest_level(n) ? highest_level(n) : level;
    uint8_t *codes = (uint8_t *)out + 1, *rest = codes + (n + 1) / 2;
    struct fpc64 p64;
    struct fpc32 p32;
    if (wide ? fpc64_start(&p64, level) : fpc32_start(&p32, level))
        return sk_fail(err, SAIKAI_ENOMEM, "codec fpc: no memory for tables of level %d", level);
    *(uint8_t *)out = (uint8_t)level;
    made = wide ? fpc64_encode(&p64, in, n, codes, rest) : fpc32_encode(&p32, in, n, codes, rest);
    free(wide ? (void *)p64.fcm : (void *)p32.fcm);
    *out_size_bytes = 1 + (n + 1) / 2 + made;
    return 0;
}

static int decode(const struct sk_array *a, const void *in, size_t n_in, void *out,
                  struct saikai_error *err)
{
    size_t bytes = 0;
    int wide, rc = sk_lossless_begin(a, sk_codec_fpc.name, &bytes, err);
    if (rc)
        return rc;
    size_t n = count_of(a->type, bytes, &wide);
    const uint8_t *p = in;
    if (n_in < 1 + (n + 1) / 2 || p[0] < 1 || p[0] > highest_level(n))
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "codec fpc: the piece is truncated or its level is damaged");
    const uint8_t *codes = p + 1, *rest = codes + (n + 1) / 2;
    size_t left = n_in - 1 - (n + 1) / 2;
    struct fpc64 p64;
    struct fpc32 p32;
    if (wide ? fpc64_start(&p64, p[0]) : fpc32_start(&p32, p[0]))
        return sk_fail(err, SAIKAI_ENOMEM, "codec fpc: no memory for tables of level %d", p[0]);
    rc = wide ? fpc64_decode(&p64, codes, rest, left, n, out)
              : fpc32_decode(&p32, codes, rest, left, n, out);
    free(wide ? (void *)p64.fcm : (void *)p32.fcm);
    return rc ? sk_fail(err, SAIKAI_EDAMAGED, "codec fpc: the piece does not hold %zu values", n)
              : 0;
}

const struct sk_codec_ops sk_codec_fpc = {
    .abi = SK_CODEC_ABI,
    .name = "fpc",
    .description = "FPC of Burtscher and Ratanaworabhan, level 1 to 24 (16): 2^level table entries",
    .types = SK_TYPES_FLOAT,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
