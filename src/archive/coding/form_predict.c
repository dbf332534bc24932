/* Prediction: floating-point segments as residuals (codec/residual/stencil.h), their symbols
 * through a general compressor. */
#include "archive/coding/part.h"
#include "codec/residual/residual.h"
#include "archive/coding/symbols.h"

#include "base/types.h"

#include <string.h>

static int width_of(const struct sk_part *p)
{
    return p->type == SAIKAI_F64 ? 64 : p->type == SAIKAI_F32 ? 32 : 0;
}

/* Working memory for the largest segment. */
struct room {
    double *P, *scratch, *sums;
};

static int has_room(struct sk_coder *c, const struct sk_part *p, const struct sk_relation *rel,
                     struct room *m)
{
    size_t count = 0, scratch = 0, sums = 0;
    for (size_t s = 0; s < p->count; s++) {
        struct sk_stencil_box b = p->segments[s].box;
        size_t n = sk_box_count(b), w = sk_predict_scratch(b), l = sk_columns_scratch(b);
        count = n > count ? n : count;
        scratch = w > scratch ? w : scratch;
        sums = l > sums ? l : sums;
    }
    memset(m, 0, sizeof *m);
    m->scratch = sk_coder_room(&c->scratch, scratch);
    if (rel->kind != SK_RELATION_NONE)
        m->P = sk_coder_room(&c->P, count * sizeof(double));
    if (rel->kind == SK_RELATION_COLUMNS)
        m->sums = sk_coder_room(&c->sums, sums);
    return m->scratch && (m->P || rel->kind == SK_RELATION_NONE) && (m->sums || rel->kind != SK_RELATION_COLUMNS);
}

/* Column relations go plane by plane: the first two planes teach. */
enum { TEACHERS = 2 };

static void encode_columns(const struct sk_part *p, const struct sk_recipe *r,
                           const struct sk_field *fields, size_t at, struct sk_stencil_box b,
                           const struct room *m, uint8_t *symbols, uint8_t **bits)
{
    int width = width_of(p);
    size_t plane = b.ny * b.nx;
    struct sk_stencil_box one = {1, b.ny, b.nx};
    memset(m->sums, 0, sk_columns_scratch(b));
    for (size_t z = 0; z < b.nz; z++, at += plane, symbols += plane) {
        const uint8_t *x = p->raw + at * (size_t)(width / 8);
        if (z >= TEACHERS)
            sk_columns_eval(&r->relation, fields, at, plane, m->sums, m->P);
        sk_predict_encode(x, width, one, z >= TEACHERS ? m->P : NULL,
                          z >= TEACHERS ? r->stencil : SK_STENCIL_XY, r->weights, symbols, bits,
                          m->scratch);
        sk_columns_learn(&r->relation, fields, at, plane, x, width, m->sums);
    }
}

static void decode_columns(struct sk_part *p, const struct sk_recipe *r,
                           const struct sk_field *fields, size_t at, struct sk_stencil_box b,
                           const struct room *m, const uint8_t *symbols, const uint8_t **bits)
{
    int width = width_of(p);
    size_t plane = b.ny * b.nx;
    struct sk_stencil_box one = {1, b.ny, b.nx};
    memset(m->sums, 0, sk_columns_scratch(b));
    for (size_t z = 0; z < b.nz; z++, at += plane, symbols += plane) {
        uint8_t *x = p->raw + at * (size_t)(width / 8);
        if (z >= TEACHERS)
            sk_columns_eval(&r->relation, fields, at, plane, m->sums, m->P);
        sk_predict_decode(x, width, one, z >= TEACHERS ? m->P : NULL,
                          z >= TEACHERS ? r->stencil : SK_STENCIL_XY, r->weights, symbols, bits,
                          m->scratch);
        sk_columns_learn(&r->relation, fields, at, plane, x, width, m->sums);
    }
}

/* Sources are read in native order; those that were encoded as bytes are brought to it here, when
 * their bytes are no longer needed in the file's order (decoding swaps them back at the end of the
 * block). */
static void set_fields(struct sk_part *parts, int i, const struct sk_relation *rel,
                       struct sk_field *fields)
{
    for (int k = 0; k < i; k++) {
        if (sk_relation_uses(rel, k))
            sk_part_to_native(&parts[k]);
        fields[k] = (struct sk_field){parts[k].raw, width_of(&parts[k])};
    }
}

