/* A call that makes a communicator ends when all of its processes have made it, and one of them that is dead never does. Of a form that wakes whoever is
 * in such a call (form/form.h) nothing of this is needed, and where a protocol makes communicators nobody waits inside MPI. */
#include "world/comms/bound.h"

#include "world/collective.h"
#include "world/form/form.h"
#include "world/layer.h"
#include "world/log/log.h"

/* The same on all ranks, where it says whether they meet. */
static int is_meant(void)
{
    return sk_world.in_body && !sk_world.replicates && !(sk_form() && sk_form()->wake);
}

static int is_bound(void)
{
    return sk_world.page && atomic_load_explicit(&sk_world.page->bound, memory_order_relaxed) & 1;
}

/* Under the protocol logging what MPI makes is the library's. Behind saikai_restart survivors stay where they are, and would wait for what the world before has begun;
 * and whoever dies while only a new process comes back makes it a restart in any case. The same on all ranks. */
static int can_leave(void)
{
    return !sk_logging.chosen || (!sk_logging.restarted && !sk_logging.joining);
}

int sk_bound_begin(MPI_Comm comm, int meets)
{
    int rc = 0;
    if (!is_meant())
        return 0;
    if (meets && can_leave())
        rc = sk_collective_meet(comm);
    if (!rc && !is_bound())
        atomic_fetch_add(&sk_world.page->bound, 1);
    return rc;
}

void sk_bound_end(void)
{
    if (is_bound())
        atomic_fetch_add(&sk_world.page->bound, 1);
}
