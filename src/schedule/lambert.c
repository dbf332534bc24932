/* The series near the branch point, and Halley's iteration away from it. */
#include "schedule/lambert.h"

#include <math.h>

/* e = E_HIGH + E_LOW to 30 digits. */
#define E_HIGH 2.718281828459045091
#define E_LOW  1.4456468917292502e-16

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

static double halley(double x, double w)
{
    for (int i = 0; i < 20; i++) {
        double e = exp(w), f = w * e - x;
        double step = f / (e * (w + 1) - (w + 2) * f / (2 * w + 2));
        w -= step;
        if (fabs(step) <= 4e-16 * fabs(w))
            break;
    }
    return w;
}

static double away_from_branch(double x)
{
    if (x == 0)
        return x;
    double guess = log1p(x);
    if (x < -0.25)
        guess = branch_series(fmin(sqrt(2 * (1 + E_HIGH * x)), 0.9)) - 1;
    else if (x > 3)
        guess = log(x) - log(log(x)) * (1 - 1 / log(x));
    else
        guess *= 1 - log1p(guess) / (2 + guess);
    return halley(x, guess);
}

double sk_lambert_w0_from_branch(double d)
{
    if (!(d >= 0))
        return NAN;
    double p = sqrt(2 * d);
    return p < 0.35 ? branch_series(p) : 1 + away_from_branch((d - 1) / E_HIGH);
}

double sk_lambert_w0(double x)
{
    if (isinf(x) && x > 0)
        return x;
    double d = fma(x, E_HIGH, 1) + x * E_LOW;
    if (!(d > -2e-16)) /* the double nearest to -1/e lies just left of it */
        return NAN;
    return d < 0.06 ? sk_lambert_w0_from_branch(fmax(d, 0)) - 1 : away_from_branch(x);
}
