/* A filter along the values of an array of one axis: waves, tones, records of instruments and what differential equations leave are told by more
 * of the values before than difference operators of low orders use.
 *
 * The weights are those of linear prediction with the least squares of what it misses (J. Makhoul, "Linear prediction: a tutorial review",
 * 1975, section II-C, the covariance method), found from samples after some differences: of a smooth line these take away what would
 * leave the equations without a solution. */
#include "codec/lossless/predict/predict.h"

#include <math.h>

#define MOST_SUM 0x1p11 /* of the weights: what tame plans rely on */

/* c times (1 - z)^order, of c[0 … degree]. */
static void multiply(double *c, int degree, int order)
{
    for (; order > 0; order--, degree++) {
        c[degree + 1] = 0;
        for (int k = degree + 1; k > 0; k--)
            c[k] -= c[k - 1];
    }
}

static int rounded_up(int weights)
{
    return (weights + 3) / 4 * 4;
}

void sk_along_difference(struct sk_along *a, int order)
{
    *a = (struct sk_along){.weights = rounded_up(order), .c = {1}};
    multiply(a->c, 0, order);
}

int sk_along_usable(const struct sk_along *a)
{
    double sum = 0;
    for (int k = 1; k <= a->weights; k++)
        sum += fabs(a->c[k]);
    return sum < MOST_SUM; /* NaN neither */
}

/* What a filter misses of some values, in the mean of squares, and no less than the last place of the largest. */
static double missed_by(const struct sk_along *a, const double *y, size_t n, int word)
{
    double sum = 0, most = 0;
    size_t first = (size_t)a->weights;
    for (size_t t = first; t < n; t++) {
        double e = 0;
        for (int k = 0; k <= a->weights; k++)
            e += a->c[k] * y[t - (size_t)k];
        sum += e * e;
        most = fmax(most, fabs(y[t]));
    }
    return fmax(sqrt(sum / (double)(n - first)), most * (word == 4 ? 0x1p-24 : 0x1p-53));
}

/* Some values after so many differences, as parts of the largest: a sample with a jump in it says little beside those without. Or as parts of what
 * another filter misses of them, where there is one. Returns how many, 0: there is nothing to be learnt from them. */
static size_t differences_of(const struct sk_plan *p, const void *x, size_t n, int order, const struct sk_along *before, double *y)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        y[i] = p->word == 4 ? (double)((const float *)x)[i] : ((const double *)x)[i];
        if (!(fabs(y[i]) < 0x1p1000)) /* NaN neither */
            return 0;
    }
    double missed = before ? missed_by(before, y, n, p->word) : 0;
    for (int d = 0; d < order; d++)
        for (size_t i = 0; i + 1 < n - (size_t)d; i++)
            y[i] = y[i + 1] - y[i];
    n -= (size_t)order;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(y[i]));
    most = before ? missed : most;
    if (!(most > 0x1p-1000))
        return 0;
    for (size_t i = 0; i < n; i++)
        y[i] /= most;
    return n;
}

/* Solve r[1 … n][1 … n] w = r[1 … n][0] in place (Cholesky). -1: there is no one solution. */
static int solve(double r[SK_ALONG + 1][SK_ALONG + 1], int n, double *w)
{
    for (int i = 1; i <= n; i++) {
        for (int j = 1; j <= i; j++) {
            double s = r[i][j];
            for (int k = 1; k < j; k++)
                s -= r[i][k] * r[j][k];
            if (i == j && !(s > 0))
                return -1;
            r[i][j] = i == j ? sqrt(s) : s / r[j][j];
        }
        w[i] = r[i][0];
        for (int k = 1; k < i; k++)
            w[i] -= r[i][k] * w[k];
        w[i] /= r[i][i];
    }
    for (int i = n; i > 0; i--) {
        for (int k = i + 1; k <= n; k++)
            w[i] -= r[k][i] * w[k];
        w[i] /= r[i][i];
    }
    return 0;
}

/* Add the sums of y[t-i] y[t-j] over all t that have as many values before them. Those of i+1 and j+1 differ from these at both ends alone. */
static void add_products(const double *y, size_t n, int weights, double r[SK_ALONG + 1][SK_ALONG + 1])
{
    double one[SK_ALONG + 1] = {0};
    const double *begin = y + weights - 1, *end = y + n - 1;
    for (size_t t = (size_t)weights; t < n; t++)
        for (int i = 0; i <= weights; i++)
            one[i] += y[t] * y[t - (size_t)i];
    for (int i = 0; i <= weights; i++) {
        double sum = one[i];
        for (int k = 0;; k++) {
            r[i + k][k] += sum;
            if (i + k == weights)
                break;
            sum += begin[-(i + k)] * begin[-k] - end[-(i + k)] * end[-k];
        }
    }
}

int sk_along_fit(struct sk_along *a, const struct sk_plan *p, const void *const x[], const size_t n[], int m, int differences, const struct sk_along *before)
{
    /* as parts of what is missed, values that are well predicted are large: more than a trace of them would be more than all that is missed */
    const double little = before ? 1e-15 : 1e-10;
    double r[SK_ALONG + 1][SK_ALONG + 1] = {{0}}, y[SK_CHUNK_VALUES], w[SK_ALONG + 1] = {0};
    int weights = SK_ALONG - differences;
    for (int k = 0; k < m; k++) {
        size_t some = n[k] > 2 * SK_ALONG && n[k] <= SK_CHUNK_VALUES ? differences_of(p, x[k], n[k], differences, before, y) : 0;
        if (some)
            add_products(y, some, weights, r);
    }
    for (int i = 1; i <= weights; i++)
        r[i][i] += little * r[0][0];
    if (!(r[0][0] > 0) || solve(r, weights, w))
        return -1;
    *a = (struct sk_along){.weights = SK_ALONG, .c = {1}};
    for (int i = 1; i <= weights; i++)
        a->c[i] = -w[i];
    multiply(a->c, weights, differences);
    return sk_along_usable(a) ? 0 : -1;
}

void sk_along_put(struct sk_buf *b, const struct sk_along *a)
{
    sk_buf_put_u8(b, (uint8_t)a->weights);
    for (int k = 1; k <= a->weights; k++)
        sk_buf_put_f64(b, a->c[k]);
}

int sk_along_get(struct sk_rd *r, struct sk_along *a)
{
    a->weights = sk_rd_u8(r);
    if (r->bad || !a->weights || a->weights > SK_ALONG || a->weights % 4)
        return -1;
    a->c[0] = 1;
    for (int k = 1; k <= a->weights; k++)
        a->c[k] = sk_rd_f64(r);
    return r->bad || !sk_along_usable(a) ? -1 : 0;
}
