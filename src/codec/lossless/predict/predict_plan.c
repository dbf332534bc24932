/* The choice of predictors, on a sample. */
#include "codec/lossless/predict/predict.h"

#include <math.h>

#define SAMPLES    16
#define MANY       256 /* of an array that hardly varies: what does is easily missed */
#define MAX_SPLITS 12
#define LEAST_ROW  16 /* shorter rows have too many edges */

struct sample {
    struct sk_chunk chunk[MANY];
    struct sk_scale scale[MANY]; /* the grid of each, as when it is coded */
    int n;
};

/* Chunks spread over the array; inside: away from the edges where there is a choice. Values of all
 * of them: at most `most`. */
static void take_chunks(struct sample *s, const struct sk_plan *p, const void *x, int chunks, size_t most, int inside)
{
    const struct sk_shape *shape = &p->shape;
    size_t nx = shape->n[0], rows = sk_shape_rows(shape), each = most / (size_t)chunks;
    s->n = 0;
    for (int i = 0; i < chunks; i++) {
        struct sk_chunk c = {0};
        size_t row = (size_t)((double)rows * (i + 0.5) / chunks), rest = row;
        row = row < rows ? row : rows - 1;
        rest = row;
        for (int k = 1; k < SK_AXES; k++) {
            c.at[k] = rest % shape->n[k];
            if (inside && c.at[k] < 3 && shape->n[k] > 3) {
                row += (3 - c.at[k]) * (shape->stride[k] / nx);
                c.at[k] = 3;
            }
            rest /= shape->n[k];
        }
        c.rows = 1;
        if (nx > each) {
            c.from = (size_t)((double)(nx - each) * (i + 1) / (chunks + 1));
            c.from = c.from < SK_EDGE ? 0 : c.from; /* else predictions would want what is before the row */
            c.to = c.from + each;
        } else {
            c.to = nx;
            c.rows = each / nx;
            c.rows = c.rows > shape->n[1] - c.at[1] ? shape->n[1] - c.at[1] : c.rows;
            c.rows = c.at[1] < 3 ? 1 : c.rows;
        }
        c.first = row * nx + c.from;
        sk_grid_find(p, (const uint8_t *)x + c.first * p->word, sk_chunk_values(&c), &s->scale[s->n]);
        s->chunk[s->n++] = c;
    }
}

/* Few chunks are inside. */
static void take_sample(struct sample *s, const struct sk_plan *p, const void *x, int chunks, size_t most)
{
    take_chunks(s, p, x, chunks, most, chunks < MANY);
}

/* Bits per value of the sample that is not skipped: plain bits, and the entropy of the classes. */
static double cost_of(const struct sk_plan *p, const struct sample *s, const void *x, const uint8_t *skip)
{
    uint64_t r[SK_CHUNK_VALUES];
    uint8_t class[SK_CHUNK_VALUES];
    uint32_t h[SK_CLASSES] = {0};
    struct sk_predictor predictor;
    double bits = 0, n = 0;
    sk_predictor_init(&predictor, p);
    for (int i = 0; i < s->n; i++) {
        size_t m = sk_chunk_values(&s->chunk[i]);
        sk_predict_chunk(&predictor, &s->chunk[i], x, &s->scale[i], r);
        p->kernel->classes(r, m, class);
        for (size_t k = 0; k < m; k++)
            if (!skip || !skip[s->chunk[i].first + k])
                h[class[k]]++, n++;
    }
    for (int c = 0; c < SK_CLASSES; c++)
        if (h[c])
            bits += h[c] * ((c + (c == 1)) / 2 + log2(n / h[c]));
    return n > 0 ? bits / n : 0;
}

static double cost(const struct sk_plan *p, const struct sample *s, const void *x)
{
    return cost_of(p, s, x, NULL);
}

/* Better orders by steps of `step` halves on one axis at a time, until none helps. */
static void climb(struct sk_plan *p, const struct sample *s, const void *x, int step)
{
    for (int better = 1, rounds = 0; better && rounds < 4; rounds++) {
        better = 0;
        for (int k = 0; k < p->shape.axes; k++)
            for (int way = step; way >= -step; way -= 2 * step) {
                int old = p->orders.half[k], now = old + way;
                if (now < 0 || now > SK_MAX_HALVES)
                    continue;
                p->orders.half[k] = (uint8_t)now;
                double c = cost(p, s, x);
                if (c < p->cost - 0.005) {
                    p->cost = c;
                    better = 1;
                    break;
                }
                p->orders.half[k] = (uint8_t)old;
            }
    }
}

