/* Takes the feature that explains most of what is left, keeps it orthogonal to those before, and
 * solves for the weights at the end. */
#include "archive/plan/sample/matching_pursuit.h"

#include <math.h>
#include <string.h>

static double dot(const double *restrict a, const double *restrict b, int n)
{
    double s[4] = {0}; /* four sums: additions of one would wait for each other */
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            s[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static void subtract(double *restrict a, const double *restrict b, double c, int n)
{
    for (int i = 0; i < n; i++)
        a[i] -= c * b[i];
}

void sk_matching_pursuit_start(struct sk_matching_pursuit *p)
{
    p->terms = 0;
    p->rest = 1;
    for (int i = 0; i < p->n; i++)
        p->residual[i] = 1;
    for (int j = 0; j < p->count; j++) {
        memcpy(p->work[j], p->feature[j], (size_t)p->n * sizeof *p->work[j]);
        p->length[j] = dot(p->work[j], p->work[j], p->n);
    }
}

/* Remove from v what the chosen terms hold (twice: once leaves rounding errors); the norm that is
 * left. */
static double orthogonal(const struct sk_matching_pursuit *p, double *v, double *along)
{
    memset(along, 0, SK_MATCHING_TERMS * sizeof *along);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < p->terms; k++) {
            double c = dot(p->q[k], v, p->n);
            subtract(v, p->q[k], c, p->n);
            along[k] += c;
        }
    return sqrt(dot(v, v, p->n));
}

static int best_feature(const struct sk_matching_pursuit *p)
{
    double most = 0;
    int best = -1;
    for (int j = 0; j < p->count; j++) {
        double after = dot(p->work[j], p->work[j], p->n),
               along = dot(p->work[j], p->residual, p->n);
        if (!(after > 1e-24 * p->length[j])) /* also drops NaN */
            continue;
        double gain = along * along / after;
        if (gain > most) {
            most = gain;
            best = j;
        }
    }
    return best;
}

int sk_matching_pursuit_step(struct sk_matching_pursuit *p, int j)
{
    if (p->terms == SK_MATCHING_TERMS)
        return -1;
    if (j < 0)
        j = best_feature(p);
    if (j < 0)
        return -1;
    int k = p->terms;
    double along[SK_MATCHING_TERMS];
    memcpy(p->q[k], p->feature[j], (size_t)p->n * sizeof *p->q[k]);
    double norm = orthogonal(p, p->q[k], along);
    if (!(norm > 0) || !isfinite(norm))
        return -1;
    for (int i = 0; i < p->n; i++)
        p->q[k][i] /= norm;
    for (int i = 0; i < k; i++)
        p->r[i][k] = along[i];
    p->r[k][k] = norm;
    p->qb[k] = dot(p->q[k], p->residual, p->n);
    subtract(p->residual, p->q[k], p->qb[k], p->n);
    for (int i = 0; i < p->count; i++)
        subtract(p->work[i], p->q[k], dot(p->q[k], p->work[i], p->n), p->n);
    p->chosen[p->terms++] = j;
    p->rest = sqrt(dot(p->residual, p->residual, p->n) / p->n);
    return 0;
}

void sk_matching_pursuit_solve(const struct sk_matching_pursuit *p, double c[SK_MATCHING_TERMS])
{
    for (int k = p->terms; k-- > 0;) {
        double v = p->qb[k];
        for (int i = k + 1; i < p->terms; i++)
            v -= p->r[k][i] * c[i];
        c[k] = v / p->r[k][k];
    }
    for (int k = 0; k < p->terms; k++) {
        double near = nearbyint(c[k] * 16) / 16;
        if (near != 0 && fabs(near) <= 16 && fabs(c[k] - near) <= 1e-9 * fabs(near))
            c[k] = near;
    }
}

int sk_normal_solve(double a[SK_NORMAL][SK_NORMAL], double b[SK_NORMAL])
{
    enum { N = SK_NORMAL };
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            double v = a[i][j];
            for (int k = 0; k < j; k++)
                v -= a[i][k] * a[j][k];
            if (i == j && !(v > 0))
                return -1;
            a[i][j] = i == j ? sqrt(v) : v / a[j][j];
        }
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (int i = N; i-- > 0;) {
        for (int k = i + 1; k < N; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
    return 0;
}
