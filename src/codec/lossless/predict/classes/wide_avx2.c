/* Steps of 32 lanes in vectors of AVX2: contexts as bytes, states and slots as numbers of 32 bits in four vectors. */
#include "codec/lossless/predict/classes/wide.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,popcnt")))
#define INLINE TARGET static inline __attribute__((always_inline))

/* For each choice of eight states that take a word: which of the next eight words each of them takes. */
struct spread {
    uint64_t of[256];
};

static void spread_init(struct spread *s)
{
    for (unsigned bits = 0; bits < 256; bits++) {
        uint64_t all = 0, next = 0;
        for (unsigned k = 0; k < 8; k++) {
            all |= next << 8 * k;
            next += bits >> k & 1;
        }
        s->of[bits] = all;
    }
}

/* The map of contexts, 16 of them in each vector, twice. */
struct map {
    __m256i part[4];
};

INLINE __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* A neighbour of all lanes, `on` steps further; of those below its number of lanes, which are `below`, it is far. */
INLINE __m256i neighbour(const uint8_t *c, const struct wide_lag *lag, ptrdiff_t on, __m256i below)
{
    const uint8_t *at = c + WIDE * on - lag->lanes;
    return _mm256_blendv_epi8(load(at - WIDE * lag->near), load(at - WIDE * lag->far + WIDE), below);
}

/* What the rows and planes before add to a context, for the lower and the upper half of each 16 lanes. */
struct sums {
    __m256i low, high;
};

INLINE struct sums add(__m256i a, __m256i b, __m256i weights, struct sums s)
{
    s.low = _mm256_add_epi16(s.low, _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), weights));
    s.high = _mm256_add_epi16(s.high, _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), weights));
    return s;
}

/* Table * 8 of each lane; west, west2: the classes before. */
INLINE __m256i tables_of(struct sums s, __m256i west, __m256i west2, const struct map *map)
{
    s = add(west, west2, _mm256_set1_epi16(0x0102), s);
    __m256i context = _mm256_packus_epi16(_mm256_srli_epi16(s.low, 4), _mm256_srli_epi16(s.high, 4));
    /* its bits 4 and 5 choose the part: as the highest bits of bytes */
    __m256i bit4 = _mm256_slli_epi16(context, 3), bit5 = _mm256_slli_epi16(context, 2);
    __m256i a = _mm256_blendv_epi8(_mm256_shuffle_epi8(map->part[0], context), _mm256_shuffle_epi8(map->part[1], context), bit4);
    __m256i b = _mm256_blendv_epi8(_mm256_shuffle_epi8(map->part[2], context), _mm256_shuffle_epi8(map->part[3], context), bit4);
    return _mm256_blendv_epi8(a, b, bit5);
}

/* Eight slots, one load each: the instruction that gathers them is slow on many processors, and on more since it must not leak (CVE-2022-40982). */
INLINE __m256i slots_at(const wide_slot *slot, __m256i at)
{
    uint32_t i[8];
    _mm256_storeu_si256((__m256i *)i, at);
    return _mm256_set_epi32((int)slot[i[7]], (int)slot[i[6]], (int)slot[i[5]], (int)slot[i[4]], (int)slot[i[3]], (int)slot[i[2]], (int)slot[i[1]],
                            (int)slot[i[0]]);
}

/* Eight states go on by their slots, which it returns; those that are not `at_work` stay. table: of each, times PROB. */
INLINE __m256i next_states(const wide_slot *slot, __m256i table, __m256i *state, const uint8_t **p, const struct spread *spread, int all,
                           const uint8_t *at_work)
{
    __m256i x = *state, at = _mm256_or_si256(table, _mm256_and_si256(x, _mm256_set1_epi32(PROB - 1)));
    __m256i e = slots_at(slot, at);
    x = _mm256_add_epi32(_mm256_mullo_epi32(_mm256_srli_epi32(x, PROB_BITS), _mm256_srli_epi32(e, 20)),
                         _mm256_and_si256(_mm256_srli_epi32(e, 8), _mm256_set1_epi32(0xfff)));
    __m256i low = _mm256_cmpeq_epi32(_mm256_srli_epi32(x, 16), _mm256_setzero_si256());
    if (!all) {
        __m256i works = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)at_work));
        low = _mm256_and_si256(low, works);
        x = _mm256_blendv_epi8(*state, x, works);
    }
    unsigned bits = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(low));
    __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)*p));
    __m256i from = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)&spread->of[bits]));
    __m256i more = _mm256_or_si256(_mm256_slli_epi32(x, 16), _mm256_permutevar8x32_epi32(words, from));
    *state = _mm256_blendv_epi8(x, more, low);
    *p += 2 * (unsigned)__builtin_popcount(bits);
    return _mm256_and_si256(e, _mm256_set1_epi32(0xff));
}

