/* A few threads that run one function. */
#ifndef SK_CODEC_TEAM_H
#define SK_CODEC_TEAM_H

#include <stdint.h>

/* threads, or for 0 the processors this process may use; never more than there are pieces, at
 * least 1. */
int sk_team_size(int threads, uint64_t pieces);
/* Run f(arg) in n threads, the caller's among them, and wait for all. When threads cannot be made,
 * fewer run it (the caller's always does): f takes its work from a common place until none is left.
 * Signals stay with the caller. */
void sk_team_run(int n, void (*f)(void *arg), void *arg);

#endif
