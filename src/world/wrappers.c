/* The wrappers that are all alike, made from the table. */
#include "world/comms/attributes.h"
#include "world/comms/bound.h"
#include "world/comms/make.h"
#include "world/layer.h"
#include "world/log/log.h"
#include "world/replica/decide.h"
#include "world/replica/replica.h"

#define SK_ASK(name, params, args)    \
    SK_WRAP(name, params)             \
    {                                 \
        return SK_CALL(name, args);   \
    }

/* What the layer makes itself of an inter-communicator. */
static struct sk_members *makes_of(MPI_Comm parent, int copies, const char *what)
{
    struct sk_members *g = sk_logs_on(parent);
    if (!g || !g->remote || copies)
        return g;
    sk_world_cannot(SK_WORLD_FUNCTION, what);
    return NULL;
}

#define SK_MAKE(name, params, args, made, parent, own) SK_MAKE_AND(name, params, args, made, parent, own, 0, 0, 1)
#define SK_MAKE_OF(name, params, args, made, parent, own) SK_MAKE_AND(name, params, args, made, parent, own, 0, 0, 0)
#define SK_COPY(name, params, args, made, parent, own) \
    SK_MAKE_AND(name, params, args, made, parent, own, 1, (parent) == MPI_COMM_WORLD && !sk_attributes_are_copied() ? sk_attributes_copy(made) : 0, 1)

#define SK_MAKE_AND(name, params, args, made, parent, own, copies, and, meets) \
    SK_WRAP(name, params)                                 \
    {                                                     \
        int plain = SK_PLAIN, rc;                         \
        struct sk_members *g;                             \
        if (!plain && (rc = sk_world_enter(parent)))      \
            return rc;                                    \
        if (!plain && (g = makes_of(parent, copies, "MPI_" #name " of an inter-communicator")) && (rc = sk_make_##name own) != SK_MAKE_BY_MPI) \
            return rc;                                    \
        if (!plain && sk_replicates(parent))              \
            sk_replica_refuse("MPI_" #name);              \
        if (!plain && (rc = sk_bound_begin(parent, meets))) \
            return rc;                                    \
        rc = SK_CALL_ASIDE(name, args);                        \
        if (!plain)                                       \
            sk_bound_end();                               \
        if (!plain && !rc)                                \
            rc = and;                                     \
        if (!plain && !rc)                                \
            sk_made_comm(*made, parent);                  \
        return rc;                                        \
    }

#define SK_GROUP(name, params, args, made)  \
    SK_WRAP(name, params)                   \
    {                                       \
        int plain = SK_PLAIN;               \
        int rc = SK_CALL(name, args);       \
        if (!plain && !rc)                  \
            sk_made_group(*made);           \
        return rc;                          \
    }

#define SK_REFUSE(name, params, args, comm)                       \
    SK_WRAP(name, params)                                         \
    {                                                             \
        int rc;                                                   \
        if (!SK_PLAIN) {                                          \
            sk_world_cannot(SK_WORLD_FUNCTION, "MPI_" #name);     \
            if ((rc = sk_world_enter(comm)))                      \
                return rc;                                        \
        }                                                         \
        return SK_CALL_ASIDE(name, args);                               \
    }

/* What is received of it later could not be told as the communicator has it. */
#define MATCH_Mprobe  (source, tag, NULL, message, status)
#define MATCH_Improbe (source, tag, flag, message, status)
#define SK_MATCHED(name, params, args, comm)                                                            \
    SK_WRAP(name, params)                                                                               \
    {                                                                                                   \
        int rc;                                                                                         \
        if (!SK_PLAIN) {                                                                                \
            if ((rc = sk_made_takes("MPI_" #name, comm, tag)))                                          \
                return rc;                                                                              \
            sk_world_cannot(SK_WORLD_FUNCTION, "MPI_" #name);                                           \
            if ((rc = sk_world_enter(comm)))                                                            \
                return rc;                                                                              \
            if (sk_replicates(comm) && source != MPI_PROC_NULL)                                         \
                return sk_replica_match MATCH_##name;                                                   \
        }                                                                                               \
        return SK_CALL_ASIDE(name, args);                                                                     \
    }

#define SK_OWN(name, file)
#define SK_LEFT(name)

#include "world/functions.def"
