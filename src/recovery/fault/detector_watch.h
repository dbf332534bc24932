/* What a detector keeps of ranks, hosts and the MPI's launcher, and the table of what it looks for. For the files of the detector
 * alone. */
#ifndef SK_RECOVERY_DETECTOR_WATCH_H
#define SK_RECOVERY_DETECTOR_WATCH_H

#include "recovery/fault/detector.h"

enum sk_watched_state { SK_WATCHED_WAITING, SK_WATCHED_RUNNING, SK_WATCHED_GONE };

struct sk_watched {
    enum sk_watched_state state;
    int clean; /* gone, with exit code 0 */
    int left;  /* gone with that before MPI had ended: well only when all do so */
    int host;
    double heard, gone_at;
    int is_again; /* its process is another one than that of the start */
    struct sk_progress at;
};

/* All times but `looked` are of the listener's clock (sk_detector_time), which stands still while this process does. */
struct sk_detector {
    struct sk_detector_config c;
    int pace; /* heartbeats between two words of a keeper that has nothing to say */
    double looked, lost, deaf; /* when the time was last looked at; how far the listener's clock is behind; to be added to that */
    double started, moved;     /* moved: when any rank last reached a candidate */
    double finished;           /* when all had ended their use of the library; 0: not yet */
    double silent_from;        /* before this no rank can have been silent for long, INFINITY: none runs */
    int over, used;            /* ranks that are gone or have ended their use of the library; that have ended it */
    int waiting, gone, reached, ending; /* ranks that are waited for; gone; that reached a candidate; that are ending their use, or gone */
    struct sk_progress best;   /* the farthest of all ranks in each … */
    int worn;                  /* … or is to be looked for, since the rank that was it fell back */
    struct sk_fault first; /* of the reports of ended programs, the one that explains the others */
    double first_at;       /* when the first of them came … */
    int first_ended;       /* … and the MPI's launcher had ended that one by SIGTERM */
    int launcher_ended, launcher_status;
    double launcher_ended_at;
    struct sk_watched rank[];
};

/* One thing to look for. */
struct sk_detector_ops {
    const char *name, *description;
    /* SK_JOB_RUNS: nothing is found. *f is filled for SK_JOB_FAULT. now: of the listener's clock. */
    enum sk_job (*check)(const struct sk_detector *d, double now, struct sk_fault *f);
    /* When, by that clock, it finds something if nothing is heard until then, INFINITY: never. NULL: it may be found at the next look. */
    double (*next)(const struct sk_detector *d);
};

extern const struct sk_detector_ops sk_detect_reports, sk_detect_end, sk_detect_launcher, sk_detect_finish; /* detect_end.c */
extern const struct sk_detector_ops sk_detect_silence, sk_detect_start, sk_detect_standstill;               /* detect_silence.c */

/* 1: an end that follows from another rank's: MPI launchers send SIGTERM to the others, and who writes to one that is gone gets SIGPIPE. */
int sk_detector_is_echo(const struct sk_fault *f);
/* Seconds of silence that are no fault yet. */
double sk_detector_silence_limit(const struct sk_detector *d);
/* now on the listener's clock. */
double sk_detector_clock(const struct sk_detector *d, double now);
/* Look which rank was heard the longest ago, if any can have been silent for too long. */
void sk_detector_look(struct sk_detector *d, double now);

#endif
