/* What a row is made of. */
#ifndef SK_CODEC_ROWS_LAYOUT_H
#define SK_CODEC_ROWS_LAYOUT_H

#include "codec/residual/residual.h"

/* Bytes of a piece and of a row, which may be a wide one, or one of numbers of one kind; a row has columns of 4 and 8 bytes. */
enum { ROWS_PIECE = 1 << 20, ROW_LEAST = 8, ROW_MOST = 256, ROW_WIDE = 512, ROW_ARRAY = 64, ROW_COLUMNS = ROW_WIDE / 4, ROWS = ROWS_PIECE / ROW_LEAST };

/* What a column is. Stored: never renumbered. WORD: bytes by their place; DIFFERENCE: the same of the difference to the row before;
 * FLOAT: predicted numbers, also with the highest byte first; SINCE: bytes of the difference to the same row of the past, where there is one. */
enum column_kind {
    WORD4 = 0, WORD8 = 1, DIFFERENCE4 = 2, DIFFERENCE8 = 3, FLOAT4 = 4, FLOAT8 = 5, FLOAT4_BIG = 6, FLOAT8_BIG = 7, COLUMN_KINDS,
    SINCE4 = 8, SINCE8 = 9, COLUMN_KINDS_PAST
};

/* What a number is expected to be. Stored: never renumbered. Nothing; the one a row before; the line through those of the two rows
 * before; the one `lag` rows before; that and how much the row before differs from the one `lag` before it. */
enum row_guess { ROW_NONE = 0, ROW_BEFORE = 1, ROW_LINE = 2, ROW_LAG = 3, ROW_PLANE = 4, ROW_GUESSES,
                 /* The one in the same row of the past; that and how much it has changed since: the number one row before, `lag` rows before,
                  * both of them less the one lag + 1 rows before, and in the line through the two rows before. */
                 ROW_PAST = 5, ROW_CHANGE = 6, ROW_CHANGE_LAG = 7, ROW_CHANGE_PLANE = 8, ROW_CHANGE_LINE = 9, ROW_GUESSES_PAST };

/* Rows that these come after, as far as they go. */
struct row_past {
    const uint8_t *p;
    size_t rows;
};

struct row_column {
    uint8_t kind, guess;
    uint16_t at; /* in the row */
};

struct row_layout {
    uint32_t width;  /* bytes of a row; 0: there are none */
    uint32_t likely; /* the width that most bytes speak for; not stored */
    uint32_t lag;   /* at least 1 */
    int columns;
    double bits; /* of a byte, about; not stored */
    struct row_past past;
    struct row_column column[ROW_COLUMNS];
};

static inline int column_bytes(int kind)
{
    return kind & 1 ? 8 : 4;
}

static inline int is_number(int kind)
{
    return kind >= FLOAT4 && kind <= FLOAT8_BIG;
}

static inline __attribute__((always_inline)) uint64_t load_word(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, (size_t)bytes);
    return v;
}

/* A number as an integer in the order of the numbers, from its bytes. */
static inline __attribute__((always_inline)) uint64_t load_number(const uint8_t *p, int kind)
{
    if (kind == FLOAT4 || kind == FLOAT4_BIG) {
        uint32_t v;
        memcpy(&v, p, 4);
        v = kind == FLOAT4 ? v : __builtin_bswap32(v);
        return (uint64_t)(int64_t)(int32_t)(v ^ (uint32_t)((int32_t)v >> 31) >> 1);
    }
    uint64_t v = load_word(p, 8);
    v = kind == FLOAT8 ? v : __builtin_bswap64(v);
    return v ^ (uint64_t)((int64_t)v >> 63) >> 1;
}

static inline void store_number(uint8_t *p, int kind, uint64_t v)
{
    if (kind == FLOAT4 || kind == FLOAT4_BIG) {
        uint32_t w = (uint32_t)v ^ (uint32_t)((int32_t)(uint32_t)v >> 31) >> 1;
        w = kind == FLOAT4 ? w : __builtin_bswap32(w);
        memcpy(p, &w, 4);
        return;
    }
    v ^= (uint64_t)((int64_t)v >> 63) >> 1;
    v = kind == FLOAT8 ? v : __builtin_bswap64(v);
    memcpy(p, &v, 8);
}

/* The number itself. */
static inline __attribute__((always_inline)) double load_value(const uint8_t *p, int kind)
{
    if (kind == FLOAT4 || kind == FLOAT4_BIG) {
        uint32_t v;
        float x;
        memcpy(&v, p, 4);
        v = kind == FLOAT4 ? v : __builtin_bswap32(v);
        memcpy(&x, &v, 4);
        return (double)x;
    }
    uint64_t v = load_word(p, 8);
    double x;
    v = kind == FLOAT8 ? v : __builtin_bswap64(v);
    memcpy(&x, &v, 8);
    return x;
}