/* The best of the plain orders 0 and 1 on the first axes. */
static void start(struct sk_plan *p, const struct sample *s, const void *x)
{
    p->orders = (struct sk_orders){{0}};
    p->cost = cost(p, s, x);
    struct sk_orders best = p->orders, now = p->orders;
    for (int k = 0; k < p->shape.axes; k++) {
        now.half[k] = 2;
        p->orders = now;
        double c = cost(p, s, x);
        if (c < p->cost)
            p->cost = c, best = now;
    }
    p->orders = best;
}

/* Take the plain order 1 on one axis alone, but the fastest, where it is better. 1: it is. */
static int one_alone(struct sk_plan *p, const struct sample *s, const void *x)
{
    struct sk_plan best = *p;
    for (int k = 1; k < p->shape.axes; k++) {
        struct sk_plan now = *p;
        now.orders = (struct sk_orders){{0}};
        now.orders.half[k] = 2;
        now.cost = cost(&now, s, x);
        if (now.cost < best.cost - 0.005)
            best = now;
    }
    int better = best.cost < p->cost;
    *p = best;
    return better;
}

static size_t sample_size(const struct sk_shape *s)
{
    size_t n = s->total / 32;
    return n < 1024 ? 1024 : n > 8192 ? 8192 : n;
}

static void search(struct sk_plan *p, const void *x)
{
    struct sample s;
    take_sample(&s, p, x, SAMPLES, sample_size(&p->shape));
    start(p, &s, x);
    if (p->cost < (double)p->word && p->shape.total > 16 * 1024) {
        /* what little varies decides, and a climb would follow the sample's accidents */
        const int alone = one_alone(p, &s, x);
        const struct sk_orders orders = p->orders;
        /* steps that are as those before are compared without the first, which has orders of its own then */
        take_chunks(&s, p, x, MANY, p->shape.total / 4 < 131072 ? p->shape.total / 4 : 131072, alone);
        start(p, &s, x);
        if (alone) {
            struct sk_plan now = *p;
            now.orders = orders;
            now.cost = cost(&now, &s, x);
            *p = now.cost < p->cost ? now : *p;
        }
        return;
    }
    climb(p, &s, x, 2);
    climb(p, &s, x, 1);
}

/* Divisors of nx that could be the length of a row that the program did not tell. */
static int divisors(size_t nx, size_t d[MAX_SPLITS])
{
    int n = 0;
    for (size_t k = LEAST_ROW; k <= nx / LEAST_ROW && k <= 65536 && n < MAX_SPLITS; k++)
        if (nx % k == 0)
            d[n++] = k;
    return n;
}

/* Rows within rows: fields of a square region are often kept as one dimension. */
static void try_splits(struct sk_plan *p, const void *x)
{
    size_t d[MAX_SPLITS], nx = p->shape.n[0];
    int n = nx >= 64 ? divisors(nx, d) : 0;
    struct sk_plan best = *p;
    struct sample plain;
    if (!n || p->shape.axes == SK_AXES)
        return;
    take_sample(&plain, p, x, SAMPLES, sample_size(&p->shape));
    start(&best, &plain, x);
    for (int i = 0; i < n; i++) {
        struct sk_plan now = *p;
        struct sample s;
        sk_shape_split(&now.shape, d[i]);
        now.split = d[i];
        take_sample(&s, &now, x, SAMPLES, sample_size(&now.shape));
        start(&now, &s, x);
        if (now.cost < best.cost - 0.2)
            best = now;
    }
    if (best.split) {
        double whole = p->cost;
        search(&best, x);
        if (best.cost < whole)
            *p = best;
    }
}

void sk_plan_search(struct sk_plan *p, const void *x)
{
    p->split = 0;
    if (p->shape.total < 64) {
        p->orders = (struct sk_orders){{2}};
        p->cost = 8.0 * (double)p->word;
        return;
    }
    search(p, x);
    try_splits(p, x);
}

void sk_plan_search_first(struct sk_plan *p, const void *x)
{
    enum { FEWEST = 256, MOST_STEPS = 128, SMALL = 16 * 1024 };
    const double worth = 0.5;
    const int last = p->shape.axes - 1;
    const size_t values = p->shape.stride[last];
    int others = 0;
    for (int k = 0; k < last; k++)
        others += p->orders.half[k];
    if (!last || others > 1 || !p->orders.half[last] || p->shape.total <= SMALL || values < FEWEST || p->shape.n[last] > MOST_STEPS)
        return;
    struct sk_plan one = *p;
    struct sample s;
    one.shape.axes = last;
    one.shape.n[last] = 1;
    one.shape.total = values;
    one.orders.half[last] = 0;
    take_sample(&s, &one, x, SAMPLES, sample_size(&one.shape));
    double as_others = cost(&one, &s, x);
    search(&one, x);
    if (one.cost > as_others - worth)
        return;
    p->first = one.orders;
    p->apart = 1;
    p->cost = sk_plan_cost(p, x, NULL);
}

