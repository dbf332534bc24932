/* What the layer between program and MPI (libsaikai-world-<mpi>.so, preloaded by `saikai run`) offers to the library, which finds it
 * by weak symbols: NULL where the layer was not preloaded. */
#ifndef SK_WORLD_WORLD_H
#define SK_WORLD_WORLD_H

/* Run body(arg); when a process was replaced meanwhile, it is left wherever it waits in MPI, abandon() is called in the repaired
 * world, and body(arg) runs again from its beginning. Where nothing can be repaired it runs once. */
void saikai_world_in_place(void (*body)(void *), void *arg, void (*abandon)(void)) __attribute__((weak));
/* *comm (an MPI_Comm) belongs to the library: calls on it, and on what is made from it, return an error when a repair is wanted. */
void saikai_world_quiet(const void *comm) __attribute__((weak));
/* Does not return when a repair is wanted and the body can be left. */
void saikai_world_leave(void) __attribute__((weak));

#endif
