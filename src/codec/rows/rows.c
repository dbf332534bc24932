/* Pieces of rows, column by column. */
#include "codec/rows/rows.h"

#include "codec/rows/layout.h"
#include "codec/rows/off.h"
#include "codec/text/coded.h"

#include <math.h>
#include <stdlib.h>

struct sk_rows {
    int known;     /* 1: the layout is that of the piece before */
    int doubted;   /* 1: of which others are looked for all the same, and it stays where these are no better */
    int compared;  /* 1: which came after others, and was compared with these */
    size_t since;  /* bytes since it was looked for */
    unsigned looks; /* how often it was looked for in bytes that go on */
    uint32_t most; /* bytes of a row */
    int after;     /* 1: rows come after others */
    size_t element; /* 0, or these are numbers of one kind, of so many bytes */
    const uint8_t *past;
    size_t past_bytes, next; /* next: where in the past the next bytes begin, when it is written */
    struct row_layout layout;
    uint8_t symbol[ROWS], context[ROWS];
    uint32_t table[SK_MIX_GROUPS][SK_MIX_ONE];
};

struct sk_rows *sk_rows_new(void)
{
    _Static_assert(sizeof(struct sk_rows) <= SK_ROWS_MEMORY, "a thread's memory");
    struct sk_rows *t = malloc(sizeof *t);
    if (t) {
        sk_rows_begin(t);
        sk_rows_wide(t, 0);
        sk_rows_alone(t);
    }
    return t;
}

void sk_rows_wide(struct sk_rows *t, int wide)
{
    t->most = wide ? ROW_WIDE : ROW_MOST;
}

void sk_rows_alone(struct sk_rows *t)
{
    t->after = 0;
    t->element = 0;
    t->past = NULL;
    t->past_bytes = t->next = 0;
}

void sk_rows_after(struct sk_rows *t, const uint8_t *past, size_t n, size_t at)
{
    t->after = 1;
    t->past = past;
    t->past_bytes = n;
    t->next = at;
}

void sk_rows_elements(struct sk_rows *t, size_t bytes)
{
    t->element = bytes;
}

int sk_rows_are_wide(const uint8_t *in, size_t n)
{
    return sk_rows_width(in, n, ROW_WIDE) > ROW_MOST;
}

void sk_rows_free(struct sk_rows *t)
{
    free(t);
}

/* The context of a number: how far off those before it were. */
static inline uint8_t context_of(unsigned level)
{
    return (uint8_t)(level / 2 < SK_CODED_CONTEXTS ? level / 2 : SK_CODED_CONTEXTS - 1);
}
static inline unsigned next_level(unsigned level, unsigned symbol)
{
    return (level + 2 * symbol) / 2;
}

/* ---- writing ---- */

void sk_rows_begin(struct sk_rows *t)
{
    t->known = t->doubted = 0;
    t->since = 0;
    t->looks = 0;
}

void sk_rows_doubt(struct sk_rows *t)
{
    t->doubted = t->known;
}

static inline __attribute__((always_inline)) void put_words_of(int n, const uint8_t *in, size_t rows, const struct row_layout *l, const struct row_column *c, uint8_t *to)
{
    int difference = c->kind == DIFFERENCE4 || c->kind == DIFFERENCE8, since = c->kind >= SINCE4;
    uint64_t before = 0;
    for (size_t j = 0; j < rows; j++) {
        uint64_t v = load_word(in + j * l->width + c->at, n), d = difference ? v - before : v;
        if (since && j < l->past.rows)
            d -= load_word(l->past.p + j * l->width + c->at, n);
        before = v;
        for (int b = 0; b < n; b++)
            to[(size_t)b * rows + j] = (uint8_t)(d >> 8 * b);
    }
}

