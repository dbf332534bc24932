/* N ranks as N threads of one process, for tests. */
#ifndef SK_GROUP_LOOP_H
#define SK_GROUP_LOOP_H

#include "group/group.h"

/* Run fn(group, arg) on n ranks, each in a thread of its own, and wait for them; returns the first non-zero result
 * (of the lowest rank). */
int sk_loop_run(int n, int (*fn)(struct sk_group *g, void *arg), void *arg);

#endif
