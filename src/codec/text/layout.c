/* Finds numbers in text and leaves marks for them; puts them back. */
#include "codec/text/layout.h"

/* ---- columns ---- */

void sk_piece_begin(struct sk_text *t)
{
    t->count = 0;
    t->columns = 0;
    t->labels = 1;
    memset(t->column_of, 0, sizeof t->column_of);
    memset(t->frame_of, 0, sizeof t->frame_of);
}

int sk_piece_column(struct sk_text *t, int label, size_t n, size_t k)
{
    int wide = n > WIDE, most = t->labelled ? COLUMNS : COLUMNS_PLAIN;
    uint8_t *known = wide ? &t->column_of[0][0][0] : &t->column_of[label][n][k];
    if (!*known) {
        if (t->columns == most) { /* what comes late shares the last one */
            *known = (uint8_t)most;
            t->column[most - 1].wide = 1;
        } else {
            struct column *c = &t->column[t->columns++];
            c->count = c->spaces = c->width = c->frame = 0;
            c->wide = (uint8_t)wide;
            c->shapes = c->last = 0;
            *known = (uint8_t)t->columns;
        }
    }
    return *known - 1;
}

void sk_piece_order(struct sk_text *t)
{
    uint32_t next[COLUMNS], at = 0;
    for (int c = 0; c < t->columns; c++) {
        next[c] = t->column[c].first = at;
        at += t->column[c].count;
    }
    for (uint32_t i = 0; i < t->count; i++)
        t->order[next[t->in[i]]++] = i;
}

/* ---- labels ---- */

/* What stands before the first number of a line, without the spaces at its end. */
struct label {
    uint32_t hash, spaces;
};

static const struct label no_label = {2166136261u, 0};

/* One more byte of it, by G. Fowler's, L. C. Noll's and K.-P. Vo's hash (FNV-1a). */
static inline void add_to_label(struct label *l, uint8_t c)
{
    enum { PRIME = 16777619 };
    if (c == ' ') {
        l->spaces++;
        return;
    }
    for (; l->spaces; l->spaces--)
        l->hash = (l->hash ^ ' ') * PRIME;
    l->hash = (l->hash ^ c) * PRIME;
}

/* Its number, a new one where there is room for it. */
static int number_of(struct sk_text *t, const struct label *l)
{
    for (int i = 1; i < t->labels; i++)
        if (t->label[i] == l->hash)
            return i;
    if (t->labels == LABELS)
        return 0;
    t->label[t->labels] = l->hash;
    return t->labels++;
}

/* ---- taking apart ---- */

enum { TEXT, LETTER, DIGIT, SIGN, DOT, END };

static inline int kind_of(uint8_t c)
{
    static const uint8_t kinds[256] = {
        ['\n'] = END, ['+'] = SIGN, ['-'] = SIGN, ['.'] = DOT, ['_'] = LETTER, ['0' ... '9'] = DIGIT,
        ['A' ... 'Z'] = LETTER, ['a' ... 'z'] = LETTER};
    return kinds[c];
}

/* Whether a number may begin at in[at], and not the digits of a name. */
static inline int begins(const uint8_t *in, size_t at, size_t n, int kind, int before)
{
    if (kind == DIGIT)
        return before != LETTER;
    return before != LETTER && at + 1 < n && (kind_of(in[at + 1]) == DIGIT || (kind == SIGN && in[at + 1] == '.'));
}

/* The numbers of the line that begins at in[at]; how many. *end: where the line does. */
static size_t read_line(struct sk_text *t, const uint8_t *in, size_t at, size_t n, size_t *end)
{
    size_t count = 0, bytes;
    int before = TEXT, done = 0;
    while (at < n && count < LINE && !done) {
        int kind = kind_of(in[at]);
        if (kind == TEXT || kind == LETTER || kind == END) {
            before = kind;
            done = kind == END;
            at++;
        } else if (!begins(in, at, n, kind, before)) {
            /* all digits of a name are passed over */
            do
                at++;
            while (kind == DIGIT && at < n && kind_of(in[at]) == DIGIT);
            before = kind == DIGIT ? LETTER : TEXT;
        } else {
            if (sk_number_parse(in + at, n - at, &t->line[count].x, &bytes)) {
                t->line[count].at = (uint32_t)at;
                t->line[count++].bytes = (uint32_t)bytes;
            }
            at += bytes;
            before = DIGIT;
        }
    }
    *end = at;
    return count;
}

/* Text into a layout; returns its end. */
static uint8_t *put_text(uint8_t *to, const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (from[i] < MARKS)
            *to++ = QUOTE;
        *to++ = from[i];
    }
    return to;
}

