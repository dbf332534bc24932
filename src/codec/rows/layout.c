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

uint32_t sk_rows_width(const uint8_t *in, size_t n, uint32_t most)
{
    uint32_t alike[ROW_WIDE / 4 + 1] = {0}, best = 0, sum = 0, width = 0;
    if (n < 16 * (size_t)most)
        return 0;
    size_t step = (n - most - 8) / PLACES;
    for (size_t k = 0; k < PLACES; k++) {
        const uint8_t *p = in + most + step * k / 4 * 4;
        uint64_t v = load_word(p, 8);
        for (uint32_t w = ROW_LEAST; w <= most; w += 4)
            alike[w / 4] += same_bytes(v, load_word(p - w, 8));
    }
    for (uint32_t w = ROW_LEAST; w <= most; w += 4) {
        best = alike[w / 4] > best ? alike[w / 4] : best;
        sum += alike[w / 4];
    }
    for (uint32_t w = ROW_LEAST; w <= most && !width; w += 4)
        width = alike[w / 4] >= best - best / 32 ? w : 0;
    return (uint64_t)best * (most / 4 - 1) > (uint64_t)sum + sum / 32 ? width : ROW_LEAST;
}

/* What k of LOOKS bytes take that are the same, for each k. */
struct prices {
    double of[LOOKS + 1];
};

static void set_prices(struct prices *p)
{
    p->of[0] = 0;
    for (int k = 1; k <= LOOKS; k++)
        p->of[k] = -k * (double)log2f((float)k / LOOKS);
}

/* Rows that are looked at: several in a row from several places. Each needs one before it, lag: more. */
struct looks {
    const uint8_t *in;
    size_t rows, width, lag;
    const struct prices *prices;
    struct row_past past; /* as many as there are rows: where there are less, they are not looked at */
};

static inline size_t look_at(const struct looks *s, size_t k)
{
    enum { RUN = 64 };
    size_t runs = LOOKS / RUN, from = s->lag + 2, left = s->rows - from - RUN;
    if (s->past.rows >= from + 2 * RUN && s->past.rows < s->rows)
        left = s->past.rows - from - RUN;
    return from + left / runs * (k / RUN) + k % RUN;
}

static double words_cost(const struct looks *s, size_t at, int kind)
{
    int bytes = column_bytes(kind);
    uint32_t histogram[8][256] = {{0}};
    double bits = 0;
    for (size_t k = 0; k < LOOKS; k++) {
        const uint8_t *p = s->in + look_at(s, k) * s->width + at;
        uint64_t v = load_word(p, bytes);
        if (kind == DIFFERENCE4 || kind == DIFFERENCE8)
            v -= load_word(p - s->width, bytes);
        else if (kind >= SINCE4 && look_at(s, k) < s->past.rows)
            v -= load_word(s->past.p + look_at(s, k) * s->width + at, bytes);
        for (int b = 0; b < bytes; b++)
            histogram[b][v >> 8 * b & 255]++;
    }
    for (int b = 0; b < bytes; b++)
        for (int i = 0; i < 256; i++)
            bits += s->prices->of[histogram[b][i]];
    return bits;
}

static double numbers_cost(const struct looks *s, size_t at, int kind, int guess)
{
    uint32_t histogram[SK_SYMBOLS] = {0};
    for (size_t k = 0; k < LOOKS; k++) {
        size_t j = look_at(s, k);
        uint64_t v = load_number(s->in + j * s->width + at, kind);
        uint64_t p = guess < ROW_GUESSES ? row_guess(s->in + at, s->width, j, kind, guess, s->lag)
                                         : row_guess_past(s->in + at, s->past.p + at, s->past.rows, s->width, j, kind, guess, s->lag);
        uint64_t z = sk_fold((int64_t)(v - p));
        histogram[z ? 64 - __builtin_clzll(z) : 0]++;
    }
    return sk_residual_cost(histogram);
}

