/* Finds how far apart the steps of a trajectory are: the high digits of a few numbers in a row come again there, as most change little. What is found is then held
 * against what its numbers would cost. */
#include "codec/rows/frame_guess.h"

#include <math.h>
#include <stdlib.h>

enum { PLACES = 1 << 16, VOTES = 1 << 11, LEAST_DISTANCE = 128, LEAST_BYTES = 4096, CANDIDATES = 3 };

/* Where digits were seen last, and how many speak for a distance: those that are rare lose their place to others. */
struct search {
    struct {
        uint32_t key, at;
    } last[PLACES];
    struct {
        uint32_t distance, votes;
    } vote[VOTES];
};

/* How many numbers in a row are looked at, and how many bits of each: of what changes little, and of what changes more. */
static const struct digits {
    int numbers;
    unsigned bits;
} digits[] = {{3, 16}, {5, 12}};

/* The highest 16 bits of the number at p. */
static inline uint32_t top_of(const uint8_t *p, int kind)
{
    return (uint32_t)(kind == FLOAT4 ? p[3] << 8 | p[2] : kind == FLOAT8 ? p[7] << 8 | p[6] : p[0] << 8 | p[1]);
}

static inline __attribute__((always_inline)) uint32_t key_of(const uint8_t *p, int kind, const struct digits *d)
{
    uint64_t key = 0;
    for (int k = 0; k < d->numbers; k++)
        key = key << d->bits | top_of(p + k * column_bytes(kind), kind) >> (16 - d->bits);
    return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32);
}

static void vote(struct search *s, uint32_t distance)
{
    enum { MIX = 0x9e3779b1, LOG = 21 };
    uint32_t slot = distance * (uint32_t)MIX >> LOG;
    if (s->vote[slot].votes && s->vote[slot].distance != distance) {
        s->vote[slot].votes--;
        return;
    }
    s->vote[slot].distance = distance;
    s->vote[slot].votes++;
}

enum { WORD = 4 };

/* Of long inputs some digits are looked at, the same wherever they are. */
static inline __attribute__((always_inline)) void collect(struct search *s, const uint8_t *in, size_t n, int kind, const struct digits *d)
{
    size_t behind = (size_t)(d->numbers * column_bytes(kind));
    uint32_t mask = 0;
    while (n / WORD / (mask + 1) > PLACES / 2)
        mask = 2 * mask + 1;
    memset(s, 0, sizeof *s);
    for (size_t at = 0; at + behind <= n; at += WORD) {
        uint32_t key = key_of(in + at, kind, d);
        if (key & mask)
            continue;
        uint32_t slot = key >> 16, before = s->last[slot].at;
        if (before && s->last[slot].key == key && at + 1 - before >= LEAST_DISTANCE)
            vote(s, (uint32_t)at + 1 - before);
        s->last[slot].key = key;
        s->last[slot].at = (uint32_t)at + 1;
    }
}

static void collect_kind(struct search *s, const uint8_t *in, size_t n, int kind, int coarse)
{
    switch (2 * (kind - FLOAT4) + coarse) {
    case 0:
        collect(s, in, n, FLOAT4, &digits[0]);
        break;
    case 1:
        collect(s, in, n, FLOAT4, &digits[1]);
        break;
    case 2:
        collect(s, in, n, FLOAT8, &digits[0]);
        break;
    case 3:
        collect(s, in, n, FLOAT8, &digits[1]);
        break;
    case 4:
        collect(s, in, n, FLOAT4_BIG, &digits[0]);
        break;
    case 5:
        collect(s, in, n, FLOAT4_BIG, &digits[1]);
        break;
    default:
        collect(s, in, n, kind, &digits[coarse]);
    }
}

