/* A fault in words: "rank 2 on n3 was killed by signal 9 (Killed)". */
#ifndef SK_RECOVERY_DESCRIBE_H
#define SK_RECOVERY_DESCRIBE_H

#include "recovery/detector.h"
#include "recovery/hosts.h"

/* Where a start goes on from. */
struct sk_way_back {
    int uses_library;
    int64_t iteration; /* of the newest generation heard of, -1: none */
    int64_t again;     /* iterations that are to be computed again, -1: not known … */
    double seconds;    /* … and how long they took */
};

/* "from iteration 40 or the newest generation that is whole (…)" */
void sk_way_back_describe(const struct sk_way_back *w, char *out, size_t cap);
/* program: what was to be executed, as it was typed; NULL: not known. */
void sk_fault_describe(const struct sk_fault *f, const struct sk_hosts *h, const char *program, char *out, size_t cap);

#endif
