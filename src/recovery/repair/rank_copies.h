/* Which processes of a start are copies of which ranks: process r is rank r's first copy, and the ranks that are two processes each have a second one
 * among those behind. Where these sit: not on the host of the first. Pure. */
#ifndef SK_RECOVERY_COPIES_H
#define SK_RECOVERY_COPIES_H

#include "recovery/hosts.h"

struct sk_copies {
    int ranks, processes;
    int *rank;   /* by process */
    int *second; /* by rank: the process that is its second copy, -1: it is one process */
};

/* Of so many ranks those that the list names (base/config/ranklist.h; "": all) are two processes each. SAIKAI_ECONFIG: it is no list of them. */
int sk_copies_make(struct sk_copies *c, int ranks, const char *list, struct saikai_error *err);
void sk_copies_free(struct sk_copies *c);
/* 1: it is a second copy. */
int sk_copies_is_second(const struct sk_copies *c, int process);
/* The other process of its rank, -1: there is none. */
int sk_copies_twin(const struct sk_copies *c, int process);
/* A rank's first (copy 0) or second process, -1: it has no second. */
int sk_copies_process(const struct sk_copies *c, int rank, int copy);

/* Seats for all processes on the active hosts, in their order: within their slots as far as there are as many, and no two of a rank on one host as far as
 * that can be. How many ranks have both on one host; -1: no memory, and seat is untouched. */
int sk_copies_place(const struct sk_copies *c, const struct sk_hosts *h, int *seat);
/* How many ranks have both processes on one host. */
int sk_copies_together(const struct sk_copies *c, const int *seat);

#endif
