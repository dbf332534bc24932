/* What the program keeps at MPI_COMM_WORLD stays at MPI's own, whatever the world is now, and goes over to duplicates all the same. */
#ifndef SK_WORLD_COMMS_ATTRIBUTES_H
#define SK_WORLD_COMMS_ATTRIBUTES_H

#include "world/layer.h"

/* *copy is a duplicate of MPI_COMM_WORLD that MPI made of something else: it gets copies of the attributes, as MPI_Comm_dup prescribes. 0, or the error
 * of one of the program's functions, of which its error handler was told; *copy is freed then. */
int sk_attributes_copy(MPI_Comm *copy);
/* MPI has copied them itself: *copy is one of its own MPI_COMM_WORLD. */
static inline int sk_attributes_are_copied(void)
{
    return sk_world.comm == MPI_COMM_WORLD;
}

#endif
