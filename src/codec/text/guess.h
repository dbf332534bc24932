/* What a number of a piece is expected to be. */
#ifndef SK_CODEC_TEXT_GUESS_H
#define SK_CODEC_TEXT_GUESS_H

#include "codec/text/piece.h"

/* Nothing, of values that are not negative and of others; the number `lag` before it in its column; the line through two of these;
 * the number `lag` before it in the text; the one before it in its column and how much the one before it in the text changed.
 * Stored: never renumbered. */
enum { GUESS_NONE = 0, GUESS_ZERO = 1, GUESS_COLUMN = 2, GUESS_LINE = 3, GUESS_TEXT = 4, GUESS_SIDE = 5, GUESSES };
/* Where there is a past, its numbers stand before those of the column; and then also: the number `lag` before it in its column, and how much
 * the one before it in its column changed. */
enum { GUESS_CHANGE = GUESSES, GUESSES_PAST };

struct guess {
    int kind;
    uint32_t lag; /* at least 1 */
};

/* Value v times 10^from in units of 10^to, to the nearest one; 0 where that is too large. */
static inline int64_t sk_rescaled(int64_t v, int from, int to)
{
    static const int64_t ten[SK_NUMBER_DIGITS + 1] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
        10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000};
    int d = from - to;
    if (!d)
        return v;
    if (d > SK_NUMBER_DIGITS || d < -SK_NUMBER_DIGITS)
        return 0;
    if (d < 0)
        return (v + (v < 0 ? -ten[-d] / 2 : ten[-d] / 2)) / ten[-d];
    int64_t most = (SK_NUMBER_LIMIT - 1) / ten[d];
    return v > most || v < -most ? 0 : v * ten[d];
}

/* Number i of the text in units of 10^scale. */
static inline int64_t sk_number_at(const struct sk_text *t, uint32_t i, int scale)
{
    return sk_rescaled(t->value[i], t->column[t->in[i]].scale[t->shape[i]], scale);
}

/* Number j of a column, by those before it; scale: its own. */
static inline int64_t sk_guess(const struct sk_text *t, const struct column *c, struct guess g, uint32_t j, int scale)
{
    const uint32_t *order = t->order + c->first;
    uint32_t i = order[j];
    if (g.kind <= GUESS_ZERO)
        return 0;
    if (g.kind == GUESS_TEXT)
        return i < g.lag ? 0 : sk_number_at(t, i - g.lag, scale);
    if (j < g.lag)
        return 0;
    int64_t before = sk_number_at(t, order[j - g.lag], scale);
    if (g.kind == GUESS_LINE && j - g.lag >= g.lag)
        return 2 * before - sk_number_at(t, order[j - 2 * g.lag], scale);
    if (g.kind == GUESS_SIDE && order[j - g.lag])
        return before + sk_number_at(t, i - 1, scale) - sk_number_at(t, order[j - g.lag] - 1, scale);
    return before;
}

/* The numbers of a column, and those of the past before them. */
struct series {
    const struct sk_text *t, *past;
    const uint32_t *order, *old;
    uint32_t old_count;
};

static inline struct series sk_series(const struct sk_text *t, const struct column *c)
{
    uint8_t of = t->past_of[c - t->column];
    const struct column *p = of ? &t->past->column[of - 1] : NULL;
    return (struct series){t, t->past, t->order + c->first, p ? t->past->order + p->first : NULL, p ? p->count : 0};
}

/* The number `lag` before number j, and the one that stands before that one in its text. 0: there is none. */
static inline int sk_series_at(const struct series *s, uint32_t j, uint32_t lag, int scale, int64_t *v)
{
    if (j < lag && lag - j > s->old_count)
        return 0;
    *v = j >= lag ? sk_number_at(s->t, s->order[j - lag], scale) : sk_number_at(s->past, s->old[s->old_count - (lag - j)], scale);
    return 1;
}

static inline int sk_series_beside(const struct series *s, uint32_t j, uint32_t lag, int scale, int64_t *v)
{
    uint32_t i = j >= lag ? s->order[j - lag] : s->old[s->old_count - (lag - j)];
    if (!i)
        return 0;
    *v = sk_number_at(j >= lag ? s->t : s->past, i - 1, scale);
    return 1;
}

/* The same as sk_guess with the past. */
static inline int64_t sk_guess_past(const struct series *s, struct guess g, uint32_t j, int scale)
{
    uint32_t i = s->order[j];
    int64_t v, w, x;
    if (g.kind <= GUESS_ZERO)
        return 0;
    if (g.kind == GUESS_TEXT)
        return i < g.lag ? 0 : sk_number_at(s->t, i - g.lag, scale);
    if (!sk_series_at(s, j, g.lag, scale, &v))
        return 0;
    if (g.kind == GUESS_LINE && g.lag < UINT32_MAX / 2 && sk_series_at(s, j, 2 * g.lag, scale, &w))
        return 2 * v - w;
    if (g.kind == GUESS_SIDE && i && sk_series_beside(s, j, g.lag, scale, &w))
        return v + sk_number_at(s->t, i - 1, scale) - w;
    if (g.kind == GUESS_CHANGE && j && sk_series_at(s, j - 1, g.lag, scale, &w) && sk_series_at(s, j, 1, scale, &x))
        return v + x - w;
    return v;
}

/* How far numbers [from, from + n) of a column are off from what they are expected to be, folded, or themselves where nothing is. */
void sk_guess_off(const struct sk_text *t, const struct column *c, struct guess g, uint32_t from, uint32_t n, uint64_t *off);

/* What is least far off in a sample of a column. */
struct guess sk_guess_choose(const struct sk_text *t, const struct column *c);

#endif
