/* The nodes of a simulation. */
#ifndef SK_SCHEDULE_FLEET_H
#define SK_SCHEDULE_FLEET_H

#include <stdint.h>

struct sk_fleet {
    uint64_t nodes;
    double rate;         /* of each node when rates is NULL, failures per second */
    const double *rates; /* of node i; not copied */
};

double sk_fleet_rate(const struct sk_fleet *f); /* the sum */

#endif
