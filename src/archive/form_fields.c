/* Record fields: an array of records of unlike 8-byte fields (particles) becomes one column per
 * field, each coded as residuals of its own from the value before or from nothing, whichever is
 * shorter. */
#include "archive/part.h"
#include "archive/residual.h"

#include "base/types.h"

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

static int encode_column(struct sk_coder *c, const double *column, struct sk_box b, double *scratch,
                         const struct sk_recipe *r, struct sk_buf *out, struct saikai_error *err)
{
    static const int tried[] = {SK_STENCIL_NONE, SK_STENCIL_X};
    uint8_t *symbols = c->symbols.data, *bits = NULL;
    double best = -1;
    int stencil = SK_STENCIL_NONE;
    for (int pass = 0; pass < 3; pass++) { /* two tries, then the better one for good */
        int now = pass < 2 ? tried[pass] : stencil;
        bits = c->bits.data;
        sk_predict_encode(column, 64, b, NULL, now, NULL, symbols, &bits, scratch);
        double cost = pass < 2 ? cost_of(symbols, b.nx) : 0;
        if (pass < 2 && (best < 0 || cost < best)) {
            best = cost;
            stencil = now;
        }
    }
    sk_buf_put_u8(out, (uint8_t)stencil);
    int rc = sk_stream_put(c, r->backend, r->level, symbols, b.nx, out, err);
    sk_buf_put_u64(out, (uint64_t)(bits - c->bits.data));
    sk_buf_put(out, c->bits.data, (size_t)(bits - c->bits.data));
    return rc;
}

static int make_room(struct sk_coder *c, size_t rows, struct sk_box b)
{
    return sk_coder_room(&c->symbols, rows) &&
                   sk_coder_room(&c->bits, sk_predict_max_bits(rows, 64)) &&
                   sk_coder_room(&c->P, rows * sizeof(double)) &&
                   sk_coder_room(&c->scratch, sk_predict_scratch(b))
               ? 0
               : SAIKAI_ENOMEM;
}

static int encode(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                  struct sk_buf *out, struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    size_t fields = fields_of(p), rows = fields ? p->size_bytes / 8 / fields : 0;
    struct sk_box b = {1, 1, rows};
    if (!fields)
        return sk_fail(err, SAIKAI_EINTERNAL, "records of different lengths in one part");
    if (make_room(c, rows, b))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to encode %zu records", rows);
    sk_part_to_native(p);
    int rc = 0;
    for (size_t f = 0; f < fields && !rc; f++) {
        double *column = (double *)(void *)c->P.data;
        take_column((const double *)(const void *)p->raw, rows, fields, f, column);
        rc = encode_column(c, column, b, (double *)(void *)c->scratch.data, r, out, err);
    }
    return rc;
}

static int decode_column(struct sk_coder *c, double *column, struct sk_box b, struct sk_rd *in,
                         struct saikai_error *err)
{
    int stencil = sk_rd_u8(in);
    int rc = sk_stream_get(c, in, c->symbols.data, b.nx, err);
    if (rc)
        return rc;
    uint64_t have = sk_rd_u64(in), open = sk_residual_open_bits(c->symbols.data, b.nx, 64);
    const uint8_t *bits = have <= sk_rd_left(in) ? sk_rd_bytes(in, have) : NULL;
    if (!bits || (stencil != SK_STENCIL_NONE && stencil != SK_STENCIL_X) || open == (uint64_t)-1 ||
        (open + 7) / 8 != have)
        return sk_fail(err, SAIKAI_EDAMAGED, "a column of records is damaged");
    sk_predict_decode(column, 64, b, NULL, stencil, NULL, c->symbols.data, &bits,
                      (double *)(void *)c->scratch.data);
    return 0;
}

static int decode(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                  struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    size_t fields = fields_of(p), rows = fields ? p->size_bytes / 8 / fields : 0;
    struct sk_box b = {1, 1, rows};
    if (!fields)
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of records is damaged");
    if (make_room(c, rows, b))
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
