/* Finds how far apart the steps of a trajectory are: the high digits of a few numbers in a row come again there, as most change little. A sum of such digits chooses the
 * few places that are looked at, the same ones wherever they stand, so that all the other bytes cost little. What is found is then held against what its numbers would
 * cost. */
#include "codec/rows/clones.h"
#include "codec/rows/frame_guess.h"

#include <math.h>
#include <stdlib.h>

enum { WORD = 4, PLACES = 1 << 15, PLACE_BITS = 15, VOTES = 1 << 11, VOTE_BITS = 11, LEAST_DISTANCE = 128, LEAST_BYTES = 4096 };

/* How many numbers in a row are looked at, and how many bits of each: of what changes little, and of what changes more. */
enum { WAYS = 2, NUMBERS_MOST = 5 };
static const struct digits {
    size_t numbers;
    unsigned bits;
} digits[WAYS] = {{3, 16}, {NUMBERS_MOST, 12}};

/* Where digits were seen last, and how many speak for a distance: those that are rare lose their place to others. */
struct votes {
    struct {
        uint32_t key, at;
    } last[PLACES];
    struct {
        uint32_t distance, votes;
    } vote[VOTES];
};

/* The highest 16 bits of some words and of those before them, and which of the ways look at a word. */
enum { SOME_WORDS = 1024, BEFORE = 2 * (NUMBERS_MOST - 1) };
struct search {
    struct votes by[WAYS];
    uint16_t top[BEFORE + SOME_WORDS];
    uint8_t chosen[SOME_WORDS];
};

/* ---- places that are looked at ---- */

WIDE static void see_tops(const uint8_t *in, size_t words, int big, uint16_t *top)
{
    for (size_t i = 0; i < words; i++) {
        uint32_t v;
        memcpy(&v, in + WORD * i, WORD);
        top[i] = (uint16_t)(big ? (v & 255) << 8 | (v >> 8 & 255) : v >> 16);
    }
}

/* A part of each digit in a sum of 16 bits, whose high ones depend on all of them. */
static inline __attribute__((always_inline)) uint16_t part_of(uint16_t top, uint16_t factor)
{
    return (uint16_t)((uint32_t)top * factor);
}

static inline __attribute__((always_inline)) void choose_by(const uint16_t *top, size_t words, size_t apart, uint16_t most, uint8_t *chosen)
{
    enum { HIGH = 0xfff0 };
    for (size_t i = 0; i < words; i++) {
        const uint16_t *a = top + i, *b = a - apart, *c = b - apart, *d = c - apart, *e = d - apart;
        uint16_t few = (uint16_t)(part_of(*a, 0x9e37) + part_of(*b, 0x85eb) + part_of(*c, 0xc2b3));
        uint16_t many = (uint16_t)(part_of(*a & HIGH, 0x9e37) + part_of(*b & HIGH, 0x85eb) + part_of(*c & HIGH, 0xc2b3) + part_of(*d & HIGH, 0x27d5) +
                                   part_of(*e & HIGH, 0x1657));
        chosen[i] = (uint8_t)((few <= most ? 1 : 0) | (many <= most ? 2 : 0));
    }
}

/* Bit k: way k looks at it; the digits stand `apart` words from each other, 1 or 2. */
WIDE static void choose(const uint16_t *top, size_t words, size_t apart, uint16_t most, uint8_t *chosen)
{
    if (apart == 1)
        choose_by(top, words, 1, most, chosen);
    else
        choose_by(top, words, 2, most, chosen);
}

/* ---- votes ---- */

