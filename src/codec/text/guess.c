/* Tries on a sample of each column what its numbers follow. */
#include "codec/text/guess.h"

enum { RUNS = 4, RUN = 1024 };

/* About as many bits as the sample takes. */
static double cost(const struct sk_text *t, const struct column *c, struct guess g)
{
    uint32_t histogram[SK_SYMBOLS] = {0};
    for (uint32_t r = 1; r <= RUNS; r++) {
        uint32_t to = (uint32_t)((uint64_t)c->count * r / RUNS), some = c->count / RUNS < RUN ? c->count / RUNS + 1 : RUN;
        for (uint32_t j = to < some ? 0 : to - some; j < to; j++) {
            uint32_t i = t->order[c->first + j];
            int64_t v = t->value[i];
            uint64_t z = g.kind == GUESS_NONE ? (uint64_t)v : sk_fold(v - sk_guess(t, c, g, j, c->scale[t->shape[i]]));
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

struct guess sk_guess_choose(const struct sk_text *t, const struct column *c)
{
    /* each must gain something over what is simpler */
    static const struct guess all[] = {{GUESS_COLUMN, 1}, {GUESS_TEXT, 1}, {GUESS_TEXT, 2}, {GUESS_TEXT, 3}, {GUESS_LINE, 1}, {GUESS_SIDE, 1}};
    struct guess best = {negative(t, c) ? GUESS_ZERO : GUESS_NONE, 1}, frame = {GUESS_COLUMN, c->frame};
    double least = cost(t, c, best) * 0.99;
    for (size_t k = 0; k <= sizeof all / sizeof *all; k++) {
        struct guess g = k < sizeof all / sizeof *all ? all[k] : frame;
        double bits = g.lag ? cost(t, c, g) : least;
        if (bits < least) {
            least = bits;
            best = g;
        }
    }
    return best;
}
