/* Part of lift_impl.h: weights of the filters, fitted to a sample of the points. What counts is
 * bits and not energy: a point weighs the less, the farther the standard weights miss it. So
 * spikes, shocks and the edges of the box, which no weights would predict, do not spoil the rest.
 */

/* How far from the usual a miss is before it counts little, squared. */
#ifndef FIT_WIDTH
#define FIT_WIDTH 8.0
#endif

/* Points of a row as regressors, from place `to` of the columns on: differences to the first group,
 * the mean, and the target. */
static void fit_columns(const struct lift *l, const struct lift_level *v, unsigned c, size_t at,
                        size_t n, fit_batch z, size_t to)
{
    const struct lift_filter *f = &v->filter[c];
    double first[LIFT_CHUNK];
    const T *d = (const T *)v->data[c] + at;
    sum_group((const T *)v->data[f->group[0].source] + at, f->group[0].offset, f->group[0].n, n,
              first);
    double share = 1.0 / f->group[0].n; /* of a power of two: exact */
    for (size_t i = 0; i < n; i++)
        first[i] *= share;
    for (int g = 1; g < f->n; g++) {
        double *column = z[g - 1] + to;
        sum_group((const T *)v->data[f->group[g].source] + at, f->group[g].offset, f->group[g].n, n,
                  column);
        share = 1.0 / f->group[g].n;
        for (size_t i = 0; i < n; i++)
            column[i] = column[i] * share - first[i];
    }
    double *mean = z[f->n - 1] + to, *target = z[f->n] + to;
    for (size_t i = 0; i < n; i++) {
        mean[i] = l->mean - first[i];
        target[i] = (double)d[i] - first[i];
    }
}

/* Squares of what the weights leave. */
static void fit_misses(const struct lift_filter *f, const double *w, fit_batch z, size_t n,
                       double *square)
{
    memcpy(square, z[f->n], n * sizeof *square);
    for (int g = 1; g <= f->n; g++)
        for (size_t i = 0; w[g] != 0 && i < n; i++)
            square[i] -= w[g] * z[g - 1][i];
    for (size_t i = 0; i < n; i++)
        square[i] *= square[i];
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

/* Where the k-th of `take` spans of a class begins. */
static size_t fit_place(const struct lift_level *v, unsigned c, size_t nb, size_t span, size_t k,
                        size_t take)
{
    size_t nz = sk_lift_points(v, c, 0), ny = sk_lift_points(v, c, 1),
           spans = sk_lift_points(v, c, 2) / span;
    size_t total = nb * nz * ny * spans;
    size_t s = (size_t)(((double)k + 0.5) * (double)total / (double)take);
    size_t r = s / spans, y = r % ny, z = r / ny % nz, b = r / ny / nz;
    return v->origin + b * v->sb + z * v->sz + y * v->sy + s % spans * span;
}

/* The usual square of a miss with weights w: a geometric mean over a few spans, which spikes do not
 * change much. */
static double fit_usual(const struct lift *l, const struct lift_level *v, unsigned c, size_t span,
                        size_t take, int masked, const double *w)
{
    enum { FEW = 12, STEP = 3 };
    fit_batch z;
    double square[LIFT_CHUNK], logs = 0, used = 0;
    double least = v->bound * v->bound * 0.25;
    size_t few = take < FEW ? take : FEW;
    for (size_t k = 0; k < few; k++) {
        size_t at = fit_place(v, c, l->shape.nb, span, k, few);
        fit_columns(l, v, c, at, span, z, 0);
        fit_misses(&v->filter[c], w, z, span, square);
        for (size_t i = 0; i < span; i += STEP)
            if (!(masked && v->mask[c][at + i]) && square[i] < 1e300) {
                logs += log(square[i] + least);
                used++;
            }
    }
    return used > 0 ? exp(logs / used) : least;
}

/* Sums over the sample, with weights from the misses with w; returns the weights' sum. */
static double fit_sums(const struct lift *l, const struct lift_level *v, unsigned c, size_t span,
                       size_t take, int masked, const double *w, fit_gram gram)
{
    const struct lift_filter *f = &v->filter[c];
    double usual = FIT_WIDTH * fit_usual(l, v, c, span, take, masked, w), sample = 0;
    fit_batch z;
    uint8_t mask[LIFT_CHUNK];
    size_t n = 0;
    memset(gram, 0, sizeof(fit_gram));
    for (size_t k = 0; k < take; k++) {
        size_t at = fit_place(v, c, l->shape.nb, span, k, take);
        fit_columns(l, v, c, at, span, z, n);
        if (masked)
            memcpy(mask + n, v->mask[c] + at, span);
        n += span;
        if (n + span > LIFT_CHUNK || k + 1 == take) {
            sample += fit_points(f, z, n, masked ? mask : NULL, w, usual, gram);
            n = 0;
        }
    }
    for (int g = 0; g <= f->n; g++)
        for (int h = 0; h < g; h++)
            gram[h][g] = gram[g][h];
    return sample;
}

static void fit_class(struct lift *l, struct lift_level *v, unsigned c, int masked)
{
    fit_gram gram;
    struct lift_filter *f = &v->filter[c];
    double w[LIFT_GROUPS + 2], first[LIFT_GROUPS + 1];
    size_t nx = sk_lift_points(v, c, 2);
    size_t rows = l->shape.nb * sk_lift_points(v, c, 0) * sk_lift_points(v, c, 1), points = rows * nx;
    if (points < 256)
        return;
    size_t want = (500 + points / 32) * (l->thorough ? 4 : 1),
           span = nx < LIFT_CHUNK ? nx : LIFT_CHUNK;
    size_t total = rows * (nx / span), take = want / span + 1;
    take = take < total ? take : total;
    sk_lift_standard_weights(f, first);
    memcpy(w, first, sizeof first);
    fit_sums(l, v, c, span, take < 2 ? take : take / 2, masked, w, gram);
    if (sk_fit_solve(f->n, gram, first + 1, w + 1))
        return;
    double sample = fit_sums(l, v, c, span, take, masked, w, gram);
    sk_lift_fit(l, v, c, f, gram, points, sample);
}
