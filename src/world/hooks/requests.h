/* Which message of the program a request stands for. */
#ifndef SK_WORLD_HOOKS_REQUESTS_H
#define SK_WORLD_HOOKS_REQUESTS_H

#include "world/hooks/message.h"

/* The request stands for this message, which is copied. */
void sk_hooks_made(MPI_Request r, const struct sk_hooked *m);
/* A persistent request begins again. */
void sk_hooks_start(MPI_Request r);
/* It has ended with this status. */
void sk_hooks_ended(MPI_Request r, MPI_Status *status);
void sk_hooks_forget(MPI_Request r);
/* None of them is known any more: the body of saikai_in_place was left. */
void sk_hooks_forget_all(void);

#endif
