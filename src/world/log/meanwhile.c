/* One-sided communication, files, processes that are started, inter-communicators of MPI's own: what the protocol logging does not have is MPI's affair, and
 * may wait there for another process, which itself waits for a collective that this one has begun and does not go on with. A program that is right without the
 * layer would hang. Where MPI waits it looks again and again for what has happened (opal_progress), and takes functions that are called then, as its own parts
 * have them. So the layer goes on from there.
 *
 * It does so only where none of its own functions is at work: the program has called one of MPI's that is not wrapped, or the layer has said that it
 * calls one for it (SK_CALL_ASIDE). */
#include "world/log/meanwhile.h"

#include "world/log/held.h"
#include "world/next/next.h"


static _Thread_local int is_here; /* MPI is this thread's */

static int look(void)
{
    static int is_busy;
    if (is_busy || !(sk_logging.held || sk_logging.later) || !is_here || sk_world_depth > sk_world_aside)
        return 0;
    int depth = sk_world_depth, aside = sk_world_aside;
    is_busy = 1;
    sk_world_depth = sk_world_aside = 0;
    sk_held_progress();
    sk_world_depth = depth;
    sk_world_aside = aside;
    is_busy = 0;
    return 0;
}

void sk_meanwhile_begin(void)
{
    typedef int (*add)(int (*)(void));
    static int is_added;
    union {
        void *found;
        add call;
    } f = {sk_next_find("opal_progress_register")};
    is_here = 1;
    if (!is_added && f.call)
        is_added = !f.call(look);
}
