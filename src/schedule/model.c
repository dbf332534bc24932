/* The time of one interval with its failures, and formulas for the best one: those of Vaidya, Young and
 * Daly, and Vaidya's with a hazard that falls with the time since the last fault. */
#include "schedule/model.h"

#include "schedule/lambert.h"
#include "schedule/failure/weibull.h"

#include <math.h>
#include <saikai/component.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

struct sk_costs sk_costs_simple(double rate, double cost)
{
    return (struct sk_costs){rate, cost, cost, cost};
}

/* e^x - 1 - x for x >= 0, without the cancellation of expm1(x) - x. */
static double expm1_less_x(double x)
{
    if (x > 0.5)
        return expm1(x) - x;
    double sum = 0;
    for (int k = 16; k >= 3; k--) /* x²/2 (1 + x/3 (1 + x/4 (…))) */
        sum = x / k * (1 + sum);
    return x * x / 2 * (1 + sum);
}

/* λ times the time that failures add to one interval: e^a (e^b - 1) - b with a = λ(R + L - C), b =
 * λ(T + C), as a sum of terms that are never negative. */
static double scaled_failure_time(const struct sk_costs *c, double work)
{
    double a = c->rate * (c->restart + c->latency - c->cost), b = c->rate * (work + c->cost);
    return expm1(a) * expm1(b) + expm1_less_x(b);
}

double sk_model_interval(const struct sk_costs *c, double work)
{
    double undisturbed = work + c->cost;
    return c->rate > 0 ? undisturbed + scaled_failure_time(c, work) / c->rate : undisturbed;
}

double sk_model_failure_overhead(const struct sk_costs *c, double work)
{
    if (!(c->rate > 0))
        return 0;
    return work > 0 ? scaled_failure_time(c, work) / (c->rate * work) : INFINITY;
}

double sk_model_overhead(const struct sk_costs *c, double work)
{
    if (!(work > 0))
        return INFINITY;
    return c->cost / work + sk_model_failure_overhead(c, work);
}

double sk_model_failures(const struct sk_costs *c, double work)
{
    return c->rate * sk_model_interval(c, work);
}

double sk_model_loss(const struct sk_costs *c, double work)
{
    double half =
        (work + c->cost) / 2 + c->restart + c->latency - c->cost; /* the limit for λ → 0 */
    double extra = c->rate > 0 ? scaled_failure_time(c, work) / c->rate : 0;
    double failures = sk_model_failures(c, work);
    if (!(extra > 0) || !(failures > 0))
        return half;
    return isinf(extra) ? 1 / c->rate : extra / failures;
}

/* λT = 1 + W0(-e^(-λC-1)), the solution of e^(λ(T+C)) (1 - λT) = 1 (eq. 12). The distance of the
 * argument from the branch point is 1 - e^(-λC), which keeps all digits however small λC is. */
static double vaidya(double rate, double cost)
{
    return sk_lambert_w0_from_branch(-expm1(-rate * cost)) / rate;
}

static double young(double rate, double cost)
{
    return sqrt(2 * cost / rate);
}

/* Equation 37 of the paper: δ is the cost, M the mean time between failures. */
static double daly(double rate, double cost)
{
    double mean = 1 / rate;
    if (cost >= 2 * mean)
        return mean;
    double x = sqrt(cost / (2 * mean));
    return fmax(0, sqrt(2 * cost * mean) * (1 + x / 3 + x * x / 9) - cost);
}

static const struct sk_model_ops models[] = {
    {"vaidya", "N. Vaidya, IEEE Transactions on Computers 46(8), 1997: exact for this fault model",
     vaidya, NULL},
    {"young", "J. W. Young, Communications of the ACM 17(9), 1974: first order", young, NULL},
    {"daly", "J. T. Daly, Future Generation Computer Systems 22(3), 2006: higher order, eq. 37",
     daly, NULL},
    {"weibull",
     "Y. Ling, J. Mi, X. Lin, IEEE Transactions on Computers 50(7), 2001: denser after a fault, as failure.shape says; Vaidya's for the rate at that time",
     vaidya, sk_weibull_rate},
};

enum { n_models = sizeof models / sizeof *models };

/* Those of components. */
static struct sk_model_ops added[SK_MOST_ADDED];
static atomic_int n_added;

static void add(const struct saikai_component *c, int n)
{
    const struct saikai_interval_model_ops *theirs = c->ops;
    added[n] = (struct sk_model_ops){c->name, c->description ? c->description : "", theirs->optimum, NULL};
    atomic_store(&n_added, n + 1);
}

const struct sk_model_ops *sk_model_at(int i)
{
    if (i < 0 || i >= n_models + atomic_load(&n_added))
        return NULL;
    return i < n_models ? &models[i] : &added[i - n_models];
}

SK_OPEN_KIND(sk_model_kind, "model", "model of the checkpoint interval", struct sk_model_ops, sk_model_at, source,
             SAIKAI_KIND_INTERVAL_MODEL, struct saikai_interval_model_ops, add);

const struct sk_model_ops *sk_model_find(const char *name)
{
    return sk_model_at(sk_kind_form(&sk_model_kind, name));
}

double sk_model_optimum(const struct sk_model_ops *ops, double rate, double cost)
{
    if (!(rate > 0))
        return INFINITY;
    double best = cost > 0 ? ops->optimum(rate, cost) : 0;
    return best >= 0 ? best : models[0].optimum(rate, cost); /* a component may give anything */
}

double sk_model_rate(const struct sk_model_ops *ops, double rate, double shape, double age, double cost)
{
    return ops->rate_at ? ops->rate_at(rate, shape, age, cost) : rate;
}