static int encode(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                  struct sk_buf *out, struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    struct sk_field fields[256];
    struct room m;
    int width = width_of(p), rel = r->relation.kind;
    size_t n = p->size_bytes / (size_t)(width / 8);
    sk_part_to_native(p);
    uint8_t *symbols = sk_coder_room(&c->symbols, n);
    uint8_t *start = sk_coder_room(&c->bits, sk_predict_max_bits(n, width) + p->count * 8),
            *bits = start;
    if (!symbols || !start || !has_room(c, p, &r->relation, &m))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to encode %zu values", n);
    set_fields(parts, i, &r->relation, fields);
    size_t at = 0;
    for (size_t s = 0; s < p->count; s++) {
        struct sk_stencil_box b = p->segments[s].box;
        size_t k = sk_box_count(b);
        if (rel == SK_RELATION_COLUMNS) {
            encode_columns(p, r, fields, at, b, &m, symbols + at, &bits);
        } else {
            if (rel)
                sk_relation_eval(&r->relation, fields, at, k, m.P);
            sk_predict_encode(p->raw + at * (size_t)(width / 8), width, b, rel ? m.P : NULL,
                              r->stencil, r->weights, symbols + at, &bits, m.scratch);
        }
        at += k;
    }
    sk_buf_put_u8(out, (uint8_t)r->stencil);
    for (int k = 0; k < SK_NEIGHBOURS && r->stencil == SK_STENCIL_FITTED; k++)
        sk_buf_put_f64(out, r->weights[k]);
    sk_relation_put(out, &r->relation);
    int rc = sk_symbols_put(c, parts, i, r, symbols, n, out, err);
    sk_buf_put_u64(out, (uint64_t)(bits - start));
    sk_buf_put(out, start, (size_t)(bits - start));
    return rc;
}

/* The open bits that the symbols ask for must be exactly those that are there: decoding then needs
 * no checks. */
static int check_bits(const struct sk_part *p, const struct sk_recipe *r, const uint8_t *symbols,
                      int width, uint64_t have)
{
    uint64_t need = 0;
    for (size_t s = 0; s < p->count; s++) {
        struct sk_stencil_box b = p->segments[s].box;
        size_t runs = r->relation.kind == SK_RELATION_COLUMNS ? b.nz : 1,
               n = sk_box_count(b) / runs;
        for (size_t k = 0; k < runs; k++, symbols += n) {
            uint64_t bits = sk_residual_open_bits(symbols, n, width);
            if (bits == (uint64_t)-1)
                return -1;
            need += (bits + 7) / 8;
        }
    }
    return need == have ? 0 : -1;
}

/* Sources must be floating point and as long as this part; one that was stored is brought to native
 * order here. */
static int check_sources(struct sk_part *parts, int i, const struct sk_relation *rel)
{
    size_t n = parts[i].size_bytes / sk_type_size(parts[i].type);
    for (int k = 0; k < i; k++)
        if (sk_relation_uses(rel, k)) {
            if (!width_of(&parts[k]) || parts[k].size_bytes / sk_type_size(parts[k].type) != n)
                return -1;
            sk_part_to_native(&parts[k]);
        }
    return 0;
}

static int decode(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                  struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    struct sk_recipe r = {.stencil = sk_rd_u8(in)};
    struct sk_field fields[256];
    struct room m;
    int width = width_of(p), rel;
    for (int k = 0; k < SK_NEIGHBOURS && r.stencil == SK_STENCIL_FITTED; k++)
        r.weights[k] = sk_rd_f64(in);
    if (!width || i >= 256 || r.stencil >= SK_STENCILS || sk_relation_get(in, &r.relation, i) ||
        check_sources(parts, i, &r.relation))
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of predictions is damaged");
    rel = r.relation.kind;
    size_t n = p->size_bytes / (size_t)(width / 8);
    uint8_t *symbols = sk_coder_room(&c->symbols, n);
    if (!symbols || !has_room(c, p, &r.relation, &m))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to decode %zu values", n);
    int rc = sk_symbols_get(c, parts, i, in, symbols, n, err);
    if (rc)
        return rc;
    uint64_t have = sk_rd_u64(in);
    const uint8_t *bits = have <= sk_rd_left(in) ? sk_rd_bytes(in, have) : NULL;
    if (!bits || check_bits(p, &r, symbols, width, have))
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of predictions has the wrong number of bits");
    set_fields(parts, i, &r.relation, fields);
    size_t at = 0;
    for (size_t s = 0; s < p->count; s++) {
        struct sk_stencil_box b = p->segments[s].box;
        size_t k = sk_box_count(b);
        if (rel == SK_RELATION_COLUMNS) {
            decode_columns(p, &r, fields, at, b, &m, symbols + at, &bits);
        } else {
            if (rel)
                sk_relation_eval(&r.relation, fields, at, k, m.P);
            sk_predict_decode(p->raw + at * (size_t)(width / 8), width, b, rel ? m.P : NULL,
                              r.stencil, r.weights, symbols + at, &bits, m.scratch);
        }
        at += k;
    }
    p->native = 1;
    return 0;
}

const struct sk_form_ops sk_form_predict = {"predict", encode, decode};
