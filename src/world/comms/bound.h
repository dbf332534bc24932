/* Where a process cannot be left: in a call in which MPI makes a communicator, which has no form that does not block. */
#ifndef SK_WORLD_COMMS_BOUND_H
#define SK_WORLD_COMMS_BOUND_H

#include <mpi.h>

/* Before such a call. meets: all of the communicator make this one, and are waited for first, in a wait that can be left: so whoever dies before
 * it comes to the call holds nobody in it (with logging: until saikai_restart is over). From here on the keeper knows. 0, or the error to give back. */
int sk_bound_begin(MPI_Comm comm, int meets);
void sk_bound_end(void);

#endif
