/* What the layer itself needs of collectives. */
#ifndef SK_WORLD_COLLECTIVE_H
#define SK_WORLD_COLLECTIVE_H

#include <mpi.h>

/* A barrier of the communicator's processes, where their collectives are such that a wait in one can be left; else nothing. The same on all of
 * them. 0, or MPI's error. */
int sk_collective_meet(MPI_Comm comm);

#endif