/* The bytes of a column by their place. */
static int put_words(const uint8_t *in, size_t rows, const struct row_layout *l, const struct row_column *c, struct sk_buf *bytes)
{
    int n = column_bytes(c->kind);
    uint8_t *to = sk_buf_extend(bytes, rows * (size_t)n);
    if (!to)
        return SAIKAI_ENOMEM;
    if (n == 4)
        put_words_of(4, in, rows, l, c, to);
    else
        put_words_of(8, in, rows, l, c, to);
    return 0;
}

static int put_numbers(struct sk_rows *t, const uint8_t *in, size_t rows, const struct row_column *c, struct sk_buf *out)
{
    enum { SOME = 512 };
    const struct row_layout *l = &t->layout;
    uint64_t off[SOME];
    unsigned level = 0;
    sk_buf_put_u8(out, c->guess);
    size_t head = out->len;
    sk_buf_put_u32(out, 0);
    uint8_t *to = sk_buf_extend(out, 8 * rows + SK_BITS_SLACK);
    if (!to)
        return SAIKAI_ENOMEM;
    const struct row_numbers numbers = row_numbers_at(in, l->width, l->lag, &l->past, c->at, c->kind, c->guess);
    struct sk_open_out open = {.p = to};
    for (size_t from = 0, n; from < rows; from += n) {
        n = rows - from < SOME ? rows - from : SOME;
        sk_rows_off(&numbers, from, n, 1, off);
        for (size_t j = 0; j < n; j++) {
            t->context[from + j] = context_of(level);
            t->symbol[from + j] = sk_residual_put(&open, off[j]);
            level = next_level(level, t->symbol[from + j]);
        }
    }
    out->len = (size_t)(sk_open_end(&open) - out->data);
    for (size_t k = 0, n = out->len - head - 4; k < 4; k++)
        out->data[head + k] = (uint8_t)(n >> 8 * k);
    return sk_coded_put(t->symbol, t->context, rows, out);
}

/* What is left of the past from where the next bytes are expected on, and some bytes later: in bytes. */
static struct row_past past_at(const struct sk_rows *t, size_t later)
{
    size_t at = t->next + later;
    return t->after && at < t->past_bytes ? (struct row_past){t->past + at, t->past_bytes - at} : (struct row_past){NULL, 0};
}

/* 1: numbers of one kind that come after others. */
static int is_array(const struct sk_rows *t)
{
    return t->after && t->element;
}

/* 1: the piece has the layout of the one before, by which it costs `bits`. After others pieces are as short as the segments of files, and to look
 * for rows takes much longer than to code them: until so many bytes have come, what costs little more than it did will do. */
static int fits(const struct sk_rows *t, const uint8_t *in, size_t n, int past, double *bits)
{
    enum { SOON = 256 << 10 };
    static const double LITTLE = 1.0 / 8, HARDLY = 1.0 / 64, SOMETHING = 0.06;
    *bits = INFINITY;
    if (!t->after)
        return sk_rows_fit(in, n, t->most, &t->layout);
    if (is_array(t) && t->compared == past && t->since < SOON) /* the same variable, soon after */
        return 1;
    *bits = sk_rows_bits_by(in, n, &t->layout);
    return t->compared == past && sk_rows_are_as(*bits, t->since < SOON ? LITTLE : HARDLY, SOMETHING, &t->layout);
}

/* The layout of in[0, n). To look for rows takes longer than to see that they are those of before. 1: what comes after the past and is
 * rows only from its fifth byte on, as behind the mark of a record. */
