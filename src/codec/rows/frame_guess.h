/* What a number of a step is expected to be: several guesses, of which the one is taken that has cost least of late. Both sides do the same. */
#ifndef SK_CODEC_ROWS_FRAME_GUESS_H
#define SK_CODEC_ROWS_FRAME_GUESS_H

#include "codec/rows/frames.h"
#include "codec/rows/layout.h"

/* The number before; the last one of its kind; the same one a step before; on the line through those of two steps; a step before, and as much
 * more as its neighbour has gained since. */
enum frame_guess { FRAME_NEAR, FRAME_KIND, FRAME_BEFORE, FRAME_LINE, FRAME_BESIDE, FRAME_GUESSES };

/* Bits that each guess has cost, what is past fading by a sixteenth for each number; and how far the last numbers were off. */
struct frame_state {
    uint32_t cost[FRAME_GUESSES];
    unsigned level;
};

static inline uint64_t frame_number(const uint8_t *in, size_t at, size_t back, int kind)
{
    return at >= back ? load_number(in + at - back, kind) : 0;
}

static inline __attribute__((always_inline)) void frame_guesses(const uint8_t *in, size_t at, const struct sk_frames_layout *l, int kind, uint64_t guess[FRAME_GUESSES])
{
    size_t width = (size_t)column_bytes(kind), aside = l->stride * width, step = l->distance;
    guess[FRAME_NEAR] = frame_number(in, at, width, kind);
    guess[FRAME_KIND] = frame_number(in, at, aside, kind);
    guess[FRAME_BEFORE] = frame_number(in, at, step, kind);
    guess[FRAME_LINE] = 2 * guess[FRAME_BEFORE] - frame_number(in, at, 2 * step, kind);
    guess[FRAME_BESIDE] = guess[FRAME_BEFORE] + guess[FRAME_KIND] - frame_number(in, at, step + aside, kind);
}

static inline int frame_best(const struct frame_state *s)
{
    int best = FRAME_NEAR;
    for (int g = FRAME_NEAR + 1; g < FRAME_GUESSES; g++)
        best = s->cost[g] < s->cost[best] ? g : best;
    return best;
}

static inline unsigned frame_length(uint64_t z)
{
    return z ? 64 - (unsigned)__builtin_clzll(z) : 0;
}

/* The number was v. */
static inline void frame_learn(struct frame_state *s, const uint64_t guess[FRAME_GUESSES], uint64_t v)
{
    enum { FADES = 4 };
    for (int g = 0; g < FRAME_GUESSES; g++)
        s->cost[g] += frame_length(sk_fold((int64_t)(v - guess[g]))) - (s->cost[g] >> FADES);
}

#endif
