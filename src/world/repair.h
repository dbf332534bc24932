/* The world of those who live, and the process that is new among them. */
#ifndef SK_WORLD_REPAIR_H
#define SK_WORLD_REPAIR_H

#include <stdint.h>

/* 1: this rank of the communicator is dead, as the repair that is wanted says. */
int sk_is_dead(uint64_t comm, int rank);
/* Collective of all processes of a start, once sk_world.comm is what the program has: what repairs need is made. Or sk_world_fail. */
void sk_repair_begin(void);
/* The world of the repair that is wanted, or sk_world_fail. */
void sk_repair(void);
/* After MPI_Init in a process that takes the place of a dead one. */
void sk_join(uint32_t epoch);

#endif
