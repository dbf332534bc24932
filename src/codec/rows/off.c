/* One loop for each kind of number and each guess: that nothing has to be asked of each number makes it several times as fast. */
#include "codec/rows/off.h"

/* kind and guess: known where this is put in. */
static inline __attribute__((always_inline)) void off_as(const struct row_numbers *c, int kind, int guess, size_t from, size_t n, size_t step, uint64_t *off)
{
    const struct row_numbers x = *c; /* which off[] might be part of */
    for (size_t i = 0; i < n; i++) {
        size_t j = from + i * step;
        uint64_t p = guess < ROW_GUESSES ? row_guess(x.first, x.width, j, kind, guess, x.lag)
                                         : row_guess_past(x.first, x.past.p, x.past.rows, x.width, j, kind, guess, x.lag);
        off[i] = sk_fold((int64_t)(load_number(x.first + j * x.width, kind) - p));
    }
}

#define OFF_BY(kind, guess)                        \
    case guess:                                    \
        off_as(c, kind, guess, from, n, step, off); \
        break;
#define OFF(kind)                      \
    switch (c->guess) {                \
        OFF_BY(kind, ROW_NONE)         \
        OFF_BY(kind, ROW_BEFORE)       \
        OFF_BY(kind, ROW_LINE)         \
        OFF_BY(kind, ROW_LAG)          \
        OFF_BY(kind, ROW_PLANE)        \
        OFF_BY(kind, ROW_PAST)         \
        OFF_BY(kind, ROW_CHANGE)       \
        OFF_BY(kind, ROW_CHANGE_LAG)   \
        OFF_BY(kind, ROW_CHANGE_PLANE) \
        OFF_BY(kind, ROW_CHANGE_LINE)  \
    }

void sk_rows_off(const struct row_numbers *c, size_t from, size_t n, size_t step, uint64_t *off)
{
    if (c->kind == FLOAT4)
        OFF(FLOAT4)
    else if (c->kind == FLOAT8)
        OFF(FLOAT8)
    else if (c->kind == FLOAT4_BIG)
        OFF(FLOAT4_BIG)
    else
        OFF(FLOAT8_BIG)
}
