/* Tries on a sample of each column what its numbers follow, by one loop for each guess. */
#include "codec/text/guess.h"

enum { RUNS = 4, RUN = 1024, SHORT_RUN = 64, PAST_RUN = 320 };

/* kind and past: known where this is put in, as nothing is to be asked of each number. */
static inline __attribute__((always_inline)) void off_by(const struct sk_text *t, const struct column *c, int kind, int past, uint32_t lag, uint32_t from, uint32_t n, uint64_t *off)
{
    const struct series s = sk_series(t, c);
    const struct guess g = {kind, lag};
    for (uint32_t k = 0; k < n; k++) {
        uint32_t j = from + k, i = s.order[j];
        int64_t v = t->value[i];
        int scale = c->scale[t->shape[i]];
        off[k] = kind == GUESS_NONE ? (uint64_t)v : sk_fold(v - (past ? sk_guess_past(&s, g, j, scale) : sk_guess(t, c, g, j, scale)));
    }
}

#define OFF_BY(kind, past)                           \
    case kind:                                       \
        off_by(t, c, kind, past, g.lag, from, n, off); \
        break;
#define OFF(past)                    \
    switch (g.kind) {                \
        OFF_BY(GUESS_NONE, past)     \
        OFF_BY(GUESS_ZERO, past)     \
        OFF_BY(GUESS_COLUMN, past)   \
        OFF_BY(GUESS_LINE, past)     \
        OFF_BY(GUESS_TEXT, past)     \
        OFF_BY(GUESS_SIDE, past)     \
        OFF_BY(GUESS_CHANGE, past)   \
    }

void sk_guess_off(const struct sk_text *t, const struct column *c, struct guess g, uint32_t from, uint32_t n, uint64_t *off)
{
    if (t->after)
        OFF(1)
    else
        OFF(0)
}

/* About as many bits as a sample of so long runs takes. */
static double cost(const struct sk_text *t, const struct column *c, struct guess g, uint32_t run)
{
    uint32_t histogram[SK_SYMBOLS] = {0};
    uint64_t off[RUN];
    for (uint32_t r = 1; r <= RUNS; r++) {
        uint32_t to = (uint32_t)((uint64_t)c->count * r / RUNS), some = c->count / RUNS < run ? c->count / RUNS + 1 : run, n = to < some ? to : some;
        sk_guess_off(t, c, g, to - n, n, off);
        for (uint32_t k = 0; k < n; k++)
            histogram[off[k] ? 64 - __builtin_clzll(off[k]) : 0]++;
    }
    return sk_residual_cost(histogram);
}

static int negative(const struct sk_text *t, const struct column *c)
{
    for (uint32_t j = 0; j < c->count; j++)
        if (t->value[t->order[c->first + j]] < 0)
            return 1;
    return 0;
}

static void choose(const struct sk_text *t, const struct column *c, struct guess g, uint32_t run, struct guess *best, double *least)
{
    double bits = g.lag ? cost(t, c, g, run) : *least;
    if (bits < *least) {
        *least = bits;
        *best = g;
    }
}

/* The lag around one at which numbers are most alike, as some of them say: rows may have come or gone. */
static uint32_t find_lag(const struct sk_text *t, const struct column *c, uint32_t around)
{
    enum { NEAR = 160, POINTS = 64 };
    struct series s = sk_series(t, c);
    uint64_t least = UINT64_MAX;
    uint32_t best = 0;
    if (c->count < POINTS || around <= NEAR)
        return 0;
    for (int d = 0; d <= 2 * NEAR; d++) { /* from the middle to both sides */
        uint32_t lag = d & 1 ? around + (uint32_t)(d + 1) / 2 : around - (uint32_t)d / 2;
        uint64_t bits = 0;
        for (uint32_t k = 0; k < POINTS && bits < least; k++) {
            uint32_t j = (uint32_t)((uint64_t)c->count * k / POINTS), i = s.order[j];
            uint64_t z = sk_fold(t->value[i] - sk_guess_past(&s, (struct guess){GUESS_COLUMN, lag}, j, c->scale[t->shape[i]]));
            bits += z ? 64 - (unsigned)__builtin_clzll(z) : 0;
        }
        if (bits < least) {
            least = bits;
            best = lag;
        }
    }
    return best;
}

/* What numbers alone may follow; each must gain something over what is simpler. */
static const struct guess alone[] = {{GUESS_COLUMN, 1}, {GUESS_TEXT, 1}, {GUESS_TEXT, 2}, {GUESS_TEXT, 3}, {GUESS_LINE, 1}, {GUESS_SIDE, 1}};
enum { ALONE = sizeof alone / sizeof *alone, LAGS = 4, CANDIDATES = ALONE + LAGS * (GUESSES_PAST - GUESS_COLUMN) };

/* Guesses, and about what each costs. */
struct candidates {
    int n;
    double fewest;
    struct guess guess[CANDIDATES];
    double about[CANDIDATES];
};

static void consider(const struct sk_text *t, const struct column *c, struct guess g, struct candidates *of)
{
    double about = cost(t, c, g, SHORT_RUN);
    of->guess[of->n] = g;
    of->about[of->n++] = about;
    of->fewest = about < of->fewest ? about : of->fewest;
}

/* After a past also what stood in the same place there, counted from its beginning, from its end, or shortly beside it. Short runs tell which come
 * near the best one. */
static void choose_past(const struct sk_text *t, const struct column *c, struct guess *best)
{
    double simple = cost(t, c, *best, PAST_RUN) * 0.99, *least = &simple;
    uint32_t old = t->past->column[t->past_of[c - t->column] - 1].count, lags[LAGS] = {old, c->count, find_lag(t, c, old), c->frame};
    struct candidates of = {.fewest = cost(t, c, *best, SHORT_RUN)};
    for (int k = 0; k < ALONE; k++)
        consider(t, c, alone[k], &of);
    for (size_t k = 0; k < LAGS; k++) {
        int seen = !lags[k];
        for (size_t i = 0; i < k; i++)
            seen = seen || lags[i] == lags[k];
        for (int kind = GUESS_COLUMN; !seen && kind < GUESSES_PAST; kind++)
            if (kind != GUESS_TEXT)
                consider(t, c, (struct guess){kind, lags[k]}, &of);
    }
    for (int k = 0; k < of.n; k++)
        if (of.about[k] <= of.fewest * 1.1)
            choose(t, c, of.guess[k], PAST_RUN, best, least);
}

struct guess sk_guess_choose(const struct sk_text *t, const struct column *c)
{
    struct guess best = {negative(t, c) ? GUESS_ZERO : GUESS_NONE, 1}, frame = {GUESS_COLUMN, c->frame};
    if (t->after && t->past_of[c - t->column]) {
        choose_past(t, c, &best);
        return best;
    }
    double least = cost(t, c, best, RUN) * 0.99;
    for (int k = 0; k < ALONE; k++)
        choose(t, c, alone[k], RUN, &best, &least);
    choose(t, c, frame, RUN, &best, &least);
    return best;
}
