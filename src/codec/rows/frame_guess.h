/* What a number of a step is expected to be: several guesses, of which the one is taken that has cost least of late. Both sides do the same. */
#ifndef SK_CODEC_ROWS_FRAME_GUESS_H
#define SK_CODEC_ROWS_FRAME_GUESS_H

#include "codec/rows/frames.h"
#include "codec/rows/layout.h"

/* The number before; the last one of its kind; the same one a step before; on the line through those of two steps; a step before, and as much
 * more as its neighbour has gained since. */
enum frame_guess { FRAME_NEAR, FRAME_KIND, FRAME_BEFORE, FRAME_LINE, FRAME_BESIDE, FRAME_GUESSES };

/* Bits that each guess has cost, what is past fading by a sixteenth for each number, with the guess in the lowest three bits: side by side, so that one
 * instruction counts for all of them; and how far the last numbers were off. */
typedef uint16_t frame_lanes __attribute__((vector_size(16)));
struct frame_state {
    frame_lanes cost;
    unsigned level;
};
enum { FRAME_GUESS_BITS = 3, FRAME_FADES = 4 };

static inline struct frame_state frame_begin(void)
{
    return (struct frame_state){.cost = {FRAME_NEAR, FRAME_KIND, FRAME_BEFORE, FRAME_LINE, FRAME_BESIDE}};
}

/* checked: 0 where all numbers that are looked at are known to be there. */
static inline __attribute__((always_inline)) uint64_t frame_number(const uint8_t *in, size_t at, size_t back, int kind, int checked)
{
    return !checked || at >= back ? load_number(in + at - back, kind) : 0;
}

/* From how many bytes on they are. */
static inline size_t frame_looks_back(const struct sk_frames_layout *l)
{
    size_t aside = l->stride * (size_t)column_bytes(l->kind);
    return l->distance + (l->distance > aside ? l->distance : aside);
}

static inline __attribute__((always_inline)) void frame_guesses(const uint8_t *in, size_t at, const struct sk_frames_layout *l, int kind, int checked, uint64_t guess[FRAME_GUESSES])
{
    size_t width = (size_t)column_bytes(kind), aside = l->stride * width, step = l->distance;
    guess[FRAME_NEAR] = frame_number(in, at, width, kind, checked);
    guess[FRAME_KIND] = frame_number(in, at, aside, kind, checked);
    guess[FRAME_BEFORE] = frame_number(in, at, step, kind, checked);
    guess[FRAME_LINE] = 2 * guess[FRAME_BEFORE] - frame_number(in, at, 2 * step, kind, checked);
    guess[FRAME_BESIDE] = guess[FRAME_BEFORE] + guess[FRAME_KIND] - frame_number(in, at, step + aside, kind, checked);
}

/* The first one of those that have cost least. */
static inline int frame_best(const struct frame_state *s)
{
    uint16_t cost[sizeof s->cost / 2], best;
    memcpy(cost, &s->cost, sizeof cost);
    best = cost[FRAME_NEAR];
    for (int g = FRAME_NEAR + 1; g < FRAME_GUESSES; g++)
        best = cost[g] < best ? cost[g] : best;
    return best & ((1 << FRAME_GUESS_BITS) - 1);
}

/* Bits above the highest one that is set, of 64: one instruction where there is one that knows of 0. */
static inline unsigned frame_lead(uint64_t z)
{
    return z ? (unsigned)__builtin_clzll(z) : 64;
}

static inline unsigned frame_length(uint64_t z)
{
    return 64 - frame_lead(z);
}

static inline __attribute__((always_inline)) uint16_t frame_lead_of(uint64_t v, uint64_t guess)
{
    return (uint16_t)frame_lead(sk_fold((int64_t)(v - guess)));
}

/* The number was v. */
static inline __attribute__((always_inline)) void frame_learn(struct frame_state *s, const uint64_t guess[FRAME_GUESSES], uint64_t v)
{
    frame_lanes lead = {frame_lead_of(v, guess[0]), frame_lead_of(v, guess[1]), frame_lead_of(v, guess[2]), frame_lead_of(v, guess[3]), frame_lead_of(v, guess[4])};
    _Static_assert(FRAME_GUESSES == 5 && FRAME_GUESSES <= 1 << FRAME_GUESS_BITS, "all of them");
    s->cost += (64 - lead - (s->cost >> (FRAME_FADES + FRAME_GUESS_BITS))) << FRAME_GUESS_BITS;
}

#endif
