/* A communicator of this process alone that has no messages but the layer's. What the program has open on MPI_COMM_SELF would get them. */
#ifndef SK_WORLD_VIEW_ALONE_H
#define SK_WORLD_VIEW_ALONE_H

#include "world/layer.h"

/* Errors are returned. */
MPI_Comm sk_alone(void);
/* What is sent so lies as what is received so. 0, or MPI's error, which nobody was told of. */
int sk_alone_copy(const void *from, int n_from, MPI_Datatype t_from, void *to, int n_to, MPI_Datatype t_to);

#endif
