/* One message of the program, as a hook is told of it. */
#ifndef SK_WORLD_HOOKS_MESSAGE_H
#define SK_WORLD_HOOKS_MESSAGE_H

#include "world/hooks/hook.h"

/* Where a message lies in the program's memory. */
struct sk_hooked {
    const void *buf;
    int count, peer, tag;
    MPI_Datatype type;
    MPI_Comm comm;
    int sends, persistent, own_type; /* own_type: the type is a copy, which is freed with this */
};

/* 1: its messages are the program's. */
int sk_hooks_watches(MPI_Comm comm);
/* It is about to leave. MPI_PROC_NULL gets nothing. */
void sk_hooks_send(const struct sk_hooked *m);
/* Its receive has ended. */
void sk_hooks_receive(const struct sk_hooked *m, MPI_Status *status);

#endif
