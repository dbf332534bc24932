/* Faults of the job itself: how often to expect them, and how long an interval may be so that a job that
 * dies again and again still gets on. Pure arithmetic; what feeds it may be replaced by something that learns. */
#ifndef SK_SCHEDULE_SUFFERED_H
#define SK_SCHEDULE_SUFFERED_H

#include <stdint.h>

/* What this job has suffered so far. */
struct sk_suffered {
    int64_t faults;
    double seconds;          /* that its starts ran until then */
    int64_t last_candidates; /* that the last start reached before it died; 0: not known, or there was none */
};

/* The share of the time that checkpoints may take where nothing else is known. */
#define SK_MODEST_SHARE 0.01

/* Failures per second to expect: the mean of a belief that begins as one fault within mtbf seconds and learns
 * from what was suffered; mtbf 0: nothing is believed, so only what was suffered counts. */
double sk_suffered_rate(double mtbf, const struct sk_suffered *s);

/* The most candidates between two checkpoints after `candidates` of this start, for a checkpoint that costs `cost`
 * and a candidate every iteration_time seconds: half of what this start has done, so that a fault costs at most about that;
 * but not so few that checkpoints take more than a modest share, unless half of what the last start reached is even
 * less: a job must not die before each checkpoint. At least 1. */
int64_t sk_suffered_most(const struct sk_suffered *s, int64_t candidates, double cost, double iteration_time);

#endif
