/* What a rank measures for the schedule, and what the ranks agreed on. Seconds of sk_now(). */
#ifndef SK_LIB_SESSION_MEASURED_H
#define SK_LIB_SESSION_MEASURED_H

#include "lib/levels/cadence.h"
#include "schedule/advice.h"
#include "schedule/failure/suffered.h"

/* What is measured for the cadence of the levels (pace.c). */
struct sk_pace {
    struct sk_cadence cadence;
    double cost;                  /* as agreed */
    double slices, slices_before; /* time this rank spent in slices of codings; of those before the last */
    int busy[SK_CADENCES];        /* when the exchange before was started */
    double begun[SK_CADENCES];    /* when a generation was last on its way to the level; 0: none was protected */
};

struct sk_measured {
    double started_at, last_checkpoint_at, reported_at;
    double mark, paused;           /* when measuring of ticks began; time spent in checkpoints since */
    uint64_t mark_tick;            /* the tick then */
    double tick;                   /* rank 0: seconds of a tick, as the ranks last agreed; 0: not known */
    double cost_seconds;           /* the last checkpoint held the program up for so long, 0: none yet … */
    double costs[2];               /* … and the two before it */
    double host_rate;              /* failures per second of the hosts in use */
    double program_rate;           /* of the program, as the launcher has learnt it; 0: it has not */
    double rate;                   /* of both together, as it is believed on average */
    double shape;                  /* Weibull's, of the times between these failures */
    double deadline;               /* at the end of the time slot, 0: none known */
    int deadline_done;             /* a checkpoint was asked for because of it */
    double notice;                 /* rank 0: the soonest deadline of a notice, 0: none is ahead */
    int asks_last;                 /* the next checkpoint is asked for because of one of these: it goes to the prefix */
    struct sk_advice_state advice; /* counted in ticks */
    struct sk_suffered suffered;   /* by this job before this start, as far as the launcher told */
    struct sk_pace pace;
};

void sk_measured_start(struct sk_measured *m);
/* Seconds of the program's own in a tick since the mark; 0: not known. */
double sk_measured_tick(const struct sk_measured *m, uint64_t tick);
/* From now on afresh. */
void sk_measured_mark(struct sk_measured *m, uint64_t tick);
/* What a checkpoint is taken to cost, where one of which nothing is known would be supposed to: the median of the last three, so that one
 * that was held up by something else does not put the next one off for long; the lesser of two; and of one alone, which also makes
 * room for those that follow, no more than ten times what was supposed. */
double sk_measured_cost(const struct sk_measured *m, double supposed);
/* A checkpoint held the program up for so long. */
void sk_measured_checkpoint(struct sk_measured *m, double seconds);
/* So long the program was held up. */
void sk_measured_pause(struct sk_measured *m, double seconds);

#endif
