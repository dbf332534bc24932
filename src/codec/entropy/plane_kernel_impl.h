/* plane_kernel.h for one instruction set: NAME(x) tells the variants apart. Written so that loops
 * of 16 become vectors. */
#include "codec/entropy/each.h"
#include "codec/entropy/plane_kernel.h"
#include "codec/entropy/token.h"

#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { WIDE = 16 };

#ifdef __AVX2__
static inline __attribute__((always_inline)) void store_bytes(uint8_t *to, __m256i v)
{
    __m128i h = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storel_epi64((__m128i *)to, _mm_packus_epi16(h, h));
}

/* As sk_token_of and sk_level_of: the exponent and the bits below it come from a float. */
static void NAME(tokens)(const int32_t *q, size_t n, uint8_t *level, uint8_t *token)
{
    static const int32_t keep[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const __m256i zero = _mm256_setzero_si256(), seven = _mm256_set1_epi32(7);
    for (size_t i = 0; i < n; i += 8) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(q + i));
        if (n - i < 8)
            v = _mm256_and_si256(v, _mm256_loadu_si256((const __m256i *)(keep + 8 - (n - i))));
        __m256i a = _mm256_abs_epi32(v);
        __m256i f = _mm256_castps_si256(
            _mm256_cvtepi32_ps(_mm256_andnot_si256(_mm256_srli_epi32(a, 4), a)));
        __m256i l = _mm256_max_epi32(
            _mm256_sub_epi32(_mm256_srli_epi32(f, 22), _mm256_set1_epi32(252)), zero);
        __m256i few =
            _mm256_add_epi32(_mm256_add_epi32(a, a), _mm256_cmpgt_epi32(v, zero)); /* -1 if > 0 */
        __m256i many =
            _mm256_sub_epi32(_mm256_srli_epi32(f, 21), _mm256_set1_epi32(4 * 130 - SK_TOKEN_SMALL));
        store_bytes(level + i, l);
        store_bytes(token + i, _mm256_blendv_epi8(few, many, _mm256_cmpgt_epi32(a, seven)));
    }
}

#ifdef __AVX512BW__
/* The first n of 64. */
static inline uint64_t first_of(size_t n)
{
    return ~(uint64_t)0 >> (64 - n);
}

static uint64_t NAME(values)(const uint8_t *token, size_t n, int32_t *q, uint8_t *level)
{
    const __m512i few_levels = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 5, 6, 6, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0)), zero = _mm512_setzero_si512();
    __mmask64 used = first_of(n);
    __m512i t = _mm512_maskz_loadu_epi8(used, token), half = _mm512_avg_epu8(t, zero);
    __mmask64 many = _mm512_cmpgt_epu8_mask(half, _mm512_set1_epi8(7)), plus = _mm512_test_epi8_mask(t, _mm512_set1_epi8(1));
    __m512i l = _mm512_mask_min_epu8(_mm512_shuffle_epi8(few_levels, half), many, half, _mm512_set1_epi8(SK_LEVEL_MAX));
    if (n == 64)
        _mm512_storeu_si512(level, l);
    else
        _mm512_mask_storeu_epi8(level, used, l);
    __m512i v = _mm512_mask_sub_epi8(half, ~plus, zero, half);
#define STORE_16(k)                                                                                                                      \
    if (n > 16 * (k))                                                                                                                    \
    _mm512_mask_storeu_epi32(q + 16 * (k), (__mmask16)(used >> 16 * (k)), _mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(v, k)))
    STORE_16(0);
    STORE_16(1);
    STORE_16(2);
    STORE_16(3);
#undef STORE_16
    return many;
}

static uint64_t NAME(large)(const uint8_t *token, size_t n)
{
    return _mm512_cmpge_epu8_mask(_mm512_maskz_loadu_epi8(first_of(n), token), _mm512_set1_epi8(SK_TOKEN_SMALL));
}

