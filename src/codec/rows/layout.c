/* Finds the rows: what lies a row apart is alike, and what a column is, is what it costs the least as. */
#include "codec/rows/layout.h"

#include "codec/rows/clones.h"
#include "codec/rows/off.h"

#include <math.h>
#include <pthread.h>

enum { PLACES = 2048, LOOKS = 512, FEW_LOOKS = 64, RUN = 64 };

/* In the lowest bit of each byte of a word: whether it is another one in b. */
static inline uint32_t other_bytes(uint32_t a, uint32_t b)
{
    uint32_t x = a ^ b;
    return ((((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x) >> 7) & 0x01010101u;
}

/* Of the places from `at` on, fewer than 128: how many bytes of two words are others the distances most, most - 4 … before. Bytes are counted
 * side by side, so that one instruction counts many. */
WIDE static void count_others(const uint8_t *at, size_t step, size_t from, size_t to, uint32_t most, uint32_t *others)
{
    uint32_t sum[ROW_WIDE / 4] = {0}, word[ROW_WIDE / 4 + 1];
    for (size_t k = from; k < to; k++) {
        const uint8_t *p = at + step * k / 4 * 4;
        uint32_t low = (uint32_t)load_word(p, 4), high = (uint32_t)load_word(p + 4, 4);
        memcpy(word, p - most, most + 4);
        for (uint32_t i = 0; i < most / 4; i++)
            sum[i] += other_bytes(low, word[i]) + other_bytes(high, word[i + 1]);
    }
    for (uint32_t i = 0; i < most / 4; i++)
        others[i] += (sum[i] & 255) + (sum[i] >> 8 & 255) + (sum[i] >> 16 & 255) + (sum[i] >> 24);
}

/* How many bytes are the same the distances up to `most` apart, that of w in alike[w / 4]; the most of any and of all together. -1: there are too few bytes. */
static int count_alike(const uint8_t *in, size_t n, uint32_t most, uint32_t *alike, uint32_t *best, uint32_t *sum)
{
    enum { AT_A_TIME = 64 };
    uint32_t others[ROW_WIDE / 4] = {0};
    *best = *sum = 0;
    if (n < 16 * (size_t)most)
        return -1;
    size_t step = (n - most - 8) / PLACES;
    for (size_t k = 0; k < PLACES; k += AT_A_TIME)
        count_others(in + most, step, k, k + AT_A_TIME, most, others);
    for (uint32_t w = ROW_LEAST; w <= most; w += 4) {
        alike[w / 4] = 8 * PLACES - others[(most - w) / 4];
        *best = alike[w / 4] > *best ? alike[w / 4] : *best;
        *sum += alike[w / 4];
    }
    return 0;
}

uint32_t sk_rows_width(const uint8_t *in, size_t n, uint32_t most)
{
    uint32_t alike[ROW_WIDE / 4 + 1], best, sum, width = 0;
    if (count_alike(in, n, most, alike, &best, &sum))
        return 0;
    for (uint32_t w = ROW_LEAST; w <= most && !width; w += 4)
        width = alike[w / 4] >= best - best / 32 ? w : 0;
    return (uint64_t)best * (most / 4 - 1) > (uint64_t)sum + sum / 32 ? width : ROW_LEAST;
}

/* 1: about as many bytes speak for the width that most spoke for elsewhere as for any other. */
static int is_as_likely(const uint8_t *in, size_t n, uint32_t most, uint32_t likely)
{
    uint32_t alike[ROW_WIDE / 4 + 1], best, sum;
    return likely && likely <= most && !count_alike(in, n, most, alike, &best, &sum) && alike[likely / 4] >= best - best / 16;
}

/* What k of LOOKS bytes take that are the same, for each k; and k symbols of numbers of LOOKS, and of FEW_LOOKS. */
static struct prices {
    float of[LOOKS + 1];
    double all[LOOKS + 1], few[FEW_LOOKS + 1];
} prices;
static pthread_once_t prices_are_set = PTHREAD_ONCE_INIT;

static void set_prices(void)
{
    for (int k = 1; k <= LOOKS; k++) {
        prices.of[k] = -(float)k * log2f((float)k / LOOKS);
        prices.all[k] = k * log2((double)LOOKS / k);
    }
    for (int k = 1; k <= FEW_LOOKS; k++)
        prices.few[k] = k * log2((double)FEW_LOOKS / k);
}

/* Rows that are looked at: several in a row from several places. Each needs one before it, lag: more. */
struct looks {
    const uint8_t *in;
    size_t rows, width, lag;
    struct row_past past; /* as many as there are rows: where there are less, they are not looked at */
    uint32_t row[LOOKS];
};

static void choose_looks(struct looks *s)
{
    pthread_once(&prices_are_set, set_prices);
    enum { RUNS = LOOKS / RUN };
    size_t from = s->lag + 2, left = s->rows - from - RUN;
    if (s->past.rows >= from + 2 * RUN && s->past.rows < s->rows)
        left = s->past.rows - from - RUN;
    for (size_t k = 0; k < LOOKS; k++)
        s->row[k] = (uint32_t)(from + left / RUNS * (k / RUN) + k % RUN);
}

/* What is found at a place in the rows that are looked at: 8 bytes, or 4 at the end of a row, also in the row before and in the past. */
struct place {
    uint64_t here[LOOKS], before[LOOKS], past[LOOKS];
    double low[COLUMN_KINDS_PAST]; /* what the first four bytes take as WORD4, DIFFERENCE4, SINCE4; below 0: not known yet */
};

static void see_place(const struct looks *s, size_t at, struct place *p)
{
    int bytes = at + 8 <= s->width ? 8 : 4;
    p->low[WORD4] = p->low[DIFFERENCE4] = p->low[SINCE4] = -1;
    for (size_t k = 0; k < LOOKS; k++) {
        const uint8_t *q = s->in + s->row[k] * s->width + at;
        p->here[k] = load_word(q, bytes);
        p->before[k] = load_word(q - s->width, bytes);
        p->past[k] = s->row[k] < s->past.rows ? load_word(s->past.p + s->row[k] * s->width + at, bytes) : 0;
    }
}

/* What four bytes of each word from bit `from` on take, each by its place. */
static double bytes_cost(const uint64_t *word, unsigned from)
{
    uint16_t histogram[4][256] = {{0}};
    float bits[4] = {0};
    for (size_t k = 0; k < LOOKS; k++)
        for (unsigned b = 0; b < 4; b++)
            histogram[b][word[k] >> (from + 8 * b) & 255]++;
    for (int i = 0; i < 256; i++)
        for (int b = 0; b < 4; b++)
            bits[b] += prices.of[histogram[b][i]];
    return (double)bits[0] + (double)bits[1] + (double)bits[2] + (double)bits[3];
}

/* Carries go up only: the first four bytes of a wide difference are those of a narrow one. */
static double words_cost(struct place *p, int kind)
{
    double *low = &p->low[kind & ~1];
    const uint64_t *less = kind == DIFFERENCE4 || kind == DIFFERENCE8 ? p->before : kind >= SINCE4 ? p->past : NULL;
    uint64_t words[LOOKS];
    for (size_t k = 0; k < LOOKS; k++)
        words[k] = less ? p->here[k] - less[k] : p->here[k];
    if (*low < 0)
        *low = bytes_cost(words, 0);
    return *low + (column_bytes(kind) == 8 ? bytes_cost(words, 32) : 0);
}

/* Of so many of the looks, LOOKS or FEW_LOOKS, evenly: bits of all of them. */
WIDE static double numbers_cost(const struct looks *s, size_t at, int kind, int guess, size_t looks)
{
    const struct row_numbers c = row_numbers_at(s->in, s->width, s->lag, &s->past, at, kind, guess);
    const double *price = looks == LOOKS ? prices.all : prices.few;
    size_t step = LOOKS / looks;
    uint32_t histogram[SK_SYMBOLS] = {0};
    uint64_t off[RUN];
    double bits = 0;
    for (size_t k = 0; k < LOOKS; k += RUN) {
        sk_rows_off(&c, s->row[k], RUN / step, step, off);
        for (size_t i = 0; i < RUN / step; i++)
            histogram[off[i] ? 64 - __builtin_clzll(off[i]) : 0]++;
    }
    for (unsigned n = 0; n <= 64; n++) /* their symbols, and the bits that these leave open */
        bits += price[histogram[n]] + (n > 1 ? histogram[n] * (double)(n - 1) : 0);
    return bits * (double)step;
}

/* Of numbers: what costs least of all that they may be expected to be. A few looks tell which of these come near it. */
static double choose_guess(const struct looks *s, size_t at, int kind, double least, struct row_column *c)
{
    int guesses = s->past.rows ? ROW_GUESSES_PAST : ROW_GUESSES;
    double about[ROW_GUESSES_PAST], fewest = INFINITY, simple;
    about[ROW_BEFORE] = numbers_cost(s, at, kind, ROW_BEFORE, FEW_LOOKS);
    about[ROW_PAST] = s->past.rows ? numbers_cost(s, at, kind, ROW_PAST, FEW_LOOKS) : INFINITY;
    simple = about[ROW_BEFORE] < about[ROW_PAST] ? about[ROW_BEFORE] : about[ROW_PAST];
    if (simple > least * 1.5) /* not even near it */
        return least;
    for (int guess = ROW_NONE; guess < guesses; guess++) {
        int lags = guess == ROW_LAG || guess == ROW_PLANE || guess == ROW_CHANGE_LAG || guess == ROW_CHANGE_PLANE;
        if (guess != ROW_BEFORE && guess != ROW_PAST)
            about[guess] = lags && s->lag < 2 ? INFINITY : numbers_cost(s, at, kind, guess, FEW_LOOKS);
        fewest = about[guess] < fewest ? about[guess] : fewest;
    }
    for (int guess = ROW_NONE; guess < guesses; guess++) {
        /* a few show fewer different symbols than all do: what they say is rather too little */
        double cost = about[guess] < fewest * 1.06 && about[guess] < least * 1.1 ? numbers_cost(s, at, kind, guess, LOOKS) : INFINITY;
        if (cost < least * 0.97) {
            least = cost;
            c->kind = (uint8_t)kind;
            c->guess = (uint8_t)guess;
        }
    }
    return least;
}

/* What costs least for the bytes of a row at a place. dearer: how many times as dear as they are the bytes by their place are thought to be. */
static double choose_kind(const struct looks *s, struct place *p, size_t at, int bytes, double dearer, struct row_column *c)
{
    int wide = bytes == 8;
    double least = words_cost(p, wide ? WORD8 : WORD4), cost;
    *c = (struct row_column){.kind = (uint8_t)(wide ? WORD8 : WORD4), .at = (uint16_t)at};
    for (int kind = wide ? DIFFERENCE8 : DIFFERENCE4; kind <= SINCE8; kind += SINCE4 - DIFFERENCE4)
        if ((kind < SINCE4 || s->past.rows) && (cost = words_cost(p, kind)) < least * 0.95) {
            least = cost;
            c->kind = (uint8_t)kind;
        }
    least *= dearer;
    for (int big = 0; big < 2; big++)
        least = choose_guess(s, at, (wide ? FLOAT8 : FLOAT4) + 2 * big, least, c);
    return least;
}

/* A general compressor takes several times as long for the bytes of numbers as it takes to code the numbers, and never leaves as little as each
 * place by itself would. */
static const double DEARER = 1.04;

/* The columns that cost least together. Returns the bits of a byte of them. */
static double choose_columns(const struct looks *s, struct row_layout *l)
{
    double best[ROW_COLUMNS + 1] = {0};
    struct row_column four[ROW_COLUMNS], eight[ROW_COLUMNS];
    uint8_t wide[ROW_COLUMNS + 1] = {0};
    int places = (int)l->width / 4, n = 0;
    double dearer = s->past.rows ? DEARER : 1;
    for (int i = 0; i < places; i++) {
        struct place p;
        see_place(s, 4 * (size_t)i, &p);
        double cost = best[i] + choose_kind(s, &p, 4 * (size_t)i, 4, dearer, &four[i]) + 1;
        if (!i || cost < best[i + 1]) {
            best[i + 1] = cost;
            wide[i + 1] = 0;
        }
        if (i + 1 < places) {
            best[i + 2] = best[i] + choose_kind(s, &p, 4 * (size_t)i, 8, dearer, &eight[i]);
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

/* The same where it is known what a column is. */
static double choose_alike(const struct looks *s, int bytes, struct row_layout *l)
{
    double bits = 0;
    l->columns = 0;
    for (size_t at = 0; at < l->width; at += (size_t)bytes) {
        struct place p;
        see_place(s, at, &p);
        bits += choose_kind(s, &p, at, bytes, DEARER, &l->column[l->columns++]);
    }
    return bits / l->width;
}

static double choose(const struct looks *s, size_t element, struct row_layout *l)
{
    return (element == 4 || element == 8) && l->width % element == 0 ? choose_alike(s, (int)element, l) : choose_columns(s, l);
}

enum { LAG_LEAST = 4, LAG_MOST = 1024, POINTS = 192, ONE_OF = 4 };

/* Numbers at points spread over a column, each with more than LAG_MOST before it, or a quarter of all. */
struct points {
    const uint8_t *at[POINTS];
    uint64_t here[POINTS];
    size_t width;
    int kind;
};

static inline __attribute__((always_inline)) uint32_t lag_bits_as(const struct points *s, int kind, size_t lag, size_t from, size_t end, size_t step)
{
    uint32_t bits = 0;
    for (size_t k = from; k < end; k += step) {
        uint64_t z = sk_fold((int64_t)(s->here[k] - load_number(s->at[k] - lag * s->width, kind)));
        bits += z ? 64 - (unsigned)__builtin_clzll(z) : 0;
    }
    return bits;
}

/* Bits of how far apart numbers are that are `lag` rows apart, at every `step`-th point; who has `most` looks no further. */
WIDE static uint32_t lag_bits(const struct points *s, size_t lag, size_t step, uint32_t most)
{
    enum { SOME = POINTS / 4 };
    uint32_t bits = 0;
    for (size_t k = 0; k < POINTS && bits < most; k += SOME)
        bits += s->kind == FLOAT4   ? lag_bits_as(s, FLOAT4, lag, k, k + SOME, step)
                : s->kind == FLOAT8 ? lag_bits_as(s, FLOAT8, lag, k, k + SOME, step)
                                    : lag_bits_as(s, s->kind == FLOAT4_BIG ? FLOAT4_BIG : FLOAT8_BIG, lag, k, k + SOME, step);
    return bits;
}

/* How many rows apart the numbers of a column are most alike again, 1: nowhere. A few points tell which distances come near that. */
static uint32_t find_lag(const uint8_t *in, size_t rows, size_t width, const struct row_column *c)
{
    struct points s = {.width = width, .kind = is_number(c->kind) ? c->kind : column_bytes(c->kind) == 8 ? FLOAT8 : FLOAT4};
    size_t most = rows / 4 < LAG_MOST ? rows / 4 : LAG_MOST;
    uint32_t few[LAG_MOST], fewest = UINT32_MAX, least = UINT32_MAX, best = 1;
    if (most <= LAG_LEAST)
        return 1;
    for (size_t k = 0; k < POINTS; k++) {
        s.at[k] = in + c->at + (most + (rows - most) * k / POINTS) * width;
        s.here[k] = load_number(s.at[k], s.kind);
    }
    for (size_t lag = LAG_LEAST; lag < most; lag++) {
        few[lag] = lag_bits(&s, lag, ONE_OF, UINT32_MAX);
        fewest = few[lag] < fewest ? few[lag] : fewest;
    }
    for (size_t lag = LAG_LEAST; lag < most; lag++) {
        uint32_t bits = few[lag] <= fewest + fewest / 32 ? lag_bits(&s, lag, 1, least) : UINT32_MAX;
        if (bits < least) {
            least = bits;
            best = (uint32_t)lag;
        }
    }
    return least < lag_bits(&s, 1, 1, UINT32_MAX) + POINTS ? best : 1;
}

/* The shortest part of a width for which nearly as many bytes speak, 0: there is none. Of several rows together more may be alike than of one. */
static uint32_t part_of(const uint8_t *in, size_t n, uint32_t width)
{
    enum { PARTS = 8, SHORT = 24 };
    uint32_t alike[ROW_WIDE / 4 + 1], best, sum;
    if (count_alike(in, n, width, alike, &best, &sum))
        return 0;
    for (uint32_t k = PARTS; k > 1; k--)
        if (width % (4 * k) == 0 && width / k > SHORT && alike[width / k / 4] >= best - best / 8)
            return width / k;
    return 0;
}

/* What the rows of l cost, and the tables of their columns, in bits of a byte; of few rows the same ones are looked at several times, and seem to cost less than
 * they do. */
static double with_tables(const struct row_layout *l, size_t rows)
{
    static const double TABLE = 320, SEEMS = 0.25;
    double few = rows < LOOKS ? 1 + SEEMS * (1 - (double)rows / LOOKS) : 1;
    return l->bits * few + l->columns * TABLE * LOOKS / (double)rows / l->width;
}

/* Of the width that most bytes speak for, and of short ones that no byte speaks for (of numbers of one kind the shortest alone), the one whose
 * columns cost the least; after others also of a part of the first one. known: 0, or the width of the rows before. */
static void choose_width(const uint8_t *in, size_t n, uint32_t most, size_t element, uint32_t known, const struct row_past *past,
                         struct row_layout *l)
{
    uint32_t likely = element && known ? known : sk_rows_width(in, n, element ? ROW_ARRAY : most);
    const uint32_t widths[] = {likely, 8, 16, 24, likely && past->rows && !element ? part_of(in, n, likely) : 0};
    struct row_layout best = {.lag = 1};
    double least = INFINITY;
    for (size_t i = 0; likely && i < (element ? 2 : sizeof widths / sizeof *widths); i++) {
        l->width = widths[i];
        if (!l->width)
            continue;
        struct looks s = {in, n / l->width, l->width, 1, {past->p, past->rows / l->width}, {0}};
        if ((i && i < 4 && (l->width == likely || (known && l->width != known))) || s.rows < LOOKS / 4)
            continue;
        choose_looks(&s);
        l->bits = choose(&s, element, l);
        double bits = past->rows ? with_tables(l, s.rows) : l->bits;
        if (bits < (i < 4 ? 0.97 : 1) * least) {
            least = bits;
            best = *l;
        }
    }
    *l = best;
    l->likely = likely;
}

void sk_rows_find(const uint8_t *in, size_t n, uint32_t most, size_t element, uint32_t known, const struct row_past *past, struct row_layout *l)
{
    *l = (struct row_layout){.lag = 1};
    choose_width(in, n, most, element, known, past, l);
    struct looks s = {in, l->width ? n / l->width : 0, l->width, 1, {0}, {0}};
    if (!l->width)
        return;
    l->past = s.past = (struct row_past){past->p, past->rows / l->width};
    int k = 0;
    while (k + 1 < l->columns && (!is_number(l->column[k].kind) || l->column[k].guess == ROW_NONE))
        k++;
    l->lag = find_lag(in, s.rows, l->width, &l->column[!is_number(l->column[k].kind) ? 0 : k]);
    s.lag = l->lag;
    if (l->lag > 1) {
        choose_looks(&s);
        l->bits = choose(&s, element, l);
    }
}

double sk_rows_bits(const uint8_t *in, size_t n, const struct row_past *past, const struct row_layout *l)
{
    struct row_layout own = {.width = l->width};
    struct looks s = {in, n / l->width, l->width, l->lag, {past->p, past->rows / l->width}, {0}};
    if (s.rows < LOOKS / 4 || s.rows / 4 < l->lag)
        return INFINITY;
    choose_looks(&s);
    return choose_columns(&s, &own);
}

double sk_rows_bits_by(const uint8_t *in, size_t n, const struct row_layout *l)
{
    struct looks s = {in, l->width ? n / l->width : 0, l->width, l->lag, l->past, {0}};
    double bits = 0;
    if (s.rows < LOOKS / 4 || s.rows / 4 < l->lag)
        return INFINITY;
    choose_looks(&s);
    for (int i = 0; i < l->columns; i++) {
        const struct row_column *c = &l->column[i];
        struct place p;
        if (is_number(c->kind)) {
            bits += numbers_cost(&s, c->at, c->kind, c->guess, LOOKS);
            continue;
        }
        see_place(&s, c->at, &p);
        bits += words_cost(&p, c->kind) + (column_bytes(c->kind) == 4);
    }
    return bits / l->width;
}

int sk_rows_fit(const uint8_t *in, size_t n, uint32_t most, const struct row_layout *l)
{
    double bits = sk_rows_bits_by(in, n, l);
    return bits < INFINITY && fabs(bits - l->bits) <= l->bits / 64 && is_as_likely(in, n, most, l->likely);
}

int sk_rows_again(const uint8_t *in, size_t n, uint32_t most, struct row_layout *l)
{
    enum { FAR = 8 };
    struct looks s = {in, n / l->width, l->width, l->lag, {0}, {0}};
    if (s.rows < LOOKS / 4 || s.rows / 4 < l->lag || !is_as_likely(in, n, most, l->likely))
        return 0;
    struct row_layout again = *l;
    choose_looks(&s);
    again.bits = choose_columns(&s, &again);
    if (again.bits > l->bits + l->bits / FAR)
        return 0;
    *l = again;
    return 1;
}

int sk_rows_are_as(double bits, double more, double something, const struct row_layout *l)
{
    static const double MUCH_LESS = 0.75;
    something *= LOOKS;
    return bits <= l->bits * (1 + more) + something && bits >= l->bits * MUCH_LESS - something;
}
