/* Has the job a fault? Pure: it is told what was heard and what time it is, and gives a verdict.
 *
 * What it looks for is a table (detector.c); the faults that it finds are another one (fault.h): a keeper's report that its
 * program ended (at once), silence of keepers (a node is lost when all of its keepers have missed every heartbeat for the node
 * timeout), a progress counter that stands still (hang), and the end of the MPI's launcher while ranks are still owed. A launcher's
 * exit code is never evidence of success. */
#ifndef SK_RECOVERY_DETECTOR_H
#define SK_RECOVERY_DETECTOR_H

#include "backbone/message.h"
#include "recovery/fault/fault.h"

struct sk_detector_config {
    int n_ranks, n_hosts;
    double heartbeat_s, node_timeout_s;
    double hang_timeout_s;   /* between candidates; 0: off */
    double setup_timeout_s;  /* until the first candidate; 0: off */
    double start_timeout_s;  /* 0: off */
    double finish_timeout_s; /* 0: off; how long ranks may stay after all have ended their use of
                                the library */
};

enum sk_job { SK_JOB_RUNS, SK_JOB_DONE, SK_JOB_STUCK_AT_END, SK_JOB_FAULT };

struct sk_detector;

extern const struct sk_kind sk_detector_kind;

/* For one start of the job at time now. seat[rank] is the host of each rank (copied). NULL: out of
 * memory. */
struct sk_detector *sk_detector_new(const struct sk_detector_config *c, const int *seat,
                                    double now);
void sk_detector_free(struct sk_detector *d); /* NULL is accepted */

/* A message of this start's rank m->rank (< n_ranks): hello, beat or exit. What is older (m->age_ms) is a sign of life of that time. */
void sk_detector_heard(struct sk_detector *d, const struct sk_message *m, double now);
/* So many ranks from this one on lived so long ago. */
void sk_detector_live(struct sk_detector *d, uint32_t rank, uint32_t n, double age_s, double now);
/* The keeper of rank says that it runs on host, whatever was planned. */
void sk_detector_sits_on(struct sk_detector *d, int rank, int host);
void sk_detector_launcher_ended(struct sk_detector *d, int wait_status, double now);

/* Time passes; called often, also by all of the functions above and the next one. What was not listened in is nobody's silence: when the
 * calls were far apart, since this process was stopped, and as much as sk_detector_deaf was told of since the last one. */
void sk_detector_time(struct sk_detector *d, double now);
/* So many seconds more this process wanted to listen and did not get a processor. */
void sk_detector_deaf(struct sk_detector *d, double seconds);
/* From now on keepers may speak in every so many heartbeats only. It does not become less. */
void sk_detector_slower(struct sk_detector *d, int pace);

/* The verdict at time now; *f is filled for SK_JOB_FAULT. */
enum sk_job sk_detector_check(struct sk_detector *d, double now, struct sk_fault *f);
/* When to check again if nothing is heard; seconds on the same clock. */
double sk_detector_next(const struct sk_detector *d, double now);

/* What is known of a rank: -1 no hello yet, 1 its program runs, 0 it is gone. */
int sk_detector_rank_runs(const struct sk_detector *d, int rank);
/* 1: silent for longer than the node timeout. */
int sk_detector_rank_silent(const struct sk_detector *d, int rank, double now);
/* 1: the launcher has ended, and a keeper that still lived would have answered an order since then:
 * MPI launchers kill keepers, too, and those then have no last word. */
int sk_detector_rank_went_along(const struct sk_detector *d, int rank, double now);
/* What a rank said last of itself. */
struct sk_progress sk_detector_rank_at(const struct sk_detector *d, int rank);
/* 1: it is gone, and ended well. */
int sk_detector_rank_ended_well(const struct sk_detector *d, int rank);
/* This rank, which is gone, is made again: a hello is waited for. What was found so far is forgotten. */
void sk_detector_replaced(struct sk_detector *d, int rank, double now);
/* This rank, which is gone, is not needed any more: its end is no fault. What was found so far is forgotten. */
void sk_detector_forgive(struct sk_detector *d, int rank);
/* This rank, which is silent, counts as gone. */
void sk_detector_bury(struct sk_detector *d, int rank);
/* The newest complete generation any rank told of (-1: none), how many became complete since this
 * start, what was restored (-1), and whether any rank uses the library. */
struct sk_progress sk_detector_progress(struct sk_detector *d);
/* 1: every rank has saved what a signal asked for, and waits for its end. */
int sk_detector_all_stopped(const struct sk_detector *d);

#endif
