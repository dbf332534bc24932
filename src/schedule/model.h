/* How long to compute between two checkpoints, and what that costs. Pure arithmetic; seconds and
 * failures per second.
 *
 * The job computes for T, then is held up for C by a checkpoint, again and again; any failure of
 * any node (rate λ in all, exponential) sends all of it back to the newest checkpoint that counts.
 * A checkpoint counts L after it began (L = C when nothing is done behind the application's back);
 * a restart takes R before computing goes on.
 *
 * Sources: H. Jitsumoto and Y. Kamoshida (2013), section 3.4, equations 1-12, where L = R = C; N.
 * Vaidya, "Impact of checkpoint latency on overhead ratio of a checkpointing scheme", IEEE
 * Transactions on Computers 46(8), 1997, for L and R of their own. The best T depends on neither of
 * these two. */
#ifndef SK_SCHEDULE_MODEL_H
#define SK_SCHEDULE_MODEL_H

#include "base/config/kind.h"

struct sk_costs {
    double rate;    /* λ of the whole job, failures per second */
    double cost;    /* C */
    double latency; /* L >= C */
    double restart; /* R */
};

/* Costs with L = R = C, as in the equations of 2013. */
struct sk_costs sk_costs_simple(double rate, double cost);

/* Γ: expected time from one checkpoint to the next with T of work done, failures included (eq. 10);
 * infinite when it is beyond a double. */
double sk_model_interval(const struct sk_costs *c, double work);
/* r = Γ/T - 1 (eq. 11). Exact to some 1e-15 of its value, also where λT is tiny. T = 0: infinite.
 */
double sk_model_overhead(const struct sk_costs *c, double work);
/* The part of r that failures cause; the other part is C/T. */
double sk_model_failure_overhead(const struct sk_costs *c, double work);
/* Expected failures during Γ: λΓ. */
double sk_model_failures(const struct sk_costs *c, double work);
/* Expected time that one failure costs: lost work, interrupted checkpoint, restart. */
double sk_model_loss(const struct sk_costs *c, double work);

/* A model of the best interval. */
struct sk_model_ops {
    const char *name;
    const char *source; /* where the formula comes from, for people */
    /* The best T in seconds for rate λ > 0 and cost C >= 0; at least 0. */
    double (*optimum)(double rate, double cost);
    /* The rate to ask `optimum` with for the next interval, so long after the last fault, where the hazard has this shape (weibull.h); NULL: the rate as it is. */
    double (*rate_at)(double rate, double shape, double age, double cost);
};

/* The models, the built-in ones first; NULL past the last, NULL for an unknown name. */
extern const struct sk_kind sk_model_kind;
const struct sk_model_ops *sk_model_at(int i);
const struct sk_model_ops *sk_model_find(const char *name);

/* ops->optimum, with λ = 0 giving infinity and C = 0 giving 0; that of the first model where ops gives no number of 0 or more. */
double sk_model_optimum(const struct sk_model_ops *ops, double rate, double cost);

/* ops->rate_at, or rate. */
double sk_model_rate(const struct sk_model_ops *ops, double rate, double shape, double age, double cost);

#endif
