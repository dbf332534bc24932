/* Wrong arguments: MPI is given what it would refuse as it is, so that the program hears of it from MPI, on the communicator that it used, at once,
 * and without a message of any kind. What the layer itself makes of a call would wait, or find something else wrong. */
#ifndef SK_WORLD_WRONG_H
#define SK_WORLD_WRONG_H

#include "world/layer.h"

/* 1: MPI refuses so many elements of this type. */
int sk_is_wrong_block(int count, MPI_Datatype type);
/* One of n blocks; counts is not looked at where the type is none. types: one for each. */
int sk_are_wrong_blocks(int n, const int *counts, MPI_Datatype type);
int sk_are_wrong_types(int n, const int *counts, const MPI_Datatype *types);
/* A root that the communicator does not have, or that is one of an intercommunicator. */
int sk_is_wrong_root(int root, MPI_Comm comm);
/* An operation that is none for this type. */
int sk_is_wrong_op(MPI_Op op, MPI_Datatype type);
/* A message that a protocol is not to see: no communicator, count or type. */
int sk_is_wrong_message(const void *buf, int count, MPI_Datatype type, MPI_Comm comm);

#endif
