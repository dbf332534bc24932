/* Which job a session is of, and which start of it. */
#ifndef SK_LIB_SESSION_IDENTITY_H
#define SK_LIB_SESSION_IDENTITY_H

#include "store/owner/job.h"
#include "store/state.h"

struct sk_identity {
    struct sk_job job;                        /* whose store it is, and its id */
    struct sk_state state;                    /* rank 0 only */
    int state_behind;                         /* rank 0: the state in the prefix is not the newest */
    uint64_t run;                             /* number of the `saikai run` above, 0: none */
    uint64_t run_id;
    uint32_t incarnation, first_incarnation;
    uint32_t unread_before; /* generations of starts before this one could not be read, and wait for better times; 0: none */
    uint32_t finished_from; /* the first start of the run before, when that came to its end; else 0 */
    char aside[600];        /* rank 0: what a fresh start is to say of other jobs' generations … */
    char fresh_why[160];    /* … and why it is one, "": there is nothing to go on from */
};

#endif
