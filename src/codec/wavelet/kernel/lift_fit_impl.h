/* Part of lift_impl.h: weights of the filters, fitted to a sample of the points. What counts is
 * bits and not energy: a point weighs the less, the farther the standard weights miss it. So
 * spikes, shocks and the edges of the box, which no weights would predict, do not spoil the rest.
 */

/* How far from the usual a miss is before it counts little, squared. */
#ifndef FIT_WIDTH
#define FIT_WIDTH 8.0
#endif

/* A group as a regressor: the mean of its k values at each of n points, without what the first group has there (NULL: all of it). Shares are
 * powers of two: exact. */
KERNEL fit_column(const T *s, const ptrdiff_t *o, int k, size_t n, const double *restrict first, double *restrict out)
{
    const T *a = s + o[0], *b = s + o[1];
    const double share = 1.0 / k;
#define COLUMN(sum)                                                                                \
    if (first)                                                                                     \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = (sum) * share - first[i];                                                     \
    else                                                                                           \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = (sum) * share;
    if (k == 2) {
        COLUMN((double)a[i] + (double)b[i])
        return;
    }
    const T *c = s + o[2], *d = s + o[3];
    if (k == 4) {
        COLUMN(((double)a[i] + (double)b[i]) + ((double)c[i] + (double)d[i]))
        return;
    }
    const T *e = s + o[4], *f = s + o[5], *g = s + o[6], *h = s + o[7];
    COLUMN((((double)a[i] + (double)b[i]) + ((double)c[i] + (double)d[i])) +
           (((double)e[i] + (double)f[i]) + ((double)g[i] + (double)h[i])))
#undef COLUMN
}

/* Points of a row as regressors, from place `to` of the columns on: differences to the first group,
 * the mean, and the target. */
static void fit_columns(const struct lift *l, const struct lift_level *v, unsigned c, size_t at,
                        size_t n, fit_batch z, size_t to)
{
    const struct lift_filter *f = &v->filter[c];
    double first[LIFT_CHUNK];
    const T *d = (const T *)v->data[c] + at;
    fit_column((const T *)v->data[f->group[0].source] + at, f->group[0].offset, f->group[0].n, n, NULL, first);
    for (int g = 1; g < f->n; g++)
        fit_column((const T *)v->data[f->group[g].source] + at, f->group[g].offset, f->group[g].n, n, first, z[g - 1] + to);
    double *mean = z[f->n - 1] + to, *target = z[f->n] + to;
    for (size_t i = 0; i < n; i++) {
        mean[i] = l->mean - first[i];
        target[i] = (double)d[i] - first[i];
    }
}

/* Squares of what the weights leave; up to 7 more are written than asked for, of whatever stands behind the points. */
static void fit_misses(const struct lift_filter *f, const double *w, fit_batch z, size_t n,
                       double *square)
{
    int used[LIFT_GROUPS + 1], m = 0;
    for (int g = 1; g <= f->n; g++)
        if (w[g] != 0)
            used[m++] = g;
    for (size_t i = 0; i < n; i += 8) { /* vector by vector: an array of them would be copied in halves, which its loads wait for */
        four miss0, miss1, x0, x1;
        memcpy(&miss0, z[f->n] + i, sizeof miss0);
        memcpy(&miss1, z[f->n] + i + 4, sizeof miss1);
        for (int k = 0; k < m; k++) {
            memcpy(&x0, z[used[k] - 1] + i, sizeof x0);
            memcpy(&x1, z[used[k] - 1] + i + 4, sizeof x1);
            miss0 -= w[used[k]] * x0;
            miss1 -= w[used[k]] * x1;
        }
        miss0 *= miss0;
        miss1 *= miss1;
        memcpy(square + i, &miss0, sizeof miss0);
        memcpy(square + i + 4, &miss1, sizeof miss1);
    }
}

/* Add n points to the normal equations, with weights from their misses with weights w and this
 * usual square, those masked left out (NULL: none is); returns the weights' sum. */
