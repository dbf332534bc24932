/* For tests that disturb every operation of something, one run each. */
#ifndef SK_BASE_SWEEP_H
#define SK_BASE_SWEEP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From one disturbed operation to the next: 1 with SAIKAI_TEST_SWEEP=all, N with SAIKAI_TEST_SWEEP=N, else `usual`, and
 * `slow` under a sanitizer, where a run takes ten times as long. Take a prime number, so that ranks which
 * do the same in turn are all met. */
static inline long sk_sweep_stride(long usual, long slow)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)usual;
    return slow;
#else
    (void)slow;
    const char *wanted = getenv("SAIKAI_TEST_SWEEP");
    if (!wanted)
        return usual;
    long n = atol(wanted);
    return n > 0 ? n : !strcmp(wanted, "all") ? 1 : usual;
#endif
}

/* Says what was left out. */
static inline void sk_sweep_report(long stride)
{
    if (stride > 1)
        printf("only one of %ld operations was disturbed; SAIKAI_TEST_SWEEP=all disturbs each\n",
               stride);
}

#endif
