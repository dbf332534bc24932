/* Record fields: an array of records of unlike 8-byte fields (particles) becomes one column per
 * field, each coded as residuals of its own from the value before or from nothing, whichever is
 * shorter. */
#include "archive/coding/part.h"
#include "codec/entropy/mix.h"
#include "codec/residual/residual.h"

#include "base/types.h"

#include <math.h>
#include <string.h>

enum { MAX_FIELDS = 64 };

/* Fields per record: the last dimension, the same in all segments; 0: not of this form. */
static size_t fields_of(const struct sk_part *p)
{
    size_t n = p->count ? p->segments[0].box.nx : 0;
    for (size_t s = 0; s < p->count; s++)
        if (p->segments[s].box.nx != n)
            return 0;
    return p->type == SAIKAI_F64 && n > 0 && n <= MAX_FIELDS ? n : 0;
}

static void take_column(const double *x, size_t rows, size_t fields, size_t f, double *column)
{
    for (size_t i = 0; i < rows; i++)
        column[i] = x[i * fields + f];
}

static void put_column(double *x, size_t rows, size_t fields, size_t f, const double *column)
{
    for (size_t i = 0; i < rows; i++)
        x[i * fields + f] = column[i];
}

static double cost_of(const uint8_t *symbols, size_t n)
{
    uint32_t h[SK_SYMBOLS] = {0};
    for (size_t i = 0; i < n; i++)
        h[symbols[i]]++;
    return sk_residual_cost(h);
}

/* ---- values without neighbours: sign and exponent as a symbol, the fraction as it is ---- */

enum { MODE_TOP = 255, TOP_SHIFT = 52 };

/* The different tops of a column, at most SK_SYMBOLS of them; returns how many, 0: more. symbols:
 * index of each value's top; counts of each. */
static int find_tops(const double *column, size_t n, uint16_t *tops, uint8_t *symbols,
                     uint32_t *counts)
{
    int16_t index[4096];
    int found = 0;
    memset(index, -1, sizeof index);
    memset(counts, 0, SK_SYMBOLS * sizeof *counts);
    for (size_t i = 0; i < n; i++) {
        uint64_t v;
        memcpy(&v, &column[i], 8);
        unsigned top = (unsigned)(v >> TOP_SHIFT);
        if (index[top] < 0) {
            if (found == SK_SYMBOLS)
                return 0;
            tops[found] = (uint16_t)top;
            index[top] = (int16_t)found++;
        }
        symbols[i] = (uint8_t)index[top];
        counts[symbols[i]]++;
    }
    return found;
}

static double cost_of_tops(const uint32_t *counts, size_t n)
{
    double bits = (double)n * TOP_SHIFT;
    for (int s = 0; s < SK_SYMBOLS; s++)
        if (counts[s])
            bits += counts[s] * log2((double)n / counts[s]) + 16;
    return bits;
}

static uint8_t *put_fractions(const double *column, size_t n, uint8_t *to)
{
    struct sk_open_out o = {to, 0, 0};
    for (size_t i = 0; i < n; i++) {
        uint64_t v;
        memcpy(&v, &column[i], 8);
        sk_open_put(&o, v & (((uint64_t)1 << TOP_SHIFT) - 1), TOP_SHIFT);
    }
    return sk_open_end(&o);
}

static void get_fractions(double *column, size_t n, const uint16_t *tops, const uint8_t *symbols,
                          const uint8_t *from)
{
    struct sk_open_in in = {from, 0};
    for (size_t i = 0; i < n; i++) {
        uint64_t v = (uint64_t)tops[symbols[i]] << TOP_SHIFT | sk_open_get(&in, TOP_SHIFT);
        memcpy(&column[i], &v, 8);
    }
}

/* ---- one column ---- */

static int put_symbols(const uint8_t *symbols, const uint32_t *counts, size_t n, uint8_t *ctx,
                       struct sk_buf *out)
{
    static const uint8_t group_of[1];
    struct sk_mix_model model;
    memset(ctx, 0, n);
    sk_mix_model_put(&model, counts, out);
    return sk_mix_put(&model, symbols, ctx, group_of, n, out);
}

/* One field of all records: predicted, or by a table of its upper bits where few of them occur, whichever is thought to cost less. */
static int encode_column(struct sk_coder *c, const double *column, struct sk_stencil_box b, double *scratch,
                         struct sk_buf *out, struct saikai_error *err)
{
    static const int tried[] = {SK_STENCIL_NONE, SK_STENCIL_X};
    uint8_t *symbols = c->symbols.data, *bits = NULL;
    uint16_t tops[SK_SYMBOLS];
    uint32_t counts[SK_SYMBOLS];
    double best = -1;
    int mode = SK_STENCIL_NONE;
    for (int i = 0; i < 2; i++) {
        bits = c->bits.data;
        sk_predict_encode(column, 64, b, NULL, tried[i], NULL, symbols, &bits, scratch);
        double cost = cost_of(symbols, b.nx);
        if (best < 0 || cost < best) {
            best = cost;
            mode = tried[i];
        }
    }
    int found = find_tops(column, b.nx, tops, symbols, counts);
    if (found && cost_of_tops(counts, b.nx) < best)
        mode = MODE_TOP;
    sk_buf_put_u8(out, (uint8_t)mode);
    bits = c->bits.data;
    if (mode == MODE_TOP) {
        sk_buf_put_u8(out, (uint8_t)found);
        for (int i = 0; i < found; i++)
            sk_buf_put_u16(out, tops[i]);
        bits = put_fractions(column, b.nx, bits);
    } else {
        sk_predict_encode(column, 64, b, NULL, mode, NULL, symbols, &bits, scratch);
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < b.nx; i++)
            counts[symbols[i]]++;
    }
    int rc = put_symbols(symbols, counts, b.nx, c->contexts.data, out);
    sk_buf_put_u64(out, (uint64_t)(bits - c->bits.data));
    sk_buf_put(out, c->bits.data, (size_t)(bits - c->bits.data));
    return rc ? sk_fail(err, rc, "no memory to encode %zu records", b.nx) : 0;
}

