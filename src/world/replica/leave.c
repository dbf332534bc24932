/* What is not replicated is done by the first copies, with ranks that are one process. So a second copy tells all that it goes, is for them
 * as one that died, and waits in MPI's end for theirs. A death is a restart from then on in any case. */
#include "world/replica/leave.h"

#include "world/replica/control.h"

#include <unistd.h>

void sk_replica_leave_at_once(void)
{
    if (!sk_replica.copy)
        return;
    SK_CALL(Finalize, ());
    atomic_store(&sk_world.page->within, 0);
    _exit(0);
}

void sk_replica_leave(void)
{
    if (!sk_replica.copy)
        return;
    int self = sk_replica_process(1, sk_world.rank);
    for (int p = 0; p < sk_replica.processes; p++)
        if (p != self && !sk_replica.dead[p])
            sk_control_tell(p, (uint64_t[]){SK_CONTROL_GONE}, 1);
    sk_control_drain();
    sk_replica_leave_at_once();
}
