/* Begin and end of MPI in this process, and what belongs to handles as such. */
#include "world/broken/broken.h"
#include "world/direct.h"
#include "world/form/form.h"
#include "world/form/place.h"
#include "world/layer.h"
#include "world/log/log.h"
#include "world/repair.h"
#include "world/replica/leave.h"
#include "world/warm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How a repair goes is chosen, and errors are the form's affair from now on, unless nothing is to be repaired. */
static void choose_form(int level, int copies)
{
    const struct sk_repair_ops *form = sk_form_choose(copies);
    sk_logging_choose(form ? getenv(SK_WORLD_LOG_ENV) : NULL);
#ifdef OPEN_MPI
    if (form == &sk_repair_group)
        sk_broken_begin();
#endif
    if (form && level <= MPI_THREAD_FUNNELED && !copies && sk_form_guard(MPI_COMM_WORLD))
        sk_world_cannot(SK_WORLD_MPI, "this MPI takes no error handler of the layer's");
}

/* Whose calls follow each other can be replicated as long as one thread makes them. In place its stack is left, and with it whatever keeps the other
 * threads from calling MPI meanwhile. */
static int is_too_much(int level, int copies)
{
    return level > (copies ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED);
}

/* What is lacking is said. */
static void look_what_lacks(int level, int copies)
{
    const struct sk_repair_ops *form = sk_form();
    if (!form)
        sk_world_cannot(SK_WORLD_MPI, "this MPI cannot be repaired in place (Open MPI 4 can, and Open MPI 5 that was made and started with its fault tolerance)");
    else if (copies && !form->replicates)
        sk_world_cannot(SK_WORLD_MPI, "run.protocol=replication needs Open MPI 4, or Open MPI 5 that was made and started with its fault tolerance: no twin takes over with this MPI");
    else if (is_too_much(level, copies))
        sk_world_cannot(SK_WORLD_THREADS, level > MPI_THREAD_SERIALIZED ? "calls of MPI by several threads (the program asked for MPI_THREAD_MULTIPLE)"
                                                                      : "calls of MPI by several threads (the program asked for MPI_THREAD_SERIALIZED)");
}

/* MPI has begun: from now on handles are remembered, when the keeper wants that and all is there for it. */
static void arm(int level)
{
    const char *told = getenv(SK_WORLD_ENV), *join = getenv(SK_WORLD_JOIN_ENV), *spares = getenv(SK_WORLD_RANKS_ENV),
               *copies = getenv(SK_WORLD_COPIES_ENV);
    struct saikai_error err = {0};
    if (!told || sk_keeper_page_attach(&sk_world.page, &err) || !sk_world.page)
        return;
    atomic_store(&sk_world.page->within, 1);
    sk_world.keeper = strtol(told, NULL, 10);
    uint32_t epoch = join ? (uint32_t)strtoul(join, NULL, 10) : 0;
    SK_CALL(Comm_rank, (MPI_COMM_WORLD, &sk_world.rank));
    SK_CALL(Comm_size, (MPI_COMM_WORLD, &sk_world.size));
    sk_world.comm = MPI_COMM_WORLD;
    sk_world.armed = 1;
    sk_world_tell(SK_WORLD_OUTSIDE, SK_WORLD_FINE);
    choose_form(level, copies != NULL);
    sk_place_begin();
    int ranks = spares ? (int)strtol(spares, NULL, 10) : 0;
    if (copies)
        sk_replica_begin(copies);
    else if (epoch)
        sk_join(epoch);
    else if (ranks > 0 && ranks < sk_world.size)
        sk_warm_begin(ranks);
    if (!copies && !epoch)
        sk_repair_begin();
    look_what_lacks(level, copies != NULL);
    if (sk_world.cannot) { /* nothing is remembered then, by whichever thread */
        sk_world.unwatched = 1;
        sk_world.armed = sk_warm_is_on() || copies;
        sk_world.replicates = 0;
        if (copies)
            sk_replica_leave_at_once();
    }
    if (level == MPI_THREAD_SERIALIZED && sk_world.replicates)
        sk_world_expect_one_thread();
    unsetenv(SK_WORLD_ENV); /* programs that this one starts are no ranks */
    unsetenv(SK_WORLD_JOIN_ENV);
    unsetenv(SK_WORLD_RANKS_ENV);
    unsetenv(SK_WORLD_HOSTS_ENV);
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
static int finalize(void)
{
    if (!SK_PLAIN && sk_world.replicates)
        return sk_replica_finalize();
    if (!SK_PLAIN)
        sk_world_end_body(); /* it has not returned where it calls this itself */
    if (SK_PLAIN || sk_warm_end())
        return SK_CALL(Finalize, ());
    int rc = sk_form_meet(sk_world.comm);
    sk_world.done = 1;
    return rc;
}

SK_WRAP(Finalize, (void))
{
    int rc = finalize();
    if (sk_world.page && !sk_world_depth)
        atomic_store(&sk_world.page->within, 0);
    return rc;
}

SK_WRAP(Get_processor_name, (char *name, int *resultlen))
{
    if (SK_PLAIN || !*sk_world.host)
        return SK_CALL(Get_processor_name, (name, resultlen));
    *resultlen = (int)strlen(sk_world.host);
    memcpy(name, sk_world.host, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
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

/* Of MPI_COMM_WORLD it holds for whatever that is after a repair. */
SK_WRAP(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler errhandler))
{
    if (SK_PLAIN)
        return SK_CALL(Comm_set_errhandler, (sk_comm(comm), errhandler));
    int rc = sk_form_set_errors(comm, errhandler);
    if (!rc && comm == MPI_COMM_WORLD && sk_world.epoch)
        rc = sk_form_guard(MPI_COMM_WORLD);
    return rc;
}

SK_WRAP(Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler *errhandler))
{
    return SK_PLAIN ? SK_CALL(Comm_get_errhandler, (sk_asked(comm), errhandler)) : sk_form_get_errors(comm, errhandler);
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
    int rc = SK_CALL_ASIDE(Comm_free, (comm)); /* what deletes attributes asks for its place in it */
    if (rc)
        return rc;
    sk_made_forget(key);
    sk_objects_remove(&sk_world.comms, key);
    return 0;
}

SK_WRAP(Comm_disconnect, (MPI_Comm *comm))
{
    uint64_t key = SK_KEY(*comm);
    if (!SK_PLAIN)
        sk_direct_forget(*comm);
    int rc = SK_CALL_ASIDE(Comm_disconnect, (comm));
    if (rc || SK_PLAIN)
        return rc;
    sk_made_forget(key);
    sk_objects_remove(&sk_world.comms, key);
    return 0;
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