/* The distances that most speak for, 0 where there are no more. */
static void distances(struct search *s, const uint8_t *in, size_t n, int kind, int coarse, uint32_t best[CANDIDATES])
{
    enum { LEAST_VOTES = 24 };
    collect_kind(s, in, n, kind, coarse);
    for (int c = 0; c < CANDIDATES; c++) {
        uint32_t most = LEAST_VOTES, which = 0;
        for (uint32_t k = 0; k < VOTES; k++)
            if (s->vote[k].votes > most) {
                most = s->vote[k].votes;
                which = k;
            }
        best[c] = most > LEAST_VOTES ? s->vote[which].distance : 0;
        s->vote[which].votes = 0;
    }
}

/* 1: the highest byte of numbers of this kind is often that of the next one. */
static int looks_like(const uint8_t *in, size_t n, int kind)
{
    enum { LOOKS = 512, SOME = LOOKS / 8 };
    size_t width = (size_t)column_bytes(kind), step = (n - 2 * width) / LOOKS / 4 * 4, same = 0;
    for (size_t k = 0; k < LOOKS; k++) {
        uint32_t a = top_of(in + k * step, kind), b = top_of(in + k * step + width, kind);
        same += a >> 8 == b >> 8 && a != b;
    }
    return same > SOME;
}

/* Bits of a byte in runs from all over in[0, n). */
static double bits_by(const uint8_t *in, size_t n, const struct sk_frames_layout *l)
{
    enum { RUNS = 8, NUMBERS = 512, WARM = 32 };
    uint32_t histogram[SK_SYMBOLS] = {0};
    size_t width = (size_t)column_bytes(l->kind), run = (NUMBERS + WARM) * width, numbers = 0;
    for (size_t r = 0; r < RUNS; r++) {
        struct frame_state s = {.level = 0};
        size_t at = n / RUNS * r + n / RUNS / 2, into = at < l->first ? 0 : (at - l->first) % l->distance;
        at += (width - into % width) % width + (at < l->first ? l->first - at : 0);
        for (size_t end = at + run < n ? at + run : n, k = 0; at + width <= end; at += width, k++) {
            uint64_t guess[FRAME_GUESSES], v = load_number(in + at, l->kind);
            frame_guesses(in, at, l, l->kind, guess);
            unsigned length = frame_length(sk_fold((int64_t)(v - guess[frame_best(&s)])));
            frame_learn(&s, guess, v);
            histogram[length] += k >= WARM;
            numbers += k >= WARM;
        }
    }
    return numbers < NUMBERS ? INFINITY : sk_residual_cost(histogram) / (double)(numbers * width);
}

/* What costs least of the ways to see numbers of a kind that come again at a distance. */
static void try_distance(const uint8_t *in, size_t n, int kind, uint32_t distance, struct sk_frames_layout *best)
{
    static const uint8_t strides[] = {1, 2, 3};
    static const double CLEARLY = 0.99;
    for (uint32_t first = 0; first < (uint32_t)column_bytes(kind); first += WORD)
        for (size_t k = 0; k < sizeof strides; k++) {
            struct sk_frames_layout l = {.distance = distance, .first = first, .kind = (uint8_t)kind, .stride = strides[k]};
            l.bits = bits_by(in, n, &l);
            if (l.bits < CLEARLY * best->bits)
                *best = l;
        }
}

int sk_frames_find(const uint8_t *in, size_t n, struct sk_frames_layout *l)
{
    struct search *s = n < LEAST_BYTES ? NULL : malloc(sizeof *s);
    size_t some = n < SK_FRAMES_LOOKED_AT ? n : SK_FRAMES_LOOKED_AT;
    *l = (struct sk_frames_layout){.bits = INFINITY};
    for (int kind = FLOAT4; kind <= FLOAT8_BIG && s; kind++)
        for (int coarse = 0; coarse < 2 && looks_like(in, some, kind) && (column_bytes(kind) == 4 || !looks_like(in, some, kind - 1)); coarse++) {
            uint32_t best[CANDIDATES];
            distances(s, in, some, kind, coarse, best);
            for (int c = 0; c < CANDIDATES && best[c]; c++)
                try_distance(in, some, kind, best[c], l);
        }
    free(s);
    return l->distance > 0;
}
