/* The wrappers that are all alike, made from the table. */
#include "world/comms/make.h"
#include "world/layer.h"
#include "world/log/log.h"
#include "world/replica/replica.h"

#define SK_ASK(name, params, args)    \
    SK_WRAP(name, params)             \
    {                                 \
        return SK_CALL(name, args);   \
    }

#define SK_MAKE(name, params, args, made, parent, own)    \
    SK_WRAP(name, params)                                 \
    {                                                     \
        int plain = SK_PLAIN, rc;                         \
        struct sk_members *g;                             \
        if (!plain && (rc = sk_world_enter(parent)))      \
            return rc;                                    \
        if (!plain && (g = sk_logs_on(parent)) && (rc = sk_make_##name own) != SK_MAKE_BY_MPI) \
            return sk_replica_prepare(rc, *made);         \
        if (!plain && sk_replicates(parent))              \
            sk_replica_refuse("MPI_" #name);              \
        rc = SK_CALL(name, args);                         \
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

/* A message that a protocol does not have meets those that it has (replica/replica.h). */
#define SK_TO_LANE(peer, receives, g)                                                                       \
    struct sk_members *g = plain || !sk_world.replicates ? NULL : sk_made_members(comm);                    \
    if (g && (rc = sk_replica_redirect(g, &comm, &peer, &tag, receives)))                                   \
        return rc;

#define SK_START(name, params, args, made, comm, flags)   \
    SK_WRAP(name, params)                                 \
    {                                                     \
        int plain = SK_PLAIN, rc;                         \
        if (!plain && (rc = sk_world_enter(comm)))        \
            return rc;                                    \
        if (!plain && sk_replicates(comm))                \
            sk_replica_refuse("MPI_" #name);              \
        if (!plain && sk_logs_on(comm))                      \
            sk_logging_refuse("MPI_" #name);                 \
        SK_TO_LANE(dest, 0, g)                            \
        rc = SK_CALL(name, args);                         \
        if (!plain && !rc)                                \
            sk_made_request(*made, comm, flags);          \
        return rc;                                        \
    }

#define SK_RECEIVE(name, params, args, made, comm, flags) \
    SK_WRAP(name, params)                                 \
    {                                                     \
        int plain = SK_PLAIN, rc;                         \
        if (!plain && (rc = sk_world_enter(comm)))        \
            return rc;                                    \
        if (!plain && sk_replicates(comm))                \
            sk_replica_refuse("MPI_" #name);              \
        if (!plain && sk_logs_on(comm))                      \
            sk_logging_refuse("MPI_" #name);                 \
        SK_TO_LANE(source, 1, g)                          \
        rc = SK_CALL(name, args);                         \
        if (!plain && !rc)                                \
            sk_made_receive(*made, comm, source, flags);  \
        if (g && !rc)                                     \
            sk_logging_tell_members(SK_KEY(*made), g);    \
        return rc;                                        \
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
        return SK_CALL(name, args);                               \
    }

#define SK_BUFFERED(name, params, args, comm)                     \
    SK_WRAP(name, params)                                         \
    {                                                             \
        int plain = SK_PLAIN, rc;                                 \
        if (!plain) {                                             \
            sk_world_cannot(SK_WORLD_FUNCTION, "MPI_" #name);     \
            if ((rc = sk_world_enter(comm)))                      \
                return rc;                                        \
        }                                                         \
        SK_TO_LANE(dest, 0, g)                                    \
        return SK_CALL(name, args);                               \
    }

/* What is received of it later could not be told as the communicator has it. */
#define SK_MATCHED(name, params, args, comm)                                                            \
    SK_WRAP(name, params)                                                                               \
    {                                                                                                   \
        int rc;                                                                                         \
        if (!SK_PLAIN) {                                                                                \
            if (sk_world.replicates && comm != MPI_COMM_WORLD && sk_made_members(comm))                 \
                return sk_replica_without("MPI_" #name, comm);                                          \
            sk_world_cannot(SK_WORLD_FUNCTION, "MPI_" #name);                                           \
            if ((rc = sk_world_enter(comm)))                                                            \
                return rc;                                                                              \
        }                                                                                               \
        return SK_CALL(name, args);                                                                     \
    }

#define SK_OWN(name, file)
#define SK_LEFT(name)

#include "world/functions.def"