double sk_plan_cost(const struct sk_plan *p, const void *x, const uint8_t *skip)
{
    struct sample s;
    take_sample(&s, p, x, p->shape.total > 16 * 1024 ? MANY : SAMPLES, p->shape.total > 16 * 1024 ? 32768 : sample_size(&p->shape));
    return cost_of(p, &s, x, skip);
}

/* Take the filter where it saves more than `least` of the bits that the best so far needs. */
static void try_along(struct sk_plan *best, const struct sk_plan *line, const struct sk_along *a, const struct sample *s, const void *x,
                      double least)
{
    struct sk_plan now = *line;
    now.along = *a;
    now.cost = cost(&now, s, x);
    if (now.cost < best->cost * (1 - least))
        *best = now;
}

enum { PART = 64, PARTS = 8 };

/* What a filter is fitted to: the chunks of a sample, or parts of them, of which a jump spoils one alone. */
struct stretches {
    const void *from[SAMPLES * PARTS];
    size_t n[SAMPLES * PARTS];
    int many;
};

static void take_stretches(struct stretches *t, const struct sample *s, const struct sk_plan *p, const void *x, size_t most)
{
    t->many = 0;
    for (int i = 0; i < s->n; i++) {
        size_t all = sk_chunk_values(&s->chunk[i]), parts = all / PART < most ? all / PART : most;
        parts = parts ? parts : 1;
        for (size_t k = 0; k < parts; k++, t->many++) {
            t->from[t->many] = (const uint8_t *)x + (s->chunk[i].first + all / parts * k) * p->word;
            t->n[t->many] = parts > 1 ? all / parts : all;
        }
    }
}

/* Bits are logarithms of what is missed, of which least squares make the largest count most: weights are fitted anew, each stretch to count the less the more of it
 * was missed (iteratively reweighted least squares). */
static void fit_again(struct sk_plan *best, const struct sk_plan *line, const struct stretches *t, int differences, const struct sample *by, const void *x)
{
    enum { ROUNDS = 4 };
    const double better = 0.002;
    struct sk_along a, last = best->along;
    for (int k = 0; k < ROUNDS; k++, last = a) {
        const double before = best->cost;
        if (sk_along_fit(&a, line, t->from, t->n, t->many, differences, &last))
            return;
        try_along(best, line, &a, by, x, better);
        if (!(best->cost < before))
            return;
    }
}

/* A filter along all values, where differences of few orders leave much that more of the values before would tell: differences of higher orders,
 * and weights fitted after as many, or fewer. It is restored more slowly and has to be worth that. */
void sk_plan_search_along(struct sk_plan *p, const struct sk_plan *line, const void *x)
{
    enum { FEWEST = 4096, HIGHEST = 7 };
    const double worth = 0.02, better = 0.002;
    struct stretches whole, cut;
    struct sk_along a;
    struct sample s, judge;
    struct sk_plan best = *p;
    int order = p->split ? 3 : p->orders.half[0] / 2;
    if (line->shape.axes != 1 || line->shape.total < FEWEST || p->cost < 2)
        return;
    take_sample(&s, line, x, SAMPLES, sample_size(&line->shape));
    const struct sample *by = &s;
    if (p->split && line->shape.total > 16 * 1024) {
        /* rows that the program did not tell fit a few places by chance: more of them are looked at */
        take_sample(&judge, line, x, MANY, 32768);
        by = &judge;
        best.cost = sk_plan_cost(p, x, NULL);
    }
    take_stretches(&whole, &s, p, x, 1);
    take_stretches(&cut, &s, p, x, PARTS);
    for (int d = 4; d <= HIGHEST && order >= d - 1; d++) {
        double before = best.cost;
        sk_along_difference(&a, d);
        try_along(&best, line, &a, by, x, best.along.weights ? 0 : worth);
        order = best.cost < before ? d : order;
    }
    int fitted = -1, first = order;
    for (int d = order; d >= 0 && (fitted == d + 1 || d >= order - 1 - (best.along.weights != 0)); d--) {
        double before = best.cost;
        if (!sk_along_fit(&a, line, whole.from, whole.n, whole.many, d, NULL))
            try_along(&best, line, &a, by, x, best.along.weights ? better : worth);
        if (d == first && cut.many > whole.many && !sk_along_fit(&a, line, cut.from, cut.n, cut.many, d, NULL))
            try_along(&best, line, &a, by, x, best.along.weights ? better : worth);
        fitted = best.cost < before ? d : fitted;
    }
    if (fitted >= 0)
        fit_again(&best, line, &cut, fitted + 1, by, x);
    *p = best;
}
