/* The first half of writing planes: values become tokens in their contexts, which are counted, and
 * raw bits. */
#include "codec/entropy/plane_writer.h"

#include "codec/entropy/scratch.h"

#include <stdlib.h>
#include <string.h>

struct sk_plane_writer *sk_plane_writer_new(size_t max_values)
{
    struct sk_plane_writer *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->kernel = sk_plane_kernel();
    w->sparse.given_up = 1;
    w->cap = max_values + PLANE_SPARE;
    w->symbols = sk_scratch_take(w->cap * sizeof *w->symbols);
    w->counts = sk_scratch_take(COUNTERS * sizeof *w->counts);
    if (w->symbols && w->counts) {
        memset(w->counts, 0, sizeof *w->counts);
        return w;
    }
    sk_plane_writer_free(w);
    return NULL;
}

void sk_plane_writer_free(struct sk_plane_writer *w)
{
    if (!w)
        return;
    sk_scratch_give(w->symbols);
    sk_scratch_give(w->blocks);
    sk_scratch_give(w->token);
    sk_scratch_give(w->counts);
    sk_buf_free(&w->raw);
    sk_sparse_free(&w->sparse);
    free(w);
}

void sk_plane_writer_reset(struct sk_plane_writer *w)
{
    for (unsigned s = 0; s <= SK_PLANE_SETS; s++)
        for (int c = 0; w->top[s] && c < (w->is_spread ? COUNTERS : 1); c++)
            memset(w->counts[c] + s * FINE * SK_TOKENS, 0,
                   (size_t)w->top[s] * SK_TOKENS * sizeof(uint32_t));
    memset(w->top, 0, sizeof w->top);
    w->is_spread = 0;
    w->n = w->n_blocks = 0;
    w->raw.len = 0;
    w->acc = 0;
    w->acc_bits = w->last_flag = 0;
    w->sparse.given_up = 1;
}

void sk_plane_writer_keep(struct sk_plane_writer *w, size_t most)
{
    sk_sparse_start(&w->sparse, most);
}

int sk_plane_writer_sparse(const struct sk_plane_writer *w, size_t most, struct sk_buf *out)
{
    return sk_sparse_put(&w->sparse, most, out);
}

/* Room for `more` elements of this size behind *n in an array that grows. */
static int reserve(struct sk_plane_writer *w, void *array, size_t *cap, size_t n, size_t more,
                   size_t size)
{
    void *old, *p;
    if (*cap - n >= more)
        return 0;
    size_t most = n + n / 2 + more + 1024;
    memcpy(&old, array, sizeof old);
    p = sk_scratch_grow(old, n * size, most * size);
    if (!p) {
        w->failed = 1;
        return -1;
    }
    memcpy(array, &p, sizeof p);
    *cap = most;
    return 0;
}

static int make_room(struct sk_plane_writer *w, const struct sk_plane *p, const struct lanes *v)
{
    size_t extent = p->origin + (p->nb - 1) * p->sb + (p->nz - 1) * p->sz + (p->ny - 1) * p->sy +
                    p->width + PLANE_SPARE;
    return reserve(w, &w->symbols, &w->cap, w->n, v->rows * v->width + PLANE_SPARE,
                   sizeof *w->symbols) ||
           reserve(w, &w->blocks, &w->cap_blocks, w->n_blocks, v->per_lane * (v->width / BLOCK + 1),
                   sizeof *w->blocks) ||
           reserve(w, &w->token, &w->cap_token, 0, extent, 1);
}

/* Tokens and levels of all rows of the lanes, in their order in memory: what is written behind one
 * row is written again by the next. */
static void tokens_of(struct sk_plane_writer *w, const struct lanes *v, const int32_t *q,
                      uint8_t *level)
{
    const struct sk_plane *p = v->p;
    for (size_t b = 0; b < p->nb; b++)
        for (size_t z = 0; z < p->nz; z++)
            for (size_t y = 0; y < p->ny; y++) {
                size_t at = p->origin + b * p->sb + z * p->sz + y * p->sy;
                w->kernel->tokens(q + at, v->cut ? LANES * v->width : v->width, level + at,
                                  w->token + at);
            }
}

/* Raw bits of the large values of a row's block. */
static void put_raw(struct sk_plane_writer *w, const uint8_t *token, const int32_t *q, size_t n)
{
    const struct sk_token *table = sk_token_table();
    uint64_t large = w->kernel->large(token, n), acc = w->acc;
    uint8_t *to = large ? sk_buf_extend(&w->raw, (size_t)__builtin_popcountll(large) * SK_TOKEN_MAX_BITS / 8 + 16) : NULL;
    unsigned bits = w->acc_bits;
    if (!to)
        return;
    for (; large; large &= large - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(large);
        const struct sk_token *t = &table[token[i]];
        int32_t x = q[i];
        uint32_t a = x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
        acc |= (uint64_t)((a - t->base) << 1 | (x < 0)) << bits;
        bits += t->bits;
        memcpy(to, &acc, sizeof acc); /* little-endian, as this machine is */
        to += bits >> 3;
        acc >>= bits & 56;
        bits &= 7;
    }
    w->acc = acc;
    w->acc_bits = bits;
    w->raw.len = (size_t)(to - w->raw.data);
}

static int any_level(const uint8_t *level, size_t n)
{
    uint64_t any = 0, eight;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&eight, level + i, sizeof eight);
        any |= eight;
    }
    for (; i < n; i++)
        any |= level[i];
    return any != 0;
}