/* A sum as an integer in the order of the numbers; 0 if it is not finite in their type. */
static inline __attribute__((always_inline)) uint64_t value_number(double x, int kind)
{
    if (kind == FLOAT4 || kind == FLOAT4_BIG) {
        float y = (float)x;
        return y - y == 0 ? (uint64_t)(int64_t)sk_map32(y) : 0;
    }
    return x - x == 0 ? (uint64_t)sk_map64(x) : 0;
}

/* What number j of a column is expected to be, by those before it; first: the column in the first row. */
static inline __attribute__((always_inline)) uint64_t row_guess(const uint8_t *first, size_t width, size_t j, int kind, int guess, size_t lag)
{
    const uint8_t *at = first + j * width;
    if (guess == ROW_NONE || !j)
        return 0;
    if (guess == ROW_LAG)
        return j < lag ? 0 : load_number(at - lag * width, kind);
    if (guess == ROW_LINE && j > 1)
        return value_number(2 * load_value(at - width, kind) - load_value(at - 2 * width, kind), kind);
    if (guess == ROW_PLANE && j > lag)
        return value_number((load_value(at - width, kind) - load_value(at - (lag + 1) * width, kind)) + load_value(at - lag * width, kind), kind);
    return load_number(at - width, kind);
}

/* How much the number of a row has changed since the past; past: the column in its first row. */
static inline __attribute__((always_inline)) double row_change(const uint8_t *first, const uint8_t *past, size_t width, size_t j, int kind)
{
    return load_value(first + j * width, kind) - load_value(past + j * width, kind);
}

/* The same with the past, of which there are rows; past: the column in its first row. */
static inline __attribute__((always_inline)) uint64_t row_guess_past(const uint8_t *first, const uint8_t *past, size_t rows, size_t width, size_t j, int kind, int guess, size_t lag)
{
    if (guess < ROW_GUESSES || j >= rows)
        return row_guess(first, width, j, kind, guess < ROW_GUESSES ? guess : ROW_BEFORE, lag);
    const uint8_t *at = past + j * width;
    size_t needs = guess == ROW_PAST ? 0 : guess == ROW_CHANGE ? 1 : guess == ROW_CHANGE_LAG ? lag : guess == ROW_CHANGE_LINE ? 2 : lag + 1;
    if (guess == ROW_PAST || !j || (guess == ROW_CHANGE_LAG && j < needs))
        return load_number(at, kind);
    double x = load_value(at, kind), change;
    if (guess == ROW_CHANGE_LAG)
        return value_number(x + row_change(first, past, width, j - lag, kind), kind);
    change = row_change(first, past, width, j - 1, kind);
    if (guess == ROW_CHANGE_LINE && j >= needs)
        change = 2 * change - row_change(first, past, width, j - 2, kind);
    else if (guess == ROW_CHANGE_PLANE && j >= needs)
        change = (change + row_change(first, past, width, j - lag, kind)) - row_change(first, past, width, j - lag - 1, kind);
    return value_number(x + change, kind);
}

/* How the rows of in[0, n), of at most `most` bytes, are best taken apart; width 0: they are none. past: what they come after, in bytes in
 * place of rows. element: 0, or they are numbers of one kind, which have so many bytes each: rows are short then, and have columns of 4 or 8
 * bytes as these have. known: 0, or the width of the rows before: of numbers of one kind that alone is tried, else of the widths for which no
 * byte speaks. */
void sk_rows_find(const uint8_t *in, size_t n, uint32_t most, size_t element, uint32_t known, const struct row_past *past, struct row_layout *l);
/* About what a byte of in[0, n) takes, in bits, in rows as wide and as far apart as those of l with columns of their own. */
double sk_rows_bits(const uint8_t *in, size_t n, const struct row_past *past, const struct row_layout *l);
/* The distance up to `most` at which most bytes are the same, the shortest of about equal ones; where none stands out, numbers stand
 * alone. 0: there are too few bytes. */
uint32_t sk_rows_width(const uint8_t *in, size_t n, uint32_t most);
/* 1: in[0, n) speaks for rows that were found elsewhere, of at most `most` bytes, and costs about what it cost there. */
int sk_rows_fit(const uint8_t *in, size_t n, uint32_t most, const struct row_layout *l);
/* 1: the same, but for the columns, which are chosen anew: rows are as wide and as far apart as there. */
int sk_rows_again(const uint8_t *in, size_t n, uint32_t most, struct row_layout *l);
/* Bits that in[0, n) takes in the rows of l, in the unit of l->bits; INFINITY: there are too few rows. */
double sk_rows_bits_by(const uint8_t *in, size_t n, const struct row_layout *l);
/* 1: so many are no more than l took, and this share of that, nor so few that other rows might well take much less; `something` bits of a byte more or
 * less are neither. */
int sk_rows_are_as(double bits, double more, double something, const struct row_layout *l);

#endif
