/* The program's communicators, while a protocol sees all messages (members.h): they are made of messages of the protocol, so a process that is made
 * again makes them alone, and nothing blocks inside MPI. The handle is a communicator of this process alone. */
#ifndef SK_WORLD_COMMS_MADE_H
#define SK_WORLD_COMMS_MADE_H

#include "world/comms/members.h"
#include "world/layer.h"

/* The body of saikai_in_place begins, or begins again: what was made is of a world that is no more. */
void sk_made_begin(void);
/* All ranks of the world. */
struct sk_members *sk_made_world(void);
/* The members, if its messages are the protocol's: of MPI_COMM_WORLD in the body, and of what was made there of it. NULL: they are MPI's. Valid as
 * long as the communicator is. */
struct sk_members *sk_made_members(MPI_Comm c);
/* A communicator of MPI's with these members and their topology in the world that is now, for functions that no protocol covers. Collective over
 * the members when it is called for the first time in this world; blocks inside MPI. Errors end in sk_world_fail. */
MPI_Comm sk_made_below(struct sk_members *m);
/* After a repair in which survivors stay where they are: communicators and groups of the world before it, whose number is given, go on. */
void sk_made_go_on(uint32_t before);
/* 1: there are communicators or groups that would not. */
int sk_made_has_others(void);

/* For what makes them (make.c): the contexts in use here; a new communicator, of these members, which it takes over; a group of members, to be
 * freed; and the ranks in the world of a group of the program's, to be freed, MPI_UNDEFINED where they are none. */
struct sk_contexts *sk_made_contexts(void);
void sk_made_keep(MPI_Comm c, struct sk_members *m);
int sk_made_group_of(const struct sk_members *m, MPI_Group *out);
int *sk_made_ranks(MPI_Group g, int *n);

/* A function is called that takes a message out of MPI by source and tag, and no protocol has it. 0: it gets none but the program's, of this
 * communicator; else the program's error handler was told, and a line says why: with MPI_ANY_TAG it might get one of another communicator, or of
 * the layer's own. */
int sk_made_takes(const char *what, MPI_Comm comm, int tag);

/* A receive of the program's begins, and the program has heard of its end, or never will: as long as one is open nobody else gets messages in its context, also when
 * the communicator is freed. Where the program learns of it is the same in each process that is made again. */
void sk_made_begin_receive(struct sk_members *m);
void sk_made_end_receive(struct sk_members *m);
/* Is freed: the handle is MPI's affair then. */
void sk_made_forget(uint64_t key);

#endif