/* Of numbers: what costs least of all that they may be expected to be. */
static double choose_guess(const struct looks *s, size_t at, int kind, double least, struct row_column *c)
{
    int guesses = s->past.rows ? ROW_GUESSES_PAST : ROW_GUESSES;
    double before = numbers_cost(s, at, kind, ROW_BEFORE), since = s->past.rows ? numbers_cost(s, at, kind, ROW_PAST) : INFINITY;
    if ((before < since ? before : since) > least * 1.5) /* not even near it */
        return least;
    for (int guess = ROW_NONE; guess < guesses; guess++) {
        if ((guess == ROW_LAG || guess == ROW_PLANE || guess == ROW_CHANGE_LAG || guess == ROW_CHANGE_PLANE) && s->lag < 2)
            continue;
        double cost = guess == ROW_BEFORE ? before : guess == ROW_PAST ? since : numbers_cost(s, at, kind, guess);
        if (cost < least * 0.97) {
            least = cost;
            c->kind = (uint8_t)kind;
            c->guess = (uint8_t)guess;
        }
    }
    return least;
}

/* What costs least for the bytes of a row at a place. */
static double choose_kind(const struct looks *s, size_t at, int bytes, struct row_column *c)
{
    int wide = bytes == 8;
    double least = words_cost(s, at, wide ? WORD8 : WORD4), cost;
    *c = (struct row_column){.kind = (uint8_t)(wide ? WORD8 : WORD4), .at = (uint16_t)at};
    for (int kind = wide ? DIFFERENCE8 : DIFFERENCE4; kind <= SINCE8; kind += SINCE4 - DIFFERENCE4)
        if ((kind < SINCE4 || s->past.rows) && (cost = words_cost(s, at, kind)) < least * 0.95) {
            least = cost;
            c->kind = (uint8_t)kind;
        }
    for (int big = 0; big < 2; big++)
        least = choose_guess(s, at, (wide ? FLOAT8 : FLOAT4) + 2 * big, least, c);
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
    int kind = is_number(c->kind) ? c->kind : column_bytes(c->kind) == 8 ? FLOAT8 : FLOAT4;
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
static void choose_width(const uint8_t *in, size_t n, uint32_t most, const struct prices *prices, const struct row_past *past, struct row_layout *l)
{
    static const uint8_t widths[] = {0, 8, 16, 24};
    uint32_t likely = sk_rows_width(in, n, most);
    struct row_layout best = {.lag = 1};
    double least = INFINITY;
    for (size_t i = 0; likely && i < sizeof widths; i++) {
        l->width = widths[i] ? widths[i] : likely;
        struct looks s = {in, n / l->width, l->width, 1, prices, {past->p, past->rows / l->width}};
        if ((i && l->width == likely) || s.rows < LOOKS / 4)
            continue;
        l->bits = choose_columns(&s, l);
        if (l->bits < 0.97 * least) {
            least = l->bits;
            best = *l;
        }
    }
    *l = best;
    l->likely = likely;
}

void sk_rows_find(const uint8_t *in, size_t n, uint32_t most, const struct row_past *past, struct row_layout *l)
{
    struct prices prices;
    set_prices(&prices);
    *l = (struct row_layout){.lag = 1};
    choose_width(in, n, most, &prices, past, l);
    struct looks s = {in, l->width ? n / l->width : 0, l->width, 1, &prices, {0}};
    if (!l->width)
        return;
    l->past = s.past = (struct row_past){past->p, past->rows / l->width};
    int k = 0;
    while (k + 1 < l->columns && (!is_number(l->column[k].kind) || l->column[k].guess == ROW_NONE))
        k++;
    l->lag = find_lag(in, s.rows, l->width, &l->column[!is_number(l->column[k].kind) ? 0 : k]);
    s.lag = l->lag;
    if (l->lag > 1)
        l->bits = choose_columns(&s, l);
}

int sk_rows_fit(const uint8_t *in, size_t n, uint32_t most, const struct row_layout *l)
{
    struct prices prices;
    struct looks s = {in, l->width ? n / l->width : 0, l->width, l->lag, &prices, l->past};
    double bits = 0;
    if (s.rows < LOOKS / 4 || s.rows / 4 < l->lag || sk_rows_width(in, n, most) != l->likely)
        return 0;
    set_prices(&prices);
    for (int i = 0; i < l->columns; i++) {
        const struct row_column *c = &l->column[i];
        bits += is_number(c->kind) ? numbers_cost(&s, c->at, c->kind, c->guess) : words_cost(&s, c->at, c->kind) + (column_bytes(c->kind) == 4);
    }
    return fabs(bits / l->width - l->bits) <= l->bits / 64;
}
