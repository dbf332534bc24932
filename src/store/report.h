/* How a job is doing: the small text file `status` in its store, which rank 0 replaces every few seconds while the job runs, with the
 * lease's renewal (store/owner/board.h). People and tools read it; no start depends on it. Format: docs/format.md. */
#ifndef SK_STORE_REPORT_H
#define SK_STORE_REPORT_H

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>

#define SK_REPORT_FILE "status"

/* How far generations get. */
enum sk_report_place { SK_REPORT_LOCAL, SK_REPORT_PROTECTED, SK_REPORT_PREFIX, SK_REPORT_PLACES };

struct sk_report_newest {
    int64_t iteration; /* -1: none got there */
    int64_t at_ms;     /* when it was captured; 0: by an earlier start */
};

/* Wall clock in milliseconds since 1970; seconds; failures per second. */
struct sk_report {
    int64_t at_ms, began_ms;         /* of these lines, and of this start */
    int64_t start;                   /* of the store, from 1 */
    int64_t ranks, nodes;
    char host[256];                  /* of rank 0 */
    int64_t iteration;               /* the newest candidate's, -1: there was none */
    double tick;                     /* between two candidates; 0: not known */
    struct sk_report_newest newest[SK_REPORT_PLACES];
    int64_t checkpoints, failed;     /* by this start */
    int64_t bytes;                   /* of rank 0's part of the newest one */
    double cost, blocked;            /* the newest checkpoint held the program up for so long; all of this start */
    int64_t every;                   /* candidates between two checkpoints, 0: none is planned */
    char why[32];                    /* what chose that: "every", "interval", a model, "levels" or "early" (suffered.h) */
    double program_rate, host_rate;  /* expected */
    int64_t faults;                  /* of this `saikai run` before this start */
    double past, lost;               /* its earlier starts ran for so long; of that was lost to faults, restarts included */
};

/* What only `status` lacks for its text. check sk_buf_ok. */
void sk_report_print(const struct sk_report *r, struct sk_buf *out);
/* For any bytes. SAIKAI_EFORMAT, SAIKAI_EDAMAGED. */
int sk_report_decode(const char *text, size_t n, struct sk_report *out, struct saikai_error *err);
/* That of a store's directory; SAIKAI_ENOENT: there is none. */
int sk_report_load(const char *dir, struct sk_report *out, struct saikai_error *err);

/* Of the time that was used so far, what went into checkpoints and what was lost to faults, from 0 to 1. */
double sk_report_share_blocked(const struct sk_report *r);
double sk_report_share_lost(const struct sk_report *r);

/* The same for a collector of metrics, in the OpenMetrics text format (openmetrics.io, version 1.0), labelled with the job's name.
 * check sk_buf_ok. */
void sk_report_metrics(const struct sk_report *r, const char *job, struct sk_buf *out);

#endif