/* A trial has few symbols: to add up several counters takes longer then than to wait for one. */
static void count(struct sk_plane_writer *w, const uint16_t *s, size_t n)
{
    enum { FEW = 1 << 15 };
    uint32_t(*c)[KINDS] = w->counts;
    size_t i = 0;
    if (w->n < FEW) {
        for (; i < n; i++)
            c[0][s[i]]++;
        return;
    }
    if (!w->is_clear)
        memset(c[1], 0, (COUNTERS - 1) * sizeof *c);
    w->is_spread = w->is_clear = 1;
    for (; i + COUNTERS <= n; i += COUNTERS) {
        c[0][s[i]]++;
        c[1][s[i + 1]]++;
        c[2][s[i + 2]]++;
        c[3][s[i + 3]]++;
    }
    for (; i < n; i++)
        c[0][s[i]]++;
}

/* Neighbours of a lane's row, those in the row itself included: the writer knows them all. */
static void whole_row(const struct lanes *v, size_t lane, const uint8_t *level, struct plane_row *r)
{
    const uint8_t *here = level + v->origin[lane];
    row_of(v, lane, level, r);
    row_add(r, here - 1, v->p->weights.left);
    row_add(r, here - 2, v->p->weights.left2);
}

/* The first block of a lane, when the only row was cut, sees nothing to its left. */
static unsigned cut_symbols(struct sk_plane_writer *w, const struct sk_plane_weights *weights,
                            const struct plane_row *r, size_t n, const uint8_t *token,
                            uint16_t *symbol)
{
    struct plane_row start = *r;
    uint8_t left[2][2 + BLOCK + PLANE_SPARE] = {{0}};
    int k = r->n - 1;
    for (size_t away = 2; away; away--) {
        if (!(away == 1 ? weights->left : weights->left2))
            continue;
        if (n > away)
            memcpy(left[away - 1] + away, r->level[k] + away, n - away);
        start.level[k--] = left[away - 1];
    }
    return w->kernel->symbols(&start, 0, n, token, symbol);
}

static void write_step(struct sk_plane_writer *w, const struct lanes *v, const int32_t *q,
                       const uint8_t *level)
{
    struct plane_row row[LANES];
    unsigned top = w->top[v->p->set];
    for (size_t l = 0; l < v->active; l++)
        whole_row(v, l, level, &row[l]);
    for (size_t col = 0; col < v->width; col += BLOCK) {
        size_t n = v->width - col < BLOCK ? v->width - col : BLOCK;
        unsigned any = 0;
        for (size_t l = 0; l < v->active && !any; l++)
            any = (unsigned)any_level(level + v->origin[l] + col, n);
        w->counts[0][(CTX_FLAG + w->last_flag) * SK_TOKENS + any]++;
        w->blocks[w->n_blocks++] =
            (struct plane_block){(uint8_t)v->active, (uint8_t)(any ? n : 0), (uint8_t)w->last_flag};
        w->last_flag = any;
        if (!any)
            continue;
        uint16_t *symbol = w->symbols + w->n;
        for (size_t l = 0; l < v->active; l++, symbol += n) {
            size_t at = v->origin[l] + col;
            unsigned last = !col && (v->cut || v->rows == 1)
                                ? cut_symbols(w, &v->p->weights, &row[l], n, w->token + at, symbol)
                                : w->kernel->symbols(&row[l], col, n, w->token + at, symbol);
            top = last > top ? last : top;
            put_raw(w, w->token + at, q + at, n);
        }
        count(w, w->symbols + w->n, v->active * n);
        w->n += v->active * n;
    }
    w->top[v->p->set] = top;
    w->top[SK_PLANE_SETS] = CONTEXTS - CTX_FLAG;
}

/* What is left of a single row after it was cut into lanes of equal width. */
static struct sk_plane rest_of(const struct sk_plane *p, const struct lanes *v)
{
    struct sk_plane rest = *p;
    rest.origin += LANES * v->width;
    rest.width -= LANES * v->width;
    return rest;
}

static void write_plane(struct sk_plane_writer *w, const struct sk_plane *p, const int32_t *q,
                        uint8_t *level)
{
    struct lanes v = lanes_of(p);
    if (!v.rows || !v.width || w->failed || make_room(w, p, &v))
        return;
    tokens_of(w, &v, q, level);
    for (; v.step < v.per_lane; lanes_next(&v))
        write_step(w, &v, q, level);
    if (v.cut) {
        struct sk_plane rest = rest_of(p, &v);
        write_plane(w, &rest, q, level);
    }
}

void sk_plane_write(struct sk_plane_writer *w, const struct sk_plane *p, const int32_t *q,
                    uint8_t *level)
{
    write_plane(w, p, q, level);
    sk_sparse_add(&w->sparse, p, q, level);
}

void sk_plane_gather_counts(struct sk_plane_writer *w)
{
    for (unsigned s = 0; s <= SK_PLANE_SETS; s++) {
        uint32_t *sum = w->counts[0] + s * FINE * SK_TOKENS;
        for (int c = 1; w->is_spread && c < COUNTERS; c++) {
            uint32_t *more = w->counts[c] + s * FINE * SK_TOKENS;
            for (size_t k = 0; k < (size_t)w->top[s] * SK_TOKENS; k++)
                sum[k] += more[k];
            memset(more, 0, (size_t)w->top[s] * SK_TOKENS * sizeof *more);
        }
    }
    memset(plane_counts_of(w, CTX_MASKED), 0, SK_TOKENS * sizeof(uint32_t));
    w->is_spread = 0;
}
