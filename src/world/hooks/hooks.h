/* The hooks of a parallel FT protocol that a component brings: libsaikai-hooks-<mpi>.so, preloaded before the layer of src/world where the chosen protocol
 * has hooks, and only then. It sees the program's point-to-point messages as the program knows them, whatever becomes of them below.
 *
 * The layer and the library tell it what it cannot see, by weak symbols: NULL where it was not preloaded. */
#ifndef SK_WORLD_HOOKS_H
#define SK_WORLD_HOOKS_H

#include <stdint.h>

/* The layer, of the living: these ranks are lost; and they are back, after this many repairs. */
void saikai_hooks_lost(const int *ranks, int n) __attribute__((weak));
void saikai_hooks_back(const int *ranks, int n, uint32_t repairs) __attribute__((weak));
/* The body of saikai_in_place is left now, and what it had begun is gone. */
void saikai_hooks_left(void) __attribute__((weak));
/* The library, in all ranks alike: they save themselves as this generation; and one of the rank alone: it is complete. */
void saikai_hooks_generation(int64_t key) __attribute__((weak));
void saikai_hooks_complete(int64_t key) __attribute__((weak));

#endif
