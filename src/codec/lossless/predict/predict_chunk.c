/* Chunks of an array through the kernels. */
#include "codec/lossless/predict/predict.h"

int sk_chunk_next(struct sk_chunk *c, const struct sk_shape *s)
{
    size_t nx = s->n[0], rows = sk_shape_rows(s);
    size_t end = c->to == nx && c->next_row == rows ? nx + s->tail : nx;
    if (c->rows == 1 && c->to < end) { /* within a row */
        c->first += c->to - c->from;
        c->from = c->to;
        c->to = end - c->from < SK_CHUNK_VALUES ? end : c->from + SK_CHUNK_VALUES;
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
    if (nx <= SK_CHUNK_VALUES / 2 && c->at[1] >= SK_EDGE) {
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

void sk_predictor_init(struct sk_predictor *p, const struct sk_plan *plan)
{
    p->plan = plan;
    p->orders = NULL;
}

static void set_degrees(struct sk_predictor *p)
{
    unsigned halves = p->orders->half[0];
    for (unsigned i = 0; i <= SK_EDGE; i++)
        p->degree[i] = sk_operator(halves > 2 * i ? 2 * i : halves, p->c[i]);
}

/* Terms depend on how near a row is to the edges of the outer axes, up to the highest order. */
static void set_terms(struct sk_predictor *p, const struct sk_chunk *c)
{
    const struct sk_orders *orders = sk_orders_at(p->plan, c->at);
    int same = p->orders == orders;
    if (!same) {
        p->orders = orders;
        set_degrees(p);
    }
    for (int k = 1; k < SK_AXES; k++) {
        int near = c->at[k] < SK_EDGE ? (int)c->at[k] : SK_EDGE;
        same &= near == p->near[k];
        p->near[k] = near;
    }
    if (!same)
        sk_terms_init(&p->terms, &p->plan->shape, orders, c->at);
}

/* v[-3 … ] of a chunk or a row of it into store; returns v. */
static double *sums(const struct sk_predictor *p, const struct sk_chunk *c, const void *x,
                    size_t first, size_t n, double *store)
{
    size_t back = c->from < SK_EDGE ? c->from : SK_EDGE;
    for (int i = 0; i < SK_EDGE; i++)
        store[i] = 0;
    p->plan->kernel->sum_terms(at(p->plan, x, first - back), n + back, &p->terms,
                               store + SK_EDGE - back);
    return store + SK_EDGE;
}

/* The first values of all, or of a segment, have too few before them. */
static size_t begin_along(const struct sk_plan *p, const struct sk_chunk *c, size_t n)
{
    const size_t weights = (size_t)p->along.weights;
    return c->from >= weights ? 0 : weights - c->from < n ? weights - c->from : n;
}

static void predict_along(const struct sk_plan *p, const struct sk_chunk *c, const void *x, const struct sk_scale *scale, void *r)
{
    static const double before[4] = {1, -1}, nothing[1 + 1] = {0};
    double v[SK_CHUNK_VALUES];
    size_t n = sk_chunk_values(c), some = begin_along(p, c, n);
    for (size_t i = 0; i < some; i++)
        p->kernel->residual(at(p, x, c->first + i), nothing + 1, 1, c->from + i > 0, before, scale, (uint8_t *)r + i * p->word);
    if (n == some)
        return;
    p->kernel->guess_along(at(p, x, c->first + some), n - some, p->along.weights, p->along.c, v);
    p->kernel->residual(at(p, x, c->first + some), v, n - some, 0, p->along.c, scale, (uint8_t *)r + some * p->word);
}

static void restore_along(const struct sk_plan *p, const struct sk_chunk *c, void *x, const struct sk_scale *scale,
                          struct sk_bits_in *bits, const uint8_t *class)
{
    static const double before[4] = {1, -1}, nothing[1 + 1] = {0};
    size_t n = sk_chunk_values(c), some = begin_along(p, c, n);
    uint8_t *to = (uint8_t *)x + c->first * p->word;
    for (size_t i = 0; i < some; i++)
        p->kernel->restore(to + i * p->word, nothing + 1, 1, c->from + i > 0, before, scale, bits, class + c->first + i, NULL, 0);
    if (n > some)
        p->kernel->restore_along(to + some * p->word, n - some, p->along.weights, p->along.c, scale, bits, class + c->first + some);
}

void sk_predict_chunk(struct sk_predictor *p, const struct sk_chunk *c, const void *x,
                      const struct sk_scale *scale, void *r)
{
    double store[SK_EDGE + SK_CHUNK_VALUES];
    const struct sk_plan *plan = p->plan;
    size_t n = sk_chunk_values(c), nx = c->to - c->from;
    if (plan->along.weights) {
        predict_along(plan, c, x, scale, r);
        return;
    }
    set_terms(p, c);
    double *v = sums(p, c, x, c->first, n, store);
    size_t skip = c->from ? 0 : n < SK_EDGE ? n : SK_EDGE;
    if (n > skip)
        plan->kernel->residual(at(plan, x, c->first + skip), v + skip, n - skip, p->degree[SK_EDGE],
                               p->c[SK_EDGE], scale, (uint8_t *)r + skip * plan->word);
    for (size_t row = 0; !c->from && row < c->rows; row++)
        for (size_t i = 0; i < SK_EDGE && i < nx; i++) {
            size_t k = row * nx + i;
            plan->kernel->residual(at(plan, x, c->first + k), v + k, 1, p->degree[i], p->c[i],
                                   scale, (uint8_t *)r + k * plan->word);
        }
}

void sk_restore_chunk(struct sk_predictor *p, const struct sk_chunk *c, void *x,
                      const struct sk_scale *scale, struct sk_bits_in *bits, const uint8_t *class,
                      const uint8_t *skip)
{
    double store[SK_EDGE + SK_CHUNK_VALUES];
    const struct sk_plan *plan = p->plan;
    size_t nx = c->to - c->from;
    if (plan->along.weights) {
        restore_along(plan, c, x, scale, bits, class);
        return;
    }
    set_terms(p, c);
    for (size_t row = 0; row < c->rows; row++) {
        size_t first = c->first + row * nx, i = 0;
        uint8_t *to = (uint8_t *)x + first * plan->word;
        const uint8_t *s = skip ? skip + first : NULL;
        double *v = sums(p, c, x, first, nx, store);
        if (s && s[0] && first == 0) { /* nothing is before it */
            memset(to, 0, plan->word);
            i = 1;
        }
        for (; !c->from && i < SK_EDGE && i < nx; i++)
            plan->kernel->restore(to + i * plan->word, v + i, 1, p->degree[i], p->c[i], scale, bits,
                                  class + first + i, s ? s + i : NULL, plan->tame);
        if (i < nx)
            plan->kernel->restore(to + i * plan->word, v + i, nx - i, p->degree[SK_EDGE], p->c[SK_EDGE],
                                  scale, bits, class + first + i, s ? s + i : NULL, plan->tame);
    }
}

void sk_restore_rows(struct sk_predictor *p, const struct sk_chunk *c, size_t rows, void *x, const struct sk_scale *scale,
                       struct sk_bits_in *bits, const uint8_t *class)
{
    const struct sk_plan *plan = p->plan;
    if (plan->along.weights) {
        plan->kernel->restore_segments((uint8_t *)x + c->first * plan->word, plan->shape.n[0], plan->along.weights, plan->along.c, scale, bits,
                                       class + c->first);
        return;
    }
    set_terms(p, c);
    const struct sk_side side = {.x = (uint8_t *)x + c->first * plan->word,
                                 .class = class + c->first,
                                 .nx = plan->shape.n[0],
                                 .rows = rows,
                                 .terms = &p->terms,
                                 .degree = p->degree,
                                 .c = (const double(*)[4])p->c,
                                 .scale = scale,
                                 .tame = plan->tame};
    plan->kernel->restore_rows(&side, bits);
}
