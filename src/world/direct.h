/* Collectives that move data, made of messages: a message that a dead process will never send can be taken back, so that MPI may work on the
 * program's own memory, and nothing has to be copied (bounce.h). What is small, and what reduces otherwise than to all, goes that other way. */
#ifndef SK_WORLD_DIRECT_H
#define SK_WORLD_DIRECT_H

#include "world/layer.h"

/* The operations that are made so. */
enum sk_direct { SK_DIRECT_ALLTOALL, SK_DIRECT_ALLGATHER, SK_DIRECT_GATHER, SK_DIRECT_SCATTER, SK_DIRECT_BCAST };

/* What a rank sends or receives: a block for each rank of the communicator, or one alone (is_one). counts NULL: each of count elements, one block
 * after the other; displs are in elements. types: a type for each block, and displs are in bytes. */
struct sk_blocks {
    const void *buf;
    int is_one, count;
    const int *counts, *displs;
    MPI_Datatype type;
    const MPI_Datatype *types;
};

/* 1: so many elements are worth it. */
int sk_is_large(int count, MPI_Datatype type);
/* The same of n blocks together, each of LARGE on the average. */
int sk_are_large(int n, const int *counts, MPI_Datatype type);

/* The operation on an intracommunicator; root where it has one. send->buf or recv->buf may be MPI_IN_PLACE where MPI allows that, but for
 * SK_DIRECT_ALLTOALL. Whether a collective is made so has to be the same on all ranks. Collective; may leave the body, as sk_wait does. The
 * first one on a communicator makes a hidden one beside it, so that its messages are never taken for the program's. 0 or an error of MPI. */
int sk_direct(enum sk_direct what, const struct sk_blocks *send, const struct sk_blocks *recv, int root, MPI_Comm comm);

/* 1: MPI_Allreduce of these is worth it, and can be made of parts: an operation that commutes, on a type without gaps. The same on all ranks. */
int sk_reduces_directly(int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
/* MPI_Allreduce: a ring reduces each rank's part, and every rank gives its own to all (Rabenseifner, "Optimization of collective reduction
 * operations", ICCS 2004, with rings). All ranks get the same bits, and each time the same. Otherwise as sk_direct. */
int sk_direct_allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

/* comm is about to be freed: the one beside it goes with it. Collective. */
void sk_direct_forget(MPI_Comm comm);

#endif
