/* Not offered to programs yet (collective.c refuses them): after a repair in which all went back, a program saw wrong data of MPI_Ialltoall once.
 *
 * Non-blocking collectives of the protocol `logging`: the blocking ones (collective.h), each on a stack of its own, which it leaves where it would
 * wait. They go on whenever the program waits or tests. Each has a tag of its own in its context, in turn; those of the same tag go one after the
 * other, so on a tag all ranks do the same in the same order, whenever they come to it. */
#ifndef SK_WORLD_LOG_LATER_H
#define SK_WORLD_LOG_LATER_H

#include "world/comms/members.h"
#include "world/layer.h"

enum sk_later {
    SK_LATER_BARRIER, SK_LATER_BCAST, SK_LATER_REDUCE, SK_LATER_ALLREDUCE, SK_LATER_GATHER, SK_LATER_GATHERV, SK_LATER_SCATTER, SK_LATER_SCATTERV,
    SK_LATER_ALLGATHER, SK_LATER_ALLGATHERV, SK_LATER_ALLTOALL, SK_LATER_ALLTOALLV, SK_LATER_ALLTOALLW, SK_LATER_SCAN, SK_LATER_EXSCAN,
    SK_LATER_REDUCE_SCATTER, SK_LATER_REDUCE_SCATTER_BLOCK
};

/* The arguments; what an operation does not have is 0. */
struct sk_later_call {
    enum sk_later what;
    const void *send;
    void *recv;
    int ns, nr, root;
    const int *cs, *ds, *cr, *dr;
    MPI_Datatype ts, tr;
    const MPI_Datatype *tss, *trs;
    MPI_Op op;
};

/* Begin it: 0 or an error of MPI. */
int sk_later_begin(struct sk_members *g, const struct sk_later_call *call, MPI_Request *out);
/* 1: what is running now is one of them: instead of waiting it leaves (sk_later_leave), and is back when something may have come. */
int sk_later_runs(void);
void sk_later_leave(void);
/* The number of the layer's own tag for collectives of what is running now. */
int sk_later_tag(void);
/* All go on as far as they can. */
void sk_later_look(void);
/* At a place of the program that a process which is made again may begin from, and that all ranks come to: tags are counted from here, as such a process
 * does not know how many there were before. */
void sk_later_turn(void);
/* The body begins again: what was begun is of a world that is no more. */
void sk_later_forget(void);

#endif