static void NAME(clear)(int32_t *q, uint8_t *level, size_t n)
{
    if (n == 64) { /* as most are; processors store less quickly where they are told of each byte */
        memset(q, 0, 64 * sizeof *q);
        memset(level, 0, 64);
        return;
    }
    __mmask64 used = first_of(n);
    _mm512_mask_storeu_epi8(level, used, _mm512_setzero_si512());
    for (size_t k = 0; k < n; k += 16, used >>= 16)
        _mm512_mask_storeu_epi32(q + k, (__mmask16)used, _mm512_setzero_si512());
}
#else
static uint64_t NAME(values)(const uint8_t *token, size_t n, int32_t *q, uint8_t *level)
{
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi32(1),
                  most = _mm256_set1_epi32(SK_LEVEL_MAX), seven = _mm256_set1_epi32(7),
                  few_levels = _mm256_set1_epi32(0x77665420);
    uint64_t large = 0;
    for (size_t i = 0; i < n; i += 8) {
        __m256i t = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(token + i)));
        __m256i half = _mm256_srli_epi32(_mm256_add_epi32(t, one), 1);
        __m256i minus = _mm256_cmpeq_epi32(_mm256_and_si256(t, one), zero);
        __m256i v = _mm256_sub_epi32(_mm256_xor_si256(half, minus), minus);
        __m256i many = _mm256_cmpgt_epi32(half, seven);
        __m256i l = _mm256_and_si256(_mm256_srlv_epi32(few_levels, _mm256_slli_epi32(half, 2)),
                                     _mm256_set1_epi32(15));
        l = _mm256_blendv_epi8(l, _mm256_min_epi32(half, most), many);
        unsigned bits = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(many));
        if (n - i < 8) {
            int32_t v8[8];
            uint8_t l8[8];
            _mm256_storeu_si256((__m256i *)v8, v);
            store_bytes(l8, l);
            memcpy(q + i, v8, (n - i) * sizeof *q);
            memcpy(level + i, l8, n - i);
            bits &= (1u << (n - i)) - 1;
        } else {
            _mm256_storeu_si256((__m256i *)(q + i), v);
            store_bytes(level + i, l);
        }
        large |= (uint64_t)bits << i;
    }
    return large;
}

static uint64_t NAME(large)(const uint8_t *token, size_t n)
{
    const __m128i least = _mm_set1_epi8(SK_TOKEN_SMALL);
    uint64_t large = 0;
    for (size_t i = 0; i < n; i += 16) {
        __m128i t = _mm_loadu_si128((const __m128i *)(const void *)(token + i));
        large |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(t, least), t)) << i;
    }
    return large & ~(uint64_t)0 >> (64 - n);
}

/* The last step overlaps the one before. */
static void NAME(clear)(int32_t *q, uint8_t *level, size_t n)
{
    if (n < 8) {
        memset(q, 0, n * sizeof *q);
        memset(level, 0, n);
        return;
    }
    for (size_t i = 0; i < n; i += 8) {
        size_t at = i + 8 <= n ? i : n - 8;
        memset(q + at, 0, 8 * sizeof *q);
        memset(level + at, 0, 8);
    }
}
#endif
#else
static void NAME(tokens)(const int32_t *q, size_t n, uint8_t *level, uint8_t *token)
{
    for (size_t i = 0; i < n; i++) {
        level[i] = (uint8_t)sk_level_of(q[i]);
        token[i] = (uint8_t)sk_token_of(q[i]);
    }
    for (size_t i = n; i & 7; i++)
        level[i] = token[i] = 0;
}

static uint64_t NAME(values)(const uint8_t *token, size_t n, int32_t *q, uint8_t *level)
{
    const struct sk_token *table = sk_token_table();
    uint64_t large = 0;
    for (size_t i = 0; i < n; i++) {
        q[i] = table[token[i]].value;
        level[i] = table[token[i]].level;
        large |= (uint64_t)(token[i] >= SK_TOKEN_SMALL) << i;
    }
    return large;
}

static uint64_t NAME(large)(const uint8_t *token, size_t n)
{
    uint64_t large = 0;
    for (size_t i = 0; i < n; i++)
        large |= (uint64_t)(token[i] >= SK_TOKEN_SMALL) << i;
    return large;
}

static void NAME(clear)(int32_t *q, uint8_t *level, size_t n)
{
    memset(q, 0, n * sizeof *q);
    memset(level, 0, n);
}
#endif

typedef int16_t words __attribute__((vector_size(2 * WIDE)));
typedef uint16_t symbols __attribute__((vector_size(2 * WIDE)));
typedef uint8_t bytes __attribute__((vector_size(WIDE)));

#define BYTES_AS_WORDS(p)                                                                          \
    __extension__({                                                                                \
        bytes b_;                                                                                  \
        memcpy(&b_, (p), sizeof b_);                                                               \
        (words){SK_EACH_16(b_, int16_t)};                                                        \
    })
#define LESSER(a, b) (((a) & ((a) < (b))) | ((b) & ~((a) < (b))))

/* Weighted levels at WIDE columns from `col` on, into the vector s. */
#define SUM_LEVELS(s, r, col)                                                                      \
    do {                                                                                           \
        s = (words){0};                                                                            \
        for (int k_ = 0; k_ < (r)->n; k_++)                                                        \
            s += (int16_t)(r)->weight[k_] * BYTES_AS_WORDS((r)->level[k_] + (col));                \
    } while (0)

#ifdef __AVX512BW__
/* Weighted levels at 32 columns. */
static inline __attribute__((always_inline)) __m512i NAME(levels)(const struct plane_row *r, size_t col)
{
    __m512i s = _mm512_setzero_si512();
    for (int k = 0; k < r->n; k++) {
        __m512i l = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(r->level[k] + col)));
        s = _mm512_add_epi16(s, _mm512_mullo_epi16(l, _mm512_set1_epi16((int16_t)r->weight[k])));
    }
    return s;
}

