/* Time. Intervals come from the monotonic clock; wall time is for people and file headers only. */
#ifndef SK_BASE_CLOCK_H
#define SK_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

double sk_now(void);        /* seconds, monotonic */
int64_t sk_wall_ms(void);   /* milliseconds since 1970 */
/* Both take what is longer than 30 years, also infinity, for that. */
void sk_sleep(double seconds);
struct timespec sk_clock_after(double seconds); /* so long from now, for waits on the monotonic clock */

#endif
