/* A group of threads for benches: messages are copied once, from the sender's buffer to the
 * receiver's, as a good transport within a node does it. (loop.c of src/group is made for tests: it
 * copies twice, under one lock.) */
#ifndef SK_BENCH_THREADS_H
#define SK_BENCH_THREADS_H

#include "group/group.h"

/* As sk_loop_run. */
int sk_threads_run(int n, int (*fn)(struct sk_group *g, void *arg), void *arg);

/* The same with a link of its own for each rank: in each direction it carries one message after the
 * other at so many bytes per second, and each arrives `latency` seconds after its last byte left.
 */
int sk_threads_run_paced(int n, double bytes_per_second, double latency,
                         int (*fn)(struct sk_group *g, void *arg), void *arg);

#endif
