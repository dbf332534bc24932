/* The wrappers that are all alike, made from the table. */
#include "world/layer.h"
#include "world/log/log.h"
#include "world/replica/replica.h"
#include "world/view/attached.h"

#define SK_ASK(name, params, args)    \
    SK_WRAP(name, params)             \
    {                                 \
        return SK_CALL(name, args);   \
    }

#define SK_MAKE(name, params, args, made, parent) SK_MAKE_AND(name, params, args, made, parent, 0)
#define SK_COPY(name, params, args, made, parent) SK_MAKE_AND(name, params, args, made, parent, sk_attached_copy(made))

#define SK_MAKE_AND(name, params, args, made, parent, and)\
    SK_WRAP(name, params)                                 \
    {                                                     \
        int plain = SK_PLAIN, rc;                         \
        if (!plain && (rc = sk_world_enter(parent)))      \
            return rc;                                    \
        if (!plain && sk_replicates(parent))              \
            sk_replica_refuse("MPI_" #name);              \
        rc = SK_CALL(name, args);                         \
        if (!plain && !rc && (parent) == MPI_COMM_WORLD) {\
            rc = and;                                     \
            if (!rc && *made != MPI_COMM_NULL)            \
                sk_attached_inherit(*made);               \
        }                                                 \
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

#define SK_START(name, params, args, made, comm, flags)   \
    SK_WRAP(name, params)                                 \
    {                                                     \
        int plain = SK_PLAIN, rc;                         \
        if (!plain && (rc = sk_world_enter(comm)))        \
            return rc;                                    \
        if (!plain && sk_replicates(comm))                \
            sk_replica_refuse("MPI_" #name);              \
        if (!plain && sk_logs(comm))                      \
            sk_logging_refuse("MPI_" #name);                 \
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
        if (!plain && sk_logs(comm))                      \
            sk_logging_refuse("MPI_" #name);                 \
        rc = SK_CALL(name, args);                         \
        if (!plain && !rc)                                \
            sk_made_receive(*made, comm, source, flags);  \
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

#define SK_OWN(name, file)
#define SK_LEFT(name)

#include "world/functions.def"
