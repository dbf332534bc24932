/* The numbers of a piece, column by column: their shapes in the context of the one before, and how far off the values are from what
 * is expected; values that repeat are left to a general compressor. */
#include "codec/text/columns.h"

#include "codec/text/coded.h"
#include "codec/text/guess.h"
#include "codec/text/layout.h"

#include <stdlib.h>

/* How values are stored. Never renumbered. */
enum { STORED_CODED = 0, STORED_WORDS = 1 };

/* ---- the context of a value: how far off those before it were ---- */

/* In half bits, for a unit of 10^scale. */
static inline int half_bits(int scale)
{
    return scale * 20 / 3;
}

static inline uint8_t context_of(int level, int scale)
{
    int c = level - half_bits(scale);
    return (uint8_t)(c < 0 ? 0 : c >= 2 * SK_CODED_CONTEXTS ? SK_CODED_CONTEXTS - 1 : c / 2);
}

static inline int next_level(int level, int symbol, int scale)
{
    return (level + 2 * symbol + half_bits(scale)) >> 1;
}

/* ---- writing ---- */

/* The most frequent shape first. */
static void sort_shapes(struct sk_text *t, struct column *c)
{
    uint32_t often[SHAPES] = {0};
    uint64_t shape[SHAPES];
    uint8_t place[SHAPES];
    for (uint32_t j = 0; j < c->count; j++)
        often[t->shape[t->order[c->first + j]]]++;
    for (int i = 0; i < c->shapes; i++) {
        int at = 0;
        for (int k = 0; k < c->shapes; k++)
            at += often[k] > often[i] || (often[k] == often[i] && k < i);
        place[i] = (uint8_t)at;
        shape[at] = c->shape[i];
    }
    for (int i = 0; i < c->shapes; i++) {
        c->shape[i] = shape[i];
        c->scale[i] = (int16_t)sk_shape_scale(shape[i]);
    }
    for (uint32_t j = 0; j < c->count; j++) {
        uint8_t *s = &t->shape[t->order[c->first + j]];
        *s = place[*s];
    }
}

static int put_shapes(struct sk_text *t, const struct column *c, struct sk_buf *out)
{
    sk_buf_put_u8(out, c->shapes);
    for (int i = 0; i < c->shapes; i++) {
        sk_buf_put_u32(out, (uint32_t)c->shape[i]);
        sk_buf_put_u8(out, (uint8_t)(c->shape[i] >> 32));
    }
    for (uint32_t j = 0, before = 0; j < c->count; j++) {
        t->context[j] = (uint8_t)before;
        before = t->symbol[j] = t->shape[t->order[c->first + j]];
    }
    return c->shapes > 1 ? sk_coded_put(t->symbol, t->context, c->count, out) : 0;
}

static void put_guess(struct guess g, int stored, struct sk_buf *out)
{
    sk_buf_put_u8(out, (uint8_t)g.kind);
    sk_buf_put_u32(out, g.lag);
    sk_buf_put_u8(out, (uint8_t)stored);
}

static void put_u32_at(struct sk_buf *out, size_t at, size_t v)
{
    if (sk_buf_ok(out))
        for (size_t k = 0; k < 4; k++)
            out->data[at + k] = (uint8_t)(v >> 8 * k);
}

/* The values as symbols and open bits. */
static int put_coded(struct sk_text *t, const struct column *c, struct guess g, struct sk_buf *out)
{
    int level = half_bits(c->scale[0]);
    put_guess(g, STORED_CODED, out);
    size_t head = out->len;
    sk_buf_put_u32(out, 0);
    uint8_t *to = sk_buf_extend(out, 8 * (size_t)c->count + SK_BITS_SLACK);
    if (!to)
        return SAIKAI_ENOMEM;
    struct sk_open_out open = {.p = to};
    sk_guess_off(t, c, g, 0, c->count, t->off);
    for (uint32_t j = 0; j < c->count; j++) {
        int scale = c->scale[t->shape[t->order[c->first + j]]];
        t->context[j] = context_of(level, scale);
        t->symbol[j] = sk_residual_put(&open, t->off[j]);
        level = next_level(level, t->symbol[j], scale);
    }
    out->len = (size_t)(sk_open_end(&open) - out->data);
    put_u32_at(out, head, out->len - head - 4);
    return sk_coded_put(t->symbol, t->context, c->count, out);
}

