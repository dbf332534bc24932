/* Computes the contexts of a field's symbols, groups them, and codes and decodes the symbols with
 * one table per group. */
#include "archive/coding/symbols.h"

#include "codec/entropy/mix.h"
#include "codec/residual/residual.h"
#include "archive/coding/zeros.h"

#include "base/types.h"

#include <string.h>

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

enum { GROUP_LEAST = 4096, CONTEXTS = 256 };

static int width_of(const struct sk_part *p)
{
    return p->type == SAIKAI_F64 ? 64 : p->type == SAIKAI_F32 ? 32 : 0;
}

/* ---- contexts ---- */

/* Zeros tell nothing about lengths. */
static inline unsigned length_of(uint8_t s)
{
    return s == SK_SYMBOL_ZERO ? 0 : s;
}

/* Contexts of one row: half the sum of the symbols before and after the place in the row before,
 * and twice those of the place itself in the row and the plane before. Rows that do not exist are
 * NULL. */
WIDE static void row_contexts(const uint8_t *back, const uint8_t *up, size_t nx, uint8_t *ctx)
{
    if (!back && !up) {
        memset(ctx, 0, nx);
        return;
    }
    const uint8_t *b = back ? back : up, *u = up ? up : back;
    for (size_t k = 1; k + 1 < nx; k++)
        ctx[k] = (uint8_t)((length_of(b[k - 1]) + length_of(b[k + 1]) + 2 * length_of(b[k]) +
                            2 * length_of(u[k])) >>
                           1);
    ctx[0] = (uint8_t)((4 * length_of(b[0]) + 2 * length_of(u[0])) >> 1);
    ctx[nx - 1] = (uint8_t)((4 * length_of(b[nx - 1]) + 2 * length_of(u[nx - 1])) >> 1);
}

/* The rows around row (z, y) of a box whose symbols start at s. */
static void contexts_at(const uint8_t *s, struct sk_stencil_box b, size_t z, size_t y, uint8_t *ctx)
{
    const uint8_t *row = s + (z * b.ny + y) * b.nx;
    row_contexts(y ? row - b.nx : NULL, z ? row - b.ny * b.nx : NULL, b.nx, ctx);
}

/* Group neighbouring contexts so that each group holds about the same number of symbols. first[g]:
 * its lowest context. */
static int make_groups(const uint32_t *histogram, size_t n, uint8_t *first)
{
    size_t want = n / GROUP_LEAST, have = 0;
    int groups = 1;
    want = want > SK_MIX_GROUPS ? SK_MIX_GROUPS : want;
    first[0] = 0;
    for (int c = 0; c < CONTEXTS && want > 1; c++) {
        if (have * want >= n * (size_t)groups && groups < (int)want && histogram[c])
            first[groups++] = (uint8_t)c;
        have += histogram[c];
    }
    return groups;
}

static void fill_table(const uint8_t *first, int groups, uint8_t *group_of)
{
    for (int c = 0, g = 0; c < CONTEXTS; c++) {
        while (g + 1 < groups && c >= first[g + 1])
            g++;
        group_of[c] = (uint8_t)g;
    }
}

typedef uint32_t joint_counts[CONTEXTS][SK_SYMBOLS];

/* Contexts of all symbols, and how often each symbol stands in each context. */
static void all_contexts(const struct sk_part *p, const uint8_t *symbols, uint8_t *ctx,
                         joint_counts counts)
{
    for (size_t s = 0; s < p->count; s++) {
        struct sk_stencil_box b = p->segments[s].box;
        for (size_t z = 0; z < b.nz; z++)
            for (size_t y = 0; y < b.ny; y++) {
                size_t at = (z * b.ny + y) * b.nx;
                contexts_at(symbols, b, z, y, ctx + at);
                for (size_t i = at; i < at + b.nx; i++)
                    counts[ctx[i]][symbols[i]]++;
            }
        symbols += sk_box_count(b);
        ctx += sk_box_count(b);
    }
}

/* Symbols and contexts without the zeros, to the front of both arrays; returns their number. */
static size_t drop_zeros(const uint8_t *symbols, uint8_t *packed, uint8_t *ctx, size_t n)
{
    size_t left = 0;
    for (size_t k = 0; k < n; k++) {
        packed[left] = symbols[k];
        ctx[left] = ctx[k];
        left += symbols[k] != SK_SYMBOL_ZERO;
    }
    return left;
}

static int put_zeros(struct sk_coder *c, const struct sk_part *parts, int i,
                     const struct sk_recipe *r, const uint8_t *symbols, size_t n,
                     struct sk_buf *out, struct saikai_error *err)
{
    int source = sk_zeros_source(parts, i, symbols, n);
    uint8_t *bits = sk_coder_room(&c->zeros, (n + 7) / 8);
    if (!bits)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to encode %zu values", n);
    struct sk_field f = {0};
    if (source >= 0)
        f = (struct sk_field){parts[source].raw, width_of(&parts[source])};
    sk_zeros_find(&parts[i], symbols, n, source < 0 ? NULL : &f, bits);
    sk_buf_put_u16(out, (uint16_t)(source + 1));
    return sk_stream_put(c, r->backend, 3, bits, (n + 7) / 8, out, err);
}

static int some_zeros(const uint8_t *symbols, size_t n)
{
    size_t zeros = 0;
    for (size_t i = 0; i < n; i++)
        zeros += symbols[i] == SK_SYMBOL_ZERO;
    return zeros > n / 256 && zeros < n;
}

