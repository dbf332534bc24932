/* After a repair in place: whether the program goes slower since, and has lost more by that than a new start of the job costs. Pure: it
 * is told how far the ranks are and what time it is.
 *
 * A process that is made again may be reached by a slower way than those of the start (Open MPI 4 shares memory between the processes of
 * one start alone), and nobody knows how long the job still runs. So it is as with skis that are hired by the day and may be bought:
 * who starts the job again when what was lost has become what a start costs, loses at most twice what the best choice would have cost
 * (Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching", Algorithmica 3, 1988, section 2). Whether the start has helped
 * is seen behind it: where it has not, the program had become slower by itself, and it is not done again. */
#ifndef SK_RECOVERY_SLOWER_H
#define SK_RECOVERY_SLOWER_H

#include <stdint.h>

/* A pace is told of from so many candidates and seconds on, and is slower when at least this part of the time is lost: on a machine that
 * others use, too, a quarter comes and goes. */
#define SK_SLOWER_LEAST_S    10.0
#define SK_SLOWER_LEAST_N    3
#define SK_SLOWER_LEAST_PART 0.35

/* How far the job is. */
struct sk_gait {
    uint64_t candidates;      /* that rank 0 has reached in its process */
    int64_t slowest, farthest; /* iteration of the rank that is behind all others, and of the one ahead of all */
};

/* A stretch of the job's way, from one moment at which rank 0 was seen to reach a candidate to another one. */
struct sk_stretch {
    double begun, seen; /* begun 0: it has not */
    uint64_t from, to;  /* candidates */
};

enum sk_slower_belief {
    SK_SLOWER_UNKNOWN = 0,
    SK_SLOWER_BY_REPAIR, /* after a start the pace was what it had been */
    SK_SLOWER_BY_ITSELF, /* it was not */
};

struct sk_slower {
    double gap_s;                /* looks that are farther apart than this say that nobody got on, or nobody looked */
    double begun, looked;        /* this start */
    double start_s;              /* from a start to its first candidate, longest; 0: none was seen */
    int repaired;                /* this start has seen a repair */
    int64_t reach;               /* until all ranks are here, some only catch up */
    struct sk_stretch before, since; /* the first repair; the newest one, from where all are as far as they were */
    double lost_s;               /* between earlier repairs of this start */
    double fast, slow;           /* candidates a second before a repair, 0: not known; and since, of the start that was ended for it */
    int tries;                   /* whether that helped is to be seen in this start */
    enum sk_slower_belief belief;
};

/* gap_s: see above. */
void sk_slower_init(struct sk_slower *w, double gap_s);
/* A start of the job; planned: the one before was ended because it was slower. */
void sk_slower_begin(struct sk_slower *w, int planned, double now);
/* A repair begins: what the job does until its end, and until all ranks are as far as the farthest was, is no pace. */
void sk_slower_repair(struct sk_slower *w, const struct sk_gait *g);
/* Called often, but for the time of repairs. */
void sk_slower_look(struct sk_slower *w, const struct sk_gait *g, double now);

/* What has come of it. */
struct sk_slowness {
    double lost_s, start_s; /* since the first repair; what a start costs */
    double part;            /* of the time since the newest repair, lost */
};

/* 1: a new start of the job is worth it, when it still has left_s (INFINITY: not known); *out is filled. */
int sk_slower_pays(const struct sk_slower *w, double left_s, struct sk_slowness *out);

#endif
