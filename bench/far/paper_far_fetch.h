/* mcrEngine's compute and aggregator nodes (Islam et al., SC'12, section IV) as processes: every rank and every aggregator is one, and a
 * rank's files go to the aggregator of its group over TCP (steps 3b, 5 and 7b of Table I; 3b to 5 of Table II), which archives them at
 * the shared file system. An aggregator fetches all files of its group into its node's memory before it archives; the paper's
 * fetches and compresses at the same time. */
#ifndef SK_BENCH_PAPER_FAR_FETCH_H
#define SK_BENCH_PAPER_FAR_FETCH_H

#include "paper_far_ways.h"

struct far_fetch {
    const struct far_files *files;
    const struct far_way *way; /* how an aggregator compresses; an archive has `group` ranks, whatever the way says */
    int ranks, group, restart;
    struct far_server server; /* of all processes: far_shared_join was called */
    double link_mb_per_s;     /* of all aggregators together, each has its part of it, which its ranks share as they come; 0: what TCP on this machine gives */
    const struct far_places *at;
};

/* What one checkpoint or restart took. */
struct far_fetch_cost {
    double free_s, fetch_s, done_s; /* until the last rank had handed over (restart: received) its files; of the slowest aggregator's fetch
                                       (restart: sending); until the last archive was at the shared file system (restart: as free_s) */
    double ranks_cpu;               /* processor seconds of all ranks, ... */
    double fetch_cpu, work_cpu;     /* ... and of all aggregators: messages, and everything else */
    double fetched, bytes, opened;  /* bytes between nodes, bytes and files at the shared file system */
    int at_once;
};

/* One checkpoint into the shared directory, or a restart from what one left there. Single-threaded callers only, as it forks. Everything
 * that could be waited for has a limit of two minutes. 0, or -1 with a message on stderr. */
int far_fetch_move(const struct far_fetch *f, struct far_fetch_cost *out);
/* 0: what a restart has given the ranks is what the files are, byte by byte. */
int far_fetch_verify(const struct far_fetch *f);

#endif
