/* Advice: "from iteration n, every m". Local and pure: no clock, no random numbers, no state but
 * the struct, so ranks that are given the same numbers in the same order give themselves the same
 * advice, without a word between them.
 *
 * A rank may take up new advice some iterations after another: that is allowed. Which generations
 * count is decided elsewhere; here it is enough that all ranks soon have the same (n, m). */
#ifndef SK_SCHEDULE_ADVICE_H
#define SK_SCHEDULE_ADVICE_H

#include "schedule/model.h"

#include <stdint.h>

/* The pair, from >= 0. every 0: no checkpoint is advised. */
struct sk_advice {
    int64_t from, every;
};

#define SK_ADVICE_NEVER INT64_MAX

struct sk_advice_policy {
    const struct sk_model_ops *model;
    double rate;         /* λ of all hosts in use, failures per second */
    double threshold;    /* relative change of C or of the iteration time that makes it recompute */
    double max_interval; /* longest interval the model may choose, seconds; 0: no limit */
    double planned;  /* seconds that another model found best, instead of `model`; 0: none did */
    double interval; /* seconds whatever the models say; 0: ask them */
    int64_t every;       /* iterations whatever the model or `interval` says; 0: ask them */
    int64_t most;        /* iterations that the models may not exceed; 0: no such limit */
};

struct sk_advice_state {
    struct sk_advice_policy policy;
    double cost, iteration_time; /* seconds that the present advice was made from; 0: none yet */
    struct sk_advice now;
};

/* Begin with nothing measured: {0, 0}, or the multiples of policy.every when that is set (which
 * then holds for good: iterations every, 2 every, …, after a restart too). */
void sk_advice_init(struct sk_advice_state *s, const struct sk_advice_policy *policy);

/* Take in a measured cost of a checkpoint and time of an iteration (seconds; what is not finite or
 * negative is ignored). last: iteration of the newest checkpoint, -1: none. earliest: the first
 * iteration at which every rank can still take up new advice (the farthest rank's iteration and
 * some more). Returns 1 when the advice changed, else 0: nothing moved by more than the threshold,
 * or the answer is the same. New advice goes on from `last`, but never begins before `earliest`. */
int sk_advice_update(struct sk_advice_state *s, double cost, double iteration_time, int64_t last,
                     int64_t earliest);

/* The hosts in use changed, or the hazard: a rate that differs by more than the threshold is taken, and makes the
 * next update recompute. */
void sk_advice_set_rate(struct sk_advice_state *s, double rate);

/* Another model (of several levels, say) found this interval best; 0: none did, the policy's model
 * is asked. A change by more than the threshold makes the next update recompute; max_interval
 * holds. */
void sk_advice_set_planned(struct sk_advice_state *s, double seconds);
/* The models may not exceed this many iterations; 0: no limit. A change by more than the threshold makes the
 * next update recompute, when it matters to the present advice. */
void sk_advice_set_most(struct sk_advice_state *s, int64_t iterations);

/* The best m for these times: of the two whole numbers beside the model's T the one with the lower
 * r(T), within max_interval, at least 1; 0 when no checkpoint pays (λ = 0 and no limit). */
int64_t sk_advice_every(const struct sk_advice_policy *p, double cost, double iteration_time);

/* First iteration >= i that is due, SK_ADVICE_NEVER: none. A candidate is then one comparison of
 * two integers. */
int64_t sk_advice_next(struct sk_advice a, int64_t i);
static inline int sk_advice_due(struct sk_advice a, int64_t i)
{
    return a.every > 0 && i >= a.from && (i - a.from) % a.every == 0;
}

/* Before the job's time limit. Whether the last checkpoint must start at this candidate:
 * `remaining` seconds are left and the next candidate is iteration_time away. Room is left for
 * margin or for twice the cost, whichever is longer, because a measured cost varies. */
int sk_deadline_due(double remaining, double margin, double cost, double iteration_time);
/* The iteration of that last candidate, counted from `iteration` with `remaining` seconds left
 * there: what ranks agree on by the least of their answers. Never below `iteration`;
 * SK_ADVICE_NEVER when remaining is infinite. */
int64_t sk_deadline_iteration(int64_t iteration, double remaining, double margin, double cost,
                              double iteration_time);

#endif
