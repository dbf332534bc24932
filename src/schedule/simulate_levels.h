/* Discrete-event simulation of a job whose checkpoints go to several levels: what levels.h says,
 * found by playing it. It shares no arithmetic with the formulas: checkpoints become safe one by
 * one, also while others are on their way. Local, blocking, repeatable. */
#ifndef SK_SCHEDULE_SIMULATE_LEVELS_H
#define SK_SCHEDULE_SIMULATE_LEVELS_H

#include "schedule/failure/failures.h"
#include "schedule/levels.h"

struct sk_levels_simulation {
    const struct sk_level *levels;
    int n;
    double interval;      /* seconds of computing, > 0 */
    const int64_t *every; /* as in sk_levels_plan, none 0 */
    double work;          /* seconds of computing, in whole intervals (rounded up) */
    const struct sk_failures_ops *failures; /* the "node" that fails is the level; NULL: superposed */
    uint64_t seed;
    int runs;              /* >= 2 */
    uint64_t max_failures; /* in all runs together; more: SAIKAI_ELOST */
};

struct sk_levels_simulation_result {
    double overhead, overhead_error; /* mean of wall/work - 1, and its standard error */
    uint64_t failures[SK_LEVELS_MOST];
};

/* Between a failure and the end of its restart nothing is computed; a failure meanwhile begins the
 * restart of the higher one of the two levels anew. What was on its way to some level still comes
 * there if the failure left it somewhere; the checkpoint that the job goes back to is brought to
 * the levels it was meant for again, while the job goes on. SAIKAI_EINVAL, SAIKAI_ELOST (the job
 * gets nowhere), SAIKAI_ENOMEM. */
int sk_levels_simulate(const struct sk_levels_simulation *s,
                       struct sk_levels_simulation_result *out, struct saikai_error *err);

#endif
