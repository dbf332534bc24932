/* What is believed of a failure rate, and what is made of it by what was seen. Pure arithmetic; seconds and faults.
 *
 * A belief is a Gamma distribution of the rate: of the shape `faults` and the scale 1/seconds, so it reads as having seen that many
 * faults in that time. Its mean is faults/seconds, and seeing n faults in t seconds more makes it (faults + n, seconds + t)
 * (A. Gelman et al., Bayesian Data Analysis, 3rd edition, section 2.6).
 *
 * What is true of many (all hosts, all programs of a user) is the belief to begin with for one of them: shrinking. What was seen
 * long ago fades with every later fault: a window of faults and not of time, so that it is as good for a machine that fails each
 * hour as for one that fails once in a year, and what is repaired or replaced is believed as soon as the next faults fail to come. */
#ifndef SK_SCHEDULE_BELIEF_H
#define SK_SCHEDULE_BELIEF_H

struct sk_belief {
    double faults, seconds;
};

/* How many faults count in the long run. The interval goes with the root of the rate, and the waste near its best interval T like
 * (T'/T + T/T')/2: a rate from N faults, which is off by 1/sqrt(N), wastes 1/(8 N) more than the true one: half a percent. */
#define SK_BELIEF_MEMORY 25.0

/* One fault in mtbf seconds, believed as firmly as if `weight` faults had been seen; mtbf 0: nothing is believed. */
struct sk_belief sk_belief_prior(double mtbf, double weight);
/* Failures per second; 0 when nothing was seen and nothing is believed. */
double sk_belief_mean(struct sk_belief b);
/* With what was seen. */
struct sk_belief sk_belief_with(struct sk_belief prior, struct sk_belief seen);
/* For one of many: the belief of the mean of all of them, as firm as `weight` faults. */
struct sk_belief sk_belief_of_one(struct sk_belief all, double weight);

/* So much time went by, without a fault. */
void sk_belief_time(struct sk_belief *seen, double seconds);
/* A fault: all before fades, so that not more than `memory` faults count; memory 0: nothing fades. */
void sk_belief_fault(struct sk_belief *seen, double memory);
/* So many faults at times in this period that are not known: as if spread evenly. */
void sk_belief_period(struct sk_belief *seen, double seconds, double faults, double memory);

#endif