static int find_layout(struct sk_rows *t, const uint8_t *in, size_t n)
{
    enum { MARK = 4, ALL_WIDTHS = 4 };
    static const double LESS = 0.98;
    struct row_layout *l = &t->layout, before = *l;
    struct row_past past = past_at(t, 0);
    uint32_t width = t->known && !t->doubted && ++t->looks % ALL_WIDTHS ? l->width : 0; /* rows that change are mostly as long as before */
    double bits = INFINITY;
    if (t->known) {
        before.past = l->past = (struct row_past){past.p, past.rows / l->width};
        if (t->doubted)
            bits = sk_rows_bits_by(in, n, l);
        else if (fits(t, in, n, past.rows > 0, &bits) || (!t->after && sk_rows_again(in, n, t->most, l)))
            return 0;
    }
    t->compared = past.rows > 0;
    t->doubted = 0;
    t->since = 0;
    sk_rows_find(in, n, t->most, t->after ? t->element : 0, width, &past, l);
    if (bits < INFINITY && l->bits > LESS * bits) { /* nothing better was found */
        *l = before;
        l->bits = bits;
    }
    if (!t->after || t->element || !l->width || n <= MARK)
        return 0;
    past = past_at(t, MARK);
    return sk_rows_bits(in + MARK, n - MARK, &past, l) < 0.9 * l->bits;
}

/* How many of in[0, n) after others are rows as its first `looked` bytes are: a file may have arrays of several kinds. */
static size_t alike(const struct sk_rows *t, const uint8_t *in, size_t n, size_t looked)
{
    enum { STEP = 64 << 10 };
    static const double LITTLE = 1.0 / 8, SOMETHING = 0.25;
    struct row_layout further = t->layout;
    if (!further.width)
        return n;
    size_t least = 5 * (size_t)further.lag, step = (STEP / further.width > least ? STEP / further.width : least) * further.width, at = looked / further.width * further.width;
    for (; at + 2 * step <= n; at += step) {
        struct row_past past = past_at(t, at);
        further.past = (struct row_past){past.p, past.rows / further.width};
        if (!sk_rows_are_as(sk_rows_bits_by(in + at, step, &further), LITTLE, SOMETHING, &further))
            return at;
    }
    return n;
}

static void put_layout(const struct sk_rows *t, const struct row_layout *l, size_t n, struct sk_buf *numbers)
{
    sk_buf_put_u32(numbers, (uint32_t)n);
    sk_buf_put_u16(numbers, (uint16_t)l->width);
    if (!l->width)
        return;
    sk_buf_put_u16(numbers, (uint16_t)l->lag);
    if (t->after) {
        sk_buf_put_u32(numbers, l->past.rows ? (uint32_t)t->next : 0);
        sk_buf_put_u32(numbers, (uint32_t)l->past.rows);
    }
    for (int i = 0; i < l->columns; i++)
        sk_buf_put_u8(numbers, l->column[i].kind);
}

/* The beginning of in[0, all), to the end of a row where it goes on. */
static int put_piece(struct sk_rows *t, const uint8_t *in, size_t all, size_t *taken, struct sk_buf *bytes, struct sk_buf *numbers)
{
    enum { MARK = 4, FIRST = 256 << 10 };
    struct row_layout *l = &t->layout;
    size_t rows = 0, n = all < ROWS_PIECE ? all : ROWS_PIECE, looked = t->after && n > 2 * FIRST ? FIRST : n;
    int rc = 0;
    if (find_layout(t, in, looked)) {
        n = MARK;
        l->width = 0;
    }
    t->known = l->width > 0;
    if (looked < n)
        n = alike(t, in, n, looked);
    if (n < all && l->width)
        n = n / l->width * l->width;
    *taken = n;
    if (l->width)
        rows = n / l->width;
    l->past.rows = l->past.rows < rows ? l->past.rows : rows;
    put_layout(t, l, n, numbers);
    for (int i = 0; l->width && i < l->columns && !rc; i++)
        rc = is_number(l->column[i].kind) ? put_numbers(t, in, rows, &l->column[i], numbers) : put_words(in, rows, l, &l->column[i], bytes);
    sk_buf_put(bytes, in + rows * l->width, n - rows * l->width);
    t->next += n;
    t->since += n;
    return rc;
}

