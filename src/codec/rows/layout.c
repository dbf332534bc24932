/* Finds the rows: what lies a row apart is alike, and what a column is, is what it costs the least as. */
#include "codec/rows/layout.h"

#include <math.h>

enum { PLACES = 2048, LOOKS = 512 };

/* Bytes that are the same in two words. */
static inline unsigned same_bytes(uint64_t a, uint64_t b)
{
    uint64_t x = a ^ b, some = (x & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7f7f7f7f7f7f7f7f);
    return 8 - (unsigned)__builtin_popcountll((some | x) & UINT64_C(0x8080808080808080));
}

/* The distance at which most bytes are the same, the shortest of about equal ones; where none stands out, numbers stand alone. 0: there
 * are too few bytes. */
static uint32_t find_width(const uint8_t *in, size_t n)
{
    uint32_t alike[ROW_MOST / 4 + 1] = {0}, most = 0, sum = 0, width = 0;
    if (n < 16 * ROW_MOST)
        return 0;
    size_t step = (n - ROW_MOST - 8) / PLACES;
    for (size_t k = 0; k < PLACES; k++) {
        const uint8_t *p = in + ROW_MOST + step * k / 4 * 4;
        uint64_t v = load_word(p, 8);
        for (uint32_t w = ROW_LEAST; w <= ROW_MOST; w += 4)
            alike[w / 4] += same_bytes(v, load_word(p - w, 8));
    }
    for (uint32_t w = ROW_LEAST; w <= ROW_MOST; w += 4) {
        most = alike[w / 4] > most ? alike[w / 4] : most;
        sum += alike[w / 4];
    }
    for (uint32_t w = ROW_LEAST; w <= ROW_MOST && !width; w += 4)
        width = alike[w / 4] >= most - most / 32 ? w : 0;
    return (uint64_t)most * (ROW_MOST / 4 - 1) > (uint64_t)sum + sum / 32 ? width : ROW_LEAST;
}

/* Bits that a byte takes of a histogram of n bytes. */
static double entropy(const uint32_t histogram[256], size_t n)
{
    double bits = 0;
    for (int i = 0; i < 256; i++)
        if (histogram[i])
            bits -= histogram[i] * (double)log2f((float)histogram[i] / (float)n);
    return bits;
}

/* Rows that are looked at: several in a row from several places. Each needs one before it, lag: more. */
struct looks {
    const uint8_t *in;
    size_t rows, width, lag;
};

static inline size_t look_at(const struct looks *s, size_t k)
{
    enum { RUN = 64 };
    size_t runs = LOOKS / RUN, from = s->lag + 2, left = s->rows - from - RUN;
    return from + left / runs * (k / RUN) + k % RUN;
}

static double words_cost(const struct looks *s, size_t at, int bytes, int difference)
{
    uint32_t histogram[8][256] = {{0}};
    double bits = 0;
    for (size_t k = 0; k < LOOKS; k++) {
        const uint8_t *p = s->in + look_at(s, k) * s->width + at;
        uint64_t v = load_word(p, bytes);
        if (difference)
            v -= load_word(p - s->width, bytes);
        for (int b = 0; b < bytes; b++)
            histogram[b][v >> 8 * b & 255]++;
    }
    for (int b = 0; b < bytes; b++)
        bits += entropy(histogram[b], LOOKS);
    return bits;
}

static double numbers_cost(const struct looks *s, size_t at, int kind, int guess)
{
    uint32_t histogram[SK_SYMBOLS] = {0};
    for (size_t k = 0; k < LOOKS; k++) {
        size_t j = look_at(s, k);
        uint64_t v = load_number(s->in + j * s->width + at, kind);
        uint64_t z = sk_fold((int64_t)(v - row_guess(s->in + at, s->width, j, kind, guess, s->lag)));
        histogram[z ? 64 - __builtin_clzll(z) : 0]++;
    }
    return sk_residual_cost(histogram);
}

/* What costs least for the bytes of a row at a place. */
static double choose_kind(const struct looks *s, size_t at, int bytes, struct row_column *c)
{
    int wide = bytes == 8;
    double least = words_cost(s, at, bytes, 0), cost = words_cost(s, at, bytes, 1);
    *c = (struct row_column){.kind = (uint8_t)(wide ? WORD8 : WORD4), .at = (uint16_t)at};
    if (cost < least * 0.95) {
        least = cost;
        c->kind = (uint8_t)(wide ? DIFFERENCE8 : DIFFERENCE4);
    }
    for (int big = 0; big < 2; big++) {
        int kind = (wide ? FLOAT8 : FLOAT4) + 2 * big;
        double before = numbers_cost(s, at, kind, ROW_BEFORE);
        if (before > least * 1.5) /* not even near it */
            continue;
        for (int guess = ROW_NONE; guess < ROW_GUESSES; guess++) {
            if (guess >= ROW_LAG && s->lag < 2)
                continue;
            cost = guess == ROW_BEFORE ? before : numbers_cost(s, at, kind, guess);
            if (cost < least * 0.97) {
                least = cost;
                c->kind = (uint8_t)kind;
                c->guess = (uint8_t)guess;
            }
        }
    }
    return least;
}

