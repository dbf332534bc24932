/* A program that has come to MPI without the layer that was to be preloaded: somebody took LD_PRELOAD out of its environment, or the file is not seen where it
 * runs, as in a container. Where processes were started beyond the ranks (twins, warm spares) it would run with all of them as its ranks. */
#ifndef SK_DAEMON_BARE_H
#define SK_DAEMON_BARE_H

#include <stdint.h>
#include <sys/types.h>

struct sk_bare {
    int matters; /* there are such processes */
    double begun, next;
};

/* By this process's environment, before anything of it is changed. */
struct sk_bare sk_bare_begin(double now);
/* 1: the program, or what it started, has Open MPI's library mapped and not the layer. It is looked at now and then, as long as the layer has said nothing
 * (world: its word in the page). */
int sk_bare_found(struct sk_bare *b, pid_t program, uint32_t world, double now);

#endif
