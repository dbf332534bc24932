/* A group over an MPI communicator. */
#ifndef SK_GROUP_MPI_H
#define SK_GROUP_MPI_H

#include "group/group.h"

/* Collective over *comm (a pointer to an MPI_Comm, so that mpi.h stays out of this header): a group on a private
 * duplicate of it, whose errors are returned, not raised. Freed with sk_group_free before MPI_Finalize. */
int sk_group_mpi(const void *comm, struct sk_group **out, struct saikai_error *err);

/* For tools, which are made once and not for each MPI: mpi.c as a plug-in, saikai_group_openmpi.so and so on, that is
 * loaded when it is known who started the process. start: collective over all processes, begins MPI and gives a group
 * of all. stop: collective, ends MPI; also with NULL. */
int sk_group_mpi_start(struct sk_group **out, struct saikai_error *err);
void sk_group_mpi_stop(struct sk_group *g);

#endif
