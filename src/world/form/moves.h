/* Whether a message comes to its receiver while its sender computes. MPI does not say so: a trial between processes of each host shows it when the body begins. Where
 * memory is read from outside the receiver alone does the work; else parts are sent on by calls of the sender's. It holds for what is received into one piece:
 * into gaps Open MPI has the sender send part by part, so whoever receives so says it in memory that all of a host share, and is sent to as ever from then on. */
#ifndef SK_WORLD_FORM_MOVES_H
#define SK_WORLD_FORM_MOVES_H

#include "world/layer.h"

/* Collective of the world; blocks for its slowest rank. After a repair nothing is known to move: who was
 * spawned is reached by other ways. Does not return where the ranks cannot speak to each other. */
void sk_moves_begin(void);
/* By rank: who is another process now. */
void sk_moves_lose(const char *is_new);
/* 1: what is sent to this rank of the world comes to it without another call here. */
int sk_moves_to(int rank);
/* This process receives so many elements. */
void sk_moves_into(int count, MPI_Datatype type);

#endif
