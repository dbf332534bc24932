/* How far the numbers of a column are from what they are expected to be. */
#ifndef SK_CODEC_ROWS_OFF_H
#define SK_CODEC_ROWS_OFF_H

#include "codec/rows/layout.h"

/* A column of numbers. */
struct row_numbers {
    const uint8_t *first; /* in the first row */
    size_t width, lag;
    struct row_past past; /* the same column there */
    int kind, guess;
};

/* The column at a place of the rows of in, and of past. */
static inline struct row_numbers row_numbers_at(const uint8_t *in, size_t width, size_t lag, const struct row_past *past, size_t at, int kind, int guess)
{
    return (struct row_numbers){in + at, width, lag, {past->rows ? past->p + at : NULL, past->rows}, kind, guess};
}

/* Of each step-th of the rows from `from` on, n of them: how far off the number is, folded (sk_fold). */
void sk_rows_off(const struct row_numbers *c, size_t from, size_t n, size_t step, uint64_t *off);

#endif
