/* When `auto` is asked for: how often to make a checkpoint, and every how many of them are
 * protected and archived, by the model of several levels (schedule/levels.h) from what was
 * measured. Pure arithmetic, no clock; one rank (the first) keeps it and tells the others what it
 * decides. Seconds and failures per second. */
#ifndef SK_LIB_CADENCE_H
#define SK_LIB_CADENCE_H

#include "schedule/levels.h"

#include <stdint.h>

enum sk_cadence_level { SK_CADENCE_PROTECT, SK_CADENCE_ARCHIVE, SK_CADENCES };

struct sk_cadence_setup {
    double rate, local_share, beyond_share; /* of all failures of the job, and shares of them */
    double threshold;               /* relative change of a measurement that makes it plan anew */
    int has[SK_CADENCES];           /* the levels that there are */
    int members, tolerated, groups; /* of redundancy */
};

/* Times of a candidate, the newer ones counting more. */
struct sk_cadence_ticks {
    double weight, mean,
        square; /* sums of weights and their squares are what it needs for an error */
    double weights_squared;
};

struct sk_cadence {
    struct sk_cadence_setup setup;
    double interval, cost, latency; /* of local checkpoints; 0: not known */
    struct sk_cadence_ticks quiet;
    struct sk_cadence_at {
        struct sk_cadence_ticks ticks; /* while it is done */
        double latency, duration, held;
        int done; /* how often */
    } at[SK_CADENCES];
    double planned_from[3 + 2 * SK_CADENCES];
    int64_t every[SK_CADENCES];
    double best_interval; /* of local checkpoints; 0: none */
};

void sk_cadence_init(struct sk_cadence *c, const struct sk_cadence_setup *setup);

/* A local checkpoint: computing since the one before, what it held the program up, and how long
 * after its start it was complete. What is not known is 0. */
void sk_cadence_checkpoint(struct sk_cadence *c, double interval, double cost, double latency);
/* The mean time of a candidate over a while during all of which exactly what `busy` says was being
 * done. */
void sk_cadence_ticks(struct sk_cadence *c, double seconds, const int busy[SK_CADENCES]);
/* A checkpoint came to a level: how long after its own start, how long that was being done, and how
 * long the program itself worked for it (slices). */
void sk_cadence_done(struct sk_cadence *c, enum sk_cadence_level level, double latency,
                     double duration, double held);

/* What a checkpoint of this level costs the program: its own work for it, and what its candidates
 * take longer meanwhile, if that is more than chance. */
double sk_cadence_cost(const struct sk_cadence *c, enum sk_cadence_level level);
/* Every how many checkpoints go to this level; at least 1, 1 while it was not measured, 0: none
 * more needs to. Plans when something moved by more than the threshold. */
int64_t sk_cadence_every(struct sk_cadence *c, enum sk_cadence_level level);
/* Seconds of computing between two local checkpoints that this model finds best; 0 while one of the
 * levels was not measured, and where no checkpoint pays. Plans as sk_cadence_every. */
double sk_cadence_interval(struct sk_cadence *c);

#endif
