/* A progress bar on a terminal; silent when stderr is none. */
#ifndef SK_CLI_PROGRESS_H
#define SK_CLI_PROGRESS_H

#include <stdint.h>

struct cli_progress {
    const char *label;
    uint64_t total;
    double last, begun; /* seconds of the monotonic clock */
    int shown, on;
};

/* label is not copied. total 0: unknown, only the count is shown. */
void cli_progress_begin(struct cli_progress *p, const char *label, uint64_t total);
/* Cheap enough for every step: draws at most ten times a second. */
void cli_progress_update(struct cli_progress *p, uint64_t done);
/* Take the bar off the screen. */
void cli_progress_end(struct cli_progress *p);

#endif