int sk_rows_put(struct sk_rows *t, const uint8_t *in, size_t n, struct sk_buf *bytes, struct sk_buf *numbers, struct saikai_error *err)
{
    int rc = 0;
    for (size_t at = 0, taken; at < n && !rc; at += taken) {
        rc = put_piece(t, in + at, n - at, &taken, bytes, numbers);
        if (!sk_buf_ok(bytes) || !sk_buf_ok(numbers))
            rc = SAIKAI_ENOMEM;
    }
    return rc ? sk_fail(err, rc, "no memory to encode %zu bytes of rows", n) : 0;
}

/* ---- reading ---- */

struct left {
    const uint8_t *p;
    size_t n;
};

static const uint8_t *take(struct left *l, size_t n)
{
    const uint8_t *p = l->p;
    if (n > l->n)
        return NULL;
    l->p += n;
    l->n -= n;
    return p;
}

/* Where the rows of the past are: as many as these at most, and all of them there. */
static int get_past(const struct sk_rows *t, struct sk_rd *in, size_t n, struct row_layout *l)
{
    uint64_t from = sk_rd_u32(in), rows = sk_rd_u32(in);
    l->past = (struct row_past){rows ? t->past + from : NULL, (size_t)rows};
    return in->bad || rows > n / l->width || (rows && (from > t->past_bytes || rows > (t->past_bytes - from) / l->width)) ? -1 : 0;
}

static int get_layout(struct sk_rows *t, struct sk_rd *in, size_t n, struct row_layout *l)
{
    unsigned at = 0;
    int kinds = t->after ? COLUMN_KINDS_PAST : COLUMN_KINDS;
    l->past = (struct row_past){NULL, 0};
    l->columns = 0;
    l->width = sk_rd_u16(in);
    if (!l->width)
        return in->bad ? -1 : 0;
    l->lag = sk_rd_u16(in);
    if (in->bad || l->width < ROW_LEAST || l->width > t->most || l->width > n || !l->lag || (t->after && get_past(t, in, n, l)))
        return -1;
    while (at < l->width && !in->bad) {
        int kind = sk_rd_u8(in);
        if (kind >= kinds || at + (unsigned)column_bytes(kind) > l->width)
            return -1;
        l->column[l->columns++] = (struct row_column){(uint8_t)kind, 0, (uint16_t)at};
        at += (unsigned)column_bytes(kind);
    }
    return in->bad ? -1 : 0;
}

static int get_words(struct left *bytes, const struct row_layout *l, const struct row_column *c, uint8_t *out, size_t rows)
{
    int n = column_bytes(c->kind), difference = c->kind == DIFFERENCE4 || c->kind == DIFFERENCE8, since = c->kind >= SINCE4;
    const uint8_t *from = take(bytes, rows * (size_t)n);
    uint64_t before = 0;
    if (!from)
        return -1;
    for (size_t j = 0; j < rows; j++) {
        uint64_t v = 0;
        for (int b = 0; b < n; b++)
            v |= (uint64_t)from[(size_t)b * rows + j] << 8 * b;
        before = difference ? v + before : v;
        if (since && j < l->past.rows)
            before += load_word(l->past.p + j * l->width + c->at, n);
        memcpy(out + j * l->width + c->at, &before, (size_t)n);
    }
    return 0;
}

/* The numbers of a column, of which n bytes are open. kind and guess: known where this is put in, as nothing is to be asked of each number.
 * first: the column in the first row. */
static inline __attribute__((always_inline)) int get_as(struct sk_coded *coded, struct sk_open_in open, uint32_t n, const struct row_layout *from, int kind, int guess,
                                                        size_t at, uint8_t *first, size_t rows)
{
    const struct row_past past = {from->past.rows ? from->past.p + at : NULL, from->past.rows};
    const size_t width = from->width, lag = from->lag;
    unsigned level = 0;
    for (size_t j = 0; j < rows; j++) {
        int s = sk_coded_get(coded, context_of(level));
        if (s < 0 || s > 64)
            return -1;
        uint64_t v = (uint64_t)sk_unfold(sk_residual_get(&open, (uint8_t)s));
        if (open.at > 8 * (uint64_t)n)
            return -1;
        level = next_level(level, (unsigned)s);
        v += guess < ROW_GUESSES ? row_guess(first, width, j, kind, guess, lag) : row_guess_past(first, past.p, past.rows, width, j, kind, guess, lag);
        store_number(first + j * width, kind, v);
    }
    return 0;
}