/* The place of a shape among those of a column, -1: there is no room for it. */
static int shape_in(struct column *c, uint64_t shape)
{
    int i = c->last;
    if (c->shapes && c->shape[i] == shape)
        return i;
    for (i = 0; i < c->shapes; i++)
        if (c->shape[i] == shape)
            return c->last = (uint8_t)i;
    if (i == SHAPES)
        return -1;
    c->shape[i] = shape;
    c->scale[i] = (int16_t)sk_shape_scale(shape);
    c->shapes++;
    return c->last = (uint8_t)i;
}

/* The mark of a number of so many bytes behind so many spaces, of two that fit the one used before. */
static int mark_of(struct column *c, uint32_t spaces, uint32_t bytes, int before)
{
    int spaced = spaces == c->spaces, field = spaces + bytes == c->width;
    c->spaces = spaces;
    c->width = spaces + bytes;
    return spaced && field ? (before == FIELD ? FIELD : SPACED) : spaced ? SPACED : field ? FIELD : PLAIN;
}

/* The label of the line that begins at in[at] and has numbers, after one with so many: what goes on has none. */
static int label_at(struct sk_text *t, const uint8_t *in, size_t at, size_t before)
{
    struct label l = no_label;
    if (!t->labelled || before == LINE)
        return 0;
    for (; at < t->line[0].at; at++)
        add_to_label(&l, in[at]);
    return number_of(t, &l);
}

static inline void keep_number(struct sk_text *t, struct column *c, int shape, int64_t value)
{
    t->value[t->count] = value;
    t->shape[t->count] = (uint8_t)shape;
    t->in[t->count++] = (uint8_t)(c - t->column);
    c->count++;
}

/* The n numbers of a line whose layout nobody needs. */
static void keep_line(struct sk_text *t, int label, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        struct column *c = &t->column[sk_piece_column(t, label, n, k)];
        int shape = shape_in(c, t->line[k].x.shape);
        if (shape >= 0)
            keep_number(t, c, shape, t->line[k].x.value);
    }
}

/* The layout of the line in[at, end) with n numbers. */
static uint8_t *put_line(struct sk_text *t, const uint8_t *in, size_t at, size_t end, int label, size_t n, uint8_t *to)
{
    uint8_t mark = SPACED;
    for (size_t k = 0; k < n; k++) {
        struct token *x = &t->line[k];
        struct column *c = &t->column[sk_piece_column(t, label, n, k)];
        int shape = shape_in(c, x->x.shape);
        size_t spaces = 0, before = x->at - at;
        if (shape < 0) {
            to = put_text(to, in + at, before);
            *to++ = LITERAL;
            to = put_text(to, in + x->at, x->bytes);
        } else {
            while (spaces < before && in[x->at - spaces - 1] == ' ')
                spaces++;
            mark = (uint8_t)mark_of(c, (uint32_t)spaces, x->bytes, mark);
            to = put_text(to, in + at, mark == PLAIN ? before : before - spaces);
            *to++ = mark;
            keep_number(t, c, shape, x->x.value);
        }
        at = x->at + x->bytes;
    }
    return put_text(to, in + at, end - at);
}

/* How many lines with this label and as many numbers stood in a row until now. */
struct run {
    size_t numbers;
    int label;
    uint32_t lines;
};

/* Frames of a trajectory are runs of lines of one kind. */
static void count_line(struct sk_text *t, struct run *r, int label, size_t numbers)
{
    enum { FRAME_LEAST = 16 };
    if (numbers == r->numbers && label == r->label) {
        r->lines++;
        return;
    }
    if (r->lines >= FRAME_LEAST && r->numbers && r->numbers <= WIDE)
        t->frame_of[r->label][r->numbers] = r->lines;
    *r = (struct run){numbers, label, 1};
}

static void set_frames(struct sk_text *t)
{
    for (int l = 0; l < t->labels; l++)
        for (size_t n = 1; n <= WIDE; n++)
            for (size_t k = 0; k < n; k++)
                if (t->column_of[l][n][k])
                    t->column[t->column_of[l][n][k] - 1].frame = t->frame_of[l][n];
}

int sk_piece_take_apart(struct sk_text *t, const uint8_t *in, size_t n, size_t *used, struct sk_buf *layout)
{
    size_t at = 0, before = 0, end, most = n < PIECE_BYTES ? n : PIECE_BYTES;
    struct run run = {0, 0, 0};
    sk_piece_begin(t);
    while (at < most && t->count + LINE <= NUMBERS) {
        size_t count = read_line(t, in, at, most, &end);
        if (at && end == most && most < n && in[end - 1] != '\n')
            break; /* its end is in the next piece, and it all is then */
        uint8_t *to = layout ? sk_buf_extend(layout, 2 * (end - at)) : NULL;
        if (layout && !to)
            return SAIKAI_ENOMEM;
        int label = count ? label_at(t, in, at, before) : 0;
        if (layout)
            layout->len = (size_t)(put_line(t, in, at, end, label, count, to) - layout->data);
        else
            keep_line(t, label, count);
        count_line(t, &run, label, count);
        before = count;
        at = end;
    }
    set_frames(t);
    *used = at;
    return 0;
}

