/* Where the failures of a simulation come from: a table of forms. Each node fails at its own rate,
 * exponentially; a failed node is replaced by one with the same rate at once.
 *
 * per-node    every node has its next failure in a heap: the definition itself. 16 bytes a node,
 * O(log nodes) a failure. superposed  the failures of all nodes together are one Poisson process
 * with the sum of the rates, and the node is drawn in proportion to its rate (alias method, A. J.
 * Walker, ACM TOMS 3(3), 1977): the same in law, O(1). */
#ifndef SK_SCHEDULE_FAILURES_H
#define SK_SCHEDULE_FAILURES_H

#include "schedule/fleet.h"
#include "base/error.h"
#include "base/config/kind.h"

#include <stdint.h>

struct sk_failures_ops {
    const char *name, *description;
    /* NULL: out of memory. The fleet must outlive it. */
    void *(*open)(const struct sk_fleet *fleet, uint64_t seed);
    /* Seconds from the last failure (at first: from the start) to the next, infinite when no node
     * ever fails; *node (may be NULL) is the node that fails. */
    double (*next)(void *source, uint64_t *node);
    void (*close)(void *source); /* NULL is accepted */
};

extern const struct sk_kind sk_failures_kind;
const struct sk_failures_ops *sk_failures_at(int i); /* NULL past the last */
const struct sk_failures_ops *sk_failures_find(const char *name);

extern const struct sk_failures_ops sk_failures_per_node, sk_failures_superposed;

#endif