static uint32_t key_of(const uint16_t *top, size_t apart, const struct digits *d)
{
    uint64_t key = 0;
    for (size_t k = 0; k < d->numbers; k++)
        key = key << d->bits | top[-(ptrdiff_t)(k * apart)] >> (16 - d->bits);
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static void vote(struct votes *s, uint32_t distance)
{
    enum { MIX = 0x9e3779b1 };
    uint32_t slot = distance * (uint32_t)MIX >> (32 - VOTE_BITS);
    if (s->vote[slot].votes && s->vote[slot].distance != distance) {
        s->vote[slot].votes--;
        return;
    }
    s->vote[slot].distance = distance;
    s->vote[slot].votes++;
}

/* at: above 0. */
static void look(struct votes *s, uint32_t key, uint32_t at)
{
    uint32_t slot = key >> (32 - PLACE_BITS), before = s->last[slot].at;
    if (before && s->last[slot].key == key && at - before >= LEAST_DISTANCE)
        vote(s, at - before);
    s->last[slot].key = key;
    s->last[slot].at = at;
}

static void look_at_chosen(struct search *s, size_t words, size_t apart, uint32_t at)
{
    for (size_t i = 0; i < words; i += 8) {
        uint64_t some;
        memcpy(&some, s->chosen + i, 8);
        for (; some; some &= some - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(some);
            size_t k = i + bit / 8;
            look(&s->by[bit % 8], key_of(s->top + BEFORE + k, apart, &digits[bit % 8]), at + (uint32_t)(WORD * k) + 1);
        }
    }
}

/* Of long inputs fewer places are looked at. */
static void collect(struct search *s, const uint8_t *in, size_t n, int kind)
{
    size_t all = n / WORD, apart = (size_t)column_bytes(kind) / WORD;
    uint16_t most = UINT16_MAX;
    while (all * most / UINT16_MAX > PLACES / 2)
        most /= 2;
    for (size_t from = 0, words; from < all; from += words) {
        words = all - from < SOME_WORDS ? all - from : SOME_WORDS;
        see_tops(in + WORD * from, words, kind >= FLOAT4_BIG, s->top + BEFORE);
        choose(s->top + BEFORE, words, apart, most, s->chosen);
        memset(s->chosen + words, 0, SOME_WORDS - words);
        look_at_chosen(s, words, apart, (uint32_t)(WORD * from));
        memmove(s->top, s->top + words, BEFORE * sizeof *s->top);
    }
}

/* The distances that most speak for by one way, appended to those that are known. */
static size_t elect(struct votes *s, uint32_t *list, size_t known)
{
    enum { LEAST_VOTES = 24, CANDIDATES = 3 };
    for (int c = 0; c < CANDIDATES; c++) {
        uint32_t most = LEAST_VOTES, which = 0;
        size_t same = 0;
        for (uint32_t k = 0; k < VOTES; k++)
            if (s->vote[k].votes > most) {
                most = s->vote[k].votes;
                which = k;
            }
        if (most == LEAST_VOTES)
            break;
        while (same < known && list[same] != s->vote[which].distance)
            same++;
        list[same] = s->vote[which].distance;
        known += same == known;
        s->vote[which].votes = 0;
    }
    return known;
}

/* ---- what it costs ---- */

static uint32_t top_of(const uint8_t *p, int kind)
{
    return (uint32_t)(kind == FLOAT4 ? p[3] << 8 | p[2] : kind == FLOAT8 ? p[7] << 8 | p[6] : p[0] << 8 | p[1]);
}

/* 1: the highest byte of numbers of this kind is often that of the next one. */
static int looks_like(const uint8_t *in, size_t n, int kind)
{
    enum { LOOKS = 512, SOME = LOOKS / 8 };
    size_t width = (size_t)column_bytes(kind), step = (n - 2 * width) / LOOKS / WORD * WORD, same = 0;
    for (size_t k = 0; k < LOOKS; k++) {
        uint32_t a = top_of(in + k * step, kind), b = top_of(in + k * step + width, kind);
        same += a >> 8 == b >> 8 && a != b;
    }
    return same > SOME;
}

static int is_likely(const uint8_t *in, size_t n, int kind)
{
    return looks_like(in, n, kind) && (column_bytes(kind) == 4 || !looks_like(in, n, kind - 1));
}

enum { RUNS = 8, NUMBERS = 512, FEW_NUMBERS = 96, WARM = 32 };

static inline __attribute__((always_inline)) void count_run(const uint8_t *in, size_t at, size_t end, const struct sk_frames_layout *known, int kind, uint32_t *histogram)
{
    const struct sk_frames_layout l = *known; /* which the histogram might be part of */
    struct frame_state s = frame_begin();
    size_t width = (size_t)column_bytes(kind);
    for (size_t k = 0; at + width <= end; at += width, k++) {
        uint64_t guess[FRAME_GUESSES], v = load_number(in + at, kind);
        frame_guesses(in, at, &l, kind, 1, guess);
        histogram[frame_length(sk_fold((int64_t)(v - guess[frame_best(&s)])))] += k >= WARM;
        frame_learn(&s, guess, v);
    }
}

/* Bits of a byte in runs of so many numbers from all over in[0, n). */
WIDE static double bits_by(const uint8_t *in, size_t n, const struct sk_frames_layout *l, size_t numbers)
{
    uint32_t histogram[SK_SYMBOLS] = {0};
    size_t width = (size_t)column_bytes(l->kind), run = (numbers + WARM) * width, counted = 0;
    for (size_t r = 0; r < RUNS; r++) {
        size_t at = n / RUNS * r + n / RUNS / 2, into = at < l->first ? 0 : (at - l->first) % l->distance;
        at += (width - into % width) % width + (at < l->first ? l->first - at : 0);
        size_t end = at + run < n ? at + run : n;
        if (l->kind == FLOAT4)
            count_run(in, at, end, l, FLOAT4, histogram);
        else if (l->kind == FLOAT4_BIG)
            count_run(in, at, end, l, FLOAT4_BIG, histogram);
        else
            count_run(in, at, end, l, l->kind == FLOAT8 ? FLOAT8 : FLOAT8_BIG, histogram);
    }
    for (size_t k = 0; k < SK_SYMBOLS; k++)
        counted += histogram[k];
    return counted < numbers ? INFINITY : sk_residual_cost(histogram) / (double)(counted * width);
}

/* What costs least of the ways to see numbers of a kind that come again at a distance, by a few of them. */
static void try_distance(const uint8_t *in, size_t n, int kind, uint32_t distance, struct sk_frames_layout *best)
{
    static const uint8_t strides[] = {1, 2, 3};
    static const double CLEARLY = 0.99;
    for (uint32_t first = 0; first < (uint32_t)column_bytes(kind); first += WORD)
        for (size_t k = 0; k < sizeof strides; k++) {
            struct sk_frames_layout l = {.distance = distance, .first = first, .kind = (uint8_t)kind, .stride = strides[k]};
            l.bits = bits_by(in, n, &l, FEW_NUMBERS);
            if (l.bits < CLEARLY * best->bits)
                *best = l;
        }
}

/* ---- */

int sk_frames_likely(const uint8_t *in, size_t n)
{
    int likely = 0;
    for (int kind = FLOAT4; kind <= FLOAT8_BIG && n >= LEAST_BYTES && !likely; kind++)
        likely = is_likely(in, n, kind);
    return likely;
}

int sk_frames_find(const uint8_t *in, size_t n, struct sk_frames_layout *l)
{
    size_t some = n < SK_FRAMES_LOOKED_AT ? n : SK_FRAMES_LOOKED_AT;
    *l = (struct sk_frames_layout){.bits = INFINITY};
    for (int kind = FLOAT4; kind <= FLOAT8_BIG && n >= LEAST_BYTES; kind++) {
        struct search *s = is_likely(in, some, kind) ? calloc(1, sizeof *s) : NULL;
        uint32_t list[8];
        size_t known = 0;
        if (!s)
            continue;
        collect(s, in, some, kind);
        for (int way = 0; way < WAYS; way++)
            known = elect(&s->by[way], list, known);
        for (size_t i = 0; i < known; i++)
            try_distance(in, some, kind, list[i], l);
        free(s);
    }
    if (l->distance)
        l->bits = bits_by(in, some, l, NUMBERS);
    return l->distance > 0;
}

int sk_frames_fit(const uint8_t *in, size_t n, struct sk_frames_layout *l)
{
    static const double ABOUT = 1.02;
    size_t some = n < SK_FRAMES_LOOKED_AT ? n : SK_FRAMES_LOOKED_AT;
    if (!l->distance || l->distance > n / 2)
        return 0;
    for (uint32_t first = 0; first < (uint32_t)column_bytes(l->kind); first += WORD) {
        struct sk_frames_layout here = *l;
        here.first = first;
        here.bits = bits_by(in, some, &here, NUMBERS);
        if (here.bits <= ABOUT * l->bits) {
            *l = here;
            return 1;
        }
    }
    return 0;
}
