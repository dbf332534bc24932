/* Copies of a collective's buffers. A collective that waits for a dead process cannot be taken back; so MPI works on copies, which stay
 * when the program has left, and what the program gave is written by us alone, when all has arrived: that which belongs to the data, as
 * what lies between is the program's, or another operation's, all the while. */
#ifndef SK_WORLD_BOUNCE_H
#define SK_WORLD_BOUNCE_H

#include "world/layer.h"

#include <stddef.h>

struct sk_bounce;

/* A part of memory: where n_parts blocks of an MPI call lie. counts NULL: count elements each. displs NULL: one after the other;
 * types: a type for each block, displs in bytes. */
struct sk_spread {
    const void *buf;
    int n_parts, count;
    const int *counts, *displs;
    MPI_Datatype type;
    const MPI_Datatype *types;
};

/* Copies of what is sent and of what is received into; NULL: no memory. */
struct sk_bounce *sk_bounce_new(const struct sk_spread *send, const struct sk_spread *recv);
/* What MPI is to be given for them. */
const void *sk_bounce_send(const struct sk_bounce *b);
void *sk_bounce_recv(const struct sk_bounce *b);
/* All has arrived: copy back and free. */
void sk_bounce_end(struct sk_bounce *b);
/* Free without copying. */
void sk_bounce_free(struct sk_bounce *b);

#endif
