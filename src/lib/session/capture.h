/* How a rank's variables become a generation, and what that came to so far. */
#ifndef SK_LIB_SESSION_CAPTURE_H
#define SK_LIB_SESSION_CAPTURE_H

#include "lib/data/changes.h"
#include "lib/data/coding.h"
#include "lib/data/saver.h"

struct sk_capture {
    struct sk_coding_policy *coding;
    struct sk_changes *changes;
    struct sk_saver *saver;
    uint64_t delta_room; /* of the slot for the next delta */
    int in_files;        /* between checkpoint_begin and _end */
    double files_begun;  /* when the program began to write its files */
    int direct_told;     /* that checkpoints go to the prefix, for lack of room */
    int inexact;         /* something was saved within a bound: who goes back to that alone has other values than those that the others had of it */
    int64_t checkpoints, failed;
    int64_t failing; /* of the last ones, one after the other */
    uint64_t bytes_last;
    double blocked_seconds;
};

#endif
