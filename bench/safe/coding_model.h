/* Coding time of a cluster by simulation: every message takes its turn on the sender's and the
 * receiver's link, every addition on its node's processor, stripe after stripe as the coder does
 * it. Fixed coding nodes, as in Jitsumoto et al. 2009. */
#ifndef BENCH_CODING_MODEL_H
#define BENCH_CODING_MODEL_H

#include <stdint.h>

enum cm_form { CM_PIPELINE, CM_FANIN, CM_BROADCAST, CM_FORMS };

struct cm_cluster {
    double bytes_per_second, latency; /* of a node's link, each direction */
    double add_rate;                  /* bytes of a source times one row, per second */
    double read_rate;                 /* bytes of data read and hashed per second */
    int data_nodes, coding_nodes;
    uint64_t bytes; /* of each data node */
    uint32_t block;
    int window; /* stripes under way */
};

/* Seconds from the first block read to the last parity stored; negative: no memory. */
double cm_seconds(const struct cm_cluster *c, enum cm_form form);

#endif
