/* The exchange of the ranks: one non-blocking reduction at a time. It is started at an agreed tick and taken up at an agreed later
 * one, about schedule.poll later, so that it does not wait where the ranks keep step; what it brings is equal on all ranks, and so
 * are all decisions that follow from it. What is exchanged is the business of poll.c. */
#ifndef SK_LIB_SESSION_AGREEMENT_H
#define SK_LIB_SESSION_AGREEMENT_H

#include "group/group.h"
#include "lib/levels/level.h"

/* What one rank tells the others. Reduced by minimum; fields named max_… hold the negative of the value, so that the minimum
 * is the maximum. */
enum sk_poll_field {
    SK_POLL_LEVELS, /* what each level tells: the words of levels/level.h, one level after the other */
    SK_POLL_MAX_REQUEST = SK_POLL_LEVELS + SK_LEVELS * SK_LEVEL_WORDS, /* SK_REQUEST_… bits: 0, 1 checkpoint, 3 checkpoint and stop */
    SK_POLL_MAX_TICK_NS,     /* measured time of a tick, without checkpoints */
    SK_POLL_MAX_COST_NS,     /* measured time a checkpoint held the program up */
    SK_POLL_MAX_LATENCY_NS,  /* rank 0: how long it takes until a checkpoint counts, 0: not known */
    SK_POLL_MAX_DUE,         /* rank 0: bits 1 << place of the levels that a generation is to be brought to */
    SK_POLL_MAX_LAST,        /* 1: the time slot ends: the checkpoint that is asked for now goes to the prefix in any case */
    SK_POLL_MAX_INTERVAL_NS, /* rank 0: what the model of several levels finds best, 0: nothing */
    SK_POLL_MAX_LOST,        /* 1: the lease of the prefix is another job's */
    SK_POLL_CANDIDATES,      /* that may pass until the next exchange, as far as memory for messages goes (world/world.h) */
    SK_POLL_MAX_HEAL,        /* 1: something is damaged, a checkpoint is wanted that heals it */
    SK_POLL_FIELDS,
};

struct sk_agreement {
    int64_t values[SK_POLL_FIELDS]; /* what this rank says; after the reduction what all say */
    struct sk_request *request;     /* under way; NULL: none */
    uint64_t post_tick, take_tick;  /* when the next one starts, and when the one under way is taken up; UINT64_MAX: not */
    uint64_t span;                  /* ticks from start to taking up, the same on all ranks */
    int damages_told;               /* of the engine's, to the other ranks */
};

/* The first exchange starts at the first tick. */
void sk_agreement_start(struct sk_agreement *x);
/* The next tick at which there is something to do. */
uint64_t sk_agreement_next(const struct sk_agreement *x);
/* At each candidate of the slow path: 1, the values are what all say, and the next exchange may start at this tick; 0: nothing
 * new, or an error of the group. Waits for ranks that are further behind than the span. */
int sk_agreement_take(struct sk_agreement *x, struct sk_group *g, uint64_t tick, struct saikai_error *err);
/* 1: the values are to be said now … */
int sk_agreement_is_due(const struct sk_agreement *x, uint64_t tick);
/* … and now they are. */
int sk_agreement_post(struct sk_agreement *x, struct sk_group *g, uint64_t tick, struct saikai_error *err);
/* Nothing is due: let MPI make progress. */
int sk_agreement_progress(struct sk_agreement *x, struct sk_group *g);
/* How long the next exchange may take: so many ticks as last poll_s seconds. tick_s: seconds of a tick as agreed, 0: not known. */
void sk_agreement_plan(struct sk_agreement *x, uint64_t tick, double tick_s, double poll_s);
/* But no more ticks than this. */
void sk_agreement_shorten(struct sk_agreement *x, uint64_t most);
/* Wait for the one under way, if any, and drop its result. */
void sk_agreement_end(struct sk_agreement *x, struct sk_group *g);

#endif
