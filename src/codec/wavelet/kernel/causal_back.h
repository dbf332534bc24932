/* Part of causal_impl.h: rows of the lattice from their residuals. */

/* A lattice number of damaged data may be anything. */
static inline int32_t within(double v)
{
    v = v < 1e9 ? v : 1e9;
    return (int32_t)(v > -1e9 ? v : -1e9);
}

/* m points of a row from their residuals: the taps of the row itself last, the nearest at the very
 * end, since each point waits for the one before. `last` holds the points before, nearest first. */
static inline __attribute__((always_inline)) void rebuild_span(const double *weight, int n_row,
                                                               const double *rest, const int32_t *q,
                                                               size_t m, double *last, int32_t *n)
{
    double w[8], before[8];
    for (int k = 0; k < n_row; k++) {
        w[k] = weight[k];
        before[k] = last[k];
    }
    for (size_t i = 0; i < m; i++) {
        double p = rest[i] + UP, rounding = (double)q[i] - MAGIC;
        for (int k = n_row; k-- > 0;)
            p += w[k] * before[k];
        double v = (p + MAGIC) + rounding; /* exact: whole numbers below 2^53 */
        for (int k = n_row - 1; k > 0; k--)
            before[k] = before[k - 1];
        before[0] = v;
        n[i] = within(v);
    }
    for (int k = 0; k < n_row; k++)
        last[k] = before[k];
}

/* The same where some points are masked and hold what came before. */
static void rebuild_masked(const struct taps *t, const double *rest, const int32_t *q,
                           const uint8_t *mask, size_t m, int first, double held, double *last,
                           int32_t *n)
{
    for (size_t i = 0; i < m; i++) {
        double p = rest[i] + UP;
        for (int k = t->n_row; k-- > 0;)
            p += t->weight[k] * last[k];
        double v = (p + MAGIC) + ((double)q[i] - MAGIC);
        if (mask[i])
            v = first && !i ? held : last[0];
        for (int k = t->n_row - 1; k > 0; k--)
            last[k] = last[k - 1];
        last[0] = v;
        n[i] = within(v);
    }
}

/* The numbers themselves go into the sums that they come out of the shift of: lattice numbers leave room for that. */
static void add_numbers(int32_t *restrict rest, const int32_t *restrict q, size_t m)
{
    for (size_t i = 0; i < m; i++)
        rest[i] = (int32_t)((uint32_t)rest[i] + ((uint32_t)q[i] << WEIGHT_BITS));
}

/* Both in 32 bits, q being in `rest`: n_row taps, of which only the nearest is waited for. */
static inline __attribute__((always_inline)) void narrow_span(const int32_t *scaled, int n_row,
                                                              const int32_t *rest, size_t m,
                                                              uint32_t *last, int32_t *n)
{
    uint32_t before[8], w[8];
    for (int k = 0; k < n_row; k++) {
        before[k] = last[k];
        w[k] = (uint32_t)scaled[k];
    }
    for (size_t i = 0; i < m; i++) {
        uint32_t p = (uint32_t)rest[i];
        for (int k = n_row; k-- > 1;)
            p += w[k] * before[k];
        __asm__("" : "+r"(p)); /* all else first: nothing but a product and a sum waits for the point before */
        p += w[0] * before[0];
        for (int k = n_row - 1; k > 0; k--)
            before[k] = before[k - 1];
        n[i] = (int32_t)p >> WEIGHT_BITS;
        before[0] = (uint32_t)n[i];
    }
    for (int k = 0; k < n_row; k++)
        last[k] = before[k];
}

/* In a function of its own: what a point needs stays in registers. */
static __attribute__((noinline)) void narrow_points(const struct taps *t, int32_t *rest, const int32_t *q, size_t m,
                                                    uint32_t *last, int32_t *n)
{
    add_numbers(rest, q, m);
    if (t->n_row == 1)
        narrow_span(t->scaled, 1, rest, m, last, n);
    else if (t->n_row == 2)
        narrow_span(t->scaled, 2, rest, m, last, n);
    else
        narrow_span(t->scaled, 8, rest, m, last, n);
}

/* The same with one tap of weight 1: it comes out of the shift as it went in, so that a point waits for no product. */
static void narrow_sums(const int32_t *rest, const int32_t *q, size_t m, uint32_t *last, int32_t *n)
{
    uint32_t v = *last;
    for (size_t i = 0; i < m; i++) {
        v += (uint32_t)(rest[i] >> WEIGHT_BITS) + (uint32_t)q[i];
        n[i] = (int32_t)v;
    }
    *last = v;
}