static void NAME(sums)(const struct plane_row *r, size_t col, size_t n, uint16_t *sum)
{
    for (size_t i = 0; i < n; i += 32) {
        __m512i s = NAME(levels)(r, col + i);
        if (r->mask) {
            __m256i m = _mm256_loadu_si256((const __m256i *)(const void *)(r->mask + col + i));
            s = _mm512_mask_mov_epi16(s, _mm256_test_epi8_mask(m, m), _mm512_set1_epi16(PLANE_MASKED));
        }
        _mm512_storeu_si512(sum + i, s);
    }
}
#else
static void NAME(sums)(const struct plane_row *r, size_t col, size_t n, uint16_t *sum)
{
    for (size_t i = 0; i < n; i += WIDE) {
        words s;
        SUM_LEVELS(s, r, col + i);
        if (r->mask) {
            words masked = BYTES_AS_WORDS(r->mask + col + i) != 0;
            s = (s & ~masked) | (PLANE_MASKED & masked);
        }
        memcpy(sum + i, &s, sizeof s);
    }
}
#endif

#ifdef __AVX2__
#define greatest_of(top)                                                                           \
    (0xffffu - (0xffffu & (unsigned)_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(               \
                              _mm_max_epi16(_mm256_castsi256_si128((__m256i)(top)), _mm256_extracti128_si256((__m256i)(top), 1)), \
                              _mm_set1_epi16(-1))))))
#else
#define greatest_of(top)                                                                           \
    __extension__({                                                                                \
        int16_t most_ = 0;                                                                         \
        for (int i_ = 0; i_ < WIDE; i_++)                                                          \
            most_ = (top)[i_] > most_ ? (top)[i_] : most_;                                         \
        (unsigned)most_;                                                                           \
    })
#endif

/* The context of a sum: the sum when it is small, then ever coarser; the lines cross where the
 * steps change. */
#ifdef __AVX512BW__
static unsigned NAME(symbols)(const struct plane_row *r, size_t col, size_t n, const uint8_t *token, uint16_t *symbol)
{
    const __m512i first = _mm512_set1_epi16((int16_t)r->first), twelve = _mm512_set1_epi16(12), two_dozen = _mm512_set1_epi16(24);
    __m512i top = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += 32) {
        __m512i s = NAME(levels)(r, col + i);
        __m512i a = _mm512_add_epi16(twelve, _mm512_srli_epi16(s, 2)), b = _mm512_add_epi16(two_dozen, _mm512_srli_epi16(s, 4));
        s = _mm512_min_epu16(s, _mm512_min_epu16(a, b));
        top = _mm512_max_epu16(top, s);
        __m512i t = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(token + i)));
        __m512i x = _mm512_or_si512(_mm512_slli_epi16(_mm512_add_epi16(s, first), 7), t);
        if (r->mask) {
            __m256i m = _mm256_loadu_si256((const __m256i *)(const void *)(r->mask + col + i));
            x = _mm512_mask_mov_epi16(x, _mm256_test_epi8_mask(m, m), _mm512_set1_epi16((int16_t)PLANE_NO_SYMBOL));
        }
        _mm512_storeu_si512(symbol + i, x);
    }
    return greatest_of(_mm256_max_epu16(_mm512_castsi512_si256(top), _mm512_extracti64x4_epi64(top, 1))) + 1;
}
#else
static unsigned NAME(symbols)(const struct plane_row *r, size_t col, size_t n, const uint8_t *token,
                              uint16_t *symbol)
{
    words top = {0};
    for (size_t i = 0; i < n; i += WIDE) {
        words s, a, b;
        SUM_LEVELS(s, r, col + i);
        a = 12 + (s >> 2);
        b = 24 + (s >> 4);
        a = LESSER(a, b);
        s = LESSER(s, a);
        top = (top & (top > s)) | (s & ~(top > s));
        symbols x = ((symbols)s + (uint16_t)r->first) << 7 | (symbols)BYTES_AS_WORDS(token + i);
        if (r->mask) {
            symbols masked = (symbols)(BYTES_AS_WORDS(r->mask + col + i) != 0);
            x = (x & ~masked) | ((uint16_t)PLANE_NO_SYMBOL & masked);
        }
        memcpy(symbol + i, &x, sizeof x);
    }
    return greatest_of(top) + 1;
}
#endif

const struct plane_kernel NAME(sk_plane_kernel) = {
    .tokens = NAME(tokens),
    .symbols = NAME(symbols),
    .sums = NAME(sums),
    .values = NAME(values),
    .large = NAME(large),
    .clear = NAME(clear),
};
