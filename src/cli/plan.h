/* saikai plan: what it is asked and what it finds; the parts that compute, print and draw share it.
 */
#ifndef SK_CLI_PLAN_H
#define SK_CLI_PLAN_H

#include "cli/cli.h"
#include "schedule/advice.h"
#include "schedule/model.h"
#include "schedule/simulate.h"

enum { PLAN_POINTS = 13 }; /* simulated intervals from T/8 to 8 T, √2 apart; the middle one is T */

struct plan {
    /* asked */
    struct sk_fleet fleet;
    double *rates;  /* of each host, NULL: all have fleet.rate */
    size_t unknown; /* hosts that the database does not name */
    struct sk_costs costs;
    const struct saikai_model_ops *model;
    double iteration, work; /* seconds; 0: not given */
    double max_interval;    /* schedule.max_interval; 0: none */
    int64_t runs;
    uint64_t seed;
    const struct saikai_failures_ops *failures;
    /* found */
    double best;     /* the model's T */
    int64_t every;   /* iterations, 0: no iteration time given */
    double interval; /* what is used: best, shortened to max_interval and to whole iterations */
    int simulated;
    double at[PLAN_POINTS];
    struct sk_simulation_result sim[PLAN_POINTS], job; /* job: of the work that was given */
};

/* Fill sim[] (and job when work is given). Progress is shown on a terminal. */
int plan_simulate(struct plan *p, struct saikai_error *err);
/* Expected time for `work` without any checkpoint: from the start after each failure. */
double plan_without_checkpoints(const struct plan *p);

void plan_print(const struct plan *p);
void plan_json(const struct plan *p, struct sk_json *j);
int plan_draw(const struct plan *p, const char *path, struct saikai_error *err);

#endif
