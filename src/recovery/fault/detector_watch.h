/* What a detector keeps of ranks, hosts and the MPI's launcher, and the table of what it looks for. For the files of the detector
 * alone. */
#ifndef SK_RECOVERY_DETECTOR_WATCH_H
#define SK_RECOVERY_DETECTOR_WATCH_H

#include "recovery/fault/detector.h"

enum sk_watched_state { SK_WATCHED_WAITING, SK_WATCHED_RUNNING, SK_WATCHED_GONE };

struct sk_watched {
    enum sk_watched_state state;
    int clean; /* gone, with exit code 0 */
    int host;
    double heard;
    double called; /* made again: since when its hello is waited for; 0: since the start */
    struct sk_progress at;
};

struct sk_detector {
    struct sk_detector_config c;
    double started, last_check, moved; /* moved: when any rank last reached a candidate */
    double finished;                   /* when all had ended their use of the library; 0: not yet */
    int over, used;                    /* ranks that are gone or have ended their use of the library; that have ended it */
    struct sk_fault first; /* of the reports of ended programs, the one that explains the others */
    int launcher_ended, launcher_status;
    double launcher_ended_at;
    struct sk_watched rank[];
};

/* One thing to look for. */
struct sk_detector_ops {
    const char *name, *description;
    /* SK_JOB_RUNS: nothing is found. *f is filled for SK_JOB_FAULT. */
    enum sk_job (*check)(const struct sk_detector *d, double now, struct sk_fault *f);
    /* When it finds something if nothing is heard until then, INFINITY: never. NULL: it may be found at the next look. */
    double (*next)(const struct sk_detector *d);
};

extern const struct sk_detector_ops sk_detect_reports, sk_detect_end, sk_detect_launcher, sk_detect_finish; /* detect_end.c */
extern const struct sk_detector_ops sk_detect_silence, sk_detect_start, sk_detect_standstill;               /* detect_silence.c */

/* Seconds of silence that are no fault yet. */
double sk_detector_silence_limit(const struct sk_detector *d);

#endif
