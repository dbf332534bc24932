/* Begin and end of MPI in this process, and what belongs to handles as such. */
#include "world/direct.h"
#include "world/layer.h"
#include "world/log/log.h"
#include "world/repair.h"
#include "world/replica/replica.h"
#include "world/warm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 1: a world of this MPI can be repaired. */
static int can_be_repaired(void)
{
#if defined OPEN_MPI && OMPI_MAJOR_VERSION == 4
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int n = 0;
    SK_CALL(Get_library_version, (version, &n)); /* Open MPI 5 has the same SONAME */
    return !strncmp(version, "Open MPI v4.", 12);
#else
    return 0;
#endif
}

/* MPI has begun: from now on handles are remembered, when the keeper wants that and all is there for it. */
static void arm(int level)
{
    const char *told = getenv(SK_WORLD_ENV), *join = getenv(SK_WORLD_JOIN_ENV), *spares = getenv(SK_WORLD_RANKS_ENV),
               *copies = getenv(SK_WORLD_COPIES_ENV);
    struct saikai_error err = {0};
    if (!told || sk_keeper_page_attach(&sk_world.page, &err) || !sk_world.page)
        return;
    sk_world.keeper = strtol(told, NULL, 10);
    uint32_t epoch = join ? (uint32_t)strtoul(join, NULL, 10) : 0;
    SK_CALL(Comm_rank, (MPI_COMM_WORLD, &sk_world.rank));
    SK_CALL(Comm_size, (MPI_COMM_WORLD, &sk_world.size));
    sk_world.comm = MPI_COMM_WORLD;
    sk_world.armed = 1;
    sk_world_tell(SK_WORLD_OUTSIDE, SK_WORLD_FINE);
    sk_logging_choose(getenv(SK_WORLD_LOG_ENV));
    int ranks = spares ? (int)strtol(spares, NULL, 10) : 0;
    if (copies)
        sk_replica_begin(copies);
    else if (epoch)
        sk_join(epoch);
    else if (ranks > 0 && ranks < sk_world.size)
        sk_warm_begin(ranks);
    if (!can_be_repaired())
        sk_world_cannot(SK_WORLD_MPI, "this MPI cannot be repaired in place (Open MPI 4 can)");
    else if (level > MPI_THREAD_FUNNELED)
        sk_world_cannot(SK_WORLD_THREADS, "threads may call MPI");
    if (sk_world.cannot) { /* nothing is remembered then, by whichever thread */
        sk_world.unwatched = 1;
        sk_world.armed = sk_warm_is_on() || copies;
        sk_world.replicates = 0;
    }
    unsetenv(SK_WORLD_ENV); /* programs that this one starts are no ranks */
    unsetenv(SK_WORLD_JOIN_ENV);
    unsetenv(SK_WORLD_RANKS_ENV);
    unsetenv(SK_WORLD_LOG_ENV);
    unsetenv(SK_WORLD_COPIES_ENV);
}

SK_WRAP(Init, (int *argc, char ***argv))
{
    int rc = SK_CALL(Init, (argc, argv)), level = MPI_THREAD_SINGLE;
    if (!rc && !sk_world_depth) {
        SK_CALL(Query_thread, (&level));
        arm(level);
    }
    return rc;
}

SK_WRAP(Init_thread, (int *argc, char ***argv, int required, int *provided))
{
    int rc = SK_CALL(Init_thread, (argc, argv, required, provided));
    if (!rc && !sk_world_depth)
        arm(*provided);
    return rc;
}

/* After a repair the real one would wait for the dead. What was sent has arrived when all have come here. */
SK_WRAP(Finalize, (void))
{
    MPI_Request r = MPI_REQUEST_NULL;
    if (!SK_PLAIN && sk_world.replicates)
        return sk_replica_finalize();
    if (SK_PLAIN || sk_warm_end())
        return SK_CALL(Finalize, ());
    int rc = SK_CALL(Ibarrier, (sk_world.comm, &r));
    for (int done = 0; !rc && !done;) {
        rc = SK_CALL(Test, (&r, &done, MPI_STATUS_IGNORE));
        if (!done)
            usleep(100);
    }
    sk_world.done = 1;
    return rc;
}

SK_WRAP(Finalized, (int *flag))
{
    int rc = SK_CALL(Finalized, (flag));
    if (!rc && sk_world.done)
        *flag = 1;
    return rc;
}

/* Whoever takes the place of a dead process was not spawned, as far as the program knows. */
SK_WRAP(Comm_get_parent, (MPI_Comm *parent))
{
    if (!SK_PLAIN && sk_world.epoch) {
        *parent = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    return SK_CALL(Comm_get_parent, (parent));
}

/* What belongs to the world before a repair is let go of, and not freed: that would be a matter of all its processes. */
static int is_stale(const struct sk_objects *t, uint64_t key)
{
    const struct sk_object *o = sk_world.epoch ? sk_objects_find(t, key) : NULL;
    return o && o->epoch != sk_world.epoch;
}

SK_WRAP(Comm_free, (MPI_Comm *comm))
{
    if (SK_PLAIN)
        return SK_CALL(Comm_free, (comm));
    uint64_t key = SK_KEY(*comm);
    if (is_stale(&sk_world.comms, key) || (sk_careful() && sk_pending() && sk_world_is_quiet(*comm))) {
        *comm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    sk_direct_forget(*comm);
    int rc = SK_CALL(Comm_free, (comm));
    if (!rc)
        sk_objects_remove(&sk_world.comms, key);
    return rc;
}

SK_WRAP(Comm_disconnect, (MPI_Comm *comm))
{
    uint64_t key = SK_KEY(*comm);
    if (!SK_PLAIN)
        sk_direct_forget(*comm);
    int rc = SK_CALL(Comm_disconnect, (comm));
    if (!rc && !SK_PLAIN)
        sk_objects_remove(&sk_world.comms, key);
    return rc;
}

SK_WRAP(Group_free, (MPI_Group *group))
{
    if (SK_PLAIN)
        return SK_CALL(Group_free, (group));
    uint64_t key = SK_KEY(*group);
    if (is_stale(&sk_world.groups, key)) {
        *group = MPI_GROUP_NULL;
        return MPI_SUCCESS;
    }
    int rc = SK_CALL(Group_free, (group));
    if (!rc)
        sk_objects_remove(&sk_world.groups, key);
    return rc;
}