static double fit_points(const struct lift_filter *f, fit_batch z, size_t n, const uint8_t *mask,
                         const double *w, double usual, fit_gram gram)
{
    double weight[LIFT_CHUNK], sum = 0;
    fit_misses(f, w, z, n, weight);
    for (size_t i = 0; i < n; i++)
        weight[i] = usual / (usual + weight[i]);
    for (size_t i = 0; mask && i < n; i++)
        weight[i] = mask[i] ? 0 : weight[i];
    for (size_t i = 0; i < n; i++) {
        sum += weight[i];
        weight[i] = sqrt(weight[i]);
    }
    for (int g = 0; g <= f->n; g++)
        for (size_t i = 0; i < n; i++)
            z[g][i] = weight[i] > 0 ? z[g][i] * weight[i] : 0;
    fit_add(z, f->n + 1, n, gram);
    return sum;
}

/* Places of a class from which filters see only the box itself, along each axis that has some: [low, high). All count as
 * such where edges are not told apart. */
struct fit_inside {
    size_t low[LIFT_AXES], high[LIFT_AXES];
};

static struct fit_inside fit_inside(const struct lift *l, const struct lift_level *v, unsigned c)
{
    struct fit_inside in;
    for (int a = 0; a < LIFT_AXES; a++) {
        size_t reach = (size_t)l->reach, low = 0, n = sk_lift_points(v, c, a), high = n;
        if (l->fine && v->active >> a & 1) {
            low = c >> a & 1 ? reach - 1 : 1;
            high = c >> a & 1 ? (v->h[a] > reach ? v->h[a] - reach : 0) : v->n[a] / 2;
        }
        in.low[a] = high > low ? low : 0;
        in.high[a] = high > low ? high : n;
    }
    return in;
}

/* Points of a row that lie side by side, `inside` of them from column `first` on. */
struct fit_span {
    size_t at, n, first, inside;
};

/* The k-th of `take` spans of a class. */
static struct fit_span fit_place(const struct lift_level *v, unsigned c, size_t nb, const struct fit_inside *in,
                                 size_t span, size_t k, size_t take)
{
    size_t nz = sk_lift_points(v, c, 0), ny = sk_lift_points(v, c, 1),
           spans = sk_lift_points(v, c, 2) / span;
    size_t total = nb * nz * ny * spans;
    size_t s = (size_t)(((double)k + 0.5) * (double)total / (double)take);
    size_t r = s / spans, y = r % ny, z = r / ny % nz, b = r / ny / nz, x = s % spans * span;
    struct fit_span p = {.at = v->origin + b * v->sb + z * v->sz + y * v->sy + x, .n = span};
    size_t first = in->low[2] > x ? in->low[2] - x : 0, end = in->high[2] > x ? in->high[2] - x : 0;
    end = end < span ? end : span;
    if (z >= in->low[0] && z < in->high[0] && y >= in->low[1] && y < in->high[1] && first < end) {
        p.first = first;
        p.inside = end - first;
    }
    return p;
}

/* The usual square of a miss with weights w: a geometric mean over a few spans, which spikes do not
 * change much. */
static double fit_usual(const struct lift *l, const struct lift_level *v, unsigned c,
                        const struct fit_inside *in, size_t span, size_t take, int masked, const double *w)
{
    enum { FEW = 12, STEP = 3, GROUP = 4 };
    fit_batch z;
    double square[LIFT_CHUNK], logs = 0, used = 0;
    const double least = v->bound * v->bound * 0.25, unit = 1 / least, most = 1e75;
    size_t few = take < FEW ? take : FEW;
    for (size_t k = 0; k < few; k++) {
        size_t at = fit_place(v, c, l->shape.nb, in, span, k, few).at;
        double product = 1; /* one logarithm for several factors */
        fit_columns(l, v, c, at, span, z, 0);
        fit_misses(&v->filter[c], w, z, span, square);
        for (size_t i = 0; i < span; i += STEP) {
            double factor = 1 + square[i] * unit;
            if (!(masked && v->mask[c][at + i]) && factor < most) {
                product *= factor;
                used++;
            }
            if (i / STEP % GROUP == GROUP - 1 || i + STEP >= span) {
                logs += log(product);
                product = 1;
            }
        }
    }
    return used > 0 ? exp(logs / used) * least : least;
}