/* 1: half of some values in a row were there shortly before. */
static int repeats(const struct sk_text *t, const struct column *c)
{
    enum { SEEN = 1024, SOME = 8192 };
    int64_t seen[SEEN] = {0};
    uint32_t hits = 0, from = c->count > SOME ? (c->count - SOME) / 2 : 0, n = c->count - from < SOME ? c->count - from : SOME;
    for (uint32_t j = from; j < from + n; j++) {
        int64_t v = t->value[t->order[c->first + j]];
        int64_t *s = &seen[((uint64_t)v * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
        hits += *s == v;
        *s = v;
    }
    return hits > n / 2;
}

/* The values themselves as words through a general compressor. */
static int put_words(struct sk_text *t, const struct sk_text_packing *how, const struct column *c, struct guess g, struct sk_buf *out)
{
    uint64_t all = 0;
    size_t width = 1, stored = 0;
    int backend = how->backend;
    sk_guess_off(t, c, g, 0, c->count, t->off);
    for (uint32_t j = 0; j < c->count; j++)
        all |= t->off[j];
    while (width < 8 && all >> 8 * width)
        width++;
    put_guess(g, STORED_WORDS, out);
    sk_buf_put_u8(out, (uint8_t)width);
    size_t head = out->len, n = width * c->count, room = sk_pack_bound(n);
    uint8_t *to = sk_buf_extend(out, 5 + room + n + 8);
    if (!to)
        return SAIKAI_ENOMEM;
    uint8_t *words = to + 5 + room;
    for (uint32_t j = 0; j < c->count; j++)
        memcpy(words + width * j, &t->off[j], 8);
    int rc = sk_pack(how->packer, &backend, how->level, words, n, to + 5, &stored, NULL);
    to[0] = (uint8_t)backend;
    out->len = head + 5 + stored;
    put_u32_at(out, head + 1, stored);
    return rc;
}

static int put_column(struct sk_text *t, const struct sk_text_packing *how, const struct column *c, struct sk_buf *out)
{
    int rc = put_shapes(t, c, out);
    struct guess g = sk_guess_choose(t, c), none = {GUESS_NONE, 1};
    size_t from = out->len, end;
    if (!rc)
        rc = put_coded(t, c, g, out);
    if (rc || !repeats(t, c))
        return rc;
    for (uint32_t j = 0; j < c->count; j++)
        if (t->value[t->order[c->first + j]] < 0)
            none.kind = GUESS_ZERO;
    end = out->len;
    rc = put_words(t, how, c, none, out);
    if (rc || !sk_buf_ok(out))
        return rc ? rc : SAIKAI_ENOMEM;
    size_t words = out->len - end, coded = end - from;
    if (words < coded)
        memmove(out->data + from, out->data + end, words);
    out->len = words < coded ? from + words : end;
    return 0;
}

int sk_columns_put(struct sk_text *t, const struct sk_text_packing *how, struct sk_buf *out)
{
    int rc = 0;
    sk_piece_order(t);
    for (int c = 0; c < t->columns; c++)
        sort_shapes(t, &t->column[c]);
    for (int c = 0; c < t->columns && !rc; c++)
        if (t->column[c].count)
            rc = put_column(t, how, &t->column[c], out);
    return rc ? rc : sk_buf_ok(out) ? 0 : SAIKAI_ENOMEM;
}

/* ---- reading ---- */

static int get_shapes(struct sk_text *t, struct column *c, struct sk_rd *in)
{
    struct sk_coded coded;
    c->shapes = sk_rd_u8(in);
    if (!c->shapes || c->shapes > SHAPES)
        return SAIKAI_EDAMAGED;
    for (int i = 0; i < c->shapes; i++) {
        c->shape[i] = sk_rd_u32(in);
        c->shape[i] |= (uint64_t)sk_rd_u8(in) << 32;
        c->scale[i] = (int16_t)sk_shape_scale(c->shape[i]);
        if (!sk_shape_is(c->shape[i]))
            return SAIKAI_EDAMAGED;
    }
    if (in->bad || (c->shapes > 1 && sk_coded_start(&coded, t->table, in)))
        return SAIKAI_EDAMAGED;
    for (uint32_t j = 0, before = 0; j < c->count; j++) {
        int s = c->shapes > 1 ? sk_coded_get(&coded, (uint8_t)before) : 0;
        if (s < 0 || s >= c->shapes)
            return SAIKAI_EDAMAGED;
        before = t->shape[t->order[c->first + j]] = (uint8_t)s;
    }
    return c->shapes > 1 && sk_coded_end(&coded) ? SAIKAI_EDAMAGED : 0;
}

static int get_coded(struct sk_text *t, const struct column *c, struct sk_rd *in)
{
    struct sk_coded coded;
    uint32_t bytes = sk_rd_u32(in);
    const uint8_t *p = bytes <= sk_rd_left(in) ? sk_rd_bytes(in, bytes) : NULL;
    int level = half_bits(c->scale[0]);
    if (!p || sk_coded_start(&coded, t->table, in))
        return SAIKAI_EDAMAGED;
    struct sk_open_in open = {p, 0};
    for (uint32_t j = 0; j < c->count; j++) {
        int scale = c->scale[t->shape[t->order[c->first + j]]], s = sk_coded_get(&coded, context_of(level, scale));
        if (s < 0 || s > 64)
            return SAIKAI_EDAMAGED;
        t->off[c->first + j] = sk_residual_get(&open, (uint8_t)s);
        if (open.at > 8 * (uint64_t)bytes)
            return SAIKAI_EDAMAGED;
        level = next_level(level, s, scale);
    }
    return sk_coded_end(&coded) ? SAIKAI_EDAMAGED : 0;
}

static int get_words(struct sk_text *t, struct sk_packer *packer, const struct column *c, struct sk_rd *in, struct saikai_error *err)
{
    size_t width = sk_rd_u8(in);
    int backend = sk_rd_u8(in);
    uint32_t stored = sk_rd_u32(in);
    const uint8_t *p = stored <= sk_rd_left(in) ? sk_rd_bytes(in, stored) : NULL;
    if (!p || !width || width > 8)
        return SAIKAI_EDAMAGED;
    uint8_t *words = malloc(width * c->count + 8);
    int rc = words ? sk_unpack(packer, backend, p, stored, words, width * c->count, err) : SAIKAI_ENOMEM;
    for (uint32_t j = 0; j < c->count && !rc; j++) {
        uint64_t v;
        memcpy(&v, words + width * j, 8);
        t->off[c->first + j] = width < 8 ? v & (((uint64_t)1 << 8 * width) - 1) : v;
    }
    free(words);
    return rc;
}

static int get_column(struct sk_text *t, struct sk_packer *packer, struct column *c, struct guess *g, struct sk_rd *in, struct saikai_error *err)
{
    int rc = get_shapes(t, c, in);
    if (rc)
        return rc;
    g->kind = sk_rd_u8(in);
    g->lag = sk_rd_u32(in);
    int stored = sk_rd_u8(in);
    if (in->bad || g->kind >= (t->after ? (int)GUESSES_PAST : (int)GUESSES) || !g->lag)
        return SAIKAI_EDAMAGED;
    return stored == STORED_CODED ? get_coded(t, c, in) : stored == STORED_WORDS ? get_words(t, packer, c, in, err) : SAIKAI_EDAMAGED;
}

/* The values from how far off they are, in the order of the text. */
static int add_guesses(struct sk_text *t, const struct guess *g)
{
    uint32_t next[COLUMNS] = {0};
    struct series series[COLUMNS];
    for (int c = 0; c < t->columns; c++)
        series[c] = sk_series(t, &t->column[c]);
    for (uint32_t i = 0; i < t->count; i++) {
        const struct column *c = &t->column[t->in[i]];
        uint32_t j = next[t->in[i]]++;
        uint64_t off = t->off[c->first + j];
        struct guess by = g[t->in[i]];
        int scale = c->scale[t->shape[i]];
        int64_t p = t->after ? sk_guess_past(&series[t->in[i]], by, j, scale) : sk_guess(t, c, by, j, scale),
                v = by.kind == GUESS_NONE ? (int64_t)off : (int64_t)((uint64_t)p + (uint64_t)sk_unfold(off));
        if (v <= -SK_NUMBER_LIMIT || v >= SK_NUMBER_LIMIT)
            return SAIKAI_EDAMAGED;
        t->value[i] = v;
    }
    return 0;
}

int sk_columns_get(struct sk_text *t, struct sk_packer *packer, struct sk_rd *in, struct saikai_error *err)
{
    struct guess g[COLUMNS] = {{0}};
    int rc = 0;
    sk_piece_order(t);
    for (int c = 0; c < t->columns && !rc; c++)
        if (t->column[c].count)
            rc = get_column(t, packer, &t->column[c], &g[c], in, err);
    if (!rc)
        rc = add_guesses(t, g);
    return rc;
}