/* ---- what it comes after ---- */

/* The number of a label of t in the past, -1: it is not known there. */
static int label_in_past(const struct sk_text *t, int label)
{
    for (int i = 1; label && i < t->past->labels; i++)
        if (t->past->label[i] == t->label[label])
            return i;
    return label ? -1 : 0;
}

/* Columns of lines with the same label, as many numbers, and the same place. */
static void match_columns(struct sk_text *t)
{
    for (int l = 0; l < t->labels; l++) {
        int old = label_in_past(t, l);
        for (size_t n = 0; n <= WIDE && old >= 0; n++)
            for (size_t k = 0; k < WIDE; k++) {
                uint8_t c = t->column_of[l][n][k];
                if (c && !t->past_of[c - 1])
                    t->past_of[c - 1] = t->past->column_of[old][n][k];
            }
    }
}

int sk_piece_past(struct sk_text *t, size_t from, size_t some, size_t *used)
{
    *used = 0;
    memset(t->past_of, 0, sizeof t->past_of);
    if (!some)
        return 0;
    t->past->labelled = t->labelled;
    int rc = sk_piece_take_apart(t->past, t->before + from, some, used, NULL);
    if (rc)
        return rc;
    sk_piece_order(t->past);
    match_columns(t);
    return 0;
}

/* ---- putting together ---- */

/* The numbers of the line that begins at layout[at], its label if it has numbers, and where it ends. -1: it is none. */
static int scan_line(const uint8_t *layout, size_t at, size_t n, struct label *label, size_t *end)
{
    int count = 0;
    *label = no_label;
    for (int done = 0; at < n && count < LINE && !done; at++) {
        uint8_t c = layout[at];
        done = c == '\n';
        if (c == QUOTE && (++at == n || layout[at] >= MARKS))
            return -1;
        count += c > QUOTE && c < MARKS;
        if (!count)
            add_to_label(label, layout[at]);
    }
    *end = at;
    return count;
}

int sk_piece_scan(struct sk_text *t, const uint8_t *layout, size_t n)
{
    int before = 0;
    sk_piece_begin(t);
    for (size_t at = 0, end; at < n; at = end) {
        struct label label;
        int count = scan_line(layout, at, n, &label, &end);
        if (count < 0)
            return -1;
        int number = count && t->labelled && before < LINE ? number_of(t, &label) : 0;
        before = count;
        for (int k = 0; at < end; at++) {
            if (layout[at] == QUOTE) {
                at++;
                continue;
            }
            if (layout[at] >= MARKS)
                continue;
            int c = sk_piece_column(t, number, (size_t)count, (size_t)k++);
            if (layout[at] == LITERAL)
                continue;
            if (t->count == NUMBERS)
                return -1;
            t->in[t->count++] = (uint8_t)c;
            t->column[c].count++;
        }
    }
    return 0;
}

/* A number behind its spaces at out[at, n): the end, 0: it does not fit. */
static size_t put_number(struct sk_text *t, uint32_t i, int mark, uint8_t *out, size_t at, size_t n)
{
    struct column *c = &t->column[t->in[i]];
    struct sk_number x = {t->value[i], c->shape[t->shape[i]]};
    uint8_t printed[SK_NUMBER_BYTES];
    size_t bytes = sk_number_print(&x, printed), spaces = 0;
    if (mark == PLAIN) {
        while (spaces < at && out[at - spaces - 1] == ' ')
            spaces++;
    } else {
        if (mark == FIELD && c->width < bytes)
            return 0;
        spaces = mark == FIELD ? c->width - bytes : c->spaces;
        if (spaces > n - at)
            return 0;
        memset(out + at, ' ', spaces);
        at += spaces;
    }
    if (bytes > n - at)
        return 0;
    memcpy(out + at, printed, bytes);
    c->spaces = (uint32_t)spaces;
    c->width = (uint32_t)(spaces + bytes);
    return at + bytes;
}

int sk_piece_put_together(struct sk_text *t, const uint8_t *layout, size_t n_layout, uint8_t *out, size_t n)
{
    size_t at = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < n_layout; i++) {
        uint8_t c = layout[i];
        if (c == QUOTE)
            c = layout[++i]; /* the scan saw that it is there */
        else if (c == LITERAL)
            continue;
        else if (c < MARKS) {
            if (!(at = put_number(t, next++, c, out, at, n)))
                return -1;
            continue;
        }
        if (at == n)
            return -1;
        out[at++] = c;
    }
    return at == n ? 0 : -1;
}
