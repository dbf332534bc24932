/* Weibull's hazard: the rate to plan with at an age, and the shape from times that were seen. */
#include "schedule/failure/weibull.h"

#include <math.h>

/* What the shape is believed to be beforehand weighs as much as so many times: 0.78^2/0.3^2. */
static const double prior_times = 7;

static double within(double shape)
{
    return fmin(fmax(shape, SK_SHAPE_LEAST), SK_SHAPE_MOST);
}

/* With x = t/s: the integral of sqrt(h/2C) over the interval is one, and that of x^((k-1)/2) is x^q/q with q = (k+1)/2. */
double sk_weibull_rate(double rate, double shape, double age, double cost)
{
    double k = within(shape), scale = rate > 0 ? 1 / (rate * tgamma(1 + 1 / k)) : 0;
    if (!(rate > 0) || !(cost > 0) || !(age >= 0) || k == 1 || !isfinite(scale))
        return rate;
    double q = (k + 1) / 2, from = age / scale, step = q * sqrt(2 * cost / (k * scale));
    double begun = pow(from, q);
    /* (begun + step)^(1/q) - from, without cancellation where the step is small */
    double interval = begun > 0 ? from * expm1(log1p(step / begun) / q) : pow(step, 1 / q);
    interval *= scale;
    double same = 2 * cost / (interval * interval);
    return interval > 0 && isfinite(same) ? same : rate;
}

/* The derivative of the log-likelihood by k, divided by n: falls with k, zero at the estimate. Scaled by the largest time, so that no power overflows. */
static double slope(const double *times, size_t n, double largest, double k)
{
    double logs = 0, powers = 0, both = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(times[i] > 0))
            continue;
        double l = log(times[i] / largest), p = exp(k * l);
        logs += l;
        powers += p;
        both += p * l;
        count++;
    }
    return 1 / k + logs / count - both / powers;
}

double sk_weibull_shape(const double *times, size_t n)
{
    double largest = 0, count = 0, low = SK_SHAPE_LEAST, high = SK_SHAPE_MOST;
    for (size_t i = 0; i < n; i++) {
        count += times[i] > 0;
        largest = fmax(largest, times[i]);
    }
    if (!(count >= 2) || !isfinite(largest))
        return 1;
    while (high - low > 2.5e-12) {
        double middle = (low + high) / 2;
        if (slope(times, n, largest, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return exp(log((low + high) / 2) * count / (count + prior_times));
}
