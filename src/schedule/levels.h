/* How often to bring a checkpoint to which level. Pure arithmetic; seconds and failures per second.
 *
 * Level 0 is every checkpoint of the job (local); the ones above it are further and safer places
 * (protected, archived), to which every so many of them go. A failure of level k destroys all that
 * is only at lower levels: the job goes back to its newest checkpoint of level k or above.
 *
 * Source: the Markov model of A. Moody, G. Bronevetsky, K. Mohror and B. R. de Supinski, "Design,
 * modeling, and evaluation of a scalable multi-level checkpointing system" (SC'10): failures of
 * each level are exponential, a failure during a restart is followed by the restart of the higher
 * one of the two levels, and patterns are nested (each level's interval is a multiple of the one
 * below it). It is solved in closed form, block by block, instead of as a table of states. A
 * checkpoint that becomes safe behind the program's back counts later, as N. Vaidya has it (IEEE
 * Transactions on Computers 46(8), 1997): one level is exactly model.h. Where the search begins: A.
 * Benoit, A. Cavelan, V. Le Fèvre, Y. Robert and H. Sun, "Towards optimal multi-level
 * checkpointing" (IEEE Transactions on Computers 66(7), 2017), to whose first order every level has
 * the interval √(2C/λ), and the overhead is the sum of √(2λC). */
#ifndef SK_SCHEDULE_LEVELS_H
#define SK_SCHEDULE_LEVELS_H

#include "base/error.h"

#include <stdint.h>

#define SK_LEVELS_MOST 8

struct sk_level {
    double rate;            /* of the failures that need this level, not less and not more; >= 0 */
    double cost_seconds;    /* what it holds the program up, beside what the levels below it did */
    double latency_seconds; /* from the start of the checkpoint until this level is safe; at least
                             * the costs of this and all levels below */
    double restart_seconds; /* from the failure until computing goes on */
};

struct sk_levels_plan {
    double interval_seconds;       /* of computing between two checkpoints; infinite: none pays */
    int64_t every[SK_LEVELS_MOST]; /* which checkpoints reach a level: every so many. 1 for level 0;
                                    * a multiple of the one below; 0: none needs to */
    double overhead;               /* expected time / computing - 1 */
    double efficiency;             /* computing / expected time */
};

/* The best pattern for 1 <= n <= SK_LEVELS_MOST levels. A level whose failures (and all above) do
 * not occur is not used; an interval is never shorter than its level's latency. SAIKAI_EINVAL: the
 * text says what is wrong with the input; SAIKAI_ELOST: no pattern gets anywhere. */
int sk_levels_plan(const struct sk_level *l, int n, struct sk_levels_plan *out,
                   struct saikai_error *err);
/* The same where the interval between checkpoints is given: only `every` is chosen. */
int sk_levels_plan_every(const struct sk_level *l, int n, double interval_seconds,
                         struct sk_levels_plan *out, struct saikai_error *err);

/* The overhead of any pattern: `every` as in a plan. Infinite when it gets nowhere, or is beyond a
 * double. */
double sk_levels_overhead(const struct sk_level *l, int n, double interval_seconds,
                          const int64_t *every);

/* How often a group of nodes loses more than `tolerated` of its members before it was made whole
 * again, `window` seconds after each loss: to the first order in rate·window. rate is that of the
 * whole group. */
double sk_levels_beyond(double rate, int members, int tolerated, double window);

/* The three levels of a job on nodes of which all together fail at `rate`: local_share of the
 * failures leaves what is on the nodes as it is, beyond_share takes more at once than redundancy
 * bears; what the rest of them takes within `window` in one of the groups of `members` nodes may
 * add up to more than `tolerated`, too (tolerated 0: there is no redundancy, the middle level is
 * useless). Shares below 0 or above 1 together are cut. */
void sk_levels_rates(double rate, double local_share, double beyond_share, uint64_t nodes,
                     int members, int tolerated, double window, double out[3]);

#endif
