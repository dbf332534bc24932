/* Tests that fork after threads have run in their process: a thread that is still ending may hold a lock of the sanitizer's
 * run-time library, which the child would then wait for without end. */
#ifndef SK_BASE_FORK_TESTING_H
#define SK_BASE_FORK_TESTING_H

#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static inline int sk_testing_threads(void)
{
    int n = 1;
    char line[128];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "Threads: %d", &n) != 1)
        ;
    if (f)
        fclose(f);
    return n;
}

#ifdef __SANITIZE_THREAD__
#define SK_TESTING_OWN_THREADS 2 /* the sanitizer has one */
#else
#define SK_TESTING_OWN_THREADS 1
#endif

/* fork() when no other thread is left; one that does not end is waited for two seconds at most. */
static inline pid_t sk_testing_fork(void)
{
    for (int ms = 0; ms < 2000 && sk_testing_threads() > SK_TESTING_OWN_THREADS; ms++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    fflush(NULL);
    return fork();
}

#endif
