/* saikai plan: what it is asked and what it finds; the parts that compute, print and draw share it.
 */
#ifndef SK_CLI_PLAN_H
#define SK_CLI_PLAN_H

#include "cli/cli.h"
#include "schedule/advice.h"
#include "schedule/levels.h"
#include "schedule/model.h"
#include "schedule/simulate.h"
#include "schedule/simulate_levels.h"

enum { PLAN_POINTS = 13 }; /* simulated intervals from T/8 to 8 T, √2 apart; the middle one is T */

enum { PLAN_LEVELS = 3 };

/* What a level is asked to cost; below 0: not given. */
struct plan_level_costs {
    double cost, latency, restart;
};

/* The levels that were asked for, from the local one up. */
struct plan_levels {
    int n; /* 0: only one was, so this is not looked at */
    const char *name[PLAN_LEVELS];
    struct sk_level level[PLAN_LEVELS];
    double local_share, beyond_share;
    int members, tolerated; /* of a redundancy group; tolerated 0: none */
    struct sk_levels_plan best;
    int simulated;
    struct sk_levels_simulation_result sim;
};

struct plan {
    /* asked */
    struct sk_fleet fleet;
    double *rates;  /* of each host, NULL: all have fleet.rate */
    size_t unknown; /* hosts that the database does not name */
    struct sk_costs costs;
    const struct sk_model_ops *model;
    double iteration, work; /* seconds; 0: not given */
    double max_interval;    /* schedule.max_interval; 0: none */
    int64_t runs;
    uint64_t seed;
    const struct sk_failures_ops *failures;
    /* found */
    double best;     /* the model's T */
    int64_t every;   /* iterations, 0: no iteration time given */
    double interval; /* what is used: best, shortened to max_interval and to whole iterations */
    struct plan_levels levels;
    int simulated;
    double at[PLAN_POINTS];
    struct sk_simulation_result sim[PLAN_POINTS], job; /* job: of the work that was given */
};

/* Fill sim[] (and job when work is given). Progress is shown on a terminal. */
int cli_plan_simulate(struct plan *p, struct saikai_error *err);
/* Expected time for `work` without any checkpoint: from the start after each failure. */
double cli_plan_without_checkpoints(const struct plan *p);

/* plan_levels.c: several levels. Fill p->levels from what is asked; 1: bad input, reported. */
int cli_plan_levels_find(struct plan *p, const struct plan_level_costs *protect,
                     const struct plan_level_costs *archive, const struct cli *cli);
int cli_plan_levels_simulate(struct plan *p, struct saikai_error *err);
void cli_plan_levels_print(const struct plan *p);
void cli_plan_levels_json(const struct plan *p, struct sk_json *j);

/* A time for people, "for ever" when it is infinite. */
const char *cli_plan_time(char out[32], double seconds);
/* "2.71 %", wide ratios as "40 times". */
const char *cli_plan_ratio(char out[32], double r);

void cli_plan_print(const struct plan *p);
void cli_plan_json(const struct plan *p, struct sk_json *j);
int cli_plan_draw(const struct plan *p, const char *path, struct saikai_error *err);

#endif