/* 1: there is memory for it. */
static int has_room(struct sk_coder *c, size_t rows, struct sk_stencil_box b)
{
    return sk_coder_room(&c->symbols, rows) && sk_coder_room(&c->contexts, rows) &&
           sk_coder_room(&c->tables, SK_MIX_ONE * sizeof(uint32_t)) &&
           sk_coder_room(&c->bits, sk_predict_max_bits(rows, 64)) &&
           sk_coder_room(&c->P, rows * sizeof(double)) &&
           sk_coder_room(&c->scratch, sk_predict_scratch(b));
}

static int encode(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                  struct sk_buf *out, struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    size_t fields = fields_of(p), rows = fields ? p->size_bytes / 8 / fields : 0;
    struct sk_stencil_box b = {1, 1, rows};
    if (!fields)
        return sk_fail(err, SAIKAI_EINTERNAL, "records of different lengths in one part");
    if (!has_room(c, rows, b))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to encode %zu records", rows);
    sk_part_to_native(p);
    int rc = 0;
    for (size_t f = 0; f < fields && !rc; f++) {
        double *column = (double *)(void *)c->P.data;
        take_column((const double *)(const void *)p->raw, rows, fields, f, column);
        rc = encode_column(c, column, b, (double *)(void *)c->scratch.data, out, err);
    }
    return rc;
}

static int get_symbols(struct sk_coder *c, struct sk_rd *in, size_t n)
{
    static const uint8_t group_of[1];
    struct sk_mix_in m;
    uint8_t *ctx = c->contexts.data;
    memset(ctx, 0, n);
    return sk_mix_model_get(in, (uint32_t *)(void *)c->tables.data) || sk_mix_start(&m, in) ||
                   sk_mix_get(&m, (const void *)c->tables.data, group_of, ctx, n,
                              c->symbols.data) ||
                   sk_mix_end(&m)
               ? -1
               : 0;
}

static int decode_column(struct sk_coder *c, double *column, struct sk_stencil_box b, struct sk_rd *in,
                         struct saikai_error *err)
{
    uint16_t tops[SK_SYMBOLS] = {0};
    int mode = sk_rd_u8(in), found = mode == MODE_TOP ? sk_rd_u8(in) : 0;
    int bad =
        found > SK_SYMBOLS || (mode != MODE_TOP && mode != SK_STENCIL_NONE && mode != SK_STENCIL_X);
    for (int i = 0; i < found && !bad; i++)
        bad = (tops[i] = sk_rd_u16(in)) > 4095;
    if (bad || get_symbols(c, in, b.nx))
        return sk_fail(err, SAIKAI_EDAMAGED, "a column of records is damaged");
    const uint8_t *symbols = c->symbols.data;
    for (size_t i = 0; i < b.nx && mode == MODE_TOP && !bad; i++)
        bad = symbols[i] >= found;
    uint64_t have = sk_rd_u64(in);
    uint64_t open =
        mode == MODE_TOP ? (uint64_t)b.nx * TOP_SHIFT : sk_residual_open_bits(symbols, b.nx, 64);
    const uint8_t *bits = have <= sk_rd_left(in) ? sk_rd_bytes(in, have) : NULL;
    if (bad || !bits || open == (uint64_t)-1 || (open + 7) / 8 != have)
        return sk_fail(err, SAIKAI_EDAMAGED, "a column of records is damaged");
    if (mode == MODE_TOP)
        get_fractions(column, b.nx, tops, symbols, bits);
    else
        sk_predict_decode(column, 64, b, NULL, mode, NULL, symbols, &bits,
                          (double *)(void *)c->scratch.data);
    return 0;
}

static int decode(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                  struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    size_t fields = fields_of(p), rows = fields ? p->size_bytes / 8 / fields : 0;
    struct sk_stencil_box b = {1, 1, rows};
    if (!fields)
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of records is damaged");
    if (!has_room(c, rows, b))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to decode %zu records", rows);
    int rc = 0;
    for (size_t f = 0; f < fields && !rc; f++) {
        double *column = (double *)(void *)c->P.data;
        rc = decode_column(c, column, b, in, err);
        if (!rc)
            put_column((double *)(void *)p->raw, rows, fields, f, column);
    }
    p->native = !rc;
    return rc;
}

const struct sk_form_ops sk_form_fields = {"fields", encode, decode};
