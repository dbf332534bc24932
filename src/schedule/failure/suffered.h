/* Faults of the job itself: how often to expect them, and how long an interval may be so that a job that is young, or dies
 * again and again, still gets on. Pure arithmetic. */
#ifndef SK_SCHEDULE_SUFFERED_H
#define SK_SCHEDULE_SUFFERED_H

#include <stdint.h>

/* What this job has suffered so far, in earlier runs as far as they are known and in starts before this one. */
struct sk_suffered {
    double faults;           /* old ones may have faded */
    double seconds;          /* that it ran until then */
    int64_t last_candidates; /* that the last start reached before it died; 0: not known, or there was none */
    int after_fault;         /* this start was made because of one */
};

/* The share of the time that checkpoints may take where nothing else is known, and that the work may take which is done for them
 * beside the program. */
#define SK_MODEST_SHARE 0.01
#define SK_BESIDE_SHARE 0.1

/* Failures per second to expect: the mean of a belief that begins as one fault within mtbf seconds and learns
 * from what was suffered; mtbf 0: nothing is believed, so only what was suffered counts. */
double sk_suffered_rate(double mtbf, const struct sk_suffered *s);

/* What a checkpoint costs, and what a candidate takes; seconds. */
struct sk_suffered_costs {
    double cost;           /* the program is held up */
    double latency;        /* until the checkpoint counts: somebody works for it for so long; 0: not known */
    double iteration_time; /* between two candidates */
};

/* The most candidates between two checkpoints after `candidates` of this start; at least 1.
 *
 * Nobody knows what a young program is like, whatever others do: one that ran for t without a fault is expected to die once
 * more within t (the mean of a Gamma belief of which nothing is assumed but that there will be a fault). So the interval is the best one
 * (Young's formula) for faults + 1 in all the time that this job has been seen running, and never more than half of what this start
 * has done. It grows with the root of that time, and all its checkpoints together cost no more than one such interval.
 * A job that has had no fault makes them not so often that they take more than a modest share of the time, unless half of what
 * the last start reached is even less: a job must not die before each checkpoint. One that has had faults makes them as often as
 * these justify. */
int64_t sk_suffered_most(const struct sk_suffered *s, int64_t candidates, const struct sk_suffered_costs *c);

#endif