/* The columns that cost least together. Returns the bits of a byte of them. */
static double choose_columns(const struct looks *s, struct row_layout *l)
{
    double best[ROW_COLUMNS + 1] = {0};
    struct row_column four[ROW_COLUMNS], eight[ROW_COLUMNS];
    uint8_t wide[ROW_COLUMNS + 1] = {0};
    int places = (int)l->width / 4, n = 0;
    for (int i = 0; i < places; i++) {
        double cost = best[i] + choose_kind(s, 4 * (size_t)i, 4, &four[i]) + 1;
        if (!i || cost < best[i + 1]) {
            best[i + 1] = cost;
            wide[i + 1] = 0;
        }
        if (i + 1 < places) {
            best[i + 2] = best[i] + choose_kind(s, 4 * (size_t)i, 8, &eight[i]);
            wide[i + 2] = 1;
        }
    }
    for (int i = places; i > 0; i -= wide[i] ? 2 : 1)
        n++;
    l->columns = n;
    for (int i = places; i > 0; i -= wide[i] ? 2 : 1)
        l->column[--n] = wide[i] ? eight[i - 2] : four[i - 1];
    return best[places] / l->width;
}

/* How many rows apart the numbers of a column are most alike again, 1: nowhere. */
static uint32_t find_lag(const uint8_t *in, size_t rows, size_t width, const struct row_column *c)
{
    int kind = c->kind >= FLOAT4 ? c->kind : column_bytes(c->kind) == 8 ? FLOAT8 : FLOAT4;
    enum { LAG_LEAST = 4, LAG_MOST = 1024, POINTS = 192 };
    size_t most = rows / 4 < LAG_MOST ? rows / 4 : LAG_MOST;
    uint64_t least = UINT64_MAX, alone = 0;
    uint32_t best = 1;
    for (size_t lag = 1; lag < most; lag = lag < LAG_LEAST ? LAG_LEAST : lag + 1) {
        uint64_t bits = 0;
        for (size_t k = 0; k < POINTS; k++) {
            const uint8_t *p = in + c->at + (most + (rows - most) * k / POINTS) * width;
            uint64_t z = sk_fold((int64_t)(load_number(p, kind) - load_number(p - lag * width, kind)));
            bits += z ? 64 - (unsigned)__builtin_clzll(z) : 0;
        }
        if (lag == 1)
            alone = bits;
        else if (bits < least) {
            least = bits;
            best = (uint32_t)lag;
        }
    }
    return least < alone + POINTS ? best : 1;
}

/* Of the width that most bytes speak for, and of short ones that no byte speaks for, the one whose columns cost the least. */
static void choose_width(const uint8_t *in, size_t n, struct row_layout *l)
{
    static const uint8_t widths[] = {0, 8, 16, 24};
    uint32_t likely = find_width(in, n), best = 0;
    double least = INFINITY;
    for (size_t i = 0; likely && i < sizeof widths; i++) {
        l->width = widths[i] ? widths[i] : likely;
        struct looks s = {in, n / l->width, l->width, 1};
        if ((i && l->width == likely) || s.rows < LOOKS / 4)
            continue;
        double bits = choose_columns(&s, l);
        if (bits < 0.97 * least) {
            least = bits;
            best = l->width;
        }
    }
    l->width = best;
}

void sk_rows_find(const uint8_t *in, size_t n, struct row_layout *l)
{
    l->lag = 1;
    l->columns = 0;
    choose_width(in, n, l);
    struct looks s = {in, l->width ? n / l->width : 0, l->width, 1};
    if (!l->width)
        return;
    choose_columns(&s, l);
    int k = 0;
    while (k + 1 < l->columns && (l->column[k].kind < FLOAT4 || l->column[k].guess == ROW_NONE))
        k++;
    l->lag = find_lag(in, s.rows, l->width, &l->column[l->column[k].kind < FLOAT4 ? 0 : k]);
    s.lag = l->lag;
    if (l->lag > 1)
        choose_columns(&s, l);
}
