/* Faults in a row without progress: how many are enough to give a job up. */
#ifndef SK_RECOVERY_REPAIR_BARREN_H
#define SK_RECOVERY_REPAIR_BARREN_H

#include "recovery/fault/fault.h"

struct sk_barren {
    int all, own; /* so far, and those of them that the program has made as far as is known */
};

/* After another one. */
struct sk_barren sk_barren_next(struct sk_barren b, const struct sk_fault *f);

/* 1: it is enough. limit: of the program's own; 0: never. Of any kind it takes twice as many, since two or three that come from outside may
 * follow each other by chance: of a hundred kills of which each fifth comes before there is a newer generation, three do so in a
 * row about once, six hardly ever. */
int sk_barren_enough(struct sk_barren b, int limit);

#endif
