/* What chance decides, and how a twin hears of it. */
#ifndef SK_WORLD_REPLICA_DECIDE_H
#define SK_WORLD_REPLICA_DECIDE_H

#include "world/replica/control.h"
#include "world/replica/replica.h"

/* Those receives that have to wait for a decision: make it, or learn it. */
void sk_replica_decide(void);
/* The twin has all decisions, so that what follows from them may be seen. */
void sk_replica_settle(void);
/* What the lead has found is told as far as it is not yet: what follows may wait inside MPI for a twin that waits for that. */
void sk_replica_tell(void);
/* A receive is to be taken back, as MPI_Cancel: it is if both processes of the rank can. 0. */
int sk_replica_cancel(struct sk_replica_open *o);
void sk_replica_take_decision(enum sk_control kind, const uint64_t *word, int n);
/* sk_replica_turn before the program itself looks for something; where it is known that it finds nothing, once in many looks. */
void sk_replica_glance(void);
/* As MPI's; waits: until one has ended. */
int sk_replica_test(MPI_Request *request, int *flag, MPI_Status *status);
int sk_replica_get_status(MPI_Request request, int *flag, MPI_Status *status);
int sk_replica_test_all(int n, MPI_Request request[], int *flag, MPI_Status status[]);
int sk_replica_any(int n, MPI_Request request[], int *index, int *flag, MPI_Status *status, int waits);
int sk_replica_some(int n, MPI_Request request[], int *count, int index[], MPI_Status status[], int waits);
/* As MPI_Mprobe (flag NULL) and MPI_Improbe on MPI_COMM_WORLD. */
int sk_replica_match(int source, int tag, int *flag, MPI_Message *message, MPI_Status *status);
int sk_replica_probe(int context, int source, int tag, int *flag, MPI_Status *status, int waits);

#endif
