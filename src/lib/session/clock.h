/* The clock of a session: it counts candidates (ticks), the same number at the same place on all ranks, and knows when the next
 * checkpoint is due: by advice at a tick, by schedule.every at an iteration, or because somebody asked. Pure arithmetic, no time. */
#ifndef SK_LIB_SESSION_CLOCK_H
#define SK_LIB_SESSION_CLOCK_H

#include <stdint.h>

struct sk_clock {
    uint64_t tick, next_tick;      /* the slow path is taken at next_tick … */
    int64_t next_iteration;        /* … or at this iteration */
    int64_t last_iteration;        /* the highest one that a candidate had, or the restored one; -1: none */
    int every;                     /* schedule.every, 0: not set */
    uint64_t due_tick;             /* next checkpoint by advice, UINT64_MAX: none */
    int64_t due_iteration;         /* next checkpoint by `every` */
    uint64_t now_tick;             /* a checkpoint was requested for this tick */
    uint64_t last_checkpoint_tick; /* 0: none was made */
    int told_less;                 /* that an iteration was less than one before */
    uint64_t origin, slept;        /* candidates of the program before those that this clock has seen; those it slept through … */
    uint64_t asleep;               /* … and is still to sleep through, while the others are in the same place of the program */
};

/* The first candidate takes the slow path. */
void sk_clock_start(struct sk_clock *c, int every);

/* 1: nothing can be due at this candidate, whoever asks. */
static inline int sk_clock_is_idle(const struct sk_clock *c, int64_t iteration)
{
    return c->tick + 1 < c->next_tick && iteration < c->next_iteration && iteration >= c->last_iteration;
}

/* The same, and then it is counted. */
static inline int sk_clock_passes(struct sk_clock *c, int64_t iteration)
{
    if (!__builtin_expect(sk_clock_is_idle(c, iteration), 1))
        return 0;
    c->tick++;
    c->last_iteration = iteration;
    return 1;
}

/* This rank is at a candidate that the slowest of all reaches after asleep more: from there on ticks are counted. */
void sk_clock_sleep(struct sk_clock *c, uint64_t origin, uint64_t asleep);
/* 1: nothing can be due at this candidate, and it is no tick. */
int sk_clock_sleeps(struct sk_clock *c);
/* Candidates since the program's first restart. */
static inline uint64_t sk_clock_position(const struct sk_clock *c)
{
    return c->origin + c->slept + c->tick;
}

/* Is a checkpoint due at this tick by advice or because somebody asked? */
int sk_clock_is_due(const struct sk_clock *c);
/* A candidate whose iteration is not less than the last one: 1, a checkpoint is due by `every`. */
int sk_clock_reach(struct sk_clock *c, int64_t iteration);
/* A checkpoint at this tick. */
void sk_clock_ask(struct sk_clock *c);
/* The next checkpoint by advice; SK_ADVICE_NEVER: none. */
void sk_clock_set_due(struct sk_clock *c, int64_t tick);
/* The slow path is taken next at this tick, or before when a checkpoint is due. */
void sk_clock_plan(struct sk_clock *c, uint64_t tick);

#endif
