/* The configurations of the paper's Table V, with gzip and data-aware compression, and `auto`:
 * checkpoint files of many ranks from node-local memory to a shared file system, and back. Every
 * rank is a thread. */
#ifndef SK_BENCH_PAPER_FAR_WAYS_H
#define SK_BENCH_PAPER_FAR_WAYS_H

#include "archive/write/create.h"
#include "paper_far_sets.h"
#include "paper_far_shared.h"

/* A configuration: archives of one rank, of some or of all, or plain copies. `together` 0: of one
 * rank; 1: of all; more: of as many. */
struct far_way {
    const char *name, *colour;
    int archive, together, scheme, backend, codecs; /* backend -1: none */
};
enum {
    FAR_WAYS = 8,
    FAR_CLOCK_WAYS = 6, /* those of the paper's Table V, which N to M follow */
    FAR_GROUP = 4,      /* ranks of an aggregator of N to M */
    FAR_NONE = 0,
    FAR_NONE_TOGETHER = 2,
    FAR_AGNOSTIC = 3,
    FAR_AWARE = 4,
    FAR_AUTO = 5,
    FAR_RANKS = 64
};
extern const struct far_way far_ways[FAR_WAYS];

/* What one checkpoint or restart took. */
struct far_cost {
    double wall, low, high, cpu; /* seconds; low, high: least and most of several runs */
    double mean, half;           /* of several runs, and how far its 95 % confidence interval reaches to both sides */
    double bytes;                /* that passed the shared file system */
    double opened;               /* files, there */
    int at_once;                 /* the most that were open there at a time */
    double step[FAR_STEPS];      /* of the processor time, where that was asked for: in system calls */
};

/* The shared file system: paper_far_shared.h, contention as in paper_far_model.h. */
struct far_server {
    double mb_per_s, open_ms, contention;
    int steps; /* 1: the processor time of steps is counted */
};

/* Where files are: made and emptied, and removed, by the caller. */
struct far_places {
    char shared[128], local[128];
};
/* Directories of this process in /dev/shm; nothing is made. */
void far_places(struct far_places *p);
/* Empty both. 0, or -1. */
int far_clear(const struct far_places *p);
void far_remove(const struct far_places *p);

/* How a way that makes archives makes them. */
struct sk_archive_options far_pack_options(const struct far_way *w, int threads);
/* Bring the files of the first `ranks` ranks to the shared directory, or those that are there back,
 * through this server (all 0: no limit). 0, or -1 with a message on stderr. */
int far_move(const struct far_files *f, const struct far_way *w, int ranks, int restart,
             const struct far_server *server, const struct far_places *p, struct far_cost *out);

#endif
