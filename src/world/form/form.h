/* How the world of those who live is made again: forms of repair, one for each way in which an MPI lets survivors go on. The form is chosen
 * when MPI has begun, from what the MPI of this process offers as it was started; all processes of a job come to the same one. */
#ifndef SK_WORLD_FORM_H
#define SK_WORLD_FORM_H

#include "world/layer.h"

#include <unistd.h>

/* Open MPI's numbers of the classes of errors that mean a death, which the headers of version 4 lack. */
enum { SK_FORM_PROC_FAILED = 75, SK_FORM_PROC_FAILED_PENDING = 76, SK_FORM_REVOKED = 77 };

struct sk_repair_ops {
    const char *name, *description;
    int replicates;    /* the protocol replication goes on with it */
    int ends_requests; /* those of the dead end with an error, and are gone then (over.h) */
    /* 1: this MPI can do it, in the way in which it was started. unnoticed: the launcher keeps deaths from it. */
    int (*is_offered)(int unnoticed);
    /* Errors that MPI tells of a communicator from now on are the form's affair: those that mean a death do not end the program. What is made of
     * the communicator is as it is. 0, or MPI's error. Local. */
    int (*guard)(MPI_Comm comm);
    /* What the program wants of errors of this communicator, which the form keeps where guard() has its own. Local. */
    int (*set_errors)(MPI_Comm comm, MPI_Errhandler errors);
    int (*get_errors)(MPI_Comm comm, MPI_Errhandler *errors);
    /* In all survivors, for a repair: whoever is still in a call on this communicator that blocks gets an error. NULL: it would wait. */
    int (*wake)(MPI_Comm comm);
    /* In all survivors: what is known of deaths on this communicator is no reason for an error any more. NULL: it never is. */
    int (*acknowledge)(MPI_Comm comm);
    /* Collective of all that live of `all`, with warm spares: *some is a communicator of the n processes of the list, ranks of `all`, in its order. *left: what
     * is to be used in place of `all` from now on. NULL: those of the list alone make it, by MPI_Comm_create_group. */
    int (*among)(MPI_Comm all, const int *list, int n, MPI_Comm *left, MPI_Comm *some);
    /* Collective, at the end: all that live have come to it. 0, or MPI's error. */
    int (*meet)(MPI_Comm comm);
    /* Collective of the survivors of comm, n of whose ranks are dead: a communicator of theirs alone. 0, or MPI's error. Blocks inside
     * MPI, no longer than the launcher's run.repair_limit lets it. over: one of all of them, and maybe others, on which the program receives nothing: what MPI sends for this by
     * messages goes there, as whoever has not heard of the dead yet may wait for any message on comm. */
    int (*survivors)(MPI_Comm comm, MPI_Comm over, const int *dead, int n, MPI_Comm *out);
    int wants_over; /* 0: `over` is not looked at */
};

/* Wait for a request of MPI's, and give the processor away meanwhile. For these forms. */
static inline int sk_form_poll(MPI_Request *r)
{
    enum { TURN_US = 100 };
    int rc = 0;
    for (int done = 0; !rc && !done;) {
        rc = SK_CALL(Test, (r, &done, MPI_STATUS_IGNORE));
        if (!done)
            usleep(TURN_US);
    }
    return rc;
}

extern const struct sk_repair_ops sk_repair_group, sk_repair_ulfm;

/* The form that this MPI offers, NULL: none. Called once, after MPI_Init. */
const struct sk_repair_ops *sk_form_choose(int unnoticed);
/* That form, NULL before it was chosen, or when there is none. */
const struct sk_repair_ops *sk_form(void);
/* 1: MPI tells by it that a process has died. */
int sk_form_is_death(int error);
/* Where no form was chosen, errors are MPI's own affair. */
int sk_form_guard(MPI_Comm comm);
int sk_form_meet(MPI_Comm comm);
int sk_form_set_errors(MPI_Comm comm, MPI_Errhandler errors);
int sk_form_get_errors(MPI_Comm comm, MPI_Errhandler *errors);
/* The tag to give MPI_Comm_create_group: sk_wire_making(number), or one that programs hardly use where MPI takes none that large. Local. */
int sk_form_making_tag(int number);

#endif
