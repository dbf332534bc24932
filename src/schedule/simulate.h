/* Discrete-event simulation of a job that computes, checkpoints, fails and restarts: what the
 * formulas of model.h say, found by playing it. Local, blocking (some 50 ns a failure; stretches
 * without a failure cost nothing), repeatable: the same seed gives the same numbers.
 *
 * The job has `work` seconds to compute and checkpoints after each `interval` of them, and once
 * more at its end. A failure at any moment, also during a checkpoint or a restart, sends it back to
 * the newest checkpoint that counts. */
#ifndef SK_SCHEDULE_SIMULATE_H
#define SK_SCHEDULE_SIMULATE_H

#include "schedule/failure/failures.h"
#include "schedule/model.h"

#include <stdint.h>

struct sk_simulation {
    struct sk_costs costs; /* costs.rate is not looked at: the fleet fails */
    struct sk_fleet fleet;
    const struct sk_failures_ops *failures; /* NULL: superposed */
    double work, interval;                      /* seconds, both > 0 */
    uint64_t seed;
    int runs;              /* >= 2 */
    uint64_t max_failures; /* in all runs together; more: SAIKAI_ELOST */
    /* Called after each run; not 0: stop with SAIKAI_ESTATE. May be NULL. */
    int (*progress)(void *arg, int done);
    void *arg;
};

struct sk_simulation_result {
    double wall, wall_error; /* mean time from start to end, and the standard error of it */
    double wall_05, wall_50, wall_95;   /* quantiles over the runs */
    double overhead, overhead_error;    /* wall/work - 1 */
    double overhead_low, overhead_high; /* 95 % confidence */
    double loss;                        /* mean time lost by a failure; 0 when there was none */
    uint64_t failures, checkpoints;     /* of all runs; only checkpoints that came to count */
};

/* SAIKAI_EINVAL (what is wrong with the input), SAIKAI_ELOST (the job gets nowhere), SAIKAI_ENOMEM,
 * SAIKAI_ESTATE. */
int sk_simulate(const struct sk_simulation *s, struct sk_simulation_result *out,
                struct saikai_error *err);

/* What n·Γ gives for the same job, its last interval shorter when work is no multiple of interval.
 */
double sk_simulate_expected(const struct sk_costs *c, double work, double interval);

/* |t| that is exceeded with the chance 5 % (Student, this many degrees of freedom). */
double sk_student_95(int freedom);

#endif