enum { FIT_ALL, FIT_INSIDE, FIT_SUMS };

/* Points on their way into sums: enough at a time for long loops. */
struct fit_heap {
    fit_batch z;
    uint8_t mask[LIFT_CHUNK];
    size_t n;
};

/* What the points of a class are weighed with, and where they go. */
struct fit_sink {
    const double *w;
    double usual;
    int masked;
    struct fit_heap heap[FIT_SUMS];
    struct lift_sums *sums;
};

static void fit_flush(const struct lift_filter *f, struct fit_sink *to, int which)
{
    struct fit_heap *heap = &to->heap[which];
    struct lift_sums *s = &to->sums[which];
    if (heap->n)
        s->sample += fit_points(f, heap->z, heap->n, to->masked ? heap->mask : NULL, to->w, to->usual, s->gram);
    heap->n = 0;
}

static void fit_put(const struct lift *l, const struct lift_level *v, unsigned c, size_t at, size_t n, struct fit_sink *to,
                    int which)
{
    struct fit_heap *heap = &to->heap[which];
    if (!n)
        return;
    if (heap->n + n > LIFT_CHUNK)
        fit_flush(&v->filter[c], to, which);
    fit_columns(l, v, c, at, n, heap->z, heap->n);
    if (to->masked)
        memcpy(heap->mask + heap->n, v->mask[c] + at, n);
    heap->n += n;
}

/* Sums over the sample, with weights from the misses with w: of all points, and of those inside. */
static void fit_sums(const struct lift *l, const struct lift_level *v, unsigned c, size_t span,
                     size_t take, int masked, const double *w, struct lift_sums sums[FIT_SUMS])
{
    const struct lift_filter *f = &v->filter[c];
    struct fit_inside in = fit_inside(l, v, c);
    struct fit_sink to;
    to.w = w;
    to.usual = FIT_WIDTH * fit_usual(l, v, c, &in, span, take, masked, w);
    to.masked = masked;
    to.sums = sums;
    to.heap[FIT_ALL].n = to.heap[FIT_INSIDE].n = 0;
    memset(sums, 0, FIT_SUMS * sizeof *sums);
    for (size_t k = 0; k < take; k++) {
        struct fit_span p = fit_place(v, c, l->shape.nb, &in, span, k, take);
        size_t end = p.first + p.inside;
        fit_put(l, v, c, p.at, p.first, &to, FIT_ALL);
        fit_put(l, v, c, p.at + p.first, p.inside, &to, FIT_INSIDE);
        fit_put(l, v, c, p.at + end, p.n - end, &to, FIT_ALL);
    }
    fit_flush(f, &to, FIT_ALL);
    fit_flush(f, &to, FIT_INSIDE);
    sums[FIT_ALL].sample += sums[FIT_INSIDE].sample;
    for (int g = 0; g <= f->n; g++)
        for (int h = 0; h <= g; h++) {
            sums[FIT_ALL].gram[g][h] += sums[FIT_INSIDE].gram[g][h];
            for (int s = 0; s < FIT_SUMS; s++)
                sums[s].gram[h][g] = sums[s].gram[g][h];
        }
}

/* The k-th of `take` short spans, which lie evenly along all axes at once (those of fit_place go through rows in order):
 * element of its first point. */
static size_t fit_look_at(const struct lift_level *v, unsigned c, size_t nb, size_t span, size_t k, size_t take)
{
    const double along_y = 0.7548776662466927, along_x = 0.5698402909980532; /* M. Roberts' sequence for two dimensions */
    size_t nz = sk_lift_points(v, c, 0), ny = sk_lift_points(v, c, 1), rest = sk_lift_points(v, c, 2) - span;
    double s = (double)k + 0.5, fy = s * along_y - floor(s * along_y), fx = s * along_x - floor(s * along_x);
    size_t r = (size_t)(s / (double)take * (double)(nb * nz)), y = (size_t)(fy * (double)ny),
           x = (size_t)(fx * (double)(rest + 1));
    return v->origin + r / nz * v->sb + r % nz * v->sz + y * v->sy + x;
}

enum { FIT_LOOK = 32 }; /* columns */

