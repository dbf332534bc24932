/* What the files of the hooks share: the protocol, and how a function of MPI is wrapped before the layer's own wrapper. */
#ifndef SK_WORLD_HOOKS_HOOK_H
#define SK_WORLD_HOOKS_HOOK_H

#include "world/hooks/hooks.h"
#include "world/protocol/protocol.h"
#include "world/world.h"

#include <mpi.h>
#include <stdint.h>

#ifdef OPEN_MPI
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_group_null
#pragma weak ompi_request_null
#pragma weak ompi_mpi_byte
#endif

#define SK_HOOKS_EXPORT __attribute__((visibility("default")))

struct sk_hooks {
    const struct sk_protocol_ops *protocol; /* NULL: nobody wants to know anything */
    struct saikai_world world;
    MPI_Comm own; /* of all ranks, for what the hooks exchange; MPI_COMM_NULL: to be made */
};
extern struct sk_hooks sk_hooks;
/* > 0: the layer or MPI is at work, whose calls of MPI are not the program's. */
extern _Thread_local int sk_hooks_inside __attribute__((tls_model("initial-exec")));

/* The next function of this name: the layer's. Does not return without one. */
void *sk_hooks_next(const char *name);

#define SK_NEXT(name, args)                                             \
    ({                                                                  \
        static __typeof__(&PMPI_##name) next_;                          \
        int was_ = sk_hooks_inside;                                     \
        if (!next_)                                                     \
            next_ = (__typeof__(next_))sk_hooks_next("PMPI_" #name);    \
        sk_hooks_inside = 1;                                            \
        int rc_ = next_ args;                                           \
        sk_hooks_inside = was_;                                         \
        rc_;                                                            \
    })
#define SK_UNHOOKED (!sk_hooks.protocol || sk_hooks_inside)
#define SK_HOOK(name, params)                                                                        \
    extern __typeof__(MPI_##name) MPI_##name __attribute__((alias("PMPI_" #name), visibility("default"))); \
    SK_HOOKS_EXPORT int PMPI_##name params

#endif
