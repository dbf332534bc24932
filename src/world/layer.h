/* What the files of the layer share: the one struct of this process, and how a function of MPI is wrapped. Compiled for each MPI.
 *
 * Each wrapper defines PMPI_X, with MPI_X as its alias: Fortran's libraries call PMPI_X alone. The real one is found by its name when
 * it is first called. The layer is preloaded into everything that a rank starts, shells included, so it needs no library of MPI: MPI's
 * own objects are weak. */
#ifndef SK_WORLD_LAYER_H
#define SK_WORLD_LAYER_H

#include "backbone/keeper_page.h"
#include "world/objects.h"
#include "world/world.h"

#include <mpi.h>
#include <setjmp.h>
#include <stdint.h>

#ifdef OPEN_MPI
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_group_null
#pragma weak ompi_mpi_group_empty
#pragma weak ompi_request_null
#pragma weak ompi_mpi_info_null
#pragma weak ompi_mpi_datatype_null
#pragma weak ompi_mpi_op_null
#pragma weak ompi_mpi_errors_return
#pragma weak ompi_mpi_errors_are_fatal
#pragma weak ompi_mpi_packed
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_uint64_t
#else
#pragma weak MPI_UNWEIGHTED
#endif

#define SK_WORLD_EXPORT __attribute__((visibility("default")))

struct sk_world {
    int armed;        /* the keeper wants this process repairable, and MPI was begun */
    int unwatched;    /* nothing is remembered: MPI_COMM_WORLD alone is translated */
    int in_body;      /* can be left */
    int communicated; /* before saikai_in_place */
    int cannot;       /* said, and told to the launcher */
    int logs;         /* the protocol logging is at work (log.h) */
    int replicates;   /* the protocol replication is (replica/replica.h) */
    int one_thread;   /* the program may call MPI by other threads than that which began it, and has not */
    int makes;        /* one of these was chosen: the layer makes communicators itself (comms/made.h) */
    int done;         /* MPI_Finalize after a repair: the real one would wait for the dead */
    int rank, size;   /* in MPI_COMM_WORLD */
    long keeper;      /* its process */
    char host[MPI_MAX_PROCESSOR_NAME]; /* where this process says that it runs; "": where it does */
    uint32_t epoch;   /* the newest repair that this process went through */
    MPI_Comm comm;    /* what MPI_COMM_WORLD means now */
    MPI_Errhandler errors; /* of MPI_COMM_WORLD, when has_errors */
    int has_errors;
    struct sk_keeper_page *page;
    struct sk_objects comms, groups, requests;
    jmp_buf back;
};
extern struct sk_world sk_world;
/* > 0: MPI itself is at work. The layer is there from the beginning of the process, so this costs no call. */
extern _Thread_local int sk_world_depth __attribute__((tls_model("initial-exec")));

/* Up to this depth none of the layer's functions is at work, and what it has open may go on (log/meanwhile.h). */
extern _Thread_local int sk_world_aside __attribute__((tls_model("initial-exec")));

/* The real function of this name, by which the program would have been served. Does not return without one. */
void *sk_world_real(const char *name);

/* The arguments are evaluated when depth counts this call. */
#define SK_CALL(name, args)                                             \
    ({                                                                  \
        static __typeof__(&PMPI_##name) real_;                          \
        if (!real_)                                                     \
            real_ = (__typeof__(real_))sk_world_real("PMPI_" #name);    \
        sk_world_depth++;                                               \
        int rc_ = real_ args;                                           \
        sk_world_depth--;                                               \
        rc_;                                                            \
    })
/* The same of what may wait in MPI for other processes, where the layer has nothing half done. */
#define SK_CALL_ASIDE(name, args)                                       \
    ({                                                                  \
        int was_ = sk_world_aside;                                      \
        if (sk_world_depth <= was_)                                     \
            sk_world_aside = sk_world_depth + 1;                        \
        int rc_aside_ = SK_CALL(name, args);                            \
        sk_world_aside = was_;                                          \
        rc_aside_;                                                      \
    })
/* From now on another thread's first call of MPI cannot be replicated. The other one is called for each, and returns 0. */
void sk_world_expect_one_thread(void);
int sk_world_look_who_calls(void);
/* Call it as it is: nobody is to be repaired, or MPI calls itself. */
#define SK_PLAIN (__builtin_expect(!sk_world.armed || sk_world_depth, 1) || (__builtin_expect(sk_world.one_thread, 0) && sk_world_look_who_calls()))
#define SK_ALIAS(name) extern __typeof__(MPI_##name) MPI_##name __attribute__((alias("PMPI_" #name), visibility("default")));
#define SK_WRAP(name, params) \
    SK_ALIAS(name)            \
    SK_WORLD_EXPORT int PMPI_##name params

/* Handles as keys: pointers on Open MPI, numbers on MPICH. */
#define SK_KEY(handle) ((uint64_t)(uintptr_t)(handle))

/* The communicator that MPI is to be given for the program's. */
MPI_Comm sk_world_translate(MPI_Comm c);
static inline MPI_Comm sk_comm(MPI_Comm c)
{
    return sk_world.armed && sk_world_depth <= 1 ? sk_world_translate(c) : c;
}
/* The same for what is asked of MPI's object alone: one that the layer made itself is what the program has. */
MPI_Comm sk_world_own(MPI_Comm c);
static inline MPI_Comm sk_asked(MPI_Comm c)
{
    return sk_world.armed && sk_world_depth <= 1 ? sk_world_own(c) : c;
}
/* The same group, if it is of this world. */
MPI_Group sk_group(MPI_Group g);

/* 1: a repair is wanted. */
static inline int sk_pending(void)
{
    return atomic_load_explicit(&sk_world.page->repair, memory_order_acquire) > sk_world.epoch;
}

/* What is done before each call that communicates: 0: go on; else the error to give back to the library. Leaves the body when a
 * repair is wanted. */
int sk_world_enter(MPI_Comm c);
/* 1: blocking calls are to be made of others that can be left. */
static inline int sk_careful(void)
{
    return sk_world.in_body && !sk_world.cannot;
}
/* Leave the body for the repair, or return 0: it is done, and this process goes on where it is. For the library's own communication
 * (quiet) nothing is done, and an error is returned. */
int sk_world_give_way(int quiet);
int sk_world_is_quiet(MPI_Comm c);
/* The body has come to its end, or MPI comes to its in it: from here on nothing is repaired. */
void sk_world_end_body(void);

/* This process cannot be repaired from now on; the sentence says what, once, and goes on ": …". */
void sk_world_cannot(enum sk_world_reason why, const char *what);
/* Nothing can go on here: tells the launcher, and waits to be ended. */
void sk_world_fail(enum sk_world_reason why, const char *what) __attribute__((noreturn));
void sk_world_tell(enum sk_world_state state, enum sk_world_reason why);
void sk_world_say(const char *line);

/* Communicators, groups and requests that MPI made: they are remembered. parent: whose quietness goes over. */
void sk_made_comm(MPI_Comm made, MPI_Comm parent);
void sk_made_group(MPI_Group made);
struct sk_object *sk_made_request(MPI_Request made, MPI_Comm c, uint32_t flags);
void sk_made_receive(MPI_Request made, MPI_Comm c, int source, uint32_t flags);

/* Bytes of an element that lies in memory without gaps; -1: it does not. */
int sk_plain_bytes(MPI_Datatype type);

/* A request has ended: copy back what it worked on, and forget it. */
void sk_request_ended(uint64_t key);

#endif
