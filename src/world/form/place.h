/* Where processes are made again when the job has several hosts: each on the host of the one before it, where its checkpoints are. */
#ifndef SK_WORLD_PLACE_H
#define SK_WORLD_PLACE_H

#include "world/layer.h"

/* MPI has begun. */
void sk_place_begin(void);
/* Collective of the survivors, as MPI_Comm_spawn with root 0: one process in the place of each dead one, in their order. command, argv: at the
 * root alone. 0, or MPI's error. Blocks inside MPI. */
int sk_place_spawn(const char *command, char **argv, const int *dead, int n, MPI_Comm survivors, MPI_Comm *inter);

#endif