#define GET_BY(kind, guess) \
    case guess:             \
        return get_as(coded, open, n, l, kind, guess, at, first, rows);
#define GET(kind)                      \
    switch (guess) {                   \
        GET_BY(kind, ROW_NONE)         \
        GET_BY(kind, ROW_BEFORE)       \
        GET_BY(kind, ROW_LINE)         \
        GET_BY(kind, ROW_LAG)          \
        GET_BY(kind, ROW_PLANE)        \
        GET_BY(kind, ROW_PAST)         \
        GET_BY(kind, ROW_CHANGE)       \
        GET_BY(kind, ROW_CHANGE_LAG)   \
        GET_BY(kind, ROW_CHANGE_PLANE) \
        GET_BY(kind, ROW_CHANGE_LINE)  \
    }

static int get_by(struct sk_coded *coded, struct sk_open_in open, uint32_t n, const struct row_layout *l, const struct row_column *c, int guess, uint8_t *first,
                  size_t rows)
{
    const size_t at = c->at;
    if (c->kind == FLOAT4)
        GET(FLOAT4)
    else if (c->kind == FLOAT8)
        GET(FLOAT8)
    else if (c->kind == FLOAT4_BIG)
        GET(FLOAT4_BIG)
    else
        GET(FLOAT8_BIG)
    return -1;
}

static int get_numbers(struct sk_rows *t, const struct row_column *c, struct sk_rd *in, uint8_t *out, size_t rows)
{
    const struct row_layout *l = &t->layout;
    struct sk_coded coded;
    int kind = sk_rd_u8(in);
    uint32_t n = sk_rd_u32(in);
    const uint8_t *p = n <= sk_rd_left(in) ? sk_rd_bytes(in, n) : NULL;
    if (!p || kind >= (t->after ? ROW_GUESSES_PAST : ROW_GUESSES) || sk_coded_start(&coded, t->table, in))
        return -1;
    if (get_by(&coded, (struct sk_open_in){p, 0}, n, l, c, kind, out + c->at, rows))
        return -1;
    return sk_coded_end(&coded);
}

static int get_piece(struct sk_rows *t, struct left *bytes, struct sk_rd *numbers, uint8_t *out, size_t n)
{
    struct row_layout *l = &t->layout;
    int bad = get_layout(t, numbers, n, l);
    size_t rows = !bad && l->width ? n / l->width : 0, rest = n - rows * (bad ? 0 : l->width);
    for (int i = 0; i < l->columns && !bad; i++)
        bad = is_number(l->column[i].kind) ? get_numbers(t, &l->column[i], numbers, out, rows)
                                          : get_words(bytes, l, &l->column[i], out, rows);
    const uint8_t *from = bad ? NULL : take(bytes, rest);
    if (from && rest)
        memcpy(out + n - rest, from, rest);
    return from ? 0 : -1;
}

int sk_rows_get(struct sk_rows *t, const uint8_t *bytes, size_t n_bytes, struct sk_rd *numbers, uint8_t *out, size_t n,
                struct saikai_error *err)
{
    struct left left = {bytes, n_bytes};
    int bad = 0;
    t->known = 0;
    while (n && !bad) {
        uint32_t some = sk_rd_u32(numbers);
        bad = numbers->bad || !some || some > n || some > ROWS_PIECE || get_piece(t, &left, numbers, out, some);
        out += some;
        n -= bad ? 0 : some;
    }
    return bad || left.n ? sk_fail(err, SAIKAI_EDAMAGED, "a part of rows is damaged") : 0;
}
