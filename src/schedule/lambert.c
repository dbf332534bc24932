/* The series near the branch point, and Halley's iteration away from it. */
#include "schedule/lambert.h"

#include <math.h>

#define E 2.718281828459045091

/* 1 + W0 from p = sqrt(2 d): terms μ_k p^k by the recurrence of eq. 4.23 and 4.24. It converges for
 * p < √2; with p up to 0.35 the last of 26 terms is below 1e-15 of the first. */
static double branch_series(double p)
{
    enum { terms = 26 };
    double mu[terms] = {-1, 1}, alpha[terms] = {2, -1}, sum = 0;
    for (int k = 2; k < terms; k++) {
        for (int j = 2; j < k; j++)
            alpha[k] += mu[j] * mu[k + 1 - j];
        mu[k] = (k - 1.0) / (k + 1) * (mu[k - 2] / 2 + alpha[k - 2] / 4) - alpha[k] / 2 -
                mu[k - 1] / (k + 1);
    }
    for (int k = terms - 1; k > 0; k--)
        sum = (sum + mu[k]) * p;
    return sum;
}

/* W0 of x in [-0.35, 0]: from log(1 + x) a few steps lead there. */
static double halley(double x)
{
    double w = log1p(x), step = 1;
    for (int i = 0; i < 20 && fabs(step) > 4e-16 * fabs(w); i++) {
        double e = exp(w), f = w * e - x;
        step = f / (e * (w + 1) - (w + 2) * f / (2 * w + 2));
        w -= step;
    }
    return w;
}

double sk_lambert_w0_from_branch(double d)
{
    if (!(d >= 0 && d <= 1))
        return NAN;
    double p = sqrt(2 * d);
    return p < 0.35 ? branch_series(p) : 1 + halley((d - 1) / E);
}
