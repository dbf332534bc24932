/* Chunks of an array through the kernels. */
#include "codec/lossless/predict.h"

#define EDGE 3 /* most values at a row's start that have fewer than all values before them */

int sk_chunk_next(struct sk_chunk *c, const struct sk_shape *s)
{
    size_t nx = s->n[0], rows = sk_shape_rows(s);
    if (c->rows == 1 && c->to < nx) { /* within a row */
        c->first += c->to - c->from;
        c->from = c->to;
        c->to = nx - c->from < SK_CHUNK_VALUES ? nx : c->from + SK_CHUNK_VALUES;
        return 1;
    }
    if (c->next_row >= rows)
        return 0;
    size_t row = c->next_row, rest = row;
    for (int k = 1; k < SK_AXES; k++) {
        c->at[k] = rest % s->n[k];
        rest /= s->n[k];
    }
    c->first = row * nx;
    c->from = 0;
    c->to = nx < SK_CHUNK_VALUES ? nx : SK_CHUNK_VALUES;
    c->rows = 1;
    /* rows of one plane that all have enough rows before them go together */
    if (nx <= SK_CHUNK_VALUES / 2 && c->at[1] >= EDGE) {
        size_t most = SK_CHUNK_VALUES / nx, left = s->n[1] - c->at[1];
        c->rows = left < most ? left : most;
    }
    c->next_row = row + c->rows;
    return 1;
}

static const void *at(const struct sk_plan *p, const void *x, size_t i)
{
    return (const uint8_t *)x + i * p->word;
}

/* Operators along the row for the values at its start, and for the others. */
struct row_operator {
    int degree[EDGE + 1];
    double c[EDGE + 1][4];
};

static void row_operators(struct row_operator *o, unsigned halves)
{
    for (unsigned i = 0; i <= EDGE; i++)
        o->degree[i] = sk_operator(halves > 2 * i ? 2 * i : halves, o->c[i]);
}

/* v[-3 … ] of a chunk into store; returns v. */
static double *sums(const struct sk_plan *p, const struct sk_chunk *c, const void *x, size_t first,
                    size_t n, double *store)
{
    struct sk_terms t;
    size_t back = c->from < EDGE ? c->from : EDGE;
    sk_terms_init(&t, &p->shape, &p->orders, c->at);
    for (int i = 0; i < EDGE; i++)
        store[i] = 0;
    p->kernel->sum_terms(at(p, x, first - back), n + back, &t, store + EDGE - back);
    return store + EDGE;
}

void sk_predict_chunk(const struct sk_plan *p, const struct sk_chunk *c, const void *x,
                      const struct sk_scale *scale, void *r)
{
    double store[EDGE + SK_CHUNK_VALUES];
    size_t n = sk_chunk_values(c), nx = c->to - c->from;
    double *v = sums(p, c, x, c->first, n, store);
    struct row_operator o;
    row_operators(&o, p->orders.half[0]);
    size_t skip = c->from ? 0 : n < EDGE ? n : EDGE;
    if (n > skip)
        p->kernel->residual(at(p, x, c->first + skip), v + skip, n - skip, o.degree[EDGE],
                            o.c[EDGE], scale, (uint8_t *)r + skip * p->word);
    for (size_t row = 0; !c->from && row < c->rows; row++)
        for (size_t i = 0; i < EDGE && i < nx; i++) {
            size_t k = row * nx + i;
            p->kernel->residual(at(p, x, c->first + k), v + k, 1, o.degree[i], o.c[i], scale,
                                (uint8_t *)r + k * p->word);
        }
}

void sk_restore_chunk(const struct sk_plan *p, const struct sk_chunk *c, void *x,
                      const struct sk_scale *scale, const void *r, const uint8_t *skip)
{
    double store[EDGE + SK_CHUNK_VALUES];
    size_t nx = c->to - c->from;
    struct row_operator o;
    row_operators(&o, p->orders.half[0]);
    for (size_t row = 0; row < c->rows; row++) {
        size_t first = c->first + row * nx, i = 0;
        uint8_t *to = (uint8_t *)x + first * p->word;
        const uint8_t *from = (const uint8_t *)r + row * nx * p->word;
        const uint8_t *s = skip ? skip + row * nx : NULL;
        double *v = sums(p, c, x, first, nx, store);
        if (s && s[0] && first == 0) { /* nothing is before it */
            memset(to, 0, p->word);
            i = 1;
        }
        for (; !c->from && i < EDGE && i < nx; i++)
            p->kernel->restore(to + i * p->word, v + i, 1, o.degree[i], o.c[i], scale,
                               from + i * p->word, s ? s + i : NULL);
        if (i < nx)
            p->kernel->restore(to + i * p->word, v + i, nx - i, o.degree[EDGE], o.c[EDGE], scale,
                               from + i * p->word, s ? s + i : NULL);
    }
}
