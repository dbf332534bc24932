/* The system's clocks in seconds and milliseconds, and sleeping through interruptions. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

/* What is asked to wait for longer (a limit that means "never") waits so long: a time_t would overflow, and the wait end at once. */
static const double longest_s = 1e9;

static double bounded(double seconds)
{
    return seconds < longest_s ? seconds : longest_s;
}

double sk_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int64_t sk_wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct timespec sk_clock_after(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double at = (double)t.tv_nsec * 1e-9 + bounded(seconds);
    t.tv_sec += (time_t)at;
    t.tv_nsec = (long)((at - (double)(time_t)at) * 1e9);
    return t;
}

void sk_sleep(double seconds)
{
    if (seconds <= 0)
        return;
    seconds = bounded(seconds);
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}
