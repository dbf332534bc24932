/* Wrong arguments: MPI is given what it would refuse as it is, so that the program hears of it from MPI, on the communicator that it used, at once,
 * and without a message of any kind. What the layer itself makes of a call would wait, or find something else wrong. */
#ifndef SK_WORLD_VIEW_WRONG_H
#define SK_WORLD_VIEW_WRONG_H

#include "world/layer.h"

/* What follows is 0, or MPI's error. */
/* So many elements of this type. */
int sk_wrong_block(int count, MPI_Datatype type);
/* n blocks; counts is not looked at where the type is none. types: one for each. */
int sk_wrong_blocks(int n, const int *counts, MPI_Datatype type);
int sk_wrong_types(int n, const int *counts, const MPI_Datatype *types);
/* A root among n ranks. */
static inline int sk_wrong_root(int root, int n)
{
    return root < 0 || root >= n ? MPI_ERR_ROOT : 0;
}
/* An operation for this type. */
int sk_wrong_op(MPI_Op op, MPI_Datatype type);
/* A message, without its rank and tag. */
int sk_wrong_message(const void *buf, int count, MPI_Datatype type, MPI_Comm comm);

/* The program's error handler of this communicator is told; code. */
int sk_wrong(MPI_Comm comm, int code);

#endif
