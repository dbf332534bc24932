/* Where copies are on several hosts: which process is on which, and what becomes of the connections to a host whose processes are all dead to the
 * others. It may only have been cut off, and what its processes had begun to send may come when it is back, into memory of the program's that is used for
 * something else by then. */
#ifndef SK_WORLD_REPLICA_APART_H
#define SK_WORLD_REPLICA_APART_H

#include <stdint.h>

/* Collective over all processes of the start, after the others' numbers are known. 0, or MPI's error. */
int sk_apart_begin(void);
/* These processes are dead, beside those that are known to be. Before anything is received again in their place. */
void sk_apart_lose(const uint16_t *process, uint32_t n);

#endif
