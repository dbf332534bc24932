/* How much memory and space there is to be had, before it is taken: too much of it does not come back as an error, but ends
 * the program. Local; reads a few files of the system. */
#ifndef SK_BASE_HEADROOM_H
#define SK_BASE_HEADROOM_H

#include <stdint.h>

struct sk_headroom {
    uint64_t bytes;
    char limit[160]; /* what allows no more: "memory.max of cgroup /job", "free space of /dev/shm" */
};

/* For the memory of this process: what the system has available, what its control groups (version 1 or 2, every level up to
 * the root), its address space and its data (ulimit -v, -d) allow. Memory of files that can be dropped counts as free; a little is left for
 * everybody else. UINT64_MAX: no limit is known. */
void sk_headroom_look(struct sk_headroom *out);
/* For files in directory dir, mapped or not: its free space, and where it is kept in memory (tmpfs), that, too. */
void sk_headroom_look_for(const char *dir, struct sk_headroom *out);
/* The largest file that this process may write (ulimit -f). */
uint64_t sk_headroom_largest_file(void);

/* For tests: /proc and the control groups are looked for below this directory; "" in the beginning. Not copied. */
void sk_headroom_look_below(const char *root);

#endif