/* With points that are masked and hold what came before: `held` at the very first, where it is not NULL. */
static inline __attribute__((always_inline)) void narrow_masked(const int32_t *scaled, int n_row, const int32_t *rest,
                                                                const int32_t *q, const uint8_t *mask, size_t m,
                                                                const int32_t *held, uint32_t *last, int32_t *n)
{
    uint32_t before[8];
    for (int k = 0; k < n_row; k++)
        before[k] = last[k];
    for (size_t i = 0; i < m; i++) {
        uint32_t p = (uint32_t)rest[i], v, hold = held && !i ? (uint32_t)*held : before[0];
        for (int k = n_row; k-- > 0;)
            p += (uint32_t)scaled[k] * before[k];
        v = (uint32_t)((int32_t)p >> WEIGHT_BITS) + (uint32_t)q[i];
        v = mask[i] ? hold : v;
        for (int k = n_row - 1; k > 0; k--)
            before[k] = before[k - 1];
        before[0] = v;
        n[i] = (int32_t)v;
    }
    for (int k = 0; k < n_row; k++)
        last[k] = before[k];
}

/* In a function of its own for as many taps as there are: they stay in registers. */
static void narrow_holes(const struct taps *t, const int32_t *rest, const int32_t *q, const uint8_t *mask, size_t m,
                         const int32_t *held, uint32_t *last, int32_t *n)
{
    if (t->n_row == 1)
        narrow_masked(t->scaled, 1, rest, q, mask, m, held, last, n);
    else if (t->n_row == 2)
        narrow_masked(t->scaled, 2, rest, q, mask, m, held, last, n);
    else
        narrow_masked(t->scaled, 8, rest, q, mask, m, held, last, n);
}

static void rebuild_narrow(struct causal *c, const struct taps *t, size_t at, size_t nx, int above)
{
    uint32_t last[8] = {0};
    int32_t rest[SPAN], *n = c->n + at, held = above ? n[-(ptrdiff_t)c->sy] : 0;
    int holes = has_holes(c, at);
    for (int k = 0; k < t->n_row; k++)
        last[k] = (uint32_t) * (n - k - 1);
    for (size_t x = 0; x < nx; x += SPAN) {
        size_t m = nx - x < SPAN ? nx - x : SPAN;
        const int32_t *q = c->q + at + x;
        sum_narrow(c, t, t->n_row, at + x, m, rest);
        if (holes)
            narrow_holes(t, rest, q, c->mask + at + x, m, x ? NULL : &held, last, n + x);
        else if (t->n_row == 1 && t->scaled[0] == 1 << WEIGHT_BITS)
            narrow_sums(rest, q, m, last, n + x);
        else
            narrow_points(t, rest, q, m, last, n + x);
    }
}

/* Two rows that do not wait for each other, in turns; two taps, q being in `rest`. */
static __attribute__((noinline)) void narrow_both(const struct taps *t, const int32_t *rest, const int32_t *rest2, size_t m, int32_t *n, int32_t *n2)
{
    uint32_t w = (uint32_t)t->scaled[0], far = (uint32_t)t->scaled[1];
    uint32_t a = (uint32_t)n[-1], b = (uint32_t)n[-2], a2 = (uint32_t)n2[-1], b2 = (uint32_t)n2[-2];
    for (size_t i = 0; i < m; i++) {
        uint32_t p = (uint32_t)rest[i] + far * b, p2 = (uint32_t)rest2[i] + far * b2;
        __asm__("" : "+r"(p), "+r"(p2)); /* as in narrow_span */
        b = a;
        b2 = a2;
        n[i] = (int32_t)(p + w * a) >> WEIGHT_BITS;
        n2[i] = (int32_t)(p2 + w * a2) >> WEIGHT_BITS;
        a = (uint32_t)n[i];
        a2 = (uint32_t)n2[i];
    }
}

static void rebuild_both(struct causal *c, const struct taps *t, size_t at, size_t at2)
{
    int32_t rest[2][SPAN];
    for (size_t x = 0, nx = c->shape.n[2]; x < nx; x += SPAN) {
        size_t m = nx - x < SPAN ? nx - x : SPAN;
        sum_narrow(c, t, t->n_row, at + x, m, rest[0]);
        sum_narrow(c, t, t->n_row, at2 + x, m, rest[1]);
        add_numbers(rest[0], c->q + at + x, m);
        add_numbers(rest[1], c->q + at2 + x, m);
        narrow_both(t, rest[0], rest[1], m, c->n + at + x, c->n + at2 + x);
    }
}

static void rebuild(struct causal *c, const struct taps *t, size_t at, size_t nx, int above)
{
    if (t->narrow) {
        rebuild_narrow(c, t, at, nx, above);
        return;
    }
    double last[8] = {0}, rest[SPAN];
    int32_t *n = c->n + at;
    for (int k = 0; k < t->n_row; k++)
        last[k] = (double)*(n - k - 1);
    for (size_t x = 0; x < nx; x += SPAN) {
        size_t m = nx - x < SPAN ? nx - x : SPAN;
        const int32_t *q = c->q + at + x;
        sum_taps(c, t, t->n_row, at + x, m, rest);
        if (c->masked)
            rebuild_masked(t, rest, q, c->mask + at + x, m, x == 0,
                           above ? (double)*(n - c->sy) : 0, last, n + x);
        else if (t->n_row == 1)
            rebuild_span(t->weight, 1, rest, q, m, last, n + x);
        else if (t->n_row == 2)
            rebuild_span(t->weight, 2, rest, q, m, last, n + x);
        else
            rebuild_span(t->weight, 8, rest, q, m, last, n + x);
    }
}
