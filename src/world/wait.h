/* Waiting for what a dead process may never send: calls that block are made of others that can be left. */
#ifndef SK_WORLD_WAIT_H
#define SK_WORLD_WAIT_H

#include "world/layer.h"
#include "world/rest/rest.h"

extern struct sk_rest sk_world_rest;
void sk_world_sleeps(void);

/* After a repair: this process looks for messages; and it found one, or goes on for another reason. Its keeper looks at how often, so that
 * the launcher hears when all processes wait for each other, as the messages of one did not fit those of the others. Where it looks for long, it sleeps
 * between two looks. */
static inline void sk_looks(void)
{
    if (__builtin_expect(sk_world.epoch && !sk_world.replicates, 0)) {
        atomic_fetch_add_explicit(&sk_world.page->looks, 1, memory_order_relaxed);
        if (sk_rest_is_due(&sk_world_rest))
            sk_world_sleeps();
    }
}
static inline void sk_finds(void)
{
    if (__builtin_expect(sk_world.epoch && !sk_world.replicates, 0)) {
        atomic_fetch_add_explicit(&sk_world.page->finds, 1, memory_order_relaxed);
        sk_world_rest = (struct sk_rest){0};
    }
}

/* Wait for a request that the layer made itself. */
int sk_wait(MPI_Request *r, MPI_Status *status, int quiet);

#endif
