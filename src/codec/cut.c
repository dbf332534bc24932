/* Chooses how many rows make a piece, and says where piece i lies in the array. */
#include "codec/cut.h"
#include "codec/array.h"

#include "base/types.h"

#define KIB         ((size_t)1024)
#define LARGE_PIECE (32 * KIB * KIB)

size_t sk_cut_default_bytes(const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a) / 8;
    return n < KIB * KIB ? KIB * KIB : n > 4 * KIB * KIB ? 4 * KIB * KIB : n;
}

size_t sk_cut_bounded_bytes(const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a) / 4;
    return n < 16 * KIB * KIB ? 16 * KIB * KIB : n > LARGE_PIECE ? LARGE_PIECE : n;
}

int sk_cut_init(struct sk_cut *c, const struct sk_array *a, size_t piece_bytes)
{
    size_t total = sk_array_size_bytes(a), element = sk_type_size(a->type);
    if (total == (size_t)-1 || !element || a->ndims < 0 || a->ndims > SAIKAI_MAX_DIMS)
        return -1;
    *c = (struct sk_cut){.whole = *a, .row_bytes = element, .rows = 1};
    int n = a->ndims ? a->ndims : 1;
    size_t dims0 = a->ndims || a->type == SAIKAI_U8 ? a->dims[0] : 1;
    c->whole.dims[0] = dims0;
    if (!total)
        return 0;
    for (int k = n - 1; k > 0; k--)
        c->row_bytes *= a->dims[k];
    while (c->axis < n - 1 && c->row_bytes > piece_bytes)
        c->row_bytes /= a->dims[++c->axis];
    size_t steps = c->whole.dims[c->axis], rows = piece_bytes / c->row_bytes;
    if (rows < 8)
        rows = LARGE_PIECE / c->row_bytes < 8 ? LARGE_PIECE / c->row_bytes : 8;
    rows = rows ? rows : 1;
    c->per_outer = steps / rows + (steps % rows != 0);
    c->rows = (size_t)((steps + c->per_outer - 1) / c->per_outer);
    c->per_outer = steps / c->rows + (steps % c->rows != 0);
    c->pieces = c->per_outer * (total / c->row_bytes / steps);
    return 0;
}

struct sk_cut_piece sk_cut_piece(const struct sk_cut *c, uint64_t i)
{
    struct sk_cut_piece p = {.array = {.type = c->whole.type, .ndims = c->whole.ndims - c->axis}};
    uint64_t outer = i / c->per_outer, first = i % c->per_outer * c->rows;
    size_t steps = c->whole.dims[c->axis];
    p.rows = steps - first < c->rows ? steps - first : c->rows;
    p.first_row = first;
    for (int k = 1; k < p.array.ndims; k++)
        p.array.dims[k] = c->whole.dims[c->axis + k];
    p.array.dims[0] = (size_t)p.rows;
    p.offset = (size_t)(outer * steps + first) * c->row_bytes;
    p.size = (size_t)p.rows * c->row_bytes;
    return p;
}
