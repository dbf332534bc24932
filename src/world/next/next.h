/* MPI's own functions behind those of a preloaded library. Most programs are linked with MPI, which is there when they begin. Others load it
 * themselves while they run, as Python does with mpi4py: then the linker's search does not find it, and MPI's constants, which are
 * addresses of its data, were nothing when the preloaded library was made ready. */
#ifndef SK_WORLD_NEXT_H
#define SK_WORLD_NEXT_H

/* The next function of this name in the order of loading, or NULL. Not while the program's threads may call MPI for the first time. */
void *sk_next_find(const char *name);

#endif
