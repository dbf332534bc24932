/* Looking for a message without receiving it. */
#include "world/log/held.h"
#include "world/log/log.h"
#include "world/replica/decide.h"
#include "world/replica/message.h"

/* flag NULL: until there is a message. */
static int probe_with_twins(struct sk_members *g, MPI_Comm comm, int source, int tag, int *flag, MPI_Status *status)
{
    int lane, found = 0, rc = sk_replica_address(g, comm, &source, &tag, 1, &lane);
    if (!rc && source == MPI_PROC_NULL)
        return SK_CALL(Iprobe, (source, tag, sk_world.comm, flag ? flag : &found, status));
    while (!rc && !found) {
        rc = sk_replica_probe(lane, source, tag, &found, status, !flag);
        if (flag)
            break;
    }
    if (!rc && found)
        sk_logging_translate(g, status);
    if (flag)
        *flag = found;
    return rc;
}

SK_WRAP(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status))
{
    int rc, found = 0;
    if (SK_PLAIN)
        return SK_CALL(Probe, (source, tag, comm, status));
    if ((rc = sk_world_enter(comm)))
        return rc;
    struct sk_members *g = sk_replicates_on(comm);
    if (g)
        return probe_with_twins(g, comm, source, tag, NULL, status);
    g = source == MPI_PROC_NULL ? NULL : sk_logs_on(comm);
    if (g) {
        rc = sk_logging_address(g, comm, &source, &tag, 1);
        return rc ? rc : sk_logging_probe(g, source, tag, NULL, status);
    }
    do {
        if ((rc = sk_world_enter(comm)))
            return rc;
        sk_held_progress();
        rc = SK_CALL(Iprobe, (source, tag, sk_comm(comm), &found, status));
    } while (!rc && !found);
    return rc;
}

SK_WRAP(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status))
{
    int rc;
    if (!SK_PLAIN) {
        if ((rc = sk_world_enter(comm)))
            return rc;
        struct sk_members *g = sk_replicates_on(comm);
        if (g)
            return probe_with_twins(g, comm, source, tag, flag, status);
        g = source == MPI_PROC_NULL ? NULL : sk_logs_on(comm);
        if (g) {
            rc = sk_logging_address(g, comm, &source, &tag, 1);
            return rc ? rc : sk_logging_probe(g, source, tag, flag, status);
        }
    }
    return SK_CALL(Iprobe, (source, tag, sk_comm(comm), flag, status));
}
