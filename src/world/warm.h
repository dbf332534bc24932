/* Warm spares: processes of the start beyond the ranks, which wait in MPI_Init to take the place of dead ones. */
#ifndef SK_WORLD_WARM_H
#define SK_WORLD_WARM_H

#include <stdint.h>

/* After MPI_Init in all processes of a start that has more of them than ranks: returns in the ranks, and in a spare when it has taken the
 * place of a dead process. */
void sk_warm_begin(int ranks);
int sk_warm_is_on(void);
/* In the survivors. 1: the world is made, or *rc says why not; 0: processes are to be spawned. */
int sk_warm_repair(uint32_t epoch, const int *dead, int n, int *rc);
/* At the end: the spares that are left may go. 1: all processes of the start are there, for MPI's own end. */
int sk_warm_end(void);

#endif
