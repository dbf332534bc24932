/* A group over an MPI communicator. */
#ifndef SK_GROUP_MPI_H
#define SK_GROUP_MPI_H

#include "group/group.h"

/* Collective over *comm (a pointer to an MPI_Comm, so that mpi.h stays out of this header): a group on a private
 * duplicate of it, whose errors are returned, not raised. Freed with sk_group_free before MPI_Finalize. */
int sk_group_mpi(const void *comm, struct sk_group **out, struct saikai_error *err);

#endif
