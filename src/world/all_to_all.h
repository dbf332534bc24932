/* Exchanges of all ranks with all, made of messages: a message that a dead process will never send can be taken back, so that MPI may work on
 * the program's own memory, and nothing has to be copied. */
#ifndef SK_WORLD_ALL_TO_ALL_H
#define SK_WORLD_ALL_TO_ALL_H

#include "world/layer.h"

/* A block for each rank of the communicator. counts NULL: each of count elements, one block after the other; displs are in elements. types: a
 * type for each block, and displs are in bytes. */
struct sk_blocks {
    const void *buf;
    int count;
    const int *counts, *displs;
    MPI_Datatype type;
    const MPI_Datatype *types;
};

/* 1: blocks of this size are worth it. The same on all ranks, as in MPI_Alltoall all blocks have the same size. */
int sk_are_large(int count, MPI_Datatype type);

/* MPI_Alltoall, MPI_Alltoallv or MPI_Alltoallw on an intracommunicator; send is not MPI_IN_PLACE. Collective; may leave the body, as
 * sk_wait does. The first one on a communicator makes a hidden one beside it, so that its messages are never taken for the program's. */
int sk_all_to_all(const struct sk_blocks *send, const struct sk_blocks *recv, MPI_Comm comm);

/* comm is about to be freed: the one beside it goes with it. Collective. */
void sk_all_to_all_forget(MPI_Comm comm);

#endif