/* Add to bits[k] what a span of columns takes with the k-th weights, beside what all take: by its misses one by one, which
 * sums of squares do not tell where few points miss by much. */
static void fit_judge(const struct lift *l, const struct lift_level *v, unsigned c, size_t at, size_t span, int masked, int n,
                      double (*w)[LIFT_GROUPS + 2], double *bits)
{
    enum { GROUP = 8 };
    const double unit = 3 / (v->bound * v->bound), most = 1e35;
    fit_batch z;
    double square[LIFT_CHUNK];
    fit_columns(l, v, c, at, span, z, 0);
    for (int k = 0; k < n; k++) {
        double product = 1;
        fit_misses(&v->filter[c], w[k], z, span, square);
        for (size_t i = 0; i < span; i++) {
            double miss = masked && v->mask[c][at + i] ? 1 : 1 + square[i] * unit;
            product *= miss < most ? miss : most;
            if (i % GROUP == GROUP - 1 || i + 1 == span) {
                bits[k] += 0.5 * log2(product);
                product = 1;
            }
        }
    }
}

/* Which filter takes the fewest bits; `take` spans are looked at, edges in their share. */
static int fit_best(const struct lift *l, const struct lift_level *v, unsigned c, const struct lift_filter *filter, int n,
                    size_t points, size_t take, int masked)
{
    double w[LIFT_CANDIDATES][LIFT_GROUPS + 2] = {{0}}, bits[LIFT_CANDIDATES] = {0};
    size_t nx = sk_lift_points(v, c, 2), span = nx < FIT_LOOK ? nx : FIT_LOOK;
    int best = 0;
    for (int k = 0; k < n; k++)
        sk_lift_unknowns(l, &filter[k], w[k] + 1);
    for (size_t s = 0; s < take; s++)
        fit_judge(l, v, c, fit_look_at(v, c, l->shape.nb, span, s, take), span, masked, n, w, bits);
    for (int k = 0; k < n; k++) {
        bits[k] = bits[k] * (double)points / (double)(take * span) + sk_lift_filter_bits(&filter[k], l->fine);
        best = bits[k] < bits[best] ? k : best;
    }
    return best;
}

/* The same by what the sums tell. */
static int fit_least_energy(const struct lift *l, const struct lift_level *v, const struct lift_filter *filter, int n,
                            struct lift_sums *s, size_t points)
{
    double least = INFINITY;
    int best = 0;
    for (int k = 0; k < n; k++) {
        double bits = sk_lift_energy_bits(l, v, &filter[k], s, points);
        best = bits < least ? k : best;
        least = bits < least ? bits : least;
    }
    return best;
}

static void fit_class(struct lift *l, struct lift_level *v, unsigned c, int masked)
{
    enum { LEAST_SPANS = 24 };
    struct lift_sums sums[FIT_SUMS];
    struct lift_filter *f = &v->filter[c], filter[LIFT_CANDIDATES];
    double w[LIFT_GROUPS + 2];
    size_t nx = sk_lift_points(v, c, 2);
    size_t rows = l->shape.nb * sk_lift_points(v, c, 0) * sk_lift_points(v, c, 1), points = rows * nx;
    if (points < 256)
        return;
    size_t want = (500 + points / 32) * (l->thorough ? 4 : 1),
           span = nx < LIFT_CHUNK ? nx : LIFT_CHUNK;
    size_t total = rows * (nx / span), take = want / span + 1;
    take = take < total ? take : total;
    sk_lift_standard_weights(f, w);
    fit_sums(l, v, c, span, take < 2 ? take : take / 2, masked, w, sums);
    if (sk_lift_solve(l, f, &sums[FIT_ALL], w + 1))
        return;
    fit_sums(l, v, c, span, take, masked, w, sums);
    int n = sk_lift_candidates(l, v, c, sums, l->fine ? FIT_SUMS : 1, points, filter);
    int best = l->fine ? fit_best(l, v, c, filter, n, points, want / (2 * FIT_LOOK) + LEAST_SPANS, masked)
                       : fit_least_energy(l, v, filter, n, &sums[FIT_ALL], points);
    *f = filter[best];
}
