/* Parts of what makes communicators (make.c), for its neighbours. */
#ifndef SK_WORLD_COMMS_MAKE_PARTS_H
#define SK_WORLD_COMMS_MAKE_PARTS_H

#include "world/comms/made.h"

/* The program's handle: dup: what is kept at the parent goes over, as MPI_Comm_dup has it. */
int sk_make_stand_in(MPI_Comm parent, int dup, MPI_Info info, MPI_Comm *out);
/* All of g tell each other a number (all, by rank), and come to a context that is free at each (-1: none is). */
int sk_make_agree(struct sk_members *g, int mine, int *all, int *context);
/* One of these ranks of the world, among which this process is, with the error handler of the parent. */
int sk_make_of(MPI_Comm parent, int context, int n, const int *world, MPI_Comm *out);

#endif
