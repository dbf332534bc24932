/* How long this process wanted to run and got no processor: what it did not do in that time says nothing of others. */
#ifndef SK_BASE_STARVED_H
#define SK_BASE_STARVED_H

#include <stdint.h>

enum { SK_STARVED_THREADS = 16 };

struct sk_starved {
    int n;
    struct { int id; uint64_t waited; } thread[SK_STARVED_THREADS]; /* as the kernel said the last time, in nanoseconds */
};

/* Seconds since the last call with this *s (all zero: the first one, which answers 0), of the thread that waited the longest; what a
 * thread waits in just now counts when it is over. 0 where the kernel does not say. Local; reads a file of each thread. */
double sk_starved_since(struct sk_starved *s);

#endif
