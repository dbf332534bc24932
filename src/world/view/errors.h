/* What the program does about errors of MPI_COMM_WORLD, where that is another communicator: beside spares, with a twin for each rank, after a repair.
 * The program's handler is told of MPI_COMM_WORLD, whichever of the two MPI itself tells of. */
#ifndef SK_WORLD_VIEW_ERRORS_H
#define SK_WORLD_VIEW_ERRORS_H

#include "world/layer.h"

/* What the program wants of errors of MPI_COMM_WORLD; its handler may be freed by it meanwhile. MPI's default until it was told. */
MPI_Errhandler sk_errors_wanted(void);
/* The program has said what it wants. 0, or MPI's error. */
int sk_errors_want(MPI_Errhandler errors);
/* MPI's own MPI_COMM_WORLD, and what the world is now, do that. */
int sk_errors_of_world(void);
/* A communicator was made of the world: it has the program's handler, and not what stands for it. */
void sk_errors_inherit(MPI_Comm made);

/* > 0: errors of the world are the layer's affair, which looks at what MPI returns: the program hears of them where it waits itself. It holds of a
 * world that is another communicator than MPI's own. */
extern int sk_errors_muted;
/* The same of any. held: what is to be given back. */
void sk_errors_mute(MPI_Errhandler *held);
void sk_errors_unmute(MPI_Errhandler *held);

#endif
