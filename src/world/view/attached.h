/* What a program attaches to MPI_COMM_WORLD stays at MPI's own, whatever the world is now: its error handler and its attributes. */
#ifndef SK_WORLD_ATTACHED_H
#define SK_WORLD_ATTACHED_H

#include "world/layer.h"

/* The world that is another communicator than MPI's own does with an error what was said of MPI_COMM_WORLD; the program's handler is told of
 * MPI_COMM_WORLD, and not of that communicator. */
void sk_attached_errors(void);
/* > 0: errors of a world that is another communicator are for the layer alone; and of any world, until it is given back what is held. */
extern int sk_attached_muted;
void sk_attached_mute(MPI_Errhandler *held);
void sk_attached_unmute(MPI_Errhandler *held);
/* The same for what was made of the world. */
void sk_attached_inherit(MPI_Comm made);
/* *copy is one of the world: it gets copies of the attributes, as MPI_Comm_dup prescribes. 0, or the error of a copy function, which is handled
 * then, and *copy is freed. */
int sk_attached_copy(MPI_Comm *copy);
/* The handler of MPI's own, while errors are returned; and put it back. */
void sk_attached_hold(MPI_Errhandler *held);
void sk_attached_let_go(MPI_Errhandler *held);

#endif