/* -1 where a lane is at work, by lane and in the order of a step. */
INLINE void work_of(const struct wide_way *way, size_t step, uint8_t by_lane[WIDE], uint8_t by_order[WIDE])
{
    for (unsigned k = 0; k < WIDE; k++)
        by_lane[k] = (uint8_t)-wide_works(way, step, k);
    for (unsigned q = 0; q < WIDE; q++)
        by_order[q] = by_lane[sk_wide_lane(q)];
}

/* ones in the first n bytes */
INLINE __m256i below(size_t n)
{
    uint8_t ones[2 * WIDE];
    memset(ones, 0xff, WIDE);
    memset(ones + WIDE, 0, WIDE);
    return load(ones + WIDE - n);
}

INLINE size_t steps_of(struct wide_in *w, size_t from, size_t to, const struct wide_lag *back, int all, const struct spread *spread)
{
    const __m256i zero = _mm256_setzero_si256(), two_one = _mm256_set1_epi16(0x0102), one_one = _mm256_set1_epi16(0x0101);
    const __m256i seven = _mm256_set1_epi16(7), first = _mm256_set1_epi8((char)w->first);
    const struct wide_lag up = w->way.up, before = *back;
    const __m256i up_below = below(up.lanes), before_below = below(before.lanes);
    uint8_t by_lane[WIDE], by_order[WIDE];
    struct map map;
    __m256i x[4];
    const uint8_t *p = w->p;
    for (int k = 0; k < 4; k++) {
        __m128i part = _mm_loadu_si128((const __m128i *)(w->map + 16 * k));
        map.part[k] = _mm256_slli_epi16(_mm256_broadcastsi128_si256(part), 3); /* tables are below 32 */
        x[k] = _mm256_loadu_si256((const __m256i *)(w->x + 8 * k));
    }
    __m256i west = load(w->c + WIDE * from - WIDE), west2 = load(w->c + WIDE * from - 2 * WIDE);
    for (; from < to && w->end - p >= 2 * WIDE; from++) {
        uint8_t *c = w->c + WIDE * from;
        if (!all)
            work_of(&w->way, from, by_lane, by_order);
        struct sums s = {seven, seven};
        s = add(neighbour(c, &up, 0, up_below), neighbour(c, &up, 1, up_below), two_one, s);
        s = add(neighbour(c, &up, -1, up_below), neighbour(c, &before, 0, before_below), one_one, s);
        __m256i table = tables_of(s, west, west2, &map);
        /* times 8 and one byte up: times PROB */
        __m256i low = _mm256_unpacklo_epi8(zero, table), high = _mm256_unpackhi_epi8(zero, table);
        __m256i e0 = next_states(w->slot, _mm256_unpacklo_epi16(low, zero), &x[0], &p, spread, all, by_order);
        __m256i e1 = next_states(w->slot, _mm256_unpackhi_epi16(low, zero), &x[1], &p, spread, all, by_order + 8);
        __m256i e2 = next_states(w->slot, _mm256_unpacklo_epi16(high, zero), &x[2], &p, spread, all, by_order + 16);
        __m256i e3 = next_states(w->slot, _mm256_unpackhi_epi16(high, zero), &x[3], &p, spread, all, by_order + 24);
        west2 = west;
        west = _mm256_packus_epi16(_mm256_packus_epi32(e0, e1), _mm256_packus_epi32(e2, e3));
        if (!all)
            west = _mm256_blendv_epi8(first, west, load(by_lane));
        _mm256_storeu_si256((__m256i *)c, west);
    }
    for (int k = 0; k < 4; k++)
        _mm256_storeu_si256((__m256i *)(w->x + 8 * k), x[k]);
    w->p = p;
    return from;
}

TARGET size_t sk_wide_steps_avx2(struct wide_in *w, size_t from, size_t to, const struct wide_lag *back, int all)
{
    struct spread spread;
    spread_init(&spread);
    return all ? steps_of(w, from, to, back, 1, &spread) : steps_of(w, from, to, back, 0, &spread);
}
#endif
