/* What the program keeps at MPI_COMM_WORLD, where the layer makes communicators itself: it is kept aside, so that MPI_Comm_dup has it go over. */
#ifndef SK_WORLD_COMMS_ATTRIBUTES_H
#define SK_WORLD_COMMS_ATTRIBUTES_H

#include "world/layer.h"

/* A communicator of this process alone, which has what the program keeps at MPI_COMM_WORLD. */
MPI_Comm sk_attributes_aside(void);
/* MPI is about to end: what is kept is let go of, as MPI does it for its own communicators. */
void sk_attributes_end(void);

#endif
