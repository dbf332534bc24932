/* Waiting for what a dead process may never send: calls that block are made of others that can be left. */
#ifndef SK_WORLD_WAIT_H
#define SK_WORLD_WAIT_H

#include "world/layer.h"

/* Wait for a request that the layer made itself. */
int sk_wait(MPI_Request *r, MPI_Status *status, int quiet);

#endif
