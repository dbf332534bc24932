/* A fault in words: "rank 2 on n3 was killed by signal 9 (Killed)". */
#ifndef SK_RECOVERY_DESCRIBE_H
#define SK_RECOVERY_DESCRIBE_H

#include "recovery/detector.h"
#include "recovery/hosts.h"

void sk_fault_describe(const struct sk_fault *f, const struct sk_hosts *h, char *out, size_t cap);

#endif