/* Group the contexts and write the groups' models. */
static void put_models(joint_counts counts, int zeros, struct sk_mix_model *models,
                       uint8_t *group_of, struct sk_buf *out)
{
    uint32_t histogram[CONTEXTS] = {0}, of_group[SK_MIX_GROUPS][SK_SYMBOLS] = {{0}};
    uint8_t first[SK_MIX_GROUPS];
    size_t n = 0;
    for (int c = 0; c < CONTEXTS; c++) {
        if (zeros)
            counts[c][SK_SYMBOL_ZERO] = 0;
        for (int s = 0; s < SK_SYMBOLS; s++)
            histogram[c] += counts[c][s];
        n += histogram[c];
    }
    int groups = make_groups(histogram, n, first);
    fill_table(first, groups, group_of);
    for (int c = 0; c < CONTEXTS; c++)
        for (int s = 0; histogram[c] && s < SK_SYMBOLS; s++)
            of_group[group_of[c]][s] += counts[c][s];
    sk_buf_put_u8(out, (uint8_t)groups);
    sk_buf_put(out, first, (size_t)groups);
    for (int g = 0; g < groups; g++)
        sk_mix_model_put(&models[g], of_group[g], out);
}

int sk_symbols_put(struct sk_coder *c, const struct sk_part *parts, int i,
                   const struct sk_recipe *r, const uint8_t *symbols, size_t n, struct sk_buf *out,
                   struct saikai_error *err)
{
    uint8_t group_of[CONTEXTS];
    struct sk_mix_model models[SK_MIX_GROUPS];
    int zeros = some_zeros(symbols, n), rc = 0;
    sk_buf_put_u8(out, (uint8_t)zeros);
    if (zeros && (rc = put_zeros(c, parts, i, r, symbols, n, out, err)))
        return rc;
    uint8_t *ctx = sk_coder_room(&c->contexts, n);
    uint8_t *packed = zeros ? sk_coder_room(&c->packed, n) : NULL;
    uint32_t(*counts)[SK_SYMBOLS] = sk_coder_room(&c->tables, sizeof(joint_counts));
    if (!ctx || !counts || (zeros && !packed))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to encode %zu values", n);
    memset(counts, 0, sizeof(joint_counts));
    all_contexts(&parts[i], symbols, ctx, counts);
    put_models(counts, zeros, models, group_of, out);
    size_t left = zeros ? drop_zeros(symbols, packed, ctx, n) : n;
    rc = sk_mix_put(models, zeros ? packed : symbols, ctx, group_of, left, out);
    return rc ? sk_fail(err, rc, "no memory to encode %zu values", n) : 0;
}

/* ---- reading ---- */

static int get_zeros(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in, size_t n,
                     size_t *left, struct saikai_error *err)
{
    int source = sk_rd_u16(in) - 1;
    if (in->bad || source >= i ||
        (source >= 0 && (!width_of(&parts[source]) ||
                         parts[source].size_bytes / sk_type_size(parts[source].type) != n)))
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of predictions is damaged");
    uint8_t *bits = sk_coder_room(&c->zeros, (n + 7) / 8);
    if (!bits)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to decode %zu values", n);
    int rc = sk_stream_get(c, in, bits, (n + 7) / 8, err);
    if (rc)
        return rc;
    struct sk_field f = {0};
    if (source >= 0) {
        sk_part_to_native(&parts[source]);
        f = (struct sk_field){parts[source].raw, width_of(&parts[source])};
    }
    *left = sk_zeros_restore(&parts[i], source < 0 ? NULL : &f, bits, n);
    return 0;
}

static int get_models(struct sk_coder *c, struct sk_rd *in, uint8_t *group_of,
                      struct saikai_error *err)
{
    int groups = sk_rd_u8(in);
    const uint8_t *first =
        groups > 0 && groups <= SK_MIX_GROUPS ? sk_rd_bytes(in, (size_t)groups) : NULL;
    uint32_t(*tables)[SK_MIX_ONE] = sk_coder_room(&c->tables, SK_MIX_GROUPS * sizeof *tables);
    if (!tables)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for tables");
    for (int g = 0; first && g < groups; g++)
        if (sk_mix_model_get(in, tables[g]))
            first = NULL;
    if (!first)
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of predictions has a damaged model");
    fill_table(first, groups, group_of);
    return 0;
}

int sk_symbols_get(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                   uint8_t *symbols, size_t n, struct saikai_error *err)
{
    uint8_t group_of[CONTEXTS];
    struct sk_mix_in m;
    int zeros = sk_rd_u8(in), rc = 0;
    size_t left = n, widest = 1;
    if (in->bad || zeros > 1)
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of predictions is damaged");
    if (zeros && (rc = get_zeros(c, parts, i, in, n, &left, err)))
        return rc;
    if ((rc = get_models(c, in, group_of, err)))
        return rc;
    for (size_t s = 0; s < parts[i].count; s++)
        widest = parts[i].segments[s].box.nx > widest ? parts[i].segments[s].box.nx : widest;
    uint8_t *ctx = sk_coder_room(&c->contexts, widest);
    if (!ctx)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to decode %zu values", n);
    const uint32_t(*tables)[SK_MIX_ONE] = (const void *)c->tables.data;
    rc = sk_mix_start(&m, in);
    for (size_t s = 0, at = 0; s < parts[i].count && !rc; s++) {
        struct sk_stencil_box b = parts[i].segments[s].box;
        const uint8_t *start = symbols + at;
        for (size_t y = 0; y < b.nz * b.ny && !rc; y++, at += b.nx) {
            contexts_at(start, b, y / b.ny, y % b.ny, ctx);
            rc = zeros ? sk_mix_get_masked(&m, tables, group_of, ctx, b.nx, c->zeros.data, at,
                                           symbols + at)
                       : sk_mix_get(&m, tables, group_of, ctx, b.nx, symbols + at);
        }
    }
    return rc || sk_mix_end(&m) ? sk_fail(err, SAIKAI_EDAMAGED, "a part of predictions is damaged")
                                : 0;
}
