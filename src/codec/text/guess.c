/* Tries on a sample of each column what its numbers follow. */
#include "codec/text/guess.h"

enum { RUNS = 4, RUN = 1024, SHORT_RUN = 96 };

static int64_t expect(const struct sk_text *t, const struct column *c, const struct series *s, struct guess g, uint32_t j, int scale)
{
    return t->after ? sk_guess_past(s, g, j, scale) : sk_guess(t, c, g, j, scale);
}

/* About as many bits as a sample of so long runs takes. */
static double cost(const struct sk_text *t, const struct column *c, struct guess g, uint32_t run)
{
    uint32_t histogram[SK_SYMBOLS] = {0};
    struct series s = sk_series(t, c);
    for (uint32_t r = 1; r <= RUNS; r++) {
        uint32_t to = (uint32_t)((uint64_t)c->count * r / RUNS), some = c->count / RUNS < run ? c->count / RUNS + 1 : run;
        for (uint32_t j = to < some ? 0 : to - some; j < to; j++) {
            uint32_t i = t->order[c->first + j];
            int64_t v = t->value[i];
            uint64_t z = g.kind == GUESS_NONE ? (uint64_t)v : sk_fold(v - expect(t, c, &s, g, j, c->scale[t->shape[i]]));
            histogram[z ? 64 - __builtin_clzll(z) : 0]++;
        }
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

static void choose(const struct sk_text *t, const struct column *c, struct guess g, struct guess *best, double *least)
{
    double bits = g.lag ? cost(t, c, g, RUN) : *least;
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

/* After a past: what stood in the same place there, counted from its beginning, from its end, or shortly beside it. Short runs tell which come
 * near the best one. */
static void choose_past(const struct sk_text *t, const struct column *c, struct guess *best, double *least)
{
    enum { LAGS = 4, MOST = LAGS * GUESSES_PAST };
    uint32_t old = t->past->column[t->past_of[c - t->column] - 1].count, lags[LAGS] = {old, c->count, find_lag(t, c, old), c->frame};
    struct guess guess[MOST];
    double about[MOST], fewest = cost(t, c, *best, SHORT_RUN);
    int n = 0;
    for (size_t k = 0; k < LAGS; k++) {
        int seen = !lags[k];
        for (size_t i = 0; i < k; i++)
            seen = seen || lags[i] == lags[k];
        for (int kind = GUESS_COLUMN; !seen && kind < GUESSES_PAST; kind++)
            if (kind != GUESS_TEXT) {
                guess[n] = (struct guess){kind, lags[k]};
                about[n] = cost(t, c, guess[n], SHORT_RUN);
                fewest = about[n] < fewest ? about[n] : fewest;
                n++;
            }
    }
    for (int k = 0; k < n; k++)
        if (about[k] <= fewest * 1.1)
            choose(t, c, guess[k], best, least);
}

struct guess sk_guess_choose(const struct sk_text *t, const struct column *c)
{
    /* each must gain something over what is simpler */
    static const struct guess all[] = {{GUESS_COLUMN, 1}, {GUESS_TEXT, 1}, {GUESS_TEXT, 2}, {GUESS_TEXT, 3}, {GUESS_LINE, 1}, {GUESS_SIDE, 1}};
    struct guess best = {negative(t, c) ? GUESS_ZERO : GUESS_NONE, 1}, frame = {GUESS_COLUMN, c->frame};
    double least = cost(t, c, best, RUN) * 0.99;
    for (size_t k = 0; k <= sizeof all / sizeof *all; k++)
        choose(t, c, k < sizeof all / sizeof *all ? all[k] : frame, &best, &least);
    if (t->after && t->past_of[c - t->column])
        choose_past(t, c, &best, &least);
    return best;
}
